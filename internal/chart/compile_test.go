package chart

import (
	"fmt"
	"strings"
	"testing"
)

func TestWhatCompileRefuses(t *testing.T) {
	t.Parallel()
	// in puts members into a state "a" with a sibling "b".
	in := func(members string) string {
		return fmt.Sprintf(`{"id":"m","initial":"a","states":{"a":{%s},"b":{}}}`, members)
	}
	for _, tc := range []struct{ name, config, code, at, says string }{
		{"no JSON", `{`, "syntax", "", ""},
		{"a name twice", `{"id":"m","id":"n"}`, "syntax", "", ""},
		{"no object", `[]`, "type", "", "must be an object"},
		{"no initial", `{"states":{"a":{}}}`, "missing_initial", "", `"initial": "a"`},
		{"unknown initial", `{"initial":"x","states":{"a":{}}}`, "unknown_target", "/initial", "one of a"},
		{"initial history", `{"initial":"h","states":{"a":{},"h":{"type":"history"}}}`, "bad_initial", "/initial", "history"},
		{"initial of an atomic state", in(`"initial":"x"`), "bad_initial", "/states/a/initial", "leave it out"},
		{"unknown member", in(`"invok":{}`), "unknown_member", "/states/a/invok", "allowed are"},
		{"actors", in(`"invoke":{}`), "unknown_member", "/states/a/invoke", "actors"},
		{"context below", in(`"context":{}`), "unknown_member", "/states/a/context", ""},
		{"old guard", in(`"on":{"GO":{"cond":"true"}}`), "unknown_member", "/states/a/on/GO/cond", "guard"},
		{"unknown target", in(`"on":{"GO":"c"}`), "unknown_target", "/states/a/on/GO", `"c" is no state inside "m"`},
		{"unknown id", in(`"on":{"GO":["b",{"target":"#x"}]}`), "unknown_target", "/states/a/on/GO/1/target", `"x"`},
		{"sibling of the machine", `{"on":{"GO":"a"},"initial":"a","states":{"a":{}}}`, "unknown_target", "/on/GO", `".a"`},
		{"no targets", in(`"on":{"GO":{"target":[]}}`), "bad_target", "/states/a/on/GO/target", "leave the target out"},
		{"targets apart", in(`"on":{"GO":{"target":["a","b"]}}`), "bad_target", "/states/a/on/GO/target", "active together"},
		{"null", in(`"on":{"GO":null}`), "type", "/states/a/on/GO", "{}"},
		{"event without a name", in(`"on":{"":"b"}`), "bad_event", "/states/a/on/", "always"},
		{"internal event", in(`"on":{"xstate.init":"b"}`), "bad_event", "/states/a/on/xstate.init", "internal"},
		{"wildcard inside", in(`"on":{"a.*.b":"b"}`), "bad_event", "/states/a/on/a.*.b", "at the end"},
		{"wildcard without a dot", in(`"on":{"a*":"b"}`), "bad_event", "/states/a/on/a*", "at the end"},
		{"guard that does not parse", in(`"on":{"GO":[{"guard":"a <"}]}`), "bad_guard", "/states/a/on/GO/0/guard", "offset"},
		{"guard object", in(`"on":{"GO":{"guard":{"type":"not"}}}`), "bad_guard", "/states/a/on/GO/guard", "in a string"},
		{"guard number", in(`"on":{"GO":{"guard":1}}`), "type", "/states/a/on/GO/guard", "string"},
		{"guard of another world", in(`"always":{"guard":"ctx.x == 1"}`), "unknown_root", "/states/a/always/guard", "context, event, turn, payload"},
		{"guard that samples", in(`"always":{"guard":"sample(0.5)"}`), "bad_guard", "/states/a/always/guard", "sample"},
		{"named action", in(`"entry":"log"`), "unknown_action", "/states/a/entry", "named"},
		{"unknown action", in(`"exit":[{"type":"log"}]`), "unknown_action", "/states/a/exit/0/type", "assign, raise"},
		{"action without a type", in(`"exit":{}`), "unknown_action", "/states/a/exit", "type"},
		{"assign without set", in(`"entry":{"type":"assign"}`), "bad_action", "/states/a/entry", "set"},
		{"raise without an event", in(`"entry":{"type":"raise"}`), "bad_action", "/states/a/entry", "event"},
		{"raise of an internal event", in(`"entry":{"type":"raise","event":{"type":"xstate.init"}}`), "bad_event", "/states/a/entry/event", "xstate."},
		{"delayed raise", in(`"entry":{"type":"raise","event":{"type":"X"},"delay":5}`), "unknown_member", "/states/a/entry/delay", "after"},
		{"case event without a type", in(`"entry":{"type":"raiseCaseEvent"}`), "bad_action", "/states/a/entry", "eventType"},
		{"path of another world", in(`"entry":{"type":"assign","set":{"x":{"path":"env.HOME"}}}`), "unknown_root", "/states/a/entry/set/x/path", "begins with"},
		{"path with a hole", in(`"entry":{"type":"assign","set":{"x":{"path":"context..a"}}}`), "bad_selector", "/states/a/entry/set/x/path", "dots"},
		{"merge of one", in(`"entry":{"type":"assign","set":{"x":{"merge":{}}}}`), "bad_selector", "/states/a/entry/set/x/merge", "list"},
		{"pick without fields", in(`"entry":{"type":"assign","set":{"x":{"pick":{"from":1}}}}`), "bad_selector", "/states/a/entry/set/x/pick", "fields"},
		{"named delay", in(`"after":{"soon":"b"}`), "bad_delay", "/states/a/after/soon", "milliseconds"},
		{"negative delay", in(`"after":{"-1":"b"}`), "bad_delay", "/states/a/after/-1", ""},
		{"fractional delay", in(`"after":{"1.5":"b"}`), "bad_delay", "/states/a/after/1.5", ""},
		{"unknown timer", in(`"after":{"1":{"timer":"x"}}`), "bad_timer", "/states/a/after/1/timer", "remaining"},
		{"two kinds of timer", in(`"after":{"1":[{"timer":"restart"},{"timer":"remaining"}]}`), "bad_timer", "/states/a/after/1/1", "share"},
		{"timer of an event", in(`"on":{"GO":{"timer":"restart"}}`), "misplaced_member", "/states/a/on/GO/timer", "after"},
		{"way out of an end", in(`"type":"final","on":{}`), "misplaced_member", "/states/a/on", "end"},
		{"history that waits", in(`"type":"history","on":{}`), "misplaced_member", "/states/a/on", "never active"},
		{"done without children", in(`"onDone":"b"`), "misplaced_member", "/states/a/onDone", ""},
		{"output of no end", in(`"output":1`), "misplaced_member", "/states/a/output", "final"},
		{"target of a state", in(`"target":"b"`), "misplaced_member", "/states/a/target", "transition"},
		{"unknown type", in(`"type":"x"`), "bad_type", "/states/a/type", "parallel"},
		{"children of an end", in(`"type":"final","states":{"x":{}}`), "bad_type", "/states/a/type", ""},
		{"compound without children", in(`"type":"compound"`), "no_states", "/states/a", ""},
		{"parallel without regions", in(`"type":"parallel"`), "no_states", "/states/a", "region"},
		{"machine that is an end", `{"type":"final"}`, "bad_type", "/type", ""},
		{"name with a dot", `{"initial":"a.b","states":{"a.b":{}}}`, "bad_name", "/states/a.b", ""},
		{"id with a dot", in(`"id":"a.b"`), "bad_name", "/states/a/id", ""},
		{"id twice", in(`"id":"m"`), "duplicate_id", "/states/a/id", "another id"},
		{"empty step", in(`"meta":{"step":""}`), "bad_step", "/states/a/meta/step", ""},
		{"unknown history", in(`"history":"x"`), "bad_history", "/states/a/history", "deep"},
		{"history that leads out", in(`"initial":"x","states":{"x":{},"h":{"type":"history","target":"#m.b"}}`), "bad_target", "/states/a/states/h/target", "inside"},
		{"history of what is left", in(`"type":"parallel","states":{"x":{"on":{"GO":"h"}},"y":{},"h":{"type":"history"}}`), "bad_target", "/states/a/states/x/on/GO", "itself"},
		{"too deep", strings.Repeat(`{"initial":"a","states":{"a":`, 17) + `{}` + strings.Repeat(`}}`, 17), "too_deep", strings.Repeat("/states/a", 17), "16"},
		{"too many", `{"type":"parallel","states":{` + many(500) + `}}`, "too_many_states", "/states/s499", "500"},
		{"name that needs escapes", `{"initial":"a","states":{"a":{"on":{"x/y~z":"c"}}}}`, "unknown_target", "/states/a/on/x~1y~0z", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m, problems := Compile([]byte(tc.config))
			if m != nil || len(problems) == 0 {
				t.Fatal("it compiles")
			}
			for _, p := range problems {
				if p.Code == tc.code && (p.Pointer == tc.at || tc.code == "syntax") && strings.Contains(p.Message, tc.says) {
					return
				}
			}
			t.Errorf("%+v; want %s at %q that says %q", problems, tc.code, tc.at, tc.says)
		})
	}
}

