package turn

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/rondo-engine/rondo"
)

// lamp is a machine with everything that deciding a turn touches.
const lamp = `{
  "name": "lamp", "steps": ["off", "on", "gone"],
  "signals": [
    {"when": "turn.kind == \"parse_error\"", "event": "BROKEN"},
    {"when": "payload.data.on == true && context.turnCount < 9", "event": "ON"},
    {"when": "coalesce(payload.fail, 0) > 1", "event": "NEVER"},
    {"when": "payload.event == \"LOST\"", "event": "LOST"},
    {"when": "payload.event == \"GUARD\"", "event": "GUARD"},
    {"when": "payload.event == \"RAISE\"", "event": "RAISE"},
    {"when": "payload.event == \"SPOIL\"", "event": "SPOIL"},
    {"when": "payload.event == \"FORGET\"", "event": "FORGET"}
  ],
  "merge": {"fields": {"held": "confirm_on_change"}},
  "machine": {
    "id": "lamp", "initial": "off", "context": {"count": 0},
    "on": {
      "GUARD": {"target": ".gone", "guard": "event.payload.x < 1"},
      "RAISE": {"actions": {"type": "raiseCaseEvent", "eventType": "lamp.raised", "caseId": {"const": "case-1"}, "payload": {"path": "context.collectedData"}}},
      "SPOIL": {"actions": {"type": "assign", "set": {"collectedData": {"const": 5}}}},
      "FORGET": {"actions": {"type": "assign", "set": {"collectedData": {"const": {"kept": 1.0}}}}}
    },
    "states": {
      "off": {"on": {"ON": [
        {"target": "on", "guard": "context.step == \"off\" && event.payload.held == 1 && context.lastRecommendation == null"},
        {"target": "gone", "guard": "event.payload.held == 2"}
      ], "BROKEN": "broken"}},
      "on": {"on": {"NO_SIGNAL": "off", "HANDOFF": "gone", "*": "broken"}},
      "broken": {"meta": {"step": "off", "status": "error"}, "on": {"*": "off"}},
      "gone": {"type": "final"}
    }
  }
}`

func TestAnAnswerMovesTheMachine(t *testing.T) {
	d := compiled(t, lamp)
	off := begun(t, d)
	on := decided(t, d, off, says(`{"data":{"on":true,"held":1}}`))
	if got := described(on); got != "on active 33% text" || on.Record.Event != "ON" || !on.Record.Handled {
		t.Fatalf("on leads to %s: %s", got, js(t, on.Record))
	}
	handedOver := func(event string) Reply {
		reply := says(`{"event":"` + event + `"}`)
		reply.Handoff = true
		return reply
	}
	for _, test := range []struct {
		name    string
		before  rondo.ConversationState
		reply   Reply
		want    string
		event   string
		handled bool
	}{
		{"no signal, asked for by name", on.State, talks("hm"), "off active 0% text", "NO_SIGNAL", true},
		{"no signal, not asked for", off, talks("hm"), "off active 0% text", "", false},
		{"hand-over where the machine knows it", on.State, handedOver("LOST"), "gone completed 100% none", "HANDOFF", true},
		{"hand-over where it does not", off, handedOver("LOST"), "off active 0% text", "LOST", false},
		{"parse error", off, says(`{"action":"dance"}`), "off error 0% text", "BROKEN", true},
		{"an event that nothing matches", off, says(`{"event":"LOST"}`), "off active 0% text", "LOST", false},
		{"the old value counts while a change is held back", decided(t, d, on.State, talks("hm")).State, says(`{"data":{"on":true,"held":2}}`), "off active 0% text", "ON", false},
	} {
		out := decided(t, d, test.before, test.reply)
		if got := described(out); got != test.want || out.Record.Event != test.event || out.Record.Handled != test.handled {
			t.Errorf("%s: reached %s by %q, handled %v", test.name, got, out.Record.Event, out.Record.Handled)
		}
		if out.State.TurnCount != test.before.TurnCount+1 || out.Meta.TurnNumber != out.State.TurnCount {
			t.Errorf("%s: turn %d after %d", test.name, out.State.TurnCount, test.before.TurnCount)
		}
	}
}

