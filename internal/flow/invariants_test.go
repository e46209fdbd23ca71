package flow

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/definition"
)

// checkChange checks one decision against the instance it was made from.
func (w *world) checkChange(t fataler, before *rondo.Instance, d Decision) {
	t.Helper()
	after := d.Instance
	for _, out := range d.Outbox {
		if len(out.Envelope) > event.MaxPublishedBytes {
			t.Fatalf("%s has %d bytes", out.Stream, len(out.Envelope))
		}
	}
	if before != nil && before.Status.Terminal() {
		for _, out := range d.Outbox {
			if !out.InstanceID.IsZero() {
				t.Fatalf("an ended instance sends %s", out.Stream)
			}
		}
	}
	switch {
	case d.Replaced != nil:
		if before == nil || !d.Created || after == nil || after.Version != 1 || d.Replaced.ID != before.ID || d.Replaced.Version != before.Version+1 {
			t.Fatalf("an instance is replaced by %+v", after)
		}
		return
	case after == nil:
		if len(d.Steps) > 0 {
			t.Fatalf("step rows without a change of the instance: %+v", d.Steps)
		}
		return
	case before == nil:
		if !d.Created || after.Version != 1 {
			t.Fatalf("a new instance must be marked as created and have version 1, got %v and %d", d.Created, after.Version)
		}
		return
	case before.Status.Terminal():
		t.Fatalf("a terminal instance changed: %+v", after)
	case d.Created, after.Version != before.Version+1:
		t.Fatalf("version went from %d to %d", before.Version, after.Version)
	}
	for _, out := range d.Outbox {
		if out.InstanceID != after.ID && !out.Relayed {
			t.Fatalf("%s is sent for instance %s", out.Stream, out.InstanceID)
		}
	}
}

// checkAlways checks what holds after every decision.
func (w *world) checkAlways(t fataler) {
	t.Helper()
	inst := w.state.Instance
	if inst == nil {
		return
	}
	w.checkStanding(t, inst)
	w.checkRows(t, inst)
	w.checkTimers(t, inst)
	w.checkContext(t, inst)
}

func (w *world) checkStanding(t fataler, inst *rondo.Instance) {
	t.Helper()
	live := inst.Machine.Live
	switch {
	case inst.Status.Terminal() && (len(live)+len(inst.Machine.Forks) > 0 || !inst.WakeAt.IsZero() || inst.CompletedAt.IsZero() || len(w.state.Parked) > 0):
		t.Fatalf("a terminal instance has something open: live %v, wake %s, parked %d", live, clock(inst.WakeAt), len(w.state.Parked))
	case inst.Status == rondo.StatusRunning && len(live) == 0:
		t.Fatalf("a running instance waits for nothing")
	case inst.Status == rondo.StatusHalted && (inst.HaltReason == "" || w.state.Snapshot.Steps[inst.HaltStepID] == nil):
		t.Fatalf("halted for %q at step %q", inst.HaltReason, inst.HaltStepID)
	case inst.Status == rondo.StatusRunning && inst.HaltReason+inst.HaltStepID+inst.HaltNote != "":
		t.Fatalf("a running instance still says why it was halted")
	}
	open := map[string]bool{}
	for _, att := range openAttempts(inst) {
		if open[att.StepID] {
			t.Fatalf("two open attempts at %s", att.StepID)
		}
		open[att.StepID] = true
	}
	w.checkForks(t, inst)
}

// openAttempts are those of forks, outer before inner, then the live ones.
func openAttempts(inst *rondo.Instance) []rondo.Attempt {
	var open []rondo.Attempt
	for _, fork := range inst.Machine.Forks {
		open = append(open, fork.Attempt)
	}
	return append(open, inst.Machine.Live...)
}

