package turn

import (
	"testing"

	"github.com/rondo-engine/rondo"
)

// Each step of a test is what one answer gives for the field x, and where it was
// found: in value (high) or in text (low). Wanted is the value after it, and ! when
// the change is held back.
func TestDataIsMergedByPolicy(t *testing.T) {
	type step struct{ value, where, want string }
	for policy, steps := range map[string][]step{
		"latest":             {{"1", "value", "1"}, {"2", "text", "2"}, {"null", "value", "null"}},
		"highest_confidence": {{"1", "text", "1"}, {"2", "value", "2"}, {"3", "text", "2"}, {"4", "value", "4"}},
		"append":             {{"1", "value", "[1]"}, {"[2,3]", "text", "[1,2,3]"}, {"[]", "value", "[1,2,3]"}, {"1", "value", "[1,2,3,1]"}},
		"confirm_on_change":  {{"1", "value", "1"}, {"2", "value", "1!"}, {"2.0", "text", "2.0"}, {"3", "value", "2.0!"}, {"4", "value", "2.0!"}, {"3", "value", "2.0!"}, {"2", "value", "2"}, {"3", "value", "2!"}, {"3", "value", "3"}},
	} {
		d := compiled(t, small(`"merge":{"default":"append","fields":{"x":"`+policy+`"}}`))
		state := begun(t, d)
		for i, s := range steps {
			reply := says(`{"data":{"x":` + s.value + `}}`)
			if s.where == "text" {
				reply = talks(`{"data":{"x":` + s.value + `}}`)
			}
			out := decided(t, d, state, reply)
			state = out.State
			got := string(state.CollectedData["x"])
			if len(out.Record.Unconfirmed) > 0 {
				got += "!"
			}
			if got != s.want {
				t.Errorf("%s, turn %d: x is %s, want %s", policy, i+1, got, s.want)
			}
			if string(state.Provenance["x"].Value) != string(state.CollectedData["x"]) {
				t.Errorf("%s, turn %d: the provenance is of %s", policy, i+1, state.Provenance["x"].Value)
			}
		}
	}
}

func TestOnlyNestedDataIsCollectedWithItsProvenance(t *testing.T) {
	d := compiled(t, small())
	first := decided(t, d, begun(t, d), says(`{"action":"ask","name":"no","data":{"name":"Al","n":1.50}}`))
	second := decided(t, d, first.State, talks(`{"data":{"age":40,"name":"Alice"}}`))
	if got := js(t, second.State.CollectedData); got != `{"age":40,"n":1.50,"name":"Alice"}` {
		t.Errorf("collected is %s", got)
	}
	if got := js(t, second.State.Provenance); got != `{"age":{"value":40,"source":"text","confidence":"low","turn":2},`+
		`"n":{"value":1.50,"source":"value","confidence":"high","turn":1},`+
		`"name":{"value":"Alice","source":"text","confidence":"low","turn":2}}` {
		t.Errorf("provenance is %s", got)
	}
	if got := js(t, second.Meta); got != `{"turnNumber":2,"stateChanged":true,"collectedThisTurn":{"age":40,"name":"Alice"}}` {
		t.Errorf("meta is %s", got)
	}
	if len(second.Record.Provenance) != 2 {
		t.Errorf("the record has the provenance of %v", second.Record.Provenance)
	}
	for name, reply := range map[string]Reply{"talk": talks("hm"), "broken": says(`{"action":"dance","data":{"name":"Bob"}}`), "empty": says(`{"data":{}}`)} {
		third := decided(t, d, second.State, reply)
		if got := js(t, third.Meta); got != `{"turnNumber":3,"stateChanged":false,"collectedThisTurn":{}}` {
			t.Errorf("%s: meta is %s", name, got)
		}
		if !sameMembers(third.State.CollectedData, second.State.CollectedData) {
			t.Errorf("%s: the data changed to %s", name, js(t, third.State.CollectedData))
		}
	}
}

func TestDataOfUnknownOriginYields(t *testing.T) {
	d := compiled(t, small(`"merge":{"default":"highest_confidence"}`))
	older := rondo.ConversationState{WorkflowState: rondo.WorkflowState{Step: "a", Status: rondo.WorkflowActive, CollectedData: at("", 0, `{"x":1}`).CollectedData}}
	if out := decided(t, d, older, talks(`{"data":{"x":2}}`)); string(out.State.CollectedData["x"]) != "2" {
		t.Errorf("x is %s", out.State.CollectedData["x"])
	}
}
