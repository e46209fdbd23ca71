// Package bench measures the engine on real stores and buses: what a user gets
// on their own machine, not what a part could do alone.
//
// It drives a whole engine through its public face. Nothing here is used in
// production.
package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/engine"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/worker"
)

// Cases is the work of the case benchmark: cases of Steps sequential no-op
// module steps, each adding about 200 bytes to the case, in a closed loop.
type Cases struct {
	Store    store.Store
	Bus      bus.Bus // nil = embedded
	InFlight int
	Steps    int
	Warmup   time.Duration
	Window   time.Duration
	Finished int // finished cases to put into the database first
	Shards   int
	Batch    int
	Log      *slog.Logger
}

// CaseResult is what a case benchmark measured.
type CaseResult struct {
	StepsPerSecond   float64 `json:"steps_per_s"`
	CasesPerSecond   float64 `json:"cases_per_s"`
	P50              float64 `json:"p50_ms"`
	P99              float64 `json:"p99_ms"`
	RSS              float64 `json:"rss_mb"`
	CommitsPerSecond float64 `json:"commits_per_s"`
	RowsPerStep      float64 `json:"rows_per_step"`
}

const (
	org       = "bench"
	product   = "bench"
	stepKind  = "bench_noop"
	requested = "ext.bench_noop.requested"
	answer    = "000000000011111111112222222222333333333344444444445555555555666666666677777777778888888888999999999900000000001111111111222222222233333333334444444444555555555566666666667777777777"
)

// Run measures. It ends by itself after warm-up and window, or when ctx ends.
func (c Cases) Run(ctx context.Context) (CaseResult, error) {
	counted := &countingStore{Store: c.Store}
	finished := &completions{waiting: map[string]chan time.Time{}}
	e, err := engine.New(engine.Config{
		Store: counted, Bus: c.Bus, Observer: finished, Log: c.Log, Shards: c.Shards, Batch: c.Batch,
	})
	if err != nil {
		return CaseResult{}, err
	}
	if err := e.Start(ctx); err != nil {
		return CaseResult{}, err
	}
	defer e.Stop(context.WithoutCancel(ctx))
	definitionID, hash, err := publishChain(ctx, e, c.Steps)
	if err != nil {
		return CaseResult{}, err
	}
	if err := seedFinished(ctx, c.Store, definitionID, hash, c.Steps, c.Finished); err != nil {
		return CaseResult{}, rondo.Op("seed finished cases", err)
	}
	module := worker.New(worker.Config{Group: "bench", Bus: e.Bus(), Log: c.Log, Concurrency: max(c.InFlight, 16), Handlers: map[string]worker.Handler{
		requested: func(context.Context, *event.Envelope) (any, error) { return output{Value: answer}, nil },
	}})
	if err := module.Start(ctx); err != nil {
		return CaseResult{}, err
	}
	defer func() { _ = module.Stop(context.WithoutCancel(ctx)) }()
	return c.measure(ctx, e.Bus(), counted, finished)
}

type output struct {
	Value string `json:"value"`
}