func TestTheRecordSaysWhy(t *testing.T) {
	d := compiled(t, lamp)
	first := decided(t, d, begun(t, d), says(`{"data":{"on":true,"held":3}}`)).Record
	if first.From != "off" || first.To != "off" || first.Kind != rondo.TurnByText || !first.At.Equal(noon) {
		t.Errorf("record is %s", js(t, first))
	}
	if len(first.Signals) != 2 || first.Signals[0].Result != "not held" || first.Signals[1].Result != "held" || !strings.Contains(string(first.Signals[1].Trace), `"payload.data.on == true"`) {
		t.Errorf("signals are %s", js(t, first.Signals))
	}
	if len(first.Transitions) != 2 || first.Transitions[0].Result != "refused" || !strings.Contains(string(first.Transitions[0].Trace), `"event.payload.held == 1"`) {
		t.Errorf("transitions are %s", js(t, first.Transitions))
	}
	if len(first.Extraction) != 1 || first.Extraction[0].Result != "won" || first.Extraction[0].Name != "activity 0: value" {
		t.Errorf("extraction is %s", js(t, first.Extraction))
	}
	var reply Reply
	if json.Unmarshal(first.Reply, &reply) != nil || reply.Payload == nil || len(reply.Messages) != 0 { // they are in the response
		t.Errorf("the reply is recorded as %s", first.Reply)
	}
	second := decided(t, d, begun(t, d), says(`{"data":{"on":true,"held":1}}`)).Record
	if last := second.Transitions[len(second.Transitions)-1]; last.Result != "chosen" || second.To != "on" {
		t.Errorf("transitions are %s", js(t, second.Transitions))
	}
	broken := decided(t, d, begun(t, d), says(`{"action":"dance"}`)).Record
	if !strings.Contains(broken.Extraction[0].Reason, "/action must be one of") {
		t.Errorf("extraction is %s", js(t, broken.Extraction))
	}
}

func TestMinConfidenceKeepsTheMachineStill(t *testing.T) {
	for level, moves := range map[string]map[string]bool{
		"low": {"text": true, "entities": true, "value": true}, "medium": {"text": false, "entities": true, "value": true}, "high": {"text": false, "entities": false, "value": true},
	} {
		d := compiled(t, `{"name":"x","steps":["a","b"],"minConfidence":"`+level+`","signals":[{"when":"payload.data.go == true","event":"GO"}],
			"machine":{"initial":"a","states":{"a":{"on":{"GO":"b","NO_SIGNAL":"b"}},"b":{"type":"final"}}}}`)
		for place, activity := range map[string]string{
			"text": `"text":"{\"data\":{\"go\":true}}"`, "entities": `"entities":[{"type":"x","data":{"go":true}}]`, "value": `"value":{"data":{"go":true}}`,
		} {
			out := decided(t, d, begun(t, d), Normalize(activities(t, `[{"type":"message","from":{"role":"bot"},`+activity+`}]`), counted()))
			if moved := out.State.Step == "b"; moved != moves[place] {
				t.Errorf("minConfidence %s, found in %s: moved is %v", level, place, moved)
			}
			if string(out.State.CollectedData["go"]) != "true" {
				t.Errorf("minConfidence %s, found in %s: the data was not collected", level, place)
			}
		}
		if out := decided(t, d, begun(t, d), talks("hm")); out.Record.Event != EventNoSignal {
			t.Errorf("minConfidence %s: an answer without data is told as %q", level, out.Record.Event)
		}
	}
}

