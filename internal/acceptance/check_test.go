package acceptance

import (
	"context"
	"fmt"
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/caseloop"
	"github.com/rondo-engine/rondo/internal/invariant"
	"github.com/rondo-engine/rondo/store"
)

// checkEverything holds every stored case against the invariants. label says
// what led here: a seed, a moment.
func checkEverything(t *testing.T, s store.Store, where, label string) {
	t.Helper()
	ctx := t.Context()
	instances, err := s.Instances(ctx, store.InstanceFilter{}, store.Page{})
	if err != nil {
		t.Fatalf("on %s: list instances: %v", where, err)
	}
	snapshots := caseloop.NewSnapshots(s)
	for _, i := range instances {
		stored, err := readCase(ctx, s, snapshots, i)
		if err != nil {
			t.Errorf("on %s, %s: read case %s: %v", where, label, i.CaseID, err)
			continue
		}
		violations := invariant.Check(stored)
		for _, v := range violations {
			t.Errorf("on %s, %s: case %s, instance %s of %s breaks %s", where, label, i.CaseID, i.ID, i.OrgID, v)
		}
	}
}

// readCase reads one case as it stands. Its parts come in several reads, so they
// are read again when the case moved meanwhile.
func readCase(ctx context.Context, s store.Store, snapshots *caseloop.Snapshots, i *rondo.Instance) (invariant.Case, error) {
	for range 50 {
		c := invariant.Case{Instance: i}
		var err error
		if c.Snapshot, err = snapshots.Get(ctx, i.SnapshotHash); err != nil {
			return c, err
		}
		if c.Steps, err = s.Steps(ctx, i.OrgID, i.ID); err != nil {
			return c, err
		}
		if c.Events, err = s.Events(ctx, i.OrgID, i.ID, store.Page{}); err != nil {
			return c, err
		}
		if c.Interventions, err = s.Interventions(ctx, i.OrgID, i.ID); err != nil {
			return c, err
		}
		again, err := s.Instance(ctx, i.OrgID, i.ID)
		if err != nil {
			return c, err
		}
		if again.Version == i.Version {
			return c, nil
		}
		i = again
	}
	return invariant.Case{}, fmt.Errorf("it never stood still")
}

// wantEverythingSent waits until no committed event is left in the outbox, and
// expects that nothing was acked before it was stored.
func (w *world) wantEverythingSent(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	early := w.early
	w.mu.Unlock()
	for _, what := range early {
		t.Errorf("on %s: %s was acked before it was in the ledger (I13)", w.ground.where(), what)
	}
	w.await(t, "an empty outbox", func() bool {
		count, _, err := w.store.Backlog(t.Context())
		return err == nil && count == 0
	}, func() string { return "the outbox of the store holds events that no relay sends" })
}
