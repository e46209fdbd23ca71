package runs

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/skill"
	"github.com/rondo-engine/rondo/store"
)

// heavy lets steps give so many bytes.
func heavy(h *house, size int, steps ...string) {
	for _, id := range steps {
		h.craft.let(id, func(_ context.Context, call skill.Call) (skill.Result, error) {
			return skill.Result{OK: true, Data: json.RawMessage(`"` + call.StepID + strings.Repeat("x", size) + `"`)}, nil
		})
	}
}

func TestOutputsAreForgottenWhenTheLastReaderIsDone(t *testing.T) {
	t.Parallel()
	inHouses(t, func(t *testing.T, h *house) {
		const steps, size = 40, 100_000
		nodes := chain(steps)
		ids := make([]string, steps)
		for i := range nodes {
			ids[i] = nodes[i].id
		}
		h.define("w", nodes...)
		heavy(h, size, ids...)
		most := int64(0)
		gate := &door{Runs: h.runs}
		s := h.open(through(gate))
		gate.meddle(func(_ int64, commit func() ([]store.RunResult, error)) ([]store.RunResult, error) {
			most = max(most, s.held.Load())
			return commit()
		})
		run := h.finish(begin(t, s, "w", 1).ID, rondo.RunCompleted)
		if most < size || most > 5*size {
			t.Errorf("at most %d bytes were held, in a chain of steps that give %d", most, size)
		}
		for id, row := range h.steps(run.ID) {
			if len(row.Data) < size {
				t.Errorf("%s is stored with %d bytes", id, len(row.Data))
			}
		}
		h.finish(begin(t, s, "w", 1).ID, rondo.RunCompleted) // the same from the cache
		if left := s.held.Load(); left != 0 {
			t.Errorf("%d bytes are held when nothing is driven", left)
		}
	})
}

// What a step reads is there although others that read it failed, were retried or
// were done before the run was read again.
func TestWhatIsStillReadStays(t *testing.T) {
	t.Parallel()
	inHouses(t, func(t *testing.T, h *house) {
		h.define("w", node{id: "a"}, node{id: "b", needs: []string{"a"}}, node{id: "bad", needs: []string{"a"}, more: retry(1)},
			node{id: "slow", needs: []string{"a", "b"}}, node{id: "z", needs: []string{"a", "bad", "slow"}})
		h.craft.let("bad", func(context.Context, skill.Call) (skill.Result, error) {
			return skill.Fail(rondo.CodeSkillError, "no", false), nil
		})
		h.craft.let("slow", func(_ context.Context, call skill.Call) (skill.Result, error) {
			time.Sleep(time.Minute)
			return made(call.StepID, call.Input), nil
		})
		first := h.open()
		id := begin(t, first, "w", 1).ID
		time.Sleep(10 * time.Second)
		kill(first)
		second := h.open()
		h.finish(id, rondo.RunFailed)
		h.craft.let("bad", nil)
		if _, err := second.Retry(t.Context(), bob, id); err != nil {
			t.Fatal(err)
		}
		h.whole(h.finish(id, rondo.RunCompleted))
		synctest.Wait()
		if left := second.held.Load(); left != 0 {
			t.Errorf("%d bytes are held when nothing is driven", left)
		}
	})
}

// largest tells how many bytes of results the largest commit had.
type largest struct {
	store.Runs
	mu    sync.Mutex
	bytes int
}

func (l *largest) CommitRuns(ctx context.Context, c store.RunCommit) ([]store.RunResult, error) {
	n := 0
	for i := range c.Writes {
		for k := range c.Writes[i].Steps {
			n += len(c.Writes[i].Steps[k].Data)
		}
	}
	l.mu.Lock()
	l.bytes = max(l.bytes, n)
	l.mu.Unlock()
	return l.Runs.CommitRuns(ctx, c)
}

func TestACommitIsBounded(t *testing.T) {
	t.Parallel()
	inMemory(t, func(t *testing.T, h *house) {
		const width, size = 200, 400_000
		var nodes []node
		var ids []string
		for i := range width {
			ids = append(ids, fmt.Sprintf("s%d", i))
			nodes = append(nodes, node{id: ids[i]})
		}
		h.define("w", nodes...)
		heavy(h, size, ids...)
		h.craft.slow(time.Second) // all end at once
		seen := &largest{Runs: h.runs}
		s := h.open(func(c *Config) { c.Store, c.Slots = seen, width })
		for range 2 { // computed, and then reused
			run := h.finish(begin(t, s, "w", 1).ID, rondo.RunCompleted)
			if got := len(h.steps(run.ID)); got != width {
				t.Errorf("%d of %d steps are done", got, width)
			}
		}
		if most := commitBytes + (lookAtOnce+1)*(size+100); seen.bytes > most || seen.bytes < size {
			t.Errorf("a commit had %d bytes of results, more than %d", seen.bytes, most)
		}
	})
}

