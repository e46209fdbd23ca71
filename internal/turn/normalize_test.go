package turn

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rondo-engine/rondo"
)

// activities reads them as agents send them.
func activities(t testing.TB, raw string) []rondo.Activity {
	t.Helper()
	var list []rondo.Activity
	if err := json.Unmarshal([]byte(raw), &list); err != nil {
		t.Fatal(err)
	}
	return list
}

const card = `"contentType":"application/vnd.microsoft.card.adaptive"`

func TestStructuredDataIsFoundInItsPlaces(t *testing.T) {
	message := func(members string) string { return `[{"type":"message","from":{"role":"bot"},` + members + `}]` }
	for _, test := range []struct{ name, activities, want string }{
		{"value", message(`"value":{"n":1.50}`), `value high {"n":1.50}`},
		{"value before text", message(`"value":{"a":1},"text":"{\"a\":2}"`), `value high {"a":1}`},
		{"an empty value is passed over", message(`"value":{},"text":"{\"a\":2}"`), `text low {"a":2}`},
		{"a list is no value", message(`"value":[1],"text":"hi"`), ``},
		{"a text is no value", message(`"value":"{\"a\":1}"`), ``},
		{"null", message(`"value":null`), ``},
		{"entities from left to right, without type", message(`"entities":[{"type":"x","a":1,"b":1},{"type":"y","b":2}]`), `entities medium {"a":1,"b":2}`},
		{"entities of the channel are skipped", message(`"text":"{\"a\":9}","entities":[{"type":"streaminfo","streamId":"1"},{"type":"mention","text":"x"},{"type":"clientInfo","locale":"de"},{"type":"ProductInfo","id":"c"},{"type":"https://schema.org/Message","@type":"Message","citation":[]},{"@context":"https://schema.org","name":"x"},{"@context":["https://w3id.org/x",{"a":"b"},"https://schema.org"],"name":"y"}]`), `text low {"a":9}`},
		{"entities that are no objects", message(`"entities":[1,"x",null,[]]`), ``},
		{"entities with a type alone", message(`"entities":[{"type":"x"}]`), ``},
		{"fenced block", message("\"text\":\"see\\n```json\\n{\\\"a\\\":1}\\n```\\n and {}\""), `text low {"a":1}`},
		{"first fenced block that is an object", message("\"text\":\"```\\n[1]\\n```\\n```js\\nlet x = {}\\n```\\n```json\\n{}\\n```\\n```\\n{\\\"a\\\":2}\\n```\\n```\\n{\\\"a\\\":3}\\n```\""), `text low {"a":2}`},
		{"fence in one line", message("\"text\":\"```json {\\\"a\\\":1}``` ok }\""), `text low {"a":1}`},
		{"longer fence", message("\"text\":\"````json\\n{\\\"a\\\":\\\"```\\\"}\\n```` }\""), `text low {"a":"` + "```" + `"}`},
		{"open fence falls back to the span", message("\"text\":\"```json\\n{\\\"a\\\":1}\""), `text low {"a":1}`},
		{"span from first to last brace", message(`"text":"ok {\"a\":{\"b\":1}} done"`), `text low {"a":{"b":1}}`},
		{"two objects are no span", message(`"text":"{\"a\":1} {\"b\":2}"`), ``},
		{"braces alone", message(`"text":"{}"`), ``},
		{"braces in a sentence", message(`"text":"write {} or } and {"`), ``},
		{"dollar signs", message(`"text":"$& {\"a\":\"$&\"}"`), `text low {"a":"$&"}`},
		{"data of a card", message(`"attachments":[{` + card + `,"content":{"data":{"action":"ask"}}}]`), `value low {"action":"ask"}`},
		{"first submit of a card", message(`"attachments":[{` + card + `,"content":{"actions":[{"type":"Action.OpenUrl","data":{"action":"x"}},{"type":"Action.Submit","data":{"data":{"a":1}}},{"type":"Action.Execute","data":{"prompt":"p"}}]}}]`), `value low {"data":{"a":1}}`},
		{"execute inside the body", message(`"attachments":[{` + card + `,"content":{"body":[{"type":"ActionSet","actions":[{"type":"Action.Execute","data":{"confidence":1}}]}]}}]`), `value low {"confidence":1}`},
		{"first submit without a known key, a later one does not count", message(`"attachments":[{` + card + `,"content":{"actions":[{"type":"Action.Submit","data":{"id":1}},{"type":"Action.Submit","data":{"prompt":"p"}}]}}]`), ``},
		{"data of a card without a known key", message(`"attachments":[{` + card + `,"content":{"data":{"id":1},"actions":[{"type":"Action.Submit","data":{"prompt":"p"}}]}}]`), ``},
		{"text before card", message(`"text":"{\"a\":1}","attachments":[{` + card + `,"content":{"data":{"action":"ask"}}}]`), `text low {"a":1}`},
		{"another attachment is no card", message(`"attachments":[{"contentType":"image/png","content":{"data":{"action":"ask"}}}]`), ``},
		{"what a user says is not the agent's", `[{"type":"message","from":{"role":"user"},"value":{"a":1}},{"type":"message","text":"{\"b\":1}"},{"type":"message","from":{"role":"bot"},"value":{"c":1}}]`, `value high {"c":1}`},
		{"the first payload decides", `[{"type":"message","from":{"role":"bot"},"text":"{\"a\":1}"},{"type":"message","from":{"role":"bot"},"value":{"b":1}}]`, `text low {"a":1}`},
		{"other types", `[{"type":"event","from":{"role":"bot"},"value":{"a":1}},{"type":"typing","from":{"role":"bot"},"text":"{\"a\":1}"}]`, ``},
		{"a number beyond all", message(`"value":{"a":1e999}`), ``},
		{"too deep", message(`"value":{"a":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}`), ``},
	} {
		reply := Normalize(activities(t, test.activities), counted())
		got := ""
		if p := reply.Payload; p != nil {
			got = p.Source + " " + p.Confidence + " " + js(t, p.Data)
		}
		if got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
		for i, c := range reply.Extraction {
			if (c.Result == "won") != (i == 0 && test.want != "") || c.Result == "lost" && c.Reason == "" {
				t.Errorf("%s: candidate %d is %+v", test.name, i, c)
			}
		}
		if test.want != "" && len(reply.Extraction) == 0 {
			t.Errorf("%s: nothing says what won", test.name)
		}
	}
}

