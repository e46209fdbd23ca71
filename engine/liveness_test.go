package engine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine"
	"github.com/rondo-engine/rondo/store"
)

// healings passes on what was healed.
type healings chan map[string]int

func (h healings) Committed(c engine.Commit) {
	if len(c.Healed) > 0 {
		h <- c.Healed
	}
}

// damage changes a stored instance behind the engine's back.
func damage(t *testing.T, s store.Store, key rondo.CaseKey, change func(*rondo.Instance)) {
	t.Helper()
	if _, err := s.Update(t.Context(), store.Load{Cases: []rondo.CaseKey{key}}, func(l *store.Loaded) (*store.Write, error) {
		damaged := *l.Cases[key].Instance
		damaged.Machine.Live = slices.Clone(damaged.Machine.Live)
		previous := damaged.Version
		damaged.Version++
		change(&damaged)
		return &store.Write{Instances: []store.InstanceWrite{{Instance: &damaged, Previous: previous}}}, nil
	}); err != nil {
		t.Fatal(err)
	}
}

func TestWhatACaseHasLostIsArmedAgainAndCountedByWhatItWas(t *testing.T) {
	tests := map[string]struct {
		change func(*rondo.Instance)
		cause  string
		healed func(*rondo.Instance) bool
	}{
		"its wake-up": {
			func(i *rondo.Instance) { i.WakeAt = time.Time{} }, "wake",
			func(i *rondo.Instance) bool { return !i.WakeAt.IsZero() },
		},
		"a wake-up that is far too late": {
			func(i *rondo.Instance) { i.WakeAt = i.WakeAt.AddDate(1, 0, 0) }, "wake",
			func(i *rondo.Instance) bool { return time.Until(i.WakeAt) < time.Hour },
		},
		"the time to ask again": {
			func(i *rondo.Instance) { i.Machine.Live[0].ResendAt = time.Time{} }, "resend",
			func(i *rondo.Instance) bool { return !i.Machine.Live[0].ResendAt.IsZero() },
		},
		"the timeout of its step": {
			func(i *rondo.Instance) { i.Machine.Live[0].TimeoutAt = time.Time{} }, "timeout",
			func(i *rondo.Instance) bool { return !i.Machine.Live[0].TimeoutAt.IsZero() },
		},
		"all steps in flight": {
			func(i *rondo.Instance) { i.Machine.Live = nil }, "token",
			func(i *rondo.Instance) bool { return i.Status == rondo.StatusHalted },
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			healed := make(healings, 64)
			e, s := eventEngine(t, func(c *engine.Config) { c.Observer, c.Liveness = healed, 5*time.Millisecond })
			publishTemplate(t, e, "ai_only")
			publish(t, e, caseCreated("c1"))
			key := rondo.CaseKey{OrgID: "acme", CaseID: "c1"}
			damage(t, s, key, test.change)
			select {
			case counts := <-healed:
				if counts[test.cause] != 1 {
					t.Errorf("it counted %v, want one %s", counts, test.cause)
				}
			case <-time.After(20 * time.Second):
				t.Fatal("nothing was healed")
			}
			found, err := e.Instances(t.Context(), user(), store.InstanceFilter{}, store.Page{})
			if err != nil || len(found) != 1 || !test.healed(found[0]) {
				t.Errorf("the case is %+v (%v)", found, err)
			}
		})
	}
}

func TestASoundCaseIsLeftAlone(t *testing.T) {
	healed := make(healings, 64)
	e, s := eventEngine(t, func(c *engine.Config) { c.Observer, c.Liveness = healed, time.Millisecond })
	publishTemplate(t, e, "ai_only")
	publish(t, e, caseCreated("c1"))
	key := rondo.CaseKey{OrgID: "acme", CaseID: "c1"}
	sound, err := e.Instances(t.Context(), user(), store.InstanceFilter{}, store.Page{})
	if err != nil {
		t.Fatal(err)
	}
	publish(t, e, caseCreated("c2"))
	damage(t, s, rondo.CaseKey{OrgID: "acme", CaseID: "c2"}, func(i *rondo.Instance) { i.WakeAt = time.Time{} })
	if counts := <-healed; counts["wake"] != 1 || len(counts) != 1 { // the sweeper has been here, and healed the other one only
		t.Errorf("it counted %v", counts)
	}
	after, err := e.Instances(t.Context(), user(), store.InstanceFilter{CaseID: key.CaseID}, store.Page{})
	if err != nil || after[0].Version != sound[0].Version {
		t.Errorf("a sound case went from version %d to %d (%v)", sound[0].Version, after[0].Version, err)
	}
}
