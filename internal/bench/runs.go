package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine/runs"
	"github.com/rondo-engine/rondo/internal/plan"
	"github.com/rondo-engine/rondo/store"
)

// Runs is the work of the run benchmark: runs of no-op steps through the real
// service, one run at a time, everything durable. Every run has an input of its
// own that every step reads, so that nothing is reused unless that is measured.
type Runs struct {
	Store  store.Runs
	Hot    store.HotCache // nil = none
	Slots  int
	Window time.Duration // of each shape
	Warmup time.Duration // before each
	// PlanSteps is how many steps the planned workflow has, in layers of a hundred:
	// 10,000 for figures to compare.
	PlanSteps int
	Log       *slog.Logger
}

// RunsResult is what a run benchmark measured.
type RunsResult struct {
	FanStepsPerSecond   float64 `json:"fan_steps_per_s"` // 1 root, 100 side by side, 1 join
	FanP50              float64 `json:"fan_run_p50_ms"`
	ChainStepsPerSecond float64 `json:"chain_steps_per_s"` // 100 in a row
	ChainP50            float64 `json:"chain_run_p50_ms"`
	CachedP50           float64 `json:"cached_step_p50_ms"` // of a fan that is all reused, by step
	CachedP95           float64 `json:"cached_step_p95_ms"`
	Plan10k             float64 `json:"plan_10k_ms"`         // of 10,000 steps that never ran, compiled anew
	PlanReuse10k        float64 `json:"plan_10k_reused_ms"`  // of the same after a run: every step is looked up
	Run10k              float64 `json:"run_10k_steps_per_s"` // that run
	RSS                 float64 `json:"rss_mb"`
}

// The shapes that are measured.
const (
	fanWidth    = 100
	chainLength = 100
	planWidth   = 100
)

// Run measures. It ends by itself, or when ctx ends.
func (r Runs) Run(ctx context.Context) (result RunsResult, err error) {
	shelf := &workflows{named: map[string]*plan.Workflow{}}
	if err := errors.Join(shelf.add(fanName, fanOf(fanWidth)), shelf.add(chainName, chainOf(chainLength))); err != nil {
		return result, err
	}
	ended := make(endings, 1)
	service, err := runs.New(runs.Config{
		Store: r.Store, Hot: r.Hot, Definitions: shelf, Environment: noopEnvironment{}, Skills: noopSkills{}, Observer: ended, Log: r.Log, Slots: r.Slots,
	})
	if err != nil {
		return result, err
	}
	if err := service.Start(ctx); err != nil {
		return result, err
	}
	defer func() { _ = service.Stop(context.WithoutCancel(ctx)) }()
	m := runMeter{Runs: r, service: service, ended: ended}
	for _, part := range []func(context.Context, *RunsResult) error{m.fan, m.chain, m.cached} {
		if err := part(ctx, &result); err != nil {
			return result, err
		}
	}
	if err := m.planned(ctx, shelf, &result); err != nil {
		return result, err
	}
	result.RSS = residentMB()
	return result, nil
}

// runMeter runs workflows and takes the time.
type runMeter struct {
	Runs
	service *runs.Service
	ended   endings
	last    int // input of the last run
}

var runUser = rondo.Principal{Tenant: org, User: "bench", Scopes: []string{rondo.ScopeRunsWrite, rondo.ScopeRunsRead}}

