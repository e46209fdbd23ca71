package turn

import (
	"testing"

	"github.com/rondo-engine/rondo"
)

// older is a record of a version that stored no snapshot.
func older(step string, status rondo.WorkflowStatus) rondo.ConversationState {
	return rondo.ConversationState{WorkflowState: rondo.WorkflowState{Step: step, Status: status, TurnCount: 4}}
}

func TestOlderRecordsGoOnAtTheirStep(t *testing.T) {
	d := compiled(t, `{"name":"deep","steps":["a","b","c"],"signals":[{"when":"payload.go == true","event":"GO"}],"machine":{"type":"parallel","states":{
		"work":{"initial":"a","states":{
			"a":{"on":{"GO":"b"}},
			"b":{"initial":"x","states":{"x":{"on":{"GO":"y"}},"y":{"meta":{"step":"inner"},"on":{"GO":"#end"}},"h":{"type":"history"}}},
			"c":{"id":"end"},
			"twice":{"on":{"GO":"last"}},"p":{"meta":{"step":"twice"},"on":{"GO":"first"}},"q":{"meta":{"step":"twice"},"on":{"GO":"last"}},"first":{},"last":{}}},
		"mood":{"initial":"good","states":{"good":{},"bad":{"meta":{"status":"error"}}}},
		"still":{}}}}`)
	for _, test := range []struct {
		step   string
		status rondo.WorkflowStatus
		want   string
	}{
		{"a", "active", "x active"},
		{"x", "active", "inner active"},
		{"inner", "active", "c active"},
		{"inner", "error", "c error"},
		{"twice", "active", "first active"},
		{"nowhere", "active", "x active"},
		{"", "active", "x active"},
		{"h", "active", "x active"},
		{"y", "active", "x active"},
	} {
		out := decided(t, d, older(test.step, test.status), says(`{"go":true}`))
		if got := out.State.Step + " " + string(out.State.Status); got != test.want || out.State.TurnCount != 5 {
			t.Errorf("from %q %s: reached %s, want %s", test.step, test.status, got, test.want)
		}
		if silent := decided(t, d, older(test.step, test.status), talks("hm")); silent.Record.Handled || silent.Record.Event != "" {
			t.Errorf("from %q: silence is recorded as handled: %s", test.step, js(t, silent.Record))
		}
		if len(out.State.Machine) == 0 {
			t.Errorf("from %q: no snapshot was made", test.step)
		}
	}
}

func TestOlderRecordsOfDefaultKeepStepAndError(t *testing.T) {
	d := shipped(t, "default")
	for _, step := range []string{"initial", "gather_info", "research", "confirm"} {
		if out := decided(t, d, older(step, rondo.WorkflowError), talks("hm")); out.State.Step != step || out.State.Status != rondo.WorkflowError {
			t.Errorf("%s: %s", step, described(out))
		}
		if out := decided(t, d, older(step, rondo.WorkflowActive), says(`{"action":"complete"}`)); out.State.Status != rondo.WorkflowCompleted {
			t.Errorf("%s: %s", step, described(out))
		}
	}
}

func TestOlderRecordsCanEnd(t *testing.T) {
	d := shipped(t, "payment")
	for outcome, want := range map[string]string{"": "abandoned error", "abandoned": "abandoned error", "completed": "completed completed"} {
		before := older("gathering", rondo.WorkflowError)
		before.Timers = []rondo.ConversationTimer{{ID: "x", Kind: rondo.TimerDeadline}}
		out, err := d.End(before, outcome, noon)
		if got := string(out.Status) + " " + string(out.State.Status); err != nil || got != want || out.State.TurnCount != 4 || out.State.Timers != nil {
			t.Errorf("%q: %s, %v, timers %v", outcome, got, err, out.State.Timers)
		}
		if out.Record.Kind != rondo.TurnByEnd || out.Record.From != "gathering" || out.Record.To != "gathering" || len(before.Timers) != 1 {
			t.Errorf("%q: the record is %s", outcome, js(t, out.Record))
		}
	}
	if _, err := d.End(older("gathering", "active"), "won", noon); rondo.CodeOf(err) != rondo.CodeInvalid {
		t.Errorf("another outcome: %v", err)
	}
}
