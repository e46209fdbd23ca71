package explain_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/definition"
	"github.com/rondo-engine/rondo/internal/flow"
)

// TestActionsAreThoseThatTheMachineAllows asks the machine for every action on
// every step of every world and compares with what people are told.
func TestActionsAreThoseThatTheMachineAllows(t *testing.T) {
	t.Parallel()
	for name, world := range worlds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, world.source)
			world.play(w)
			f := w.seen()
			told := map[string]bool{}
			for _, a := range f.Why().Actions {
				step := ""
				switch rondo.ActionName(a.Action) {
				case rondo.ActionRetryStep, rondo.ActionSkipStep, rondo.ActionCompleteStep:
					step = " " + string(a.StepID)
				}
				if told[a.Action+step] {
					t.Errorf("%s%s is told twice", a.Action, step)
				}
				told[a.Action+step] = true
			}
			allowed := map[string]bool{}
			try := func(key string, c flow.Command) {
				c.By = "ann"
				d := flow.Decide(w.state, c, flow.Env{
					Now: f.Now, NewID: func() rondo.ID { w.made++; return named(1, w.made) }, Known: event.Known,
				})
				if d.Refused == nil {
					allowed[key] = true
				}
			}
			other := rondo.ModeActive
			if f.Instance.Mode == other {
				other = rondo.ModeClientDriven
			}
			try("halt", flow.Command{Action: "halt", ReasonCode: "manual_halt"})
			try("resume", flow.Command{Action: "resume", Reason: "x"})
			try("cancel", flow.Command{Action: "cancel", Reason: "x"})
			try("supersede", flow.Command{Action: "supersede", Reason: "x"})
			try("set_mode", flow.Command{Action: "set_mode", Reason: "x", Mode: other})
			target := *w.state.Snapshot
			target.Hash = "another"
			try("migrate", flow.Command{Action: "migrate", Reason: "x", Target: &flow.Start{DefinitionID: named(9, 2), Snapshot: &target}})
			for id, step := range f.Snapshot.Steps {
				try("retry_step "+id, flow.Command{Action: "retry_step", StepID: id, Reason: "x"})
				for outcome := range step.Transitions {
					try("skip_step "+id, flow.Command{Action: "skip_step", StepID: id, Outcome: outcome, Reason: "x", Output: goodOutput(step)})
					if step.Manual != nil {
						try("complete_step "+id, flow.Command{Action: "complete_step", StepID: id, Outcome: outcome})
					}
				}
			}
			if diff := cmp.Diff(slices.Sorted(maps.Keys(allowed)), slices.Sorted(maps.Keys(told))); diff != "" {
				t.Errorf("actions (-allowed +told):\n%s", diff)
			}
		})
	}
}

// goodOutput is an output that the step's kind takes.
func goodOutput(step *definition.Step) []byte {
	switch step.Kind {
	case "gate_on_consent":
		return []byte(`{"granted":true,"missing_types":[]}`)
	case "require_images":
		return []byte(`{"count":3,"passed":true,"image_ids":[]}`)
	case "run_ai_review":
		return []byte(`{"confidence":0.9,"diagnoses":[],"raw_response_id":"r"}`)
	}
	return nil
}
