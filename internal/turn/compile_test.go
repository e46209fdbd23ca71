package turn

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestEveryMistakeIsReportedWithItsPlace(t *testing.T) {
	long := strings.Repeat("s", maxStepName+1)
	for _, test := range []struct{ body, want string }{
		{`{`, `invalid_json `},
		{`[]`, `wrong_type `},
		{`{"name":"a","name":"b"}`, `invalid_json /name`},
		{`{}`, "missing_member \nmissing_member \nmissing_member "},
		{small(`"extra":1`), `unknown_member /extra`},
		{small(`"a/b~c":1`), `unknown_member /a~1b~0c`},
		{small(`"description":5`), `wrong_type /description`},
		{`{"name":"","steps":[],"machine":{"initial":"a","states":{"a":{}}}}`, "out_of_range /name\nsteps_missing /steps"},
		{`{"name":5,"steps":["a","a",""],"machine":{"initial":"a","states":{"a":{}}}}`, "wrong_type /name\nstep_repeated /steps/1\nout_of_range /steps/2"},
		{`{"name":"a","steps":"a","machine":5}`, "wrong_type /machine\nwrong_type /steps"},
		{`{"name":"a","steps":["a"],"machine":{"initial":"b","states":{"a":{}}}}`, `target_unknown /machine/initial`},
		{`{"name":"a","steps":["a"],"machine":{"initial":"a","states":{"a":{"on":{"X":{"guard":"a <"}}}}}}`, `expr_invalid /machine/states/a/on/X/guard`},
		{`{"name":"a","steps":["a"],"machine":{"initial":"a","states":{"a":{"meta":{"status":"fine"}}}}}`, `unknown_value /machine/states/a/meta/status`},
		{`{"name":"a","steps":["a"],"machine":{"initial":"a","states":{"a":{"meta":{"status":5}}}}}`, `unknown_value /machine/states/a/meta/status`},
		{`{"name":"a","steps":["a"],"machine":{"initial":"a","context":{"collectedData":5},"states":{"a":{}}}}`, `wrong_type /machine/context/collectedData`},
		{small(`"signals":{}`), `wrong_type /signals`},
		{
			small(`"signals":[5,{},{"when":"","event":"","more":1}]`),
			"wrong_type /signals/0\nmissing_member /signals/1\nmissing_member /signals/1\nout_of_range /signals/2/event\nunknown_member /signals/2/more\nout_of_range /signals/2/when",
		},
		{
			small(`"signals":[{"when":"event.x","event":"A"},{"when":"turn.","event":"B"},{"when":"sample(0.1)","event":"xstate.init"},{"when":"nothing","event":"*"}]`),
			"path_unknown /signals/0/when\nexpr_invalid /signals/1/when\nunknown_value /signals/2/event\nexpr_invalid /signals/2/when\nunknown_value /signals/3/event\npath_unknown /signals/3/when",
		},
		{small(`"merge":5`), `wrong_type /merge`},
		{small(`"merge":{"default":"newest","fields":{"a":"latest","b":5},"x":1}`), "unknown_value /merge/default\nunknown_value /merge/fields/b\nunknown_member /merge/x"},
		{small(`"merge":{"fields":[]}`), `wrong_type /merge/fields`},
		{small(`"minConfidence":"sure"`), `unknown_value /minConfidence`},
		{small(`"outputSchema":5`), `wrong_type /outputSchema`},
		{small(`"outputSchema":{"type":"thing"}`), `schema_invalid /outputSchema`},
		{small(`"outputSchema":{"$ref":"https://example.org/x"}`), `schema_invalid /outputSchema`},
		{small(`"agent":{}`), `missing_member /agent`},
		{small(`"agent":"echo"`), `wrong_type /agent`},
		{small(`"agent":{"provider":"echo","instructions":5,"model":"kept"}`), `wrong_type /agent/instructions`},
		{small(`"contextTemplate":5`), `wrong_type /contextTemplate`},
		{small(`"contextTemplate":"{step}"`), `template_invalid /contextTemplate`},
		{small(`"contextTemplate":"{userMessage}` + strings.Repeat("x", maxTemplate+1) + `"`), `template_invalid /contextTemplate`},
		{small(`"contextTemplate":"{userMessage}` + strings.Repeat("{step}", 8) + `"`), `template_invalid /contextTemplate`},
		{
			`{"name":"a","steps":["a"],"machine":{"initial":"a","states":{"a":{"meta":{"step":"` + long + `"}},"` + long + `":{}}}}`,
			"out_of_range /machine/states/a/meta/step\nout_of_range /machine/states/" + long,
		},
		{small(`"busy":5`), `wrong_type /busy`},
		{small(`"busy":{"strategy":"queue","waitMs":-1,"x":1}`), "unknown_value /busy/strategy\nout_of_range /busy/waitMs\nunknown_member /busy/x"},
		{small(`"busy":{"waitMs":0.5}`), `wrong_type /busy/waitMs`},
		{small(`"agentTimeoutMs":0`), `out_of_range /agentTimeoutMs`},
		{small(`"agentTimeoutMs":"5"`), `wrong_type /agentTimeoutMs`},
		{small(`"agentTimeoutMs":1e12`), `out_of_range /agentTimeoutMs`},
	} {
		d, problems := Compile([]byte(test.body))
		var got []string
		for _, p := range problems {
			got = append(got, p.Code+" "+p.Pointer)
			if p.Message == "" {
				t.Errorf("%.60s: %s at %s has no message", test.body, p.Code, p.Pointer)
			}
		}
		if strings.Join(got, "\n") != test.want {
			t.Errorf("%s:\ngot  %q\nwant %q", test.body, strings.Join(got, "\n"), test.want)
		}
		if d != nil {
			t.Errorf("%.60s: there is a definition too", test.body)
		}
	}
}

