package flow

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
)

// twoTokens is a running case with two live attempts, left and right.
func twoTokens(t *testing.T) *world {
	t.Helper()
	w := newWorld(compiled(t, []byte(`
name: two
start_step: both
steps:
  both: {kind: parallel, params: {branches: {a: left, b: right}}, transitions: {on_complete: done}}
  left: {kind: no_op, timeout_seconds: 100, transitions: {on_complete: after, on_failure: stop_left}}
  after: {kind: gate_on_consent, params: {types: [x]}, transitions: {on_pass: JOIN, on_fail: JOIN}}
  stop_left: {kind: halt, params: {reason_code: step_failed}}
  right: {kind: credit_check, timeout_seconds: 200, transitions: {on_good: JOIN, on_bad: stop_right}}
  stop_right: {kind: halt, params: {reason_code: step_failed}}
  done: {kind: emit_final, transitions: {on_complete: TERMINAL}}
`)))
	w.say(t, "case.created", w.caseID, `{"patient_id":"p-1"}`)
	return w
}

func (w *world) liveSteps() []string {
	var steps []string
	for _, att := range w.state.Instance.Machine.Live {
		steps = append(steps, att.StepID)
	}
	return steps
}

func (w *world) complete(t *testing.T, stepID, payload string) Decision {
	t.Helper()
	return w.answerStep(t, stepID, w.state.Snapshot.Steps[stepID].Contract.Completed, payload)
}

func (w *world) answerStep(t *testing.T, stepID, eventType, payload string) Decision {
	t.Helper()
	all := w.correlations[stepID]
	e := w.inbound(eventType, all[len(all)-1], json.RawMessage(payload))
	return w.do(t, Event{Envelope: e, Raw: e.Encode()})
}

func TestOneTokenMovesWhileTheOtherWaits(t *testing.T) {
	w := twoTokens(t)
	right := w.state.Instance.Machine.Live[1]
	w.complete(t, "left", `{}`)
	if got, want := w.liveSteps(), []string{"right", "after"}; !slices.Equal(got, want) {
		t.Fatalf("live steps are %v, want %v", got, want)
	}
	if got := w.state.Instance.Machine.Live[0]; got.CorrelationID != right.CorrelationID || !got.TimeoutAt.Equal(right.TimeoutAt) {
		t.Errorf("the other token changed: %+v", got)
	}
}

func TestAHaltInOneTokenKeepsTheOtherOpen(t *testing.T) {
	w := twoTokens(t)
	w.now = w.now.Add(30 * time.Second)
	w.complete(t, "right", `{"score":1}`)
	inst := w.state.Instance
	if inst.Status != rondo.StatusHalted || inst.HaltStepID != "right" {
		t.Fatalf("the case is %s at %s", inst.Status, inst.HaltStepID)
	}
	if left := inst.Machine.Live[0]; left.StepID != "left" || left.Remaining != 70*time.Second {
		t.Fatalf("the other token is %+v, want left with 70s left", left)
	}
	if d := w.complete(t, "left", `{}`); d.Event.Outcome != rondo.OutcomeParked {
		t.Fatalf("the other token's answer was %s", d.Event.Outcome)
	}
	d := w.do(t, Command{Action: ActionResume, By: "ann"})
	if len(d.Rejudged) != 1 || d.Rejudged[0].Outcome != rondo.OutcomeApplied {
		t.Errorf("the parked answer became %+v", d.Rejudged)
	}
	if got, want := w.liveSteps(), []string{"after", "right"}; !slices.Equal(got, want) || w.state.Instance.Machine.Live[1].Number != 2 {
		t.Errorf("live steps are %v, want %v, the second at attempt 2", got, want)
	}
}

func TestResumeAsksOnlyTheHaltedStepAgain(t *testing.T) {
	w := twoTokens(t)
	right := w.state.Instance.Machine.Live[1]
	w.now = w.now.Add(30 * time.Second)
	w.do(t, Command{Action: ActionHalt, By: "ann"})
	w.now = w.now.Add(time.Hour)
	d := w.do(t, Command{Action: ActionResume, By: "ann"})
	if len(d.Steps) != 1 || d.Steps[0].StepID != "left" || d.Steps[0].Status != rondo.StepSkipped || string(d.Steps[0].Error) != `{"code":"resumed"}` {
		t.Errorf("rows are %+v, want left skipped as resumed", d.Steps)
	}
	live := w.state.Instance.Machine.Live
	if got, want := w.liveSteps(), []string{"left", "right"}; !slices.Equal(got, want) || live[0].Number != 2 {
		t.Fatalf("live steps are %v, want %v, the first at attempt 2", got, want)
	}
	if live[1].CorrelationID != right.CorrelationID || !live[1].TimeoutAt.Equal(w.now.Add(170*time.Second)) || live[1].Remaining != 0 {
		t.Errorf("right is %+v, want the same attempt with 170s left", live[1])
	}
}

// A parked answer of one token halts the case anew while it is being resumed:
// the token that the first halt goes back to must not be lost.
func TestResumeThatHaltsAgainKeepsEveryToken(t *testing.T) {
	w := twoTokens(t)
	w.answerStep(t, "right", "ext.credit.failed", `{}`) // halts at right, which has no open row now
	w.answerStep(t, "left", "ext.noop.completed", `{"note":5}`)
	w.do(t, Command{Action: ActionResume, By: "ann"})
	inst := w.state.Instance
	if inst.Status != rondo.StatusHalted || inst.HaltStepID != "left" {
		t.Fatalf("the case is %s at %s, want halted at left", inst.Status, inst.HaltStepID)
	}
	if got, want := w.liveSteps(), []string{"right"}; !slices.Equal(got, want) {
		t.Fatalf("live steps are %v, want %v", got, want)
	}
	w.do(t, Command{Action: ActionResume, By: "ann"})
	w.now = w.now.Add(time.Second)
	w.do(t, Timer{})
	live := w.state.Instance.Machine.Live
	slices.SortFunc(live, func(a, b rondo.Attempt) int { return len(a.StepID) - len(b.StepID) })
	if len(live) != 2 || live[0].Status != rondo.StepInProgress || live[1].Status != rondo.StepInProgress {
		t.Fatalf("live attempts are %+v, want both in progress", live)
	}
}
