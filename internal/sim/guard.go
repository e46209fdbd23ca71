package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/memory"
)

// errCommit is a commit that did not happen.
var errCommit = &rondo.Error{Code: rondo.CodeUnavailable, Message: "simulated store failure"}

// guardedStore is the memory store behind faults and checks.
type guardedStore struct {
	*memory.Store
	w       *world
	replica *replica // the one at work
	plant   planted

	timersOnly bool // the batch at hand has only timers
}

// Update commits, fails, or commits and says it failed.
func (g *guardedStore) Update(ctx context.Context, load store.Load, decide store.Decide) (store.Committed, error) {
	g.w.effect("commit")
	if g.w.chance(g.w.faults.commit) {
		g.w.reached.CommitFailed++
		return store.Committed{}, errCommit
	}
	var loaded *store.Loaded
	var write *store.Write
	committed, err := g.Store.Update(ctx, load, func(l *store.Loaded) (*store.Write, error) {
		loaded = l
		w, err := decide(g.plant.loaded(g, l))
		if err == nil {
			w = g.plant.write(g, l, w)
		}
		write = w
		return w, err
	})
	if err != nil {
		return committed, err
	}
	g.record(loaded, write)
	if err := g.plant.after(ctx, g, write); err != nil {
		return committed, err
	}
	if g.w.chance(g.w.faults.ambiguous) {
		g.w.reached.Ambiguous++
		return store.Committed{}, fmt.Errorf("simulated: %w", store.ErrAmbiguous)
	}
	g.w.effect("committed")
	return committed, nil
}

// ClaimDue claims, with a chance to die before and after.
func (g *guardedStore) ClaimDue(ctx context.Context, now time.Time, lease time.Duration, limit int) ([]rondo.CaseKey, error) {
	g.w.effect("claim timers")
	keys, err := g.Store.ClaimDue(ctx, now, lease, limit)
	g.w.effect("claimed timers")
	return keys, err
}

// ClaimUnsent claims, with a chance to die before and after.
func (g *guardedStore) ClaimUnsent(ctx context.Context, now, olderThan time.Time, lease time.Duration, limit int, which store.Streams) ([]rondo.Outgoing, error) {
	g.w.effect("claim outbox")
	rows, err := g.Store.ClaimUnsent(ctx, now, olderThan, lease, limit, which)
	for _, row := range rows {
		if g.w.committer[row.EventID] != g.replica.name {
			g.w.handedOver[row.EventID] = true
		}
	}
	g.w.effect("claimed outbox")
	return rows, err
}

// record checks a committed write against the state before it and remembers what
// must be sent.
func (g *guardedStore) record(loaded *store.Loaded, write *store.Write) {
	w := g.w
	for _, out := range write.Outbox {
		if w.committedOutbox[out.EventID] {
			w.reached.Resent++
			if w.committer[out.EventID] != g.replica.name {
				w.handedOver[out.EventID] = true
			}
			continue
		}
		w.committedOutbox[out.EventID] = true
		w.committer[out.EventID] = g.replica.name
		key := g.replica.name + "/" + out.InstanceID.String() + "/" + out.Stream
		w.committedOrder[key] = append(w.committedOrder[key], out.EventID)
	}
	for _, iw := range write.Instances {
		key := iw.Instance.Key()
		before := loaded.Cases[key].Instance
		if before != nil && before.ID != iw.Instance.ID {
			g.replaced(write, iw.Instance)
			before = nil
		}
		g.moved(write, before, iw.Instance)
		if last, ok := w.lastReplica[key.CaseID]; ok && last != g.replica.n {
			w.reached.TwoReplicas++
		}
		w.lastReplica[key.CaseID] = g.replica.n
	}
	for _, row := range write.Steps {
		g.ended(row)
	}
	for _, list := range [][]rondo.EventRecord{write.Events, write.Rejudged} {
		for _, row := range list {
			switch row.Outcome {
			case rondo.OutcomeStale:
				w.reached.Late++
			case rondo.OutcomeParked:
				w.reached.Parked++
			default:
			}
		}
	}
	w.reached.Repeated += len(write.Duplicates)
	for _, i := range write.Interventions {
		w.reached.acted(rondo.ActionName(i.Action))
	}
}

// replaced checks that a second instance of a case comes only from superseding
// the first, in the same commit.
func (g *guardedStore) replaced(write *store.Write, after *rondo.Instance) {
	for _, iw := range write.Instances {
		if old := iw.Instance; old.ID == after.SupersedesID && old.SupersededByID == after.ID && old.Status == rondo.StatusCancelled {
			return
		}
	}
	g.w.broken("I1", "case %s got another instance without superseding the first", after.CaseID)
}

// hurried reports whether a person started what was waiting out a backoff.
func (g *guardedStore) hurried(write *store.Write, before, after *rondo.Instance) bool {
	return before.Mode != after.Mode || slices.ContainsFunc(write.Interventions, func(i rondo.Intervention) bool {
		return i.InstanceID == after.ID && i.Action != string(rondo.ActionHalt)
	})
}

// moved checks one instance before and after.
func (g *guardedStore) moved(write *store.Write, before, after *rondo.Instance) {
	w := g.w
	if before == nil {
		return
	}
	if before.Status.Terminal() {
		w.broken("I5", "case %s was %s and changed", before.CaseID, before.Status)
	}
	for _, was := range before.Machine.Live {
		if was.Status != rondo.StepPending || before.Status != rondo.StatusRunning || !was.DueAt.After(w.now) {
			continue
		}
		for _, is := range after.Machine.Live {
			if is.RowID == was.RowID && is.Status == rondo.StepInProgress && !g.hurried(write, before, after) {
				w.broken("I7", "case %s: %s#%d started at %v, its backoff ends at %v", before.CaseID, is.StepID, is.Number, w.now, was.DueAt)
			}
		}
	}
	switch {
	case after.Status == before.Status:
	case after.Status == rondo.StatusHalted:
		w.reached.Halted++
		if len(after.Machine.Forks) > 0 {
			w.reached.HaltedInFork++
		}
	case after.Status == rondo.StatusCompleted:
		w.reached.Completed++
	case after.Status == rondo.StatusCancelled:
		w.reached.Cancelled++
	case after.Status == rondo.StatusRunning:
		w.reached.Resumed++
	}
	if after.DeadlineExceeded && !before.DeadlineExceeded {
		w.reached.Deadline++
	}
}

func (g *guardedStore) ended(row rondo.Step) {
	w := g.w
	switch row.Status {
	case rondo.StepTimedOut:
		w.reached.TimedOut++
		if _, answered := w.module.answers[row.CorrelationID]; answered {
			w.reached.TimeoutRace++
		}
	case rondo.StepCompleted:
		w.reached.waited(row.Kind)
	case rondo.StepFailed:
		if strings.Contains(string(row.Error), "contract_violation") {
			w.reached.Violation++
		}
	default:
	}
	if row.Attempt > 1 {
		w.reached.Retried++
	}
}