// once runs a workflow with an input and returns how long it took.
func (m *runMeter) once(ctx context.Context, name string, n int) (time.Duration, error) {
	begun := time.Now()
	payload := json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))
	if _, err := m.service.Trigger(ctx, runUser, runs.Request{WorkflowName: name, TriggerPayload: payload}); err != nil {
		return 0, err
	}
	select {
	case status := <-m.ended:
		if status != rondo.RunCompleted {
			return 0, fmt.Errorf("a run of %s ended as %s", name, status)
		}
		return time.Since(begun), nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// fresh runs a workflow with an input that was never used.
func (m *runMeter) fresh(ctx context.Context, name string) (time.Duration, error) {
	m.last++
	return m.once(ctx, name, m.last)
}

// loop repeats for warm-up and window and returns the sorted times of the window.
func (m *runMeter) loop(ctx context.Context, once func() (time.Duration, error)) (took []time.Duration, window time.Duration, err error) {
	for begun := time.Now(); time.Since(begun) < m.Warmup; {
		if _, err := once(); err != nil {
			return nil, 0, err
		}
	}
	begun := time.Now()
	for len(took) == 0 || time.Since(begun) < m.Window {
		d, err := once()
		if err != nil {
			return nil, 0, err
		}
		took = append(took, d)
	}
	window = time.Since(begun)
	slices.Sort(took)
	return took, window, ctx.Err()
}

func (m *runMeter) fan(ctx context.Context, result *RunsResult) error {
	took, window, err := m.loop(ctx, func() (time.Duration, error) { return m.fresh(ctx, fanName) })
	if err != nil {
		return err
	}
	result.FanStepsPerSecond = round(float64(len(took)*(fanWidth+2)) / window.Seconds())
	result.FanP50 = millis(percentile(took, 50))
	return nil
}

func (m *runMeter) chain(ctx context.Context, result *RunsResult) error {
	took, window, err := m.loop(ctx, func() (time.Duration, error) { return m.fresh(ctx, chainName) })
	if err != nil {
		return err
	}
	result.ChainStepsPerSecond = round(float64(len(took)*chainLength) / window.Seconds())
	result.ChainP50 = millis(percentile(took, 50))
	return nil
}

// cached runs what ran before: nothing is computed.
func (m *runMeter) cached(ctx context.Context, result *RunsResult) error {
	if _, err := m.fresh(ctx, fanName); err != nil {
		return err
	}
	took, _, err := m.loop(ctx, func() (time.Duration, error) { return m.once(ctx, fanName, m.last) })
	if err != nil {
		return err
	}
	perStep := func(p int) float64 {
		return float64(percentile(took, p).Nanoseconds()/(fanWidth+2)/1000) / 1000 // to the microsecond
	}
	result.CachedP50, result.CachedP95 = perStep(50), perStep(95)
	return nil
}

// planned plans a large workflow before and after it ran.
func (m *runMeter) planned(ctx context.Context, shelf *workflows, result *RunsResult) error {
	layers := m.PlanSteps / planWidth
	steps := layersOf(layers, planWidth)
	ask := runs.Request{WorkflowName: layersName, TriggerPayload: json.RawMessage(`{"n":1}`)}
	plans := func(prepare func() error) (float64, error) {
		var took []time.Duration
		for range 5 {
			begun := time.Now()
			if err := prepare(); err != nil {
				return 0, err
			}
			if _, err := m.service.Plan(ctx, runUser, ask); err != nil {
				return 0, err
			}
			took = append(took, time.Since(begun))
		}
		slices.Sort(took)
		return millis(percentile(took, 50)), nil
	}
	var err error
	if result.Plan10k, err = plans(func() error { return shelf.add(layersName, steps) }); err != nil {
		return err
	}
	took, err := m.once(ctx, layersName, 1)
	if err != nil {
		return err
	}
	result.Run10k = round(float64(layers*planWidth) / took.Seconds())
	result.PlanReuse10k, err = plans(func() error { return nil })
	return err
}

// endings tells when a run ended: after its commit.
type endings chan rondo.RunStatus

// RunEnded passes the end on.
func (e endings) RunEnded(_ string, status rondo.RunStatus, _ time.Duration) { e <- status }

// StepEnded is of no interest.
func (endings) StepEnded(string, rondo.RunStepStatus, rondo.ReasonWord, time.Duration) {}

// Committed is of no interest.
func (endings) Committed(int, int, time.Duration, error) {}

// Load is of no interest.
func (endings) Load(int, int, int, int, int) {}