// measure runs the closed loop: InFlight clients, each with one case at a time.
func (c Cases) measure(ctx context.Context, b bus.Bus, counted *countingStore, finished *completions) (CaseResult, error) {
	running, stop := context.WithCancel(ctx)
	defer stop()
	var (
		clients sync.WaitGroup
		mu      sync.Mutex
		took    []time.Duration
		failed  atomic.Pointer[error]
		open    atomic.Bool // the window is open
	)
	starter := newStarter(b)
	for range c.InFlight {
		clients.Go(func() {
			for running.Err() == nil {
				begun := time.Now()
				done, id := finished.expect(starter.ids.New().String())
				if err := starter.start(running, id); err != nil {
					if running.Err() == nil {
						failed.CompareAndSwap(nil, &err)
						stop()
					}
					return
				}
				select {
				case at := <-done:
					if open.Load() {
						mu.Lock()
						took = append(took, at.Sub(begun))
						mu.Unlock()
					}
				case <-running.Done():
					return
				}
			}
		})
	}
	wait(running, c.Warmup)
	open.Store(true)
	commits, rows := counted.totals()
	begun := time.Now()
	wait(running, c.Window)
	open.Store(false)
	window := time.Since(begun).Seconds()
	commitsAfter, rowsAfter := counted.totals()
	stop()
	clients.Wait()
	if err := failed.Load(); err != nil {
		return CaseResult{}, *err
	}
	if len(took) == 0 {
		return CaseResult{}, fmt.Errorf("no case completed within %s; give it more --seconds", c.Window)
	}
	slices.Sort(took)
	steps := float64(len(took) * c.Steps)
	return CaseResult{
		StepsPerSecond: round(steps / window), CasesPerSecond: round(float64(len(took)) / window),
		P50: millis(percentile(took, 50)), P99: millis(percentile(took, 99)), RSS: residentMB(),
		CommitsPerSecond: round(float64(commitsAfter-commits) / window),
		RowsPerStep:      round(float64(rowsAfter-rows) / steps),
	}, nil
}

// publishChain publishes a definition of n no-op steps in a row.
func publishChain(ctx context.Context, e *engine.Engine, n int) (rondo.ID, string, error) {
	p := rondo.Principal{Tenant: org, User: "bench", Scopes: []string{rondo.ScopeAdmin}}
	contract := `{"behaviour":"request","events":{"requested":"ext.bench_noop.requested","completed":"ext.bench_noop.completed","failed":"ext.bench_noop.failed"},
		"request":{"case":{"context":"case_id"}},"output_schema":{"type":"object","required":["value"],"properties":{"value":{"type":"string"}}},
		"outcomes":[{"outcome":"on_complete"}],"failure_halt_code":"step_failed"}`
	if _, err := e.PutStepKind(ctx, p, stepKind, []byte(contract)); err != nil {
		return rondo.ID{}, "", rondo.Op("publish step kind", err)
	}
	steps := map[string]any{"done": map[string]any{"kind": "emit_final", "transitions": map[string]string{"on_complete": "TERMINAL"}}}
	for i := 1; i <= n; i++ {
		next := fmt.Sprintf("step_%d", i+1)
		if i == n {
			next = "done"
		}
		steps[fmt.Sprintf("step_%d", i)] = map[string]any{"kind": stepKind, "timeout_seconds": 3600, "transitions": map[string]string{"on_complete": next}}
	}
	body, err := json.Marshal(map[string]any{"name": fmt.Sprintf("bench_%d", n), "start_step": "step_1", "steps": steps})
	if err != nil {
		return rondo.ID{}, "", err
	}
	draft, err := e.CreateDefinition(ctx, p, rondo.NewDefinition{Source: body})
	if err != nil {
		return rondo.ID{}, "", rondo.Op("create definition", err)
	}
	active, err := e.PublishDefinition(ctx, p, draft.ID, "bench")
	return active.ID, active.SnapshotHash, rondo.Op("publish definition", err)
}

// completions tells clients when their case is done: after the commit.
type completions struct {
	mu      sync.Mutex
	waiting map[string]chan time.Time
}

func (c *completions) expect(id string) (<-chan time.Time, string) {
	done := make(chan time.Time, 1)
	c.mu.Lock()
	c.waiting[id] = done
	c.mu.Unlock()
	return done, id
}

// Committed wakes the clients whose cases ended.
func (c *completions) Committed(commit engine.Commit) {
	var now time.Time
	for _, change := range commit.Changes {
		if change.After.Status != rondo.StatusCompleted {
			continue
		}
		if now.IsZero() {
			now = time.Now()
		}
		c.mu.Lock()
		done := c.waiting[change.After.CaseID]
		delete(c.waiting, change.After.CaseID)
		c.mu.Unlock()
		if done != nil {
			done <- now
		}
	}
}