func many(states int) string {
	names := make([]string, states)
	for i := range names {
		names[i] = fmt.Sprintf(`"s%d":{}`, i)
	}
	return strings.Join(names, ",")
}

func TestCheck(t *testing.T) {
	t.Parallel()
	const whole = `{"initial":"a","context":{},"states":{"a":{"on":{"GO":"z"}},"z":{"type":"final"}}}`
	for _, tc := range []struct {
		name, config string
		known        Known
		want         string // "code pointer", by line
	}{
		{"nothing", whole, Known{Events: []string{"GO"}, Fields: []string{}}, ""},
		{"nothing known", whole, Known{}, ""},
		{"no event", whole, Known{Events: []string{}}, "event_never_raised /states/a/on/GO"},
		{"raised by itself", `{"initial":"a","states":{"a":{"entry":{"type":"raise","event":{"type":"o.x"}},"on":{"o.*":"z","*":"z","p.*":"z"}},"z":{"type":"final"}}}`, Known{Events: []string{}}, "event_never_raised /states/a/on/p.*"},
		{"unreachable", `{"initial":"a","states":{"a":{"on":{"GO":"z"}},"x":{"initial":"y","on":{"GO":"z"},"states":{"y":{}}},"z":{"type":"final"}}}`, Known{}, "unreachable_state /states/x"},
		{"reachable through history", `{"initial":"a","states":{"a":{"on":{"GO":"p.h"}},"p":{"initial":"x","on":{"END":"z"},"states":{"x":{},"y":{},"h":{"type":"history","target":"y"}}},"z":{"type":"final"}}}`, Known{}, "unreachable_state /states/p/states/x"},
		{"dead end", `{"initial":"a","states":{"a":{"on":{"GO":"b"}},"b":{"on":{"X":{"actions":[]},"Y":"b"}}}}`, Known{}, "dead_end /states/b"},
		{"a parent leads out", `{"initial":"a","on":{"GO":".b","BACK":".a"},"states":{"a":{},"b":{}}}`, Known{}, ""},
		{"another region leads out", `{"initial":"p","states":{"p":{"type":"parallel","states":{"l":{"on":{"GO":"#z"}},"r":{}}},"z":{"id":"z","type":"final"}}}`, Known{}, ""},
		{"no region leads out", `{"type":"parallel","states":{"l":{"initial":"a","states":{"a":{"on":{"GO":"b"}},"b":{"on":{"GO":"a"}}}},"r":{}}}`, Known{}, "dead_end /states/r"},
		{"fields", `{"initial":"a","states":{"a":{"on":{"GO":[{"guard":"event.payload.x == 1 && context.collectedData.y == 1 && context.turnCount > 1","target":"z"}]}},"z":{"type":"final"}}}`, Known{Fields: []string{"x"}}, "field_never_filled /states/a/on/GO/0/guard"},
		{"fields of its own", `{"initial":"a","states":{"a":{"entry":{"type":"assign","set":{"collectedData":{"merge":[{"const":{"y":1}}]}}},"on":{"GO":{"guard":"context.collectedData.y == 1","target":"z"}}},"z":{"type":"final"}}}`, Known{Fields: []string{}}, ""},
		{
			"members that are not there", `{"initial":"a","context":{"own":1},"states":{"a":{"entry":{"type":"assign","set":{"set":1}},"on":{"GO":{"guard":"context.own == 1 && context.set == 1 && context.turnCount > 1 && context.turncount > 1 && event.type == 'x' && event.paylod == 1 && turn.kind == 'x' && turn.knd == 'x' && payload.x == 1","target":"z"}}},"z":{"type":"final"}}}`,
			Known{Context: []string{"turnCount"}, Roots: map[string][]string{"turn": {"kind"}}},
			strings.TrimSuffix(strings.Repeat("field_never_filled /states/a/on/GO/guard\n", 3), "\n"),
		},
		{"fields of the answer", `{"initial":"a","states":{"a":{"on":{"GO":{"guard":"turn.data.data.x == 1 && payload.data.y == 1 && payload.y == 1","target":"z"}}},"z":{"type":"final"}}}`, Known{Fields: []string{"x"}}, "field_never_filled /states/a/on/GO/guard"},
		{"what an end says", `{"initial":"a","states":{"a":{"initial":"x","onDone":{"guard":"event.payload.y == 1 && event.output.y == 1","target":"z"},"states":{"x":{"type":"final","output":{"y":1}}}},"z":{"type":"final"}}}`, Known{Fields: []string{}}, ""},
		{
			"never done", `{"initial":"a","states":{"a":{"initial":"x","onDone":"z","states":{"x":{"on":{"GO":"y"}},"y":{}}},"z":{"type":"final"}}}`,
			Known{},
			"dead_end /states/a/states/y\nunreachable_state /states/z\nnever_done /states/a/onDone",
		},
		{"an event of that name", `{"initial":"a","states":{"a":{"on":{"onDone":"z"}},"z":{"type":"final"}}}`, Known{}, ""},
		{"regions that are never done", `{"initial":"p","states":{"p":{"type":"parallel","onDone":"z","on":{"GO":"z"},"states":{"l":{"initial":"x","states":{"x":{"type":"final"}}},"r":{}}},"z":{"type":"final"}}}`, Known{}, "never_done /states/p/onDone"},
		{"cycle", `{"initial":"a","states":{"a":{"always":"b"},"b":{"always":{"target":"a"}}}}`, Known{}, "always_cycle /states/a/always"},
		{"cycle behind a way in", `{"initial":"s","states":{"s":{"always":"a"},"a":{"always":"b"},"b":{"always":[{"target":"a"}]}}}`, Known{}, "always_cycle /states/a/always"},
		{"cycle with a guard", `{"initial":"a","states":{"a":{"always":"b"},"b":{"always":{"guard":"context.x","target":"a"},"on":{"GO":"a"}}}}`, Known{}, ""},
		{"timers without a pause", `{"initial":"a","states":{"a":{"after":{"0":"b"}},"b":{"after":{"999":"c","5000":"z"}},"c":{"always":"a"},"z":{"type":"final"}}}`, Known{}, "timer_cycle /states/a/after/0"},
		{"timers with a pause", `{"initial":"a","states":{"a":{"after":{"0":"b"}},"b":{"after":{"1000":"a"}}}}`, Known{}, ""},
		{"timers with a guard", `{"initial":"a","states":{"a":{"after":{"0":"b"}},"b":{"after":{"0":{"guard":"context.x","target":"a"}}}}}`, Known{}, ""},
		{"a timer that is set once", `{"initial":"a","after":{"0":".b"},"states":{"a":{"on":{"N":"b"}},"b":{"on":{"N":"a"}}}}`, Known{}, ""},
		{"a timer that sets itself", `{"initial":"a","states":{"a":{"on":{"N":"b"},"after":{"0":{"target":"a","reenter":true}}},"b":{"after":{"0":{"target":"b"}},"on":{"N":"a"}}}}`, Known{}, "timer_cycle /states/a/after/0"},
		{"always that assigns", `{"on":{"GO":{"actions":[]}},"always":{"actions":{"type":"assign","set":{"x":1}}},"initial":"a","states":{"a":{"on":{"N":"b"}},"b":{"on":{"N":"a"}}}}`, Known{}, "always_cycle /always"},
		{"always that only raises", `{"always":{"actions":{"type":"raise","event":{"type":"X"}}},"initial":"a","states":{"a":{"on":{"N":"b"}},"b":{"on":{"N":"a"}}}}`, Known{}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m, problems := Compile([]byte(tc.config))
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			var got []string
			for _, p := range m.Check(tc.known) {
				got = append(got, p.Code+" "+p.Pointer)
			}
			if strings.Join(got, "\n") != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