func TestNoRunIsTakenWhenMemoryIsFull(t *testing.T) {
	t.Parallel()
	inHouses(t, func(t *testing.T, h *house) {
		h.define("w", node{id: "a"}, node{id: "b", needs: []string{"a"}})
		heavy(h, 10_000, "a")
		var mu sync.Mutex
		at, most := 0, 0
		h.craft.let("b", func(_ context.Context, call skill.Call) (skill.Result, error) {
			mu.Lock()
			at++
			most = max(most, at)
			mu.Unlock()
			time.Sleep(time.Minute)
			mu.Lock()
			at--
			mu.Unlock()
			return made(call.StepID, call.Input), nil
		})
		s := h.open(func(c *Config) { c.MaxRunBytes = 5_000 })
		var ids []rondo.ID
		for i := range 5 {
			ids = append(ids, begin(t, s, "w", i).ID)
			time.Sleep(time.Second)
		}
		if run, err := h.runs.Run(t.Context(), bob.Tenant, ids[4]); err != nil || run.Status != rondo.RunQueued {
			t.Errorf("a run for which there is no memory is %s, %v", run.Status, err)
		}
		mu.Lock()
		if most != 1 {
			t.Errorf("%d runs were in hand at once", most)
		}
		mu.Unlock()
		for _, id := range ids {
			h.finish(id, rondo.RunCompleted)
		}
	})
}

func TestATenantDoesNotTakeEveryPlace(t *testing.T) {
	t.Parallel()
	inHouses(t, func(t *testing.T, h *house) {
		h.define("w", node{id: "far", more: far(1)})
		s := h.open(func(c *Config) { c.MaxRuns = 4 })
		status := func(tenant string, n int) rondo.RunStatus {
			run, err := s.Trigger(t.Context(), rondo.Principal{Tenant: tenant}, Request{WorkflowName: "w", TriggerPayload: payload(n)})
			if err != nil {
				t.Fatal(err)
			}
			return run.Status
		}
		for i, want := range []rondo.RunStatus{rondo.RunRunning, rondo.RunRunning, rondo.RunQueued, rondo.RunQueued} {
			if got := status("acme", i); got != want {
				t.Errorf("run %d of the first tenant is %s", i, got)
			}
		}
		time.Sleep(5 * time.Second) // the poll leaves them alone
		if got := status("globex", 1); got != rondo.RunRunning {
			t.Errorf("the run of another tenant is %s", got)
		}
	})
}

func TestAQueuedRunIsCancelledAtOnce(t *testing.T) {
	t.Parallel()
	inHouses(t, func(t *testing.T, h *house) {
		h.define("w", node{id: "far", more: far(1)})
		bus := newSent(h)
		s := h.open(func(c *Config) { c.Store, c.MaxRuns = bus, 1 })
		first := begin(t, s, "w", 1)
		queued := begin(t, s, "w", 2)
		if queued.Status != rondo.RunQueued {
			t.Fatalf("the second run is %s", queued.Status)
		}
		run, err := s.Cancel(t.Context(), bob, queued.ID)
		if err != nil || run.Status != rondo.RunCancelled {
			t.Fatalf("%+v, %v", run, err)
		}
		if row := h.steps(queued.ID)["far"]; row.Status != rondo.RunStepCancelled {
			t.Errorf("its step is %s", row.Status)
		}
		if asked := len(bus.of(t, "run.step.requested")); asked != 1 {
			t.Errorf("workers were asked %d times", asked)
		}
		if run, err := h.runs.Run(t.Context(), bob.Tenant, first.ID); err != nil || run.Status != rondo.RunRunning {
			t.Errorf("the first run: %v, %v", run, err)
		}
	})
}

// A run that was cancelled while nobody had it begins nothing once it is claimed.
func TestAClaimedRunThatWasCancelledBeginsNothing(t *testing.T) {
	t.Parallel()
	inHouses(t, func(t *testing.T, h *house) {
		h.define("w", node{id: "a"})
		first := h.open(func(c *Config) { c.MaxRuns = 1 })
		blocker := begin(t, first, "w", 0)
		h.finish(blocker.ID, rondo.RunCompleted)
		h.define("long", node{id: "hang"})
		h.craft.let("hang", func(ctx context.Context, _ skill.Call) (skill.Result, error) {
			<-ctx.Done()
			return skill.Result{}, ctx.Err()
		})
		begin(t, first, "long", 1)
		queued := begin(t, first, "w", 7)
		kill(first)
		signal := store.RunSignal{ID: rondo.NewIDs(time.Now).New(), RunID: queued.ID, Kind: store.SignalCancel, At: time.Now()}
		if err := h.runs.PutSignals(t.Context(), []store.RunSignal{signal}); err != nil {
			t.Fatal(err)
		}
		before := h.craft.called("a")
		h.open()
		h.finish(queued.ID, rondo.RunCancelled)
		if got := h.craft.called("a"); got != before {
			t.Errorf("its step was begun %d times", got-before)
		}
	})
}