func TestRulesThatFailFailTheTurn(t *testing.T) {
	d := compiled(t, lamp)
	for name, value := range map[string]string{
		"a guard on null": `{"event":"GUARD"}`, "a signal rule on a text": `{"fail":"x"}`, "an assign that spoils": `{"event":"SPOIL"}`,
	} {
		if _, err := d.Decide(Input{Before: begun(t, d), Kind: rondo.TurnByText, Reply: says(value), Now: noon}); rondo.CodeOf(err) != rondo.CodeWorkflowLogic {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := d.Decide(Input{Before: begun(t, d), Kind: rondo.TurnByText, Reply: says(`{"event":"GUARD"}`), Now: noon})
	failed, ok := errors.AsType[*rondo.Error](errors.Unwrap(err))
	if !ok || !strings.Contains(failed.Hint, " at /machine/") {
		t.Errorf("the hint of %v does not point into the definition", err)
	}
	for _, machine := range []string{`5`, `{}`, `{"value":"nowhere","context":{},"status":"active"}`} {
		state := begun(t, d)
		state.Machine = json.RawMessage(machine)
		if _, err := d.Decide(Input{Before: state, Reply: talks("x"), Now: noon}); rondo.CodeOf(err) != rondo.CodeStateCorrupt {
			t.Errorf("a snapshot %s: %v", machine, err)
		}
	}
}

func TestTheMachineWritesDataAndRaisesEvents(t *testing.T) {
	d := compiled(t, lamp)
	filled := decided(t, d, begun(t, d), says(`{"event":"LOST","data":{"a":1.50,"kept":1}}`)).State
	raised := decided(t, d, filled, says(`{"event":"RAISE"}`))
	if got := js(t, raised.Effects); got != `[{"EventType":"lamp.raised","CaseID":"case-1","Payload":{"a":1.50,"kept":1}}]` {
		t.Errorf("effects are %s", got)
	}
	forgot := decided(t, d, filled, says(`{"event":"FORGET"}`))
	if got := js(t, []any{forgot.State.CollectedData, forgot.State.Provenance}); got != `[{"kept":1},{"kept":{"value":1,"source":"value","confidence":"high","turn":1}}]` {
		t.Errorf("after FORGET: %s", got)
	}
	assigns := compiled(t, strings.Replace(lamp, `{"kept": 1.0}`, `{"new": 7}`, 1))
	wrote := decided(t, assigns, begun(t, assigns), says(`{"event":"FORGET"}`))
	if got := js(t, []any{wrote.State.Provenance, wrote.Record.Provenance, wrote.Meta.CollectedThisTurn}); got !=
		`[{"new":{"value":7,"source":"machine","confidence":"","turn":1}},{"new":{"value":7,"source":"machine","confidence":"","turn":1}},{}]` {
		t.Errorf("what the machine wrote: %s", got)
	}
}

func TestTheSnapshotKeepsWhatIsTheMachinesOwn(t *testing.T) {
	d := compiled(t, lamp)
	state := decided(t, d, begun(t, d), says(`{"data":{"on":true,"held":1}}`)).State
	var snapshot struct {
		Context json.RawMessage `json:"context"`
		Value   json.RawMessage `json:"value"`
	}
	if err := json.Unmarshal(state.Machine, &snapshot); err != nil || string(snapshot.Context) != `{"count":0}` || string(snapshot.Value) != `"on"` {
		t.Errorf("the snapshot is %s, %v", state.Machine, err)
	}
	own := compiled(t, strings.Replace(lamp, `{"count": 0}`, `{"collectedData": {"preset": 1.0}}`, 1))
	if got := js(t, begun(t, own).CollectedData); got != `{"preset":1.0}` {
		t.Errorf("with data of its own it begins with %s", got)
	}
}

func TestAnAgentCanEndTheConversation(t *testing.T) {
	d := compiled(t, lamp)
	ended := func(code string) Reply { r := talks("bye"); r.Ended = code; return r }
	well := decided(t, d, begun(t, d), ended("completedSuccessfully"))
	if got := described(well); got != "off completed 100% none" || well.Status != rondo.ConversationCompleted {
		t.Errorf("an end that went well leads to %s, %s", got, well.Status)
	}
	badly := decided(t, d, begun(t, d), ended("botTimedOut"))
	if got := described(badly); got != "off error 0% text" || badly.Status != rondo.ConversationActive || !badly.Meta.StateChanged {
		t.Errorf("another leads to %s, %s", got, badly.Status)
	}
	if next := decided(t, d, badly.State, talks("again")); next.State.Status != rondo.WorkflowActive {
		t.Errorf("the turn after it is %s", next.State.Status)
	}
}

func TestAGreetingCanEndTheConversation(t *testing.T) {
	d := shipped(t, "default")
	for code, want := range map[string]string{"": "active active", completedSuccessfully: "completed completed", "botIssuedError": "error active"} {
		out, err := d.Start(noon, Reply{Ended: code})
		if got := string(out.State.Status) + " " + string(out.Status); err != nil || got != want {
			t.Errorf("%q: %s, %v; want %s", code, got, err, want)
		}
	}
}
