package sim

import (
	"context"
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/invariant"
	"github.com/rondo-engine/rondo/store"
)

// checkAcked: what is acked is in the ledger (I13).
func (w *world) checkAcked(e *entry) {
	if _, err := w.store.Event(context.Background(), org, e.eventID); err != nil {
		w.broken("I13", "%s was acked and is not in the ledger", e.delivery.Stream)
	}
}

// check looks at everything after the world has come to rest.
func (w *world) check() {
	ctx := context.Background()
	instances, err := w.store.Instances(ctx, store.InstanceFilter{OrgID: org}, store.Page{Limit: 100})
	if err != nil {
		w.broken("I25", "instances cannot be listed: %v", err)
		return
	}
	started, current := map[string]bool{}, map[string]bool{}
	for _, i := range instances {
		if i.Status != rondo.StatusCancelled {
			if current[i.CaseID] {
				w.broken("I1", "case %s has two instances", i.CaseID)
			}
			current[i.CaseID] = true
		}
		started[i.CaseID] = true
		w.checkInstance(ctx, i)
	}
	for _, caseID := range w.cases {
		if !started[caseID] {
			w.broken("I22", "case %s never started", caseID)
		}
	}
	w.checkSends()
}

func (w *world) checkInstance(ctx context.Context, i *rondo.Instance) {
	if i.Status == rondo.StatusRunning {
		w.broken("I22", "case %s is still running at %v, deadline %v", i.CaseID, w.now, i.DeadlineAt)
	}
	snapshot, err := w.snapshots.Get(ctx, i.SnapshotHash)
	if err != nil {
		w.broken("I16", "snapshot of case %s: %v", i.CaseID, err)
		return
	}
	steps, err1 := w.store.Steps(ctx, org, i.ID)
	events, err2 := w.store.Events(ctx, org, i.ID, store.Page{Limit: 1000})
	interventions, err3 := w.store.Interventions(ctx, org, i.ID)
	if err1 != nil || err2 != nil || err3 != nil {
		w.broken("I25", "case %s cannot be read: %v %v %v", i.CaseID, err1, err2, err3)
		return
	}
	for _, v := range invariant.Check(invariant.Case{Instance: i, Snapshot: snapshot, Steps: steps, Events: events, Interventions: interventions}) {
		w.broken(v.Invariant, "%s", v.Detail)
	}
}

// checkSends: everything committed was sent, and what a replica committed and
// sent itself was first sent in that order, per instance (I12). What another
// replica sweeps up or asks again, because the first one died or was long cut
// off, may come in another.
func (w *world) checkSends() {
	for id := range w.committedOutbox {
		if w.net.sent[id] == 0 {
			w.broken("I12", "event %s was committed and never sent", id)
		}
	}
	sentAt := map[rondo.ID]int{}
	for _, ids := range w.net.firsts {
		for position, id := range ids {
			sentAt[id] = position
		}
	}
	for key, ids := range w.committedOrder {
		ids = slices.DeleteFunc(slices.Clone(ids), func(id rondo.ID) bool { return w.handedOver[id] })
		if !slices.IsSortedFunc(ids, func(a, b rondo.ID) int { return sentAt[a] - sentAt[b] }) {
			w.broken("I12", "events of %s were not sent in commit order", key)
		}
	}
}
