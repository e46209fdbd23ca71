package runs

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/skill"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/hot"
)

// warm gives a service a hot tier of its own.
func warm(c *Config) { c.Hot = hot.New(hot.Options{}) }

// Two servers without Redis have a hot tier each: what one does to an entry counts
// for the other at once, for its runs and for its plans.
func TestWhatOneServiceDoesToAnEntryIsSeenByTheOther(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do      func(*testing.T, *house, *Service, string)
		planned string // decision and reason
		want    string // status and reason
	}{
		"nothing": {func(*testing.T, *house, *Service, string) {}, "reuse cache_hot", "skipped cache_hot"},
		"taint": {func(t *testing.T, h *house, _ *Service, key string) {
			if _, err := h.runs.TaintCache(t.Context(), bob.Tenant, key, "wrong"); err != nil {
				t.Fatal(err)
			}
		}, "would_run evicted(tainted)", "completed evicted(tainted)"},
		"delete": {func(t *testing.T, _ *house, s *Service, key string) {
			if n, err := s.InvalidateCache(t.Context(), bob, store.CacheFilter{Key: key}); n != 1 || err != nil {
				t.Fatalf("invalidated %d, %v", n, err)
			}
		}, "would_run first_run", "completed first_run"},
		"refresh": {func(t *testing.T, h *house, s *Service, _ string) {
			h.finish(begin(t, s, "w", 1, func(r *Request) { r.Options.Mode = rondo.CacheRefresh }).ID, rondo.RunCompleted)
		}, "reuse cache_cold", "skipped cache_cold"},
		"sweep": {func(t *testing.T, _ *house, s *Service, _ string) {
			s.cfg.CacheMaxAge = time.Minute
			time.Sleep(2 * time.Minute)
			if err := s.sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
		}, "would_run first_run", "completed first_run"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inHouses(t, func(t *testing.T, h *house) {
				h.define("w", node{id: "a"})
				var times atomic.Int64
				h.craft.let("a", func(context.Context, skill.Call) (skill.Result, error) {
					return skill.Result{OK: true, Data: payload(times.Add(1))}, nil
				})
				a, b := h.open(slowly, warm), h.open(slowly, warm)
				key := h.steps(h.finish(begin(t, a, "w", 1).ID, rondo.RunCompleted).ID)["a"].CacheKey
				for range 2 { // by the second time b has it in its hot tier
					h.finish(begin(t, b, "w", 1).ID, rondo.RunCompleted)
					time.Sleep(time.Second)
				}
				c.do(t, h, a, key)
				planned, err := b.Plan(t.Context(), bob, Request{WorkflowName: "w", TriggerPayload: payload(1)})
				if err != nil {
					t.Fatal(err)
				}
				if got := planned.Steps[0].Decision + " " + planned.Steps[0].Reason.String(); got != c.planned {
					t.Errorf("the plan says %q, want %q", got, c.planned)
				}
				row := h.steps(h.finish(begin(t, b, "w", 1).ID, rondo.RunCompleted).ID)["a"]
				if got := string(row.Status) + " " + row.Reason.String(); got != c.want {
					t.Errorf("the run says %q, want %q", got, c.want)
				}
				entries, err := h.runs.LookupCache(t.Context(), bob.Tenant, []string{key}, time.Now())
				if err != nil || entries[key].Entry == nil || string(entries[key].Entry.Data) != string(row.Data) {
					t.Errorf("the run has %s, the cache %+v, %v", row.Data, entries[key].Entry, err)
				}
			})
		})
	}
}

// stampless is a store whose cold tier cannot be asked.
type stampless struct {
	store.Runs
	broken atomic.Bool
}

func (s *stampless) CacheStamps(ctx context.Context, tenant string, keys []string) (map[string]store.CacheStamp, error) {
	if s.broken.Load() {
		return nil, errors.New("away")
	}
	return s.Runs.CacheStamps(ctx, tenant, keys)
}

func TestAHotEntryThatCannotBeConfirmedIsAMiss(t *testing.T) {
	t.Parallel()
	inHouses(t, func(t *testing.T, h *house) {
		h.define("w", node{id: "a"})
		runs := &stampless{Runs: h.runs}
		s := h.open(slowly, warm, func(c *Config) { c.Store = runs })
		h.finish(begin(t, s, "w", 1).ID, rondo.RunCompleted)
		time.Sleep(time.Second)
		runs.broken.Store(true)
		// The flight meets the entry, which then counts.
		row := h.steps(h.finish(begin(t, s, "w", 1).ID, rondo.RunCompleted).ID)["a"]
		if row.Status != rondo.RunStepSkipped || row.Reason.Code != rondo.ReasonInflight {
			t.Errorf("while the stamps cannot be read it is %s by %s", row.Status, row.Reason)
		}
		if err := h.evictAll(); err != nil {
			t.Fatal(err)
		}
		row = h.steps(h.finish(begin(t, s, "w", 1).ID, rondo.RunCompleted).ID)["a"]
		if row.Status != rondo.RunStepCompleted {
			t.Errorf("a hot entry that nobody confirms was used: %s by %s", row.Status, row.Reason)
		}
	})
}

func (h *house) evictAll() error {
	_, err := h.runs.EvictCache(h.t.Context(), store.CacheFilter{}, time.Now(), 100)
	return err
}

func TestRunsAndPlansCompareWithTheSame(t *testing.T) {
	t.Parallel()
	inHouses(t, func(t *testing.T, h *house) {
		h.define("w", node{id: "a", more: retry(1)})
		h.craft.let("a", func(_ context.Context, call skill.Call) (skill.Result, error) {
			if string(call.Input) == `{"n":"bad"}` {
				return skill.Result{}, errors.New("bad")
			}
			return made("a", call.Input), nil
		})
		a, b := h.open(slowly), h.open(slowly)
		same := func(n any, want string, end rondo.RunStatus) {
			t.Helper()
			planned, err := a.Plan(t.Context(), bob, Request{WorkflowName: "w", TriggerPayload: payload(n)})
			if err != nil {
				t.Fatal(err)
			}
			row := h.steps(h.finish(begin(t, a, "w", n).ID, end).ID)["a"]
			if got := planned.Steps[0].Reason.String(); got != want || row.Reason.String() != want {
				t.Errorf("with %v the plan says %s and the run %s, want %s", n, got, row.Reason, want)
			}
		}
		same("bad", "first_run", rondo.RunFailed)
		h.finish(begin(t, b, "w", 1).ID, rondo.RunCompleted)
		same(2, "input_changed(n)", rondo.RunCompleted)
		if n, err := a.InvalidateCache(t.Context(), bob, store.CacheFilter{}); n != 2 || err != nil {
			t.Fatalf("invalidated %d, %v", n, err)
		}
		same(3, "first_run", rondo.RunCompleted)
		time.Sleep(2 * memoLasts)
		if err := h.evictAll(); err != nil {
			t.Fatal(err)
		}
		same(4, "first_run", rondo.RunCompleted)
		if err := h.evictAll(); err != nil { // as another process does, while this one remembers
			t.Fatal(err)
		}
		same(4, "first_run", rondo.RunCompleted)
	})
}
