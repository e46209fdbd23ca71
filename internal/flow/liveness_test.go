package flow

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
)

// lively is a case with one open attempt of every behaviour that waits.
func lively(t *testing.T) *world {
	t.Helper()
	w := newWorld(compiled(t, []byte(`
name: lively
start_step: all
steps:
  all: {kind: parallel, timeout_seconds: 500, params: {branches: {a: ask, b: backoff, c: pause, d: paid, e: person, f: open_end}}, transitions: {on_complete: done}}
  ask: {kind: no_op, timeout_seconds: 100, transitions: {on_complete: JOIN}}
  backoff: {kind: credit_check, timeout_seconds: 100, max_retries: 3, retry_backoff: fixed, transitions: {on_good: JOIN, on_bad: JOIN}}
  pause: {kind: delay, params: {seconds: 200}, transitions: {on_complete: JOIN}}
  paid: {kind: wait_for_event, timeout_seconds: 300, params: {event_type: ext.paid}, transitions: {on_event: JOIN}}
  person: {kind: manual, timeout_seconds: 400, params: {title: t, outcomes: [ok]}, transitions: {ok: JOIN}}
  open_end: {kind: wait_for_event, params: {event_type: ext.later}, transitions: {on_event: JOIN}}
  done: {kind: emit_final, transitions: {on_complete: TERMINAL}}
`)))
	w.say(t, event.TypeCaseCreated, w.caseID, `{}`)
	w.answerStep(t, "backoff", "ext.credit.failed", `{"retryable":true}`)
	return w
}

// open finds the open attempt at a step.
func (w *world) open(t *testing.T, stepID string) *rondo.Attempt {
	t.Helper()
	machine := &w.state.Instance.Machine
	for k := range machine.Forks {
		if machine.Forks[k].Attempt.StepID == stepID {
			return &machine.Forks[k].Attempt
		}
	}
	for i := range machine.Live {
		if machine.Live[i].StepID == stepID {
			return &machine.Live[i]
		}
	}
	t.Fatalf("nothing is open at %s", stepID)
	return nil
}

func TestWhateverLosesItsWakeUpIsFoundAndHealed(t *testing.T) {
	after := func(seconds int) time.Time { return epoch.Add(time.Duration(seconds) * time.Second) }
	lose := func(stepID string, forget func(*rondo.Attempt)) func(*testing.T, *world) {
		return func(t *testing.T, w *world) { forget(w.open(t, stepID)) }
	}
	noTimeout := func(att *rondo.Attempt) { att.TimeoutAt = time.Time{} }
	noDue := func(att *rondo.Attempt) { att.DueAt = time.Time{} }
	for name, tc := range map[string]struct {
		breaks func(*testing.T, *world)
		flaws  []Flaw
		armed  func(*testing.T, *world) (got, want time.Time)
	}{
		"a request that would never be asked again": {
			lose("ask", func(att *rondo.Attempt) { att.ResendAt = time.Time{} }),
			[]Flaw{{"ask", FlawResend}},
			func(t *testing.T, w *world) (time.Time, time.Time) { return w.open(t, "ask").ResendAt, after(60) },
		},
		"a request that would never time out": {
			lose("ask", noTimeout),
			[]Flaw{{"ask", FlawTimeout}},
			func(t *testing.T, w *world) (time.Time, time.Time) { return w.open(t, "ask").TimeoutAt, after(100) },
		},
		"an attempt that would never leave its backoff": { // it starts at once
			lose("backoff", noDue),
			[]Flaw{{"backoff", FlawDue}},
			func(t *testing.T, w *world) (time.Time, time.Time) { return w.open(t, "backoff").TimeoutAt, after(101) },
		},
		"a delay that would never end": {
			lose("pause", noDue),
			[]Flaw{{"pause", FlawDue}},
			func(t *testing.T, w *world) (time.Time, time.Time) { return w.open(t, "pause").DueAt, after(200) },
		},
		"a wait that would never time out": {
			lose("paid", noTimeout),
			[]Flaw{{"paid", FlawTimeout}},
			func(t *testing.T, w *world) (time.Time, time.Time) { return w.open(t, "paid").TimeoutAt, after(300) },
		},
		"a person who would be waited for without end": {
			lose("person", noTimeout),
			[]Flaw{{"person", FlawTimeout}},
			func(t *testing.T, w *world) (time.Time, time.Time) { return w.open(t, "person").TimeoutAt, after(400) },
		},
		"a fork that would never time out": {
			lose("all", noTimeout),
			[]Flaw{{"all", FlawTimeout}},
			func(t *testing.T, w *world) (time.Time, time.Time) { return w.open(t, "all").TimeoutAt, after(500) },
		},
		"an attempt that was not armed again after a halt": {
			lose("paid", func(att *rondo.Attempt) { att.TimeoutAt, att.Remaining = time.Time{}, 7*time.Second }),
			[]Flaw{{"paid", FlawTimeout}},
			func(t *testing.T, w *world) (time.Time, time.Time) { return w.open(t, "paid").TimeoutAt, after(8) },
		},
		"a case that nobody would look at": {
			func(_ *testing.T, w *world) { w.state.Instance.WakeAt = time.Time{} },
			[]Flaw{{"", FlawWake}},
			func(_ *testing.T, w *world) (time.Time, time.Time) { return w.state.Instance.WakeAt, after(5) },
		},
		"a case that would be looked at too late": {
			func(_ *testing.T, w *world) { w.state.Instance.WakeAt = after(6) },
			[]Flaw{{"", FlawWake}},
			func(_ *testing.T, w *world) (time.Time, time.Time) { return w.state.Instance.WakeAt, after(5) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := lively(t)
			if flaws := Unarmed(w.state.Instance, w.state.Snapshot); len(flaws) > 0 {
				t.Fatalf("a healthy case has %+v", flaws)
			}
			tc.breaks(t, w)
			if diff := cmp.Diff(tc.flaws, Unarmed(w.state.Instance, w.state.Snapshot)); diff != "" {
				t.Fatalf("flaws (-want +got):\n%s", diff)
			}
			w.now = epoch.Add(time.Second)
			if d := w.do(t, Timer{Heal: true}); d.Healed != len(tc.flaws) {
				t.Errorf("healed %d", d.Healed)
			}
			if got, want := tc.armed(t, w); !got.Equal(want) {
				t.Errorf("armed for %s, want %s", clock(got), clock(want))
			}
		})
	}
}

