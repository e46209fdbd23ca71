package runs

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/skill"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/hot"
)

func TestModes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		mode   rondo.CacheMode
		runs   bool         // although there is an entry
		reason rondo.Reason // then
		writes bool         // without an entry
		fails  bool         // without an entry
	}{
		{rondo.CacheUse, false, rondo.Reason{Code: rondo.ReasonCacheCold}, true, false},
		{rondo.CacheRefresh, true, rondo.Reason{Code: rondo.ReasonRefresh}, true, false},
		{rondo.CacheBypass, true, rondo.Reason{Code: rondo.ReasonRefresh, Detail: "bypass"}, false, false},
		{rondo.CacheOnly, false, rondo.Reason{Code: rondo.ReasonCacheCold}, false, true},
		{rondo.CacheVerify, true, rondo.Reason{Code: rondo.ReasonRefresh, Detail: "verify"}, true, false},
	}
	for _, test := range tests {
		t.Run(string(test.mode), func(t *testing.T) {
			inHouses(t, func(t *testing.T, h *house) {
				h.define("w", node{id: "a"})
				s := h.open()
				in := func(r *Request) { r.Options.Mode = test.mode }
				// Without an entry.
				want := rondo.RunCompleted
				if test.fails {
					want = rondo.RunFailed
				}
				run := h.finish(begin(t, s, "w", 1, in).ID, want)
				if test.fails && (run.Error.Code != string(rondo.CodeCacheOnlyMiss) || h.craft.called("a") != 0) {
					t.Errorf("a miss: %+v, computed %d times", run.Error, h.craft.called("a"))
				}
				entries, err := h.runs.CacheList(t.Context(), store.CacheFilter{TenantID: bob.Tenant}, store.CachePage{Limit: 10})
				if err != nil || (len(entries) == 1) != test.writes {
					t.Errorf("%d entries are written, %v", len(entries), err)
				}
				// With one.
				h.finish(begin(t, s, "w", 1).ID, rondo.RunCompleted)
				before := h.craft.called("a")
				row := h.steps(h.finish(begin(t, s, "w", 1, func(r *Request) {
					r.Options.StepModes = map[string]rondo.CacheMode{"a": test.mode}
				}).ID, rondo.RunCompleted).ID)["a"]
				if ran := h.craft.called("a") > before; ran != test.runs || row.Reason != test.reason {
					t.Errorf("with an entry it ran: %v, by %s", ran, row.Reason)
				}
			})
		})
	}
}

func TestVerifyTellsWhatIsNotDeterministic(t *testing.T) {
	t.Parallel()
	inHouses(t, func(t *testing.T, h *house) {
		h.define("w", node{id: "same"}, node{id: "moody"})
		h.craft.let("moody", func(context.Context, skill.Call) (skill.Result, error) {
			return skill.Result{OK: true, Data: fmt.Appendf(nil, "%d", time.Now().UnixNano())}, nil
		})
		s := h.open()
		h.finish(begin(t, s, "w", 1).ID, rondo.RunCompleted)
		time.Sleep(time.Second)
		steps := h.steps(h.finish(begin(t, s, "w", 1, func(r *Request) { r.Options.Mode = rondo.CacheVerify }).ID, rondo.RunCompleted).ID)
		if same := steps["same"].Deterministic; same == nil || !*same {
			t.Errorf("same: %v", same)
		}
		if moody := steps["moody"].Deterministic; moody == nil || *moody {
			t.Errorf("moody: %v", moody)
		}
	})
}

// slowly is for tests of days: the service looks around once an hour.
func slowly(c *Config) { c.Poll, c.OwnerLease = time.Hour, 1000*time.Hour }

func TestRunOnlyAndUncacheableSteps(t *testing.T) {
	t.Parallel()
	inHouses(t, func(t *testing.T, h *house) {
		h.define("w",
			node{id: "own", more: map[string]any{"cache": map[string]any{"scope": "run_only"}}},
			node{id: "off", more: map[string]any{"cache": map[string]any{"enabled": false}}},
			node{id: "brief", more: map[string]any{"cache": map[string]any{"ttl": "1h"}}})
		s := h.open(slowly)
		first := h.finish(begin(t, s, "w", 1).ID, rondo.RunCompleted)
		time.Sleep(2 * time.Hour)
		steps := h.steps(h.finish(begin(t, s, "w", 1).ID, rondo.RunCompleted).ID)
		for id, want := range map[string]rondo.Reason{
			"own":   {Code: rondo.ReasonFirstRun, Detail: "run_only"},
			"off":   {Code: rondo.ReasonUncacheable, Detail: "disabled"},
			"brief": {Code: rondo.ReasonExpired},
		} {
			if steps[id].Reason != want || steps[id].Status != rondo.RunStepCompleted {
				t.Errorf("%s is %s by %s, not %s", id, steps[id].Status, steps[id].Reason, want)
			}
		}
		if key := h.steps(first.ID)["off"].CacheKey; key != "" {
			t.Errorf("a step that is not cached has the key %s", key)
		}
	})
}

// brokenCache fails what the test wants to fail.
type brokenCache struct {
	store.Runs
	lookups, nearest atomic.Bool
}

var errBroken = errors.New("broken")

func (b *brokenCache) LookupCache(ctx context.Context, tenant string, keys []string, at time.Time) (map[string]store.CacheLookup, error) {
	if b.lookups.Load() {
		return nil, errBroken
	}
	return b.Runs.LookupCache(ctx, tenant, keys, at)
}