func TestActivitiesBecomeMessages(t *testing.T) {
	reply := Normalize(activities(t, `[
		{"type":"typing","from":{"role":"bot"},"text":"…"},
		{"type":"message","from":{"role":"bot"},"text":"one","value":{"a":1},"attachments":[
			{`+card+`,"content":{"x":1}},{"contentType":"text/plain"},{`+card+`,"content":{"y":2}}]},
		{"type":"message","text":"two"},
		{"type":"message","from":{"role":"bot"},"value":{"b":1}},
		{"type":"message","from":{"role":"bot"},"attachments":[{`+card+`,"content":{"data":{"prompt":"p"}}}]},
		{"type":"handoff"},
		{"type":"endOfConversation"}
	]`), counted())
	want := `[{"id":"1","role":"assistant","kind":"text","text":"one","extractedPayload":{"source":"value","confidence":"high","data":{"a":1}}},` +
		`{"id":"2","role":"assistant","kind":"adaptiveCard","cardJson":{"x":1},"cardId":"3"},` +
		`{"id":"4","role":"assistant","kind":"adaptiveCard","cardJson":{"y":2},"cardId":"5"},` +
		`{"id":"6","role":"user","kind":"text","text":"two"},` +
		`{"id":"7","role":"assistant","kind":"adaptiveCard","cardJson":{"data":{"prompt":"p"}},"cardId":"8","extractedPayload":{"source":"value","confidence":"low","data":{"prompt":"p"}}}]`
	if got := js(t, reply.Messages); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if !reply.Handoff || reply.Ended != "unknown" {
		t.Errorf("handoff %v, ended %q", reply.Handoff, reply.Ended)
	}
}

func TestTheWinnerIsRememberedHoweverManyLost(t *testing.T) {
	lost := strings.Repeat(`{"type":"message","from":{"role":"bot"},"text":"{ no"},`, 3*maxCandidates)
	reply := Normalize(activities(t, `[`+lost+`{"type":"message","from":{"role":"bot"},"value":{"action":"dance"}}]`), counted())
	if len(reply.Extraction) != maxCandidates+1 || reply.Extraction[0].Result != "won" || reply.Extraction[1].Result != "lost" {
		t.Fatalf("%d candidates, the first is %+v", len(reply.Extraction), reply.Extraction[0])
	}
	d := shipped(t, "default")
	out := decided(t, d, begun(t, d), reply)
	if first := out.Record.Extraction[0]; first.Result != "won" || !strings.Contains(first.Reason, "schema") {
		t.Errorf("the record begins with %+v", first)
	}
}

func TestAPayloadWithoutTextOrCardIsKept(t *testing.T) {
	reply := Normalize(activities(t, `[{"type":"message","from":{"role":"bot"},"value":{"action":"ask"}}]`), counted())
	if len(reply.Messages) != 0 || reply.Payload == nil {
		t.Errorf("messages %v, payload %v", reply.Messages, reply.Payload)
	}
}

func TestCitationsAndSuggestionsAreTheAssistants(t *testing.T) {
	reply := Normalize(activities(t, `[
		{"type":"message","from":{"role":"bot"},"text":"see","suggestedActions":{"actions":[{"title":"Yes"},{"value":"no"},{"value":{}}]},
		 "entities":[{"type":"https://schema.org/Message","citation":[{"appearance":{"url":"https://a"}},{"appearance":{"name":"x"}},{"appearance":{"url":5}},"odd",{"appearance":{"url":"https://b"}},{"appearance":{"url":"https://a"}}]}]},
		{"type":"message","from":{"role":"user"},"suggestedActions":{"actions":[{"title":"mine"}]}}
	]`), counted())
	if got := js(t, []any{reply.Suggested, reply.Citations}); got != `[["Yes","no"],["https://a","https://b"]]` {
		t.Error(got)
	}
}