func TestATimeoutThatWasLostIsNotForgiven(t *testing.T) {
	w := lively(t)
	w.open(t, "paid").TimeoutAt = time.Time{}
	w.now = epoch.Add(301 * time.Second)
	d := w.do(t, Timer{Heal: true})
	if !slices.ContainsFunc(w.rows, func(row rondo.Step) bool { return row.StepID == "ask" && row.Status == rondo.StepTimedOut }) {
		t.Fatalf("what was due first did not happen first: %+v", d.Steps)
	}
	if w.state.Instance.Status != rondo.StatusHalted || w.open(t, "paid").Remaining == 0 {
		t.Errorf("the case is %s, the wait has %s left", w.state.Instance.Status, w.open(t, "paid").Remaining)
	}
}

func TestARunningCaseWithNothingInFlightIsHalted(t *testing.T) {
	w := newWorld(compiled(t, chain(2)))
	w.say(t, event.TypeCaseCreated, w.caseID, `{}`)
	live := w.state.Instance.Machine.Live
	w.state.Instance.Machine.Live = nil
	flaws := Unarmed(w.state.Instance, w.state.Snapshot)
	if !slices.Contains(flaws, Flaw{What: FlawToken}) {
		t.Fatalf("flaws are %+v", flaws)
	}
	d := Decide(w.state, Timer{Heal: true}, w.env())
	if d.Healed != len(flaws) || d.Instance.Status != rondo.StatusHalted || d.Instance.HaltStepID != live[0].StepID {
		t.Errorf("healed %d; the case is %s at %s", d.Healed, d.Instance.Status, d.Instance.HaltStepID)
	}
}

func TestAHealthyCaseIsLeftAlone(t *testing.T) {
	w := lively(t)
	for range 2 { // also when it is halted
		before := openAttempts(w.state.Instance)
		if d := w.do(t, Timer{Heal: true}); d.Healed != 0 || !cmp.Equal(before, openAttempts(w.state.Instance)) {
			t.Errorf("healed %d: %+v", d.Healed, openAttempts(w.state.Instance))
		}
		w.do(t, Command{Action: ActionHalt, By: "ann"})
	}
	w.do(t, Command{Action: ActionCancel, By: "ann"})
	if flaws := Unarmed(w.state.Instance, w.state.Snapshot); len(flaws) > 0 {
		t.Errorf("an ended case has %+v", flaws)
	}
}

// A branch that lost its token, which no input can cause, must not leave the
// case waiting for a join that cannot come.
func TestAForkThatCannotJoinAnyMoreHaltsTheCase(t *testing.T) {
	w := lively(t)
	machine := &w.state.Instance.Machine
	machine.Live = slices.DeleteFunc(machine.Live, func(att rondo.Attempt) bool { return att.StepID == "open_end" })
	d := Decide(w.state, Timer{Resend: true}, func() Env { w.now = w.now.Add(time.Second); return w.env() }())
	if d.Instance.Status != rondo.StatusHalted || d.Instance.HaltReason != haltStepFailed || d.Instance.HaltStepID != "all" {
		t.Fatalf("the case is %s for %s at %s", d.Instance.Status, d.Instance.HaltReason, d.Instance.HaltStepID)
	}
	if len(d.Instance.Machine.Live)+len(d.Instance.Machine.Forks) > 0 {
		t.Errorf("something is still open: %+v", d.Instance.Machine)
	}
	last := d.Steps[len(d.Steps)-1]
	if last.StepID != "all" || last.Status != rondo.StepFailed || string(last.Error) != `{"code":"step_failed","message":"too few branches can still join"}` {
		t.Errorf("the fork's row is %+v", last)
	}
}