func (b *brokenCache) NearestEntries(ctx context.Context, tenant, workflow string, steps []string) (map[string]rondo.CacheEntry, error) {
	if b.nearest.Load() {
		return nil, errBroken
	}
	return b.Runs.NearestEntries(ctx, tenant, workflow, steps)
}

// brokenHot is a hot tier that is away, or hangs.
type brokenHot struct{ hangs bool }

func (b brokenHot) Get(ctx context.Context, _ string, _ []string) (map[string]rondo.CacheEntry, error) {
	if b.hangs {
		<-ctx.Done()
	}
	return nil, errBroken
}
func (b brokenHot) Put(context.Context, []store.HotEntry) error  { return errBroken }
func (b brokenHot) Drop(context.Context, string, []string) error { return errBroken }

func TestABrokenCacheIsAMiss(t *testing.T) {
	t.Parallel()
	for _, hangs := range []bool{false, true} {
		inHouses(t, func(t *testing.T, h *house) {
			h.define("w", fan(5)...)
			broken := &brokenCache{Runs: h.runs}
			broken.lookups.Store(true)
			broken.nearest.Store(true)
			s := h.open(func(c *Config) { c.Store, c.Hot = broken, brokenHot{hangs} })
			h.whole(h.finish(begin(t, s, "w", 1).ID, rondo.RunCompleted))
			// The store itself still knows what is there when a flight is asked for.
			h.whole(h.finish(begin(t, s, "w", 2).ID, rondo.RunCompleted))
			broken.lookups.Store(false)
			calls := h.craft.called("join")
			h.whole(h.finish(begin(t, s, "w", 1).ID, rondo.RunCompleted))
			if h.craft.called("join") != calls {
				t.Error("a cold entry was not used while the hot tier is away")
			}
		})
	}
}

func TestTheHotTierIsAskedFirstAndFilledFromTheColdOne(t *testing.T) {
	t.Parallel()
	inHouses(t, func(t *testing.T, h *house) {
		h.define("w", node{id: "deep", more: map[string]any{"class": "llm"}}, node{id: "brief", more: map[string]any{"cache": map[string]any{"ttl": "1h"}}})
		s := h.open(slowly)
		h.finish(begin(t, s, "w", 1).ID, rondo.RunCompleted)
		warm := hot.New(hot.Options{})
		s = h.open(slowly, func(c *Config) { c.Hot = warm })
		reasons := func() (deep, brief rondo.ReasonWord) {
			steps := h.steps(h.finish(begin(t, s, "w", 1).ID, rondo.RunCompleted).ID)
			return steps["deep"].Reason.Code, steps["brief"].Reason.Code
		}
		for i, want := range [][2]rondo.ReasonWord{
			{rondo.ReasonCacheCold, rondo.ReasonCacheCold},
			{rondo.ReasonCacheHot, rondo.ReasonCacheHot},
			{rondo.ReasonCacheHot, rondo.ReasonExpired},
			{rondo.ReasonCacheCold, rondo.ReasonExpired},
		} {
			if deep, brief := reasons(); deep != want[0] || brief != want[1] {
				t.Errorf("%d: deep by %s, brief by %s, not %v", i, deep, brief, want)
			}
			switch i {
			case 1:
				time.Sleep(47 * time.Hour)
			case 2:
				time.Sleep(2 * time.Hour) // an llm step is hot for 48
			}
			time.Sleep(time.Second)
		}
	})
}

func TestAnEntryWhoseFileIsGoneIsAMiss(t *testing.T) {
	t.Parallel()
	inHouses(t, func(t *testing.T, h *house) {
		h.define("w", node{id: "file"}, node{id: "reader", needs: []string{"file"}})
		h.craft.let("file", func(_ context.Context, call skill.Call) (skill.Result, error) {
			result := made(call.StepID, call.Input)
			result.Artifacts = []skill.Artifact{
				{Type: "text/plain", Name: "a.txt", Bytes: []byte("hello")},
				{Type: "text/html", URI: "https://example.org/x"},
			}
			return result, nil
		})
		s := h.open()
		first := h.steps(h.finish(begin(t, s, "w", 1).ID, rondo.RunCompleted).ID)["file"]
		artifacts, err := h.runs.Artifacts(t.Context(), bob.Tenant, first.ArtifactIDs)
		if err != nil || len(artifacts) != 2 || artifacts[0].Size != 5 || artifacts[1].Size != -1 || artifacts[1].URI != "https://example.org/x" {
			t.Fatalf("artifacts %+v, %v", artifacts, err)
		}
		row := h.steps(h.finish(begin(t, s, "w", 1).ID, rondo.RunCompleted).ID)["file"]
		if row.Status != rondo.RunStepSkipped || len(row.ArtifactIDs) != 2 {
			t.Fatalf("with its file there it is %s with %d artifacts", row.Status, len(row.ArtifactIDs))
		}
		if _, err := h.blobs.DeleteUnused(t.Context(), []string{artifacts[0].ContentHash}, time.Now().Add(100*365*24*time.Hour)); err != nil {
			t.Fatal(err)
		}
		row = h.steps(h.finish(begin(t, s, "w", 1).ID, rondo.RunCompleted).ID)["file"]
		if row.Status != rondo.RunStepCompleted || row.Reason.Code != rondo.ReasonArtifactMissing {
			t.Errorf("without its file it is %s by %s", row.Status, row.Reason)
		}
		if got := h.craft.called("reader"); got != 1 {
			t.Errorf("what follows ran %d times: its input was the same", got)
		}
	})
}
