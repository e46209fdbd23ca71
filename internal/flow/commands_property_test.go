package flow

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/definition"
)

// wide waits in every way there is, in branches within branches.
const wide = `
name: wide
workflow_timeout_seconds: 9000
start_step: first
steps:
  first: {kind: credit_check, params: {mark: a}, timeout_seconds: 600, max_retries: 2, transitions: {on_good: both, on_bad: stop, on_failure: both}}
  both: {kind: parallel, timeout_seconds: 5000, params: {branches: {a: ask, b: inner, c: hear}, join: {at_least: 2}}, transitions: {on_complete: review, on_timeout: review}}
  ask: {kind: no_op, max_retries: 1, retry_on_timeout: true, timeout_seconds: 300, transitions: {on_complete: fork_check}}
  fork_check: {kind: condition, expr: first.level < 3, transitions: {on_true: JOIN, on_false: fork_stop}}
  fork_stop: {kind: halt, params: {reason_code: step_failed}}
  inner: {kind: parallel, params: {branches: {d: sleep, e: person}, join: any}, transitions: {on_complete: JOIN}}
  sleep: {kind: delay, params: {seconds: 400}, transitions: {on_complete: JOIN}}
  person: {kind: manual, timeout_seconds: 500, params: {title: Look, outcomes: [fine, bad]}, transitions: {fine: JOIN, bad: inner_stop}}
  inner_stop: {kind: halt, params: {reason_code: step_failed}}
  hear: {kind: wait_for_event, timeout_seconds: 700, params: {event_type: ext.heard, match: "event.payload.loud"}, transitions: {on_event: JOIN}}
  review: {kind: request_human_review, params: {tier: sa_qa}, transitions: {on_complete: done}}
  done: {kind: emit_final, transitions: {on_complete: TERMINAL}}
  stop: {kind: halt, params: {reason_code: step_failed}}
`

// wider is the next version: steps added, removed, renamed and changed.
const wider = `
name: wider
workflow_timeout_seconds: 9000
start_step: credit
steps:
  credit: {kind: credit_check, params: {mark: b}, max_retries: 1, transitions: {on_good: gate, on_bad: stop, on_failure: gate}}
  gate: {kind: gate_on_consent, params: {types: [x]}, transitions: {on_pass: both, on_fail: stop}}
  both: {kind: parallel, params: {branches: {a: ask, b: inner, c: hear}}, transitions: {on_complete: review}}
  ask: {kind: no_op, max_retries: 1, transitions: {on_complete: JOIN}}
  inner: {kind: parallel, params: {branches: {d: sleep, e: person}, join: any}, transitions: {on_complete: JOIN}}
  sleep: {kind: delay, params: {seconds: 40}, transitions: {on_complete: after_sleep}}
  after_sleep: {kind: no_op, transitions: {on_complete: JOIN}}
  person: {kind: manual, params: {title: Look, outcomes: [fine]}, transitions: {fine: JOIN}}
  hear: {kind: wait_for_event, params: {event_type: ext.heard}, transitions: {on_event: JOIN}}
  review: {kind: request_human_review, params: {tier: sa_qa}, timeout_seconds: 50, transitions: {on_complete: done}}
  done: {kind: emit_final, transitions: {on_complete: TERMINAL}}
  stop: {kind: halt, params: {reason_code: step_failed}}
`

