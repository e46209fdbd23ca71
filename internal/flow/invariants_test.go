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
	case inst.Status.Terminal() && (len(live) > 0 || !inst.WakeAt.IsZero() || inst.CompletedAt.IsZero() || len(w.state.Parked) > 0):
		t.Fatalf("a terminal instance has something open: live %v, wake %s, parked %d", live, clock(inst.WakeAt), len(w.state.Parked))
	case inst.Status == rondo.StatusRunning && len(live) == 0:
		t.Fatalf("a running instance waits for nothing")
	case inst.Status == rondo.StatusHalted && (inst.HaltReason == "" || w.state.Snapshot.Steps[inst.HaltStepID] == nil):
		t.Fatalf("halted for %q at step %q", inst.HaltReason, inst.HaltStepID)
	case inst.Status == rondo.StatusRunning && inst.HaltReason+inst.HaltStepID+inst.HaltNote != "":
		t.Fatalf("a running instance still says why it was halted")
	}
	open := map[string]bool{}
	for _, att := range live {
		if open[att.StepID] {
			t.Fatalf("two open attempts at %s", att.StepID)
		}
		open[att.StepID] = true
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
		if correlations[correlation] && inst.Mode == rondo.ModeActive {
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
		seen(row.ID, row.StepID, row.Attempt, row.CorrelationID, row.StartedAt)
	}
	for _, att := range inst.Machine.Live {
		seen(att.RowID, att.StepID, att.Number, att.CorrelationID, att.StartedAt)
	}
	for stepID, used := range numbers {
		slices.Sort(used)
		for i, number := range used {
			if number != i+1 {
				t.Fatalf("attempts at %s are numbered %v", stepID, used)
			}
		}
		if life := inst.Machine.Steps[stepID]; life.Attempts != len(used) || life.Retries > w.state.Snapshot.Steps[stepID].MaxRetries {
			t.Fatalf("%s: %d attempts, life %+v", stepID, len(used), life)
		}
	}
	applied := 0
	for _, row := range w.ledger {
		if row.Outcome == rondo.OutcomeApplied {
			applied++
		}
		if row.Processed == (row.Outcome == rondo.OutcomeParked) {
			t.Fatalf("ledger row %s: outcome %s, processed %v", row.Type, row.Outcome, row.Processed)
		}
	}
	answered := 1 // case.created
	for _, row := range w.rows {
		if w.answered(row) {
			answered++
		}
	}
	if applied != answered {
		t.Fatalf("%d events are applied, but %d rows have an answer", applied, answered)
	}
}

// answered reports whether a row was ended by an event: a request that was made,
// and neither timed out nor was skipped.
func (w *world) answered(row rondo.Step) bool {
	ended := row.Status == rondo.StepCompleted || row.Status == rondo.StepFailed
	neverMade := strings.Contains(string(row.Error), `"message":"the request `)
	return w.state.Snapshot.Steps[row.StepID].Contract.Behaviour == definition.BehaviourRequest && ended && !neverMade
}

// checkTimers: what can become due has a timer, what cannot has none, and the
// wake-up is never later than the earliest of them.
func (w *world) checkTimers(t fataler, inst *rondo.Instance) {
	t.Helper()
	due := Due(inst)
	if due.IsZero() != inst.WakeAt.IsZero() || inst.WakeAt.After(due) {
		t.Fatalf("wakes at %s, but %s is due", clock(inst.WakeAt), clock(due))
	}
	for _, att := range inst.Machine.Live {
		step := w.state.Snapshot.Steps[att.StepID]
		armed := !att.TimeoutAt.IsZero()
		wanted := inst.Status == rondo.StatusRunning && inst.Mode == rondo.ModeActive && att.Status == rondo.StepInProgress
		if armed != (wanted && step.Timeout > 0) || !att.ResendAt.IsZero() != wanted {
			t.Fatalf("%s %s in a %s %s instance: timeout %s, resend %s", att.StepID, att.Status, inst.Status, inst.Mode, clock(att.TimeoutAt), clock(att.ResendAt))
		}
		if pending := att.Status == rondo.StepPending && inst.Status == rondo.StatusRunning; pending == att.DueAt.IsZero() {
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
			want[row.StepID] = plain(row.Output)
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