func TestAllMembersAreRead(t *testing.T) {
	d := compiled(t, small(`"agent":{"provider":"openai","instructions":"Be brief","model":"m"}`, `"busy":{"strategy":"wait","waitMs":250}`,
		`"agentTimeoutMs":1500`, `"outputSchema":{"type": "object"}`, `"minConfidence":"high"`, `"description":""`))
	if got := fmt.Sprint(d.Name, d.Steps, d.Agent.Provider, d.Agent.Instructions, d.Busy.Wait, d.AgentTimeout); got != "small[a]openaiBe brief250ms 1.5s" {
		t.Error(got)
	}
	if string(d.Agent.Raw) != `{"provider":"openai","instructions":"Be brief","model":"m"}` || string(d.OutputSchema) != `{"type": "object"}` {
		t.Errorf("agent %s, schema %s", d.Agent.Raw, d.OutputSchema)
	}
	for busy, want := range map[string]time.Duration{
		`{}`: 0, `{"strategy":"reject","waitMs":9}`: 0, `{"waitMs":9}`: 0, `{"strategy":"wait"}`: defaultWait, `{"strategy":"wait","waitMs":0}`: 0,
	} {
		if got := compiled(t, small(`"busy":`+busy)).Busy.Wait; got != want {
			t.Errorf("%s waits %v", busy, got)
		}
	}
}

func TestFieldsThatCanBeFilledAreKnownFromTheDefinition(t *testing.T) {
	schema := `"outputSchema":{"properties":{"data":{"properties":{"a":{},"b":{}}}}}`
	machine := func(actions string) string {
		return `{"name":"x","steps":["s"],` + schema + `,"merge":{"fields":{"m":"append"}},"machine":{"initial":"s","context":{"collectedData":{"c":1}},"states":{"s":{"entry":` + actions + `}}}}`
	}
	for _, test := range []struct{ body, want string }{
		{small(), "null"},
		{small(`"outputSchema":{}`), "null"},
		{machine(`[]`), `["a","b","c","m"]`},
		{machine(`{"type":"assign","set":{"collectedData":{"merge":[{"path":"context.collectedData"},{"path":"event.payload"},{"const":{"k":1}},{"pick":{"from":{"path":"turn.data"},"fields":["p"]}},{"x":1,"y":2}]}}}`), `["a","b","c","k","m","p","x","y"]`},
		{machine(`{"type":"assign","set":{"collectedData":{"merge":[{"path":"turn.data"}]}}}`), "null"},
		{machine(`{"type":"assign","set":{"other":{"path":"turn.data"}}}`), `["a","b","c","m"]`},
	} {
		if got := js(t, compiled(t, test.body).fields()); got != test.want {
			t.Errorf("%s: got %s, want %s", test.body, got, test.want)
		}
	}
}

func TestWhatIsHardlyMeantIsWarnedOf(t *testing.T) {
	written := func(when, event, machine string) string {
		return `{"name":"x","steps":["a"],"signals":[{"when":"` + when + `","event":"` + event + `"}],"machine":` + machine + `}`
	}
	waits := func(on string) string {
		return `{"initial":"a","states":{"a":{"on":{"` + on + `":"z","NO_SIGNAL":"z"}},"z":{"type":"final"}}}`
	}
	for _, test := range []struct{ body, want string }{
		{written("turn.kind == null && context.turnCount > 1 && payload.any == 1", "GO", waits("GO")), ""},
		{written("turn.knd == null", "GO", waits("GO")), "field_never_filled /signals/0/when"},
		{written("context.turncount > 1", "GO", waits("GO")), "field_never_filled /signals/0/when"},
		{written("turn.kind == null", "GONE", waits("GO")), "event_never_raised /machine/states/a/on/GO\nevent_never_heard /signals/0/event"},
		{written("turn.kind == null", "o.x", waits("o.*")), ""},
		{written("turn.kind == null", "o", waits("o.*")), ""},
		{written("turn.kind == null", "ox", waits("*")), ""},
		{
			written("turn.kind == null", "GO", `{"initial":"a","states":{"a":{"on":{"GO":[{"target":"z","actions":[{"type":"assign","set":{"own":1,"turnCount":0,"collectedData":{"const":{"step":1}}}}]}]}},"z":{"type":"final"}}}`),
			"assign_forgotten /machine/states/a/on/GO/0/actions/0/set/turnCount",
		},
		{`{"name":"x","steps":["a","b"],"machine":` + waits("HANDOFF") + `}`, "step_never_reached /steps/1"},
	} {
		var got []string
		for _, p := range compiled(t, test.body).Check() {
			got = append(got, p.Code+" "+p.Pointer)
		}
		if strings.Join(got, "\n") != test.want {
			t.Errorf("%s:\ngot  %q\nwant %q", test.body, strings.Join(got, "\n"), test.want)
		}
	}
}

func TestTheOwnSchemaCompiles(t *testing.T) {
	if schema, err := ownSchema(); err != nil || schema == nil {
		t.Fatal(err)
	}
}
