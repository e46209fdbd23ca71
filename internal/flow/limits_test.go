package flow

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
)

// chain is a definition of n steps in a row that take any output.
func chain(n int) []byte {
	var source strings.Builder
	source.WriteString("name: chain\nstart_step: step_1\nsteps:\n")
	for i := 1; i <= n; i++ {
		next := fmt.Sprintf("step_%d", i+1)
		if i == n {
			next = "done"
		}
		fmt.Fprintf(&source, "  step_%d: {kind: no_op, timeout_seconds: 60, max_retries: 3, transitions: {on_complete: %s}}\n", i, next)
	}
	source.WriteString("  done: {kind: emit_final, transitions: {on_complete: TERMINAL}}\n")
	return []byte(source.String())
}

func TestAnOutputThatIsTooLargeBreaksTheContract(t *testing.T) {
	w := newWorld(compiled(t, chain(1)))
	w.say(t, event.TypeCaseCreated, w.caseID, `{}`)
	d := w.complete(t, "step_1", `{"note":"`+strings.Repeat("x", MaxOutput)+`"}`)
	if d.Instance.HaltReason != haltContractViolation || d.Steps[0].Output != nil {
		t.Errorf("the case is %s for %q", d.Instance.Status, d.Instance.HaltReason)
	}
}

func TestAContextThatGrowsTooLargeBreaksTheContract(t *testing.T) {
	w := newWorld(compiled(t, chain(5)))
	w.say(t, event.TypeCaseCreated, w.caseID, `{}`)
	large := `{"note":"` + strings.Repeat("x", MaxOutput-100) + `"}`
	for i := 1; i <= 3; i++ {
		if d := w.complete(t, fmt.Sprintf("step_%d", i), large); d.Instance.Status != rondo.StatusRunning {
			t.Fatalf("output %d: the case is %s for %q", i, d.Instance.Status, d.Instance.HaltReason)
		}
	}
	w.complete(t, "step_4", large)
	d := w.complete(t, "step_5", large)
	if d.Instance.Status != rondo.StatusHalted || d.Instance.HaltReason != haltContractViolation {
		t.Errorf("the case is %s for %q", d.Instance.Status, d.Instance.HaltReason)
	}
	size := 0
	for name, value := range d.Instance.Context {
		size += len(name) + len(value)
	}
	if size > MaxContext {
		t.Errorf("the context has %d bytes", size)
	}
}

func TestACaseThatBeginsTooLargeIsRejected(t *testing.T) {
	w := newWorld(compiled(t, chain(1)))
	d := w.say(t, event.TypeCaseCreated, w.caseID, `{"metadata":{"note":"`+strings.Repeat("x", MaxContext/2)+`"}}`)
	if d.Event.Outcome != rondo.OutcomeRejected || d.Instance != nil {
		t.Errorf("the event is %s", d.Event.Outcome)
	}
}

func TestAnEventOfAnotherCaseIsRejected(t *testing.T) {
	w := newWorld(compiled(t, chain(1)))
	w.say(t, event.TypeCaseCreated, w.caseID, `{}`)
	e := w.inbound("ext.noop.completed", w.correlations["step_1"][0], []byte(`{}`))
	e.OrgID = "org-2"
	d := Decide(w.state, Event{Envelope: e, Raw: e.Encode()}, w.env())
	if d.Event.Outcome != rondo.OutcomeRejected || d.Instance != nil || len(d.Steps) > 0 {
		t.Errorf("decided %+v", d)
	}
}

func TestInputsMayBeGivenByReference(t *testing.T) {
	w := newWorld(compiled(t, chain(1)))
	created := w.inbound(event.TypeCaseCreated, w.caseID, []byte(`{}`))
	in := Event{Envelope: created, Raw: created.Encode()}
	first := *w
	byValue := Decide(first.state, in, first.env())
	second := *w
	byReference := Decide(second.state, &in, second.env())
	if diff := cmp.Diff(byValue, byReference, cmpopts.EquateErrors()); diff != "" {
		t.Errorf("decisions differ (-value +reference):\n%s", diff)
	}
	w.do(t, in)
	if d := Decide(w.state, &Command{Action: ActionCancel, By: "ann"}, w.env()); d.Instance == nil || d.Instance.Status != rondo.StatusCancelled {
		t.Errorf("decided %+v", d)
	}
	w.now = w.now.Add(firstResend)
	if d := Decide(w.state, &Timer{}, w.env()); d.Instance == nil {
		t.Error("the timer did nothing")
	}
}
