package sim

import (
	"context"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/caseloop"
	"github.com/rondo-engine/rondo/store"
)

// loseTimers takes away what would wake a case, as a hand in the database does.
func (w *world) loseTimers() {
	instance := w.someone()
	if instance == nil || instance.Status.Terminal() || instance.WakeAt.IsZero() {
		return
	}
	everything := w.rand.IntN(2) == 0
	_, err := w.store.Update(context.Background(), store.Load{Cases: []rondo.CaseKey{instance.Key()}}, func(l *store.Loaded) (*store.Write, error) {
		broken := *l.Cases[instance.Key()].Instance
		if broken.Status.Terminal() {
			return nil, nil
		}
		previous := broken.Version
		broken.Version++
		broken.WakeAt = time.Time{}
		broken.Machine.Live = slices.Clone(broken.Machine.Live)
		for i := range broken.Machine.Live {
			if att := &broken.Machine.Live[i]; everything {
				att.DueAt, att.TimeoutAt, att.ResendAt = time.Time{}, time.Time{}, time.Time{}
			}
		}
		return &store.Write{Instances: []store.InstanceWrite{{Instance: &broken, Previous: previous}}}, nil
	})
	if err != nil {
		w.broken("I25", "the timers of case %s cannot be taken away: %v", instance.CaseID, err)
	}
	w.sabotaged = true
	w.reached.TimerLost++
}

// sweepTimers submits cases that nothing would wake.
func (w *world) sweepTimers(r *replica) {
	if !w.sabotaged || w.mistake == NoTimerSweeper {
		return
	}
	ctx := context.Background()
	found, err := w.store.Instances(ctx, store.InstanceFilter{OrgID: org}, store.Page{Limit: 100})
	if err != nil {
		return
	}
	w.sabotaged = false
	for _, instance := range found {
		snapshot, err := w.snapshots.Get(ctx, instance.SnapshotHash)
		if err != nil || len(caseloop.Flaws(instance, snapshot, w.now)) == 0 {
			continue
		}
		w.sabotaged = true // until a look finds nothing
		r.queue = append(r.queue, &caseloop.Input{Key: instance.Key(), Timer: true, Heal: true})
	}
}

// observe counts what only the loop knows.
func (w *world) observe(b caseloop.Batch) {
	for _, d := range b.Decisions {
		if d.Healed {
			w.reached.Healed++
		}
		if e := d.Decision.Event; e != nil && e.Outcome == rondo.OutcomeApplied && d.Before != nil && d.Before.Mode == rondo.ModeClientDriven {
			w.reached.ClientDriven++
		}
	}
}