// checkForks: whatever is in a branch has an open fork around it, outer forks
// come first, a branch has one token at most and a joined one none, and in a
// running case enough branches can still join.
func (w *world) checkForks(t fataler, inst *rondo.Instance) {
	t.Helper()
	forks, tokens := map[string]rondo.Fork{}, map[string]int{}
	for _, att := range openAttempts(inst) {
		step := w.stepOf(att.StepID)
		if att.Fork != step.Fork || att.Branch != step.Branch {
			t.Fatalf("%s is in branch %q of %q, not in %q of %q", att.StepID, att.Branch, att.Fork, step.Branch, step.Fork)
		}
		if i := slices.IndexFunc(inst.Machine.Forks, func(f rondo.Fork) bool { return f.Attempt.RowID == att.RowID }); i >= 0 {
			forks[att.StepID] = inst.Machine.Forks[i]
		}
		if att.Fork == "" {
			continue
		}
		fork, isOpen := forks[att.Fork]
		if tokens[att.Fork+"/"+att.Branch]++; !isOpen || fork.Branches[att.Branch] != rondo.BranchLive || tokens[att.Fork+"/"+att.Branch] > 1 {
			t.Fatalf("%s is open in branch %q of %q: %+v", att.StepID, att.Branch, att.Fork, inst.Machine.Forks)
		}
	}
	for id, fork := range forks {
		may := 0
		for name, word := range fork.Branches {
			if word == rondo.BranchDone || tokens[id+"/"+name] == 1 {
				may++
			}
		}
		if step := w.stepOf(id); countJoined(&fork) >= step.Need || inst.Status == rondo.StatusRunning && may < step.Need {
			t.Fatalf("fork %s needs %d, and %d may join: %+v", id, step.Need, may, fork)
		}
	}
}

// checkRows: every attempt has one number, one row and one correlation id; rows
// are numbered without gaps; none starts at or after the deadline.
func (w *world) checkRows(t fataler, inst *rondo.Instance) {
	t.Helper()
	numbers := map[string][]int{}
	rowIDs, correlations := map[rondo.ID]bool{}, map[string]bool{}
	seen := func(id rondo.ID, stepID string, number int, correlation string, started time.Time) {
		if rowIDs[id] {
			t.Fatalf("row %s of %s is written twice or still open", id, stepID)
		}
		if correlations[correlation] && !w.observed {
			t.Fatalf("correlation %s is used twice", correlation)
		}
		if !started.Before(inst.DeadlineAt) {
			t.Fatalf("%s started at %s, the deadline is %s", stepID, clock(started), clock(inst.DeadlineAt))
		}
		rowIDs[id], correlations[correlation] = true, true
		numbers[stepID] = append(numbers[stepID], number)
	}
	for i, row := range w.rows {
		if row.Seq != i+1 {
			t.Fatalf("row %d has seq %d", i+1, row.Seq)
		}
		if row.Status == rondo.StepTimedOut && row.CompletedAt.Before(row.TimeoutAt) {
			t.Fatalf("%s timed out early", row.StepID)
		}
		seen(row.ID, w.nameNow(row), row.Attempt, row.CorrelationID, row.StartedAt)
	}
	for _, att := range openAttempts(inst) {
		asked := w.stepOf(att.StepID).Contract.Behaviour == definition.BehaviourRequest && inst.Mode == rondo.ModeActive && inst.Status == rondo.StatusRunning
		if asked && correlations[att.CorrelationID] {
			t.Fatalf("correlation %s of the open attempt at %s answered another", att.CorrelationID, att.StepID)
		}
		seen(att.RowID, att.StepID, att.Number, att.CorrelationID, att.StartedAt)
	}
	for stepID, used := range numbers {
		slices.Sort(used)
		for i, number := range used {
			if number != i+1 {
				t.Fatalf("attempts at %s are numbered %v", stepID, used)
			}
		}
		if life := inst.Machine.Steps[stepID]; life.Attempts != len(used) || life.Retries > w.stepOf(stepID).MaxRetries && len(w.migrations) == 0 {
			t.Fatalf("%s: %d attempts, life %+v", stepID, len(used), life)
		}
	}
	applied := 0
	for _, row := range w.ledger {
		if row.Outcome == rondo.OutcomeApplied && row.InstanceID == inst.ID {
			applied++
		}
		if row.Processed == (row.Outcome == rondo.OutcomeParked) {
			t.Fatalf("ledger row %s: outcome %s, processed %v", row.Type, row.Outcome, row.Processed)
		}
		checkVerdict(t, inst, row)
	}
	answered := 1 // case.created
	if !inst.SupersedesID.IsZero() {
		answered = 0
	}
	for _, row := range w.rows {
		if w.answered(row) {
			answered++
		}
	}
	if applied != answered {
		t.Fatalf("%d events are applied, but %d rows have an answer", applied, answered)
	}
}

