package sqlite_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/sqlite"
)

// What a process remembers of its own writes must never hide what another
// process, or another kind of write, has done since.
func TestRememberedInstancesAreAlwaysTheStoredOnes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "two.db")
	handles := make([]*sqlite.Store, 2)
	for i := range handles {
		s, err := sqlite.Open(path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := s.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		handles[i] = s
	}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	key := rondo.CaseKey{OrgID: "acme", CaseID: "c-1"}
	first := &rondo.Instance{
		ID: rondo.NewIDs(time.Now).New(), OrgID: key.OrgID, CaseID: key.CaseID, ProductID: "p", Status: rondo.StatusRunning,
		Mode: rondo.ModeActive, StartedAt: now, DeadlineAt: now.Add(time.Hour), WakeAt: now, Version: 1, Context: rondo.Context{},
	}
	// bump raises the version of what the handle sees and returns what it saw.
	bump := func(s *sqlite.Store) *rondo.Instance {
		t.Helper()
		var seen *rondo.Instance
		_, err := s.Update(t.Context(), store.Load{Cases: []rondo.CaseKey{key}}, func(l *store.Loaded) (*store.Write, error) {
			seen = l.Cases[key].Instance
			next, previous := *first, int64(0)
			if seen != nil {
				next, previous = *seen, seen.Version
				next.Version++
			}
			return &store.Write{Instances: []store.InstanceWrite{{Instance: &next, Previous: previous}}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return seen
	}
	bump(handles[0])
	want := int64(1)
	for _, turn := range []int{0, 0, 1, 0, 1, 1, 0} {
		if seen := bump(handles[turn]); seen.Version != want {
			t.Fatalf("handle %d saw version %d, stored was %d", turn, seen.Version, want)
		}
		want++
	}
	lease := now.Add(time.Minute)
	if due, err := handles[0].ClaimDue(t.Context(), now, time.Minute, 10); err != nil || len(due) != 1 {
		t.Fatalf("claimed %v (%v), want the one case", due, err)
	}
	if seen := bump(handles[0]); !seen.WakeAt.Equal(lease) {
		t.Errorf("after a claim the wake-up seen is %v, stored is %v", seen.WakeAt, lease)
	}
}

// An event that waits for its case is still there after the case has moved on.
func TestARememberedInstanceDoesNotHideParkedEvents(t *testing.T) {
	s, err := sqlite.Open(filepath.Join(t.TempDir(), "parked.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	ids := rondo.NewIDs(time.Now)
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	key := rondo.CaseKey{OrgID: "acme", CaseID: "c-1"}
	instance := rondo.Instance{
		ID: ids.New(), OrgID: key.OrgID, CaseID: key.CaseID, ProductID: "p", Status: rondo.StatusRunning, Mode: rondo.ModeActive,
		StartedAt: now, DeadlineAt: now.Add(time.Hour), WakeAt: now, Context: rondo.Context{},
	}
	parked := rondo.EventRecord{
		ID: ids.New(), OrgID: key.OrgID, EventID: ids.New(), CaseID: key.CaseID, InstanceID: instance.ID, Type: "ai_review.completed",
		Envelope: []byte("{}"), ReceivedAt: now, Outcome: rondo.OutcomeParked,
	}
	for version := int64(1); version <= 5; version++ {
		_, err := s.Update(t.Context(), store.Load{Cases: []rondo.CaseKey{key}}, func(l *store.Loaded) (*store.Write, error) {
			want := 0
			if version > 2 { // it is parked by the second write
				want = 1
			}
			if got := len(l.Cases[key].Parked); got != want {
				t.Errorf("the write of version %d was shown %d parked events, stored are %d", version, got, want)
			}
			next := instance
			next.Version = version
			write := &store.Write{Instances: []store.InstanceWrite{{Instance: &next, Previous: version - 1}}}
			if version == 2 {
				write.Events = []rondo.EventRecord{parked}
			}
			return write, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
