package engine_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/memory"
)

// removals counts what retention removed, and moves the clock of the engine.
type removals struct {
	n     atomic.Int64
	later atomic.Int64 // nanoseconds
}

func (r *removals) Committed(c engine.Commit) { r.n.Add(int64(c.Purged)) }

const days = 24 * time.Hour

// keep sets a policy in days; org "" is that of everyone.
func keep(t *testing.T, e *engine.Engine, org string, n int) {
	t.Helper()
	p := rondo.Principal{Tenant: org, User: "ann", Scopes: []string{rondo.ScopeAdmin}}
	if _, err := e.PutRetentionPolicy(t.Context(), p, rondo.RetentionPolicy{KeepFinished: time.Duration(n) * days}, org == ""); err != nil {
		t.Fatal(err)
	}
}

// finish puts an instance into the store that ended some days ago.
func finish(t *testing.T, s store.Store, ids *rondo.IDs, org, caseID string, daysAgo float64) {
	t.Helper()
	ended := time.Now().Add(-time.Duration(daysAgo * float64(days)))
	instance := &rondo.Instance{
		ID: ids.New(), OrgID: org, CaseID: caseID, ProductID: "skin", Mode: rondo.ModeActive, Status: rondo.StatusCompleted,
		StartedAt: ended.Add(-time.Hour), DeadlineAt: ended.Add(days), CompletedAt: ended, Version: 1,
	}
	write := &store.Write{Instances: []store.InstanceWrite{{Instance: instance}}}
	_, err := s.Update(t.Context(), store.Load{Cases: []rondo.CaseKey{instance.Key()}}, func(*store.Loaded) (*store.Write, error) { return write, nil })
	if err != nil {
		t.Fatal(err)
	}
}

func kept(t *testing.T, s store.Store, org string) []string {
	t.Helper()
	list, err := s.Instances(t.Context(), store.InstanceFilter{OrgID: org}, store.Page{})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, instance := range list {
		found = append(found, instance.CaseID)
	}
	return found
}

// archive runs an engine where waiting costs no time, on a store to look into.
func archive(t *testing.T, busKeeps time.Duration, test func(e *engine.Engine, s store.Store, ids *rondo.IDs, gone *removals)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, gone := memory.Open(memory.Options{Embedded: true}), &removals{}
		e, err := engine.New(engine.Config{
			Store: s, Observer: gone, Retention: busKeeps,
			Now: func() time.Time { return time.Now().Add(time.Duration(gone.later.Load())) },
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer e.Stop(context.WithoutCancel(t.Context()))
		test(e, s, rondo.NewIDs(time.Now), gone)
	})
}

func TestFinishedInstancesGoWhenTheirPolicySaysSo(t *testing.T) {
	archive(t, 0, func(e *engine.Engine, s store.Store, ids *rondo.IDs, gone *removals) {
		for _, org := range []string{"acme", "forever", "other"} {
			finish(t, s, ids, org, "ancient", 400)
			finish(t, s, ids, org, "old", 40)
			finish(t, s, ids, org, "new", 10)
		}
		sweep := func() {
			time.Sleep(2 * time.Minute)
			synctest.Wait()
		}
		want := func(acme, forever, other []string, n int64) {
			t.Helper()
			for org, cases := range map[string][]string{"acme": acme, "forever": forever, "other": other} {
				if diff := cmp.Diff(cases, kept(t, s, org)); diff != "" {
					t.Errorf("what %s keeps (-want +got):\n%s", org, diff)
				}
			}
			if gone.n.Load() != n {
				t.Errorf("%d removals were told, want %d", gone.n.Load(), n)
			}
		}
		all := []string{"new", "old", "ancient"}
		sweep()
		want(all, all, all, 0)
		keep(t, e, "acme", 30)
		sweep()
		want([]string{"new"}, all, all, 2)
		keep(t, e, "forever", 0)
		keep(t, e, "", 365)
		sweep()
		want([]string{"new"}, all, []string{"new", "old"}, 3)
		gone.later.Store(int64(21 * days))
		sweep()
		want(nil, all, []string{"new", "old"}, 4)
	})
}

func TestMoreThanABatchGoesInOneSweep(t *testing.T) {
	archive(t, 0, func(e *engine.Engine, s store.Store, ids *rondo.IDs, gone *removals) {
		const cases = 350
		for range cases {
			finish(t, s, ids, "acme", ids.New().String(), 40)
		}
		keep(t, e, "", 30)
		time.Sleep(90 * time.Second)
		synctest.Wait()
		if n := gone.n.Load(); n != cases {
			t.Errorf("%d instances went, want %d", n, cases)
		}
	})
}

func TestInstancesStayAsLongAsTheBusKeepsTheirEvents(t *testing.T) {
	tests := map[string]struct {
		bus  time.Duration
		days int
		ok   bool
	}{
		"a week":                              {0, 7, true},
		"less than a week":                    {0, 6, false},
		"less than a week on a forgetful bus": {time.Hour, 6, false},
		"a week on a bus that keeps longer":   {30 * days, 7, false},
		"as long as the bus":                  {30 * days, 30, true},
		"for ever":                            {30 * days, 0, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			archive(t, test.bus, func(e *engine.Engine, s store.Store, ids *rondo.IDs, _ *removals) {
				finish(t, s, ids, "acme", "recent", float64(test.days)-0.5)
				_, err := e.PutRetentionPolicy(t.Context(), user(), rondo.RetentionPolicy{KeepFinished: time.Duration(test.days) * days}, false)
				if test.ok != (err == nil) || err != nil && rondo.CodeOf(err) != rondo.CodeInvalid {
					t.Fatalf("error %v, want refused: %v", err, !test.ok)
				}
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				if len(kept(t, s, "acme")) != 1 {
					t.Error("a recent instance went")
				}
			})
		})
	}
}

// A policy that another program wrote must not remove what the bus may repeat.
func TestAPolicyThatIsTooShortIsStretched(t *testing.T) {
	archive(t, 0, func(_ *engine.Engine, s store.Store, ids *rondo.IDs, _ *removals) {
		finish(t, s, ids, "acme", "old", 8)
		finish(t, s, ids, "acme", "recent", 6)
		if err := s.PutRetentionPolicy(t.Context(), rondo.RetentionPolicy{OrgID: "acme", KeepFinished: time.Hour}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if diff := cmp.Diff([]string{"recent"}, kept(t, s, "acme")); diff != "" {
			t.Errorf("what is kept (-want +got):\n%s", diff)
		}
	})
}

func TestPoliciesOfOthersAreNotShown(t *testing.T) {
	archive(t, 0, func(e *engine.Engine, _ store.Store, _ *rondo.IDs, _ *removals) {
		keep(t, e, "acme", 30)
		keep(t, e, "other", 40)
		keep(t, e, "", 50)
		reader := rondo.Principal{Tenant: "acme", User: "bob", Scopes: []string{rondo.ScopeRead}}
		policies, err := e.RetentionPolicies(t.Context(), reader)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]time.Duration{}
		for _, policy := range policies {
			got[policy.OrgID] = policy.KeepFinished
		}
		if diff := cmp.Diff(map[string]time.Duration{"": 50 * days, "acme": 30 * days}, got); diff != "" {
			t.Errorf("policies (-want +got):\n%s", diff)
		}
		if _, err := e.PutRetentionPolicy(t.Context(), reader, rondo.RetentionPolicy{}, false); rondo.CodeOf(err) != rondo.CodeForbidden {
			t.Errorf("error %v, want forbidden", err)
		}
	})
}