// checkVerdict: outcome and verdict of a row never contradict each other, and what
// is parked belongs to the instance.
func checkVerdict(t fataler, inst *rondo.Instance, row rondo.EventRecord) {
	t.Helper()
	allowed := map[rondo.Outcome][]string{
		rondo.OutcomeApplied:   {verdictOnPath, verdictEarly, verdictSkippedGate},
		rondo.OutcomeParked:    {verdictOnPath, verdictEarly, verdictSkippedGate},
		rondo.OutcomeStale:     {verdictOnPath, verdictEarly, verdictSkippedGate, verdictRepeated, verdictUnknown},
		rondo.OutcomeRepeated:  {verdictRepeated},
		rondo.OutcomeUnmatched: {verdictUnknown},
		rondo.OutcomeRejected:  {verdictUnknown},
	}[row.Outcome]
	if row.Outcome == rondo.OutcomeRejected && row.Error == errTooManyParked {
		allowed = []string{verdictOnPath, verdictEarly, verdictSkippedGate}
	}
	if row.Verdict != "" && !slices.Contains(allowed, row.Verdict) {
		t.Fatalf("event %s is %s with verdict %s", row.EventID, row.Outcome, row.Verdict)
	}
	if row.Outcome != rondo.OutcomeParked {
		return
	}
	if row.InstanceID != inst.ID || row.Verdict == "" && inst.Mode == rondo.ModeClientDriven {
		t.Fatalf("event %s is parked for instance %s with verdict %q in mode %s", row.EventID, row.InstanceID, row.Verdict, inst.Mode)
	}
}

// answered reports whether a row was ended by an event: a wait, or a request that
// was made, and neither timed out nor was skipped.
func (w *world) answered(row rondo.Step) bool {
	ended := row.Status == rondo.StepCompleted || row.Status == rondo.StepFailed
	neverMade := strings.Contains(string(row.Error), `"message":"the request `)
	switch w.stepOf(row.StepID).Contract.Behaviour {
	case definition.BehaviourRequest:
		return ended && !neverMade
	case definition.BehaviourWait:
		return ended
	}
	return false
}

// checkTimers: what can become due has a timer, what cannot has none, and the
// wake-up is never later than the earliest of them.
func (w *world) checkTimers(t fataler, inst *rondo.Instance) {
	t.Helper()
	due := Due(inst)
	if due.IsZero() != inst.WakeAt.IsZero() || inst.WakeAt.After(due) {
		t.Fatalf("wakes at %s, but %s is due", clock(inst.WakeAt), clock(due))
	}
	if flaws := Unarmed(inst, w.state.Snapshot); len(flaws) > 0 {
		t.Fatalf("the machine left %+v unarmed", flaws)
	}
	running := inst.Status == rondo.StatusRunning
	for _, att := range openAttempts(inst) {
		step := w.state.Snapshot.Steps[att.StepID]
		behaviour := step.Contract.Behaviour
		works := running && att.Status == rondo.StepInProgress && behaviour != definition.BehaviourDelay
		asks := works && behaviour == definition.BehaviourRequest && inst.Mode == rondo.ModeActive
		timed := works && step.Timeout > 0 && (asks || behaviour != definition.BehaviourRequest)
		if !att.TimeoutAt.IsZero() != timed || !att.ResendAt.IsZero() != asks {
			t.Fatalf("%s %s in a %s %s instance: timeout %s, resend %s", att.StepID, att.Status, inst.Status, inst.Mode, clock(att.TimeoutAt), clock(att.ResendAt))
		}
		if waits := running && (att.Status == rondo.StepPending || behaviour == definition.BehaviourDelay); waits == att.DueAt.IsZero() {
			t.Fatalf("%s is %s with due time %s", att.StepID, att.Status, clock(att.DueAt))
		}
	}
}

// checkContext: the context is the fold of the outputs over where it began.
func (w *world) checkContext(t fataler, inst *rondo.Instance) {
	t.Helper()
	want := maps.Clone(w.base)
	for _, row := range w.rows {
		if row.Output != nil {
			want[w.nameNow(row)] = plain(row.Output)
		}
	}
	got := map[string]string{}
	for name, value := range inst.Context {
		got[name] = plain(value)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("context is not the fold of the outputs (-want +got):\n%s", diff)
	}
}

// plain writes a JSON value in one way, however it was written.
func plain(raw json.RawMessage) string {
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return "not JSON: " + string(raw)
	}
	return fmt.Sprint(value)
}