// TestNoCommandBreaksTheMachine lets people do anything at any time to a case
// that waits in every way. The world checks after each decision what must always
// hold; the same inputs must lead to the same end; and a migration must do what
// its plan said.
func TestNoCommandBreaksTheMachine(t *testing.T) {
	first, second := compiled(t, []byte(wide)), compiled(t, []byte(wider))
	reached := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(first)
		w.target = &Start{DefinitionID: namedID(9, 2), Snapshot: second}
		var inputs []timedInput
		w.do(t, w.opening(t))
		for range rapid.IntRange(1, 40).Draw(t, "inputs") {
			w.now = w.now.Add(time.Duration(rapid.SampledFrom([]int{0, 0, 1, 5, 60, 400}).Draw(t, "seconds")) * time.Second)
			in := w.anything(t)
			inputs = append(inputs, timedInput{w.now, in})
			before := w.state
			d := w.do(t, in)
			w.checkPlan(t, before, in, d)
			count(reached, d)
			countCommand(reached, in, d)
		}
		again := newWorld(first)
		again.target = w.target
		again.do(t, w.opened())
		for _, in := range inputs {
			again.now = in.at
			again.do(t, in.input)
		}
		if diff := cmp.Diff(w.everything(), again.everything()); diff != "" {
			t.Fatalf("the same inputs led elsewhere (-first +again):\n%s", diff)
		}
	})
	for _, way := range []string{
		"completed", "halted", "cancelled", "retried", "parked", "skipped", "retry_step", "skip_step", "complete_step",
		"set_mode", "supersede", "migrate", "resume", "refused retry_step", "refused skip_step", "refused complete_step", "refused migrate",
	} {
		if reached[way] == 0 {
			t.Errorf("no run ever reached %q: %v", way, reached)
		}
	}
}

// opening creates the case; opened is the same event again.
func (w *world) opening(t *rapid.T) Input {
	payload := rapid.SampledFrom([]string{`{"patient_id":"p"}`, `{"patient_id":"p","orchestration_mode":"client_driven"}`}).Draw(t, "created")
	e := w.inbound(event.TypeCaseCreated, w.caseID, json.RawMessage(payload))
	return Event{Envelope: e, Raw: e.Encode()}
}

func (w *world) opened() Input {
	return Event{Envelope: envelopeOf(w.ledger[0].Envelope), Raw: w.ledger[0].Envelope}
}

func countCommand(reached map[string]int, in Input, d Decision) {
	c, ok := in.(Command)
	switch {
	case !ok:
	case d.Refused != nil:
		reached["refused "+c.Action]++
	default:
		reached[c.Action]++
	}
}

// checkPlan: a migration moves exactly when its plan says so, asks nobody, and
// keeps every open attempt.
func (w *world) checkPlan(t *rapid.T, before State, in Input, d Decision) {
	c, ok := in.(Command)
	if !ok || c.Action != string(rondo.ActionMigrate) || before.Instance.Status.Terminal() || !w.now.Before(before.Instance.DeadlineAt) || before.Instance.SnapshotHash == c.Target.Snapshot.Hash {
		return
	}
	plan := PlanMigration(before.Instance, before.Snapshot, c.Target.Snapshot, c.StepMap)
	if moves := plan.Verdict == MigrationMoves; moves != (d.Refused == nil) {
		t.Fatalf("the plan says %s (%s), migrating says %v", plan.Verdict, plan.Reason, d.Refused)
	}
	if d.Refused != nil || len(d.Rejudged) > 0 {
		return
	}
	if len(d.Outbox) != 1 || len(d.Steps) > 0 {
		t.Fatalf("migrating did more than migrate: %+v %+v", d.Outbox, d.Steps)
	}
	goes := map[string]string{}
	for _, s := range plan.Steps {
		goes[s.From] = s.To
	}
	for i, was := range before.Instance.Machine.Live {
		is := d.Instance.Machine.Live[i]
		if is.StepID != goes[was.StepID] || is.CorrelationID != was.CorrelationID || is.Number != was.Number || is.RowID != was.RowID {
			t.Fatalf("the plan sends %s to %s, the attempt is %+v", was.StepID, goes[was.StepID], is)
		}
	}
}

