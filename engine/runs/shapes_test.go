package runs

import (
	"context"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

func TestTheReferenceRunTakesItsCriticalPath(t *testing.T) {
	t.Parallel()
	inHouses(t, func(t *testing.T, h *house) {
		document, err := os.ReadFile("../../internal/plan/testdata/campaign.json")
		if err != nil {
			t.Fatal(err)
		}
		w := h.register(document)
		h.craft.slow(10 * time.Second)
		s := h.open()
		run, err := s.Trigger(t.Context(), bob, Request{WorkflowName: w.Name, TriggerPayload: []byte(`{"brief":{"title":"Summer"}}`)})
		if err != nil {
			t.Fatal(err)
		}
		ended := h.finish(run.ID, rondo.RunCompleted)
		h.whole(ended)
		for id, row := range h.steps(run.ID) {
			if row.Status != rondo.RunStepCompleted || row.Reason.Code != rondo.ReasonFirstRun || row.Attempt != 1 {
				t.Errorf("%s is %s by %s in attempt %d", id, row.Status, row.Reason, row.Attempt)
			}
		}
		// Plan, one of bgm and sfx, mix, bundle, manifest: five steps in a row.
		if took := ended.CompletedAt.Sub(ended.StartedAt); took < 50*time.Second || took > 52*time.Second {
			t.Errorf("it took %s, its critical path 50s", took)
		}
	})
}

func TestShapes(t *testing.T) {
	t.Parallel()
	inHouses(t, func(t *testing.T, h *house) {
		wide, long := 1000, 1000
		if h.durable {
			wide, long = 200, 100
		}
		h.define("diamond", node{id: "a"}, node{id: "b", needs: []string{"a"}}, node{id: "c", needs: []string{"a"}}, node{id: "d", needs: []string{"b", "c"}})
		h.define("fan", fan(wide)...)
		h.define("chain", chain(long)...)
		h.define("one", node{id: "only"})
		s := h.open()
		for _, name := range []string{"diamond", "fan", "chain", "one"} {
			first := h.finish(begin(t, s, name, 1).ID, rondo.RunCompleted)
			h.whole(first)
			again := h.finish(begin(t, s, name, 1).ID, rondo.RunCompleted)
			h.whole(again)
			for id, row := range h.steps(again.ID) {
				if row.Status != rondo.RunStepSkipped || !row.CacheHit || row.SourceRunID != first.ID {
					t.Fatalf("%s: %s is %s of %s the second time", name, id, row.Status, row.SourceRunID)
				}
			}
		}
	})
}

// countedCommits counts commits.
type countedCommits struct {
	store.Runs
	commits atomic.Int64
}

func (c *countedCommits) CommitRuns(ctx context.Context, commit store.RunCommit) ([]store.RunResult, error) {
	c.commits.Add(1)
	return c.Runs.CommitRuns(ctx, commit)
}

func TestAFanNeedsFewCommitsAndAChainOnePerStep(t *testing.T) {
	t.Parallel()
	inHouses(t, func(t *testing.T, h *house) {
		h.define("fan", fan(100)...)
		h.define("chain", chain(50)...)
		counted := &countedCommits{Runs: h.runs}
		s := h.open(func(c *Config) { c.Store, c.Slots = counted, 128 })
		h.craft.slow(time.Second) // all end at once
		h.finish(begin(t, s, "fan", 1).ID, rondo.RunCompleted)
		if n := counted.commits.Load(); n > 12 {
			t.Errorf("a fan of 100 took %d commits", n)
		}
		counted.commits.Store(0)
		h.finish(begin(t, s, "chain", 1).ID, rondo.RunCompleted)
		if n := counted.commits.Load(); n > 51 {
			t.Errorf("a chain of 50 took %d commits", n)
		}
		counted.commits.Store(0)
		h.finish(begin(t, s, "chain", 1).ID, rondo.RunCompleted)
		if n := counted.commits.Load(); n > 1 {
			t.Errorf("a chain of 50 that is reused took %d commits", n)
		}
	})
}
