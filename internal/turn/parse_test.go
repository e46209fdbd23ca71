package turn

import (
	"testing"
)

// The table of parsed turns: kind, data, action, prompt, confidence, citations,
// errors.
func TestAnswersAreParsedByTheTable(t *testing.T) {
	own := `"outputSchema":{"type":"object","required":["mood"],"properties":{"mood":{"enum":["glad","sad"]},"action":{"type":"number"}}}`
	for _, test := range []struct{ name, definition, value, want string }{
		{
			"whole object", small(), `{"action":"ask","prompt":"Who?","data":{"a":1.0},"confidence":0.5,"citations":["u"],"more":[1]}`,
			`["structured",{"action":"ask","citations":["u"],"confidence":0.5,"data":{"a":1.0},"more":[1],"prompt":"Who?"},"ask","Who?","high",["u"],[]]`,
		},
		{"nothing but other keys", small(), `{"x":1}`, `["structured",{"x":1},null,null,"high",[],[]]`},
		{"no payload", small(), `null`, `["passthrough",null,null,null,null,[],[]]`},
		{
			"unknown action", small(), `{"action":"dance","prompt":"p"}`,
			`["parse_error",null,null,null,null,[],["/action must be one of [\"ask\",\"research\",\"confirm\",\"complete\",\"error\"]"]]`,
		},
		{
			"null is no action", small(), `{"action":null}`,
			`["parse_error",null,null,null,null,[],["/action must be one of [\"ask\",\"research\",\"confirm\",\"complete\",\"error\"]"]]`,
		},
		{
			"several mistakes", small(), `{"prompt":1,"data":[],"confidence":1.01,"citations":[1]}`,
			`["parse_error",null,null,null,null,[],["/citations/0 must be of type string","/confidence must be at most 1","/data must be of type object","/prompt must be of type string"]]`,
		},
		{"confidence below 0", small(), `{"confidence":-0.1}`, `["parse_error",null,null,null,null,[],["/confidence must be at least 0"]]`},
		{"own schema", small(own), `{"mood":"glad","action":5}`, `["structured",{"action":5,"mood":"glad"},null,null,"high",[],[]]`},
		{"own schema broken", small(own), `{"mood":"secret"}`, `["parse_error",null,null,null,null,[],["/mood must be one of [\"glad\",\"sad\"]"]]`},
		{"own schema incomplete", small(own), `{"x":1}`, `["parse_error",null,null,null,null,[],["/ must have mood"]]`},
	} {
		p := compiled(t, test.definition).Parse(says(test.value))
		if got := js(t, []any{p.Kind, p.Data, p.NextAction, p.NextPrompt, p.Confidence, p.Citations, p.ParseErrors}); got != test.want {
			t.Errorf("%s:\ngot  %s\nwant %s", test.name, got, test.want)
		}
		if len(p.DisplayMessages) != 1 || p.DisplayMessages[0].Text != "…" {
			t.Errorf("%s: not all messages are shown: %v", test.name, p.DisplayMessages)
		}
	}
}

func TestCitationsOfEntitiesCountWhereTheDataHasNone(t *testing.T) {
	cites := `"entities":[{"type":"https://schema.org/Message","citation":[{"appearance":{"url":"https://a"}}]}]`
	for value, want := range map[string]string{
		`{"action":"ask"}`:                  `["https://a"]`,
		`{"citations":["https://b"]}`:       `["https://b"]`,
		`{"action":"ask","citations":[]}`:   `[]`,
		`null`:                              `[]`,
		`{"action":"dance","citations":[]}`: `[]`,
	} {
		reply := Normalize(activities(t, `[{"type":"message","from":{"role":"bot"},`+cites+`,"value":`+value+`}]`), counted())
		if got := js(t, compiled(t, small()).Parse(reply).Citations); got != want {
			t.Errorf("%s: %s, want %s", value, got, want)
		}
	}
}