// anything is what happens next: a command, an answer, a timer or noise.
func (w *world) anything(t *rapid.T) Input {
	inst := w.state.Instance
	switch n := rapid.IntRange(0, 9).Draw(t, "what"); {
	case n < 4:
		return w.anyCommand(t)
	case n == 4:
		return Timer{Resend: rapid.Bool().Draw(t, "lost")}
	case n == 5 || len(inst.Machine.Live) == 0:
		return w.randomEvent(t, rapid.SampledFrom([]string{"ext.heard", event.TypeHumanReviewCompleted, "ext.credit.completed"}).Draw(t, "type"), w.randomCorrelation(t))
	}
	att := rapid.SampledFrom(inst.Machine.Live).Draw(t, "live")
	step := w.state.Snapshot.Steps[att.StepID]
	switch step.Contract.Behaviour {
	case definition.BehaviourWait:
		e := w.inbound("ext.heard", "c-1", json.RawMessage(rapid.SampledFrom([]string{`{"loud":true}`, `{"loud":false}`, `{"loud":7}`}).Draw(t, "heard")))
		return Event{Envelope: e, Raw: e.Encode()}
	case definition.BehaviourManual:
		return Command{Action: string(rondo.ActionCompleteStep), By: "ann", StepID: att.StepID, Outcome: rapid.SampledFrom([]string{"fine", "bad"}).Draw(t, "outcome")}
	case definition.BehaviourRequest:
		eventType := step.Contract.Completed
		if rapid.IntRange(0, 3).Draw(t, "fails") == 0 {
			eventType = step.Contract.Failed
		}
		return w.randomEvent(t, eventType, att.CorrelationID)
	}
	return Timer{}
}

func (w *world) anyCommand(t *rapid.T) Command {
	inst := w.state.Instance
	action := rapid.SampledFrom([]rondo.ActionName{
		rondo.ActionHalt, rondo.ActionResume, rondo.ActionResume, rondo.ActionRetryStep, rondo.ActionRetryStep, rondo.ActionSkipStep, rondo.ActionSkipStep,
		rondo.ActionSkipStep, rondo.ActionCompleteStep, rondo.ActionSetMode, rondo.ActionMigrate, rondo.ActionMigrate, rondo.ActionSupersede, rondo.ActionCancel,
	}).Draw(t, "action")
	if action == rondo.ActionCancel && rapid.IntRange(0, 3).Draw(t, "really") > 0 {
		action = rondo.ActionResume
	}
	c := Command{Action: string(action), By: "ann", Reason: "because"}
	steps := []string{"", "nowhere", inst.HaltStepID}
	for _, att := range inst.Machine.Live {
		steps = append(steps, att.StepID, att.StepID)
	}
	for _, fork := range inst.Machine.Forks {
		steps = append(steps, fork.Attempt.StepID)
	}
	switch action {
	case rondo.ActionRetryStep:
		c.StepID = rapid.SampledFrom(steps).Draw(t, "step")
		c.Input = rapid.SampledFrom([]json.RawMessage{nil, nil, json.RawMessage(`{"mark":"z"}`), json.RawMessage(`{"tier":7}`), json.RawMessage(`[]`)}).Draw(t, "override")
	case rondo.ActionSkipStep, rondo.ActionCompleteStep:
		c.StepID = rapid.SampledFrom(steps).Draw(t, "step")
		outcomes := []string{"on_nothing", "fine"}
		if step := w.state.Snapshot.Steps[c.StepID]; step != nil {
			outcomes = append(outcomes, slices.Sorted(maps.Keys(step.Transitions))...)
		}
		c.Outcome = rapid.SampledFrom(outcomes).Draw(t, "outcome")
		c.Output = rapid.SampledFrom([]json.RawMessage{nil, nil, json.RawMessage(`{"score": 60, "level": 1}`), json.RawMessage(`{}`), json.RawMessage(`7`)}).Draw(t, "output")
	case rondo.ActionSetMode, rondo.ActionSupersede:
		c.Mode = rapid.SampledFrom([]rondo.Mode{rondo.ModeActive, rondo.ModeClientDriven, ""}).Draw(t, "mode")
	case rondo.ActionMigrate:
		c.Target = w.target
		c.StepMap = rapid.SampledFrom([]map[string]string{nil, {"first": "credit"}, {"first": "credit"}, {"first": "gate"}, {"ask": "after_sleep"}, {"first": "nowhere"}}).Draw(t, "map")
	default:
	}
	return c
}
