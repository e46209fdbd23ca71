package sqlstore

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

func TestPlanKnowsWhatStaysTheSame(t *testing.T) {
	at := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	before := &rondo.Instance{ID: rondo.ID{1}, OrgID: "acme", CaseID: "c", Status: rondo.StatusRunning, WakeAt: at, Version: 1}
	loaded := NewLoaded(store.Load{Cases: []rondo.CaseKey{before.Key()}})
	Keep(loaded, before)
	tests := map[string]struct {
		change   func(*rondo.Instance)
		moves    bool
		sameWake bool
	}{
		"nothing indexed changed":       {func(*rondo.Instance) {}, true, true},
		"less than a microsecond later": {func(i *rondo.Instance) { i.WakeAt = at.Add(time.Nanosecond) }, true, true},
		"another wake-up":               {func(i *rondo.Instance) { i.WakeAt = at.Add(time.Second) }, true, false},
		"no wake-up":                    {func(i *rondo.Instance) { i.WakeAt = time.Time{} }, true, false},
		"another status":                {func(i *rondo.Instance) { i.Status = rondo.StatusHalted }, false, true},
		"an instance that was not loaded": {func(i *rondo.Instance) {
			i.ID = rondo.ID{2}
		}, false, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			after := *before
			after.Version = 2
			test.change(&after)
			plan, err := NewPlan(NewTables(), loaded, &store.Write{Instances: []store.InstanceWrite{{Instance: &after, Previous: 1}}})
			if err != nil {
				t.Fatal(err)
			}
			update := plan.Updates[0]
			if update.Moves != test.moves || update.SameWake != test.sameWake {
				t.Errorf("moves %v and same wake-up %v, want %v and %v", update.Moves, update.SameWake, test.moves, test.sameWake)
			}
		})
	}
}

func TestPlanLocksInOneOrder(t *testing.T) {
	keys := []rondo.CaseKey{{OrgID: "b", CaseID: "1"}, {OrgID: "a", CaseID: "é"}, {OrgID: "a", CaseID: "Z"}, {OrgID: "a", CaseID: "a"}, {OrgID: "b", CaseID: "1"}}
	want := []rondo.CaseKey{{OrgID: "a", CaseID: "Z"}, {OrgID: "a", CaseID: "a"}, {OrgID: "a", CaseID: "é"}, {OrgID: "b", CaseID: "1"}}
	if diff := cmp.Diff(want, CaseKeys(keys)); diff != "" {
		t.Errorf("order of locks (-want +got):\n%s", diff)
	}
}

func TestOnlyListenedStreamsTakeRelayedEvents(t *testing.T) {
	outgoing := []rondo.Outgoing{{Stream: "own"}, {Stream: "heard", Relayed: true}, {Stream: "unheard", Relayed: true}}
	if diff := cmp.Diff([]int{0, 1}, Listened(outgoing, map[string]bool{"heard": true})); diff != "" {
		t.Errorf("taken (-want +got):\n%s", diff)
	}
}

func TestTheNewestInstanceIsTheOneThatIsNotCancelled(t *testing.T) {
	key := rondo.CaseKey{OrgID: "acme", CaseID: "c"}
	instance := func(id byte, status rondo.Status) *rondo.Instance {
		return &rondo.Instance{ID: rondo.ID{id}, OrgID: key.OrgID, CaseID: key.CaseID, Status: status}
	}
	tests := map[string]struct {
		rows []*rondo.Instance
		want byte
	}{
		"live after cancelled":  {[]*rondo.Instance{instance(1, rondo.StatusCancelled), instance(2, rondo.StatusRunning)}, 2},
		"live before cancelled": {[]*rondo.Instance{instance(1, rondo.StatusCompleted), instance(2, rondo.StatusCancelled)}, 1},
		"only cancelled":        {[]*rondo.Instance{instance(1, rondo.StatusCancelled), instance(3, rondo.StatusCancelled), instance(2, rondo.StatusCancelled)}, 3},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			loaded := NewLoaded(store.Load{Cases: []rondo.CaseKey{key}})
			for _, row := range test.rows {
				Keep(loaded, row)
			}
			if got := loaded.Cases[key].Instance.ID[0]; got != test.want {
				t.Errorf("instance %d, want %d", got, test.want)
			}
		})
	}
}
