package runs

import (
	"context"
	"maps"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// CacheAnalysis says what the cache was good for in a run. A hit is a step that was
// not computed because its result was there, from the base or from the cache; a
// miss is one that was attempted. What a hit saved is what computing its entry took
// and cost, or when that is gone what computing the step takes and costs of late.
func (s *Service) CacheAnalysis(ctx context.Context, p rondo.Principal, id rondo.ID) (CacheAnalysis, error) {
	run, w, rows, err := s.history(ctx, p.Tenant, id, false)
	if err != nil {
		return CacheAnalysis{}, err
	}
	steps := lastAttempts(id, w, rows)
	saved, err := s.savings(ctx, run, steps)
	if err != nil {
		return CacheAnalysis{}, err
	}
	analysis := CacheAnalysis{TotalSteps: len(steps), Steps: make([]CacheAnalysisStep, 0, len(steps))}
	for i := range steps {
		row := &steps[i]
		step := CacheAnalysisStep{StepID: row.StepID, Reason: row.Reason, CacheKey: row.CacheKey, DurationMs: took(row)}
		switch {
		case row.Status == rondo.RunStepSkipped:
			step.CacheHit = true
			step.TimeSavedMs, step.CostSaved = saved[row.StepID].DurationMs, saved[row.StepID].Cost
			analysis.CacheHits++
		case row.Attempt > 0:
			analysis.CacheMisses++
		}
		analysis.TimeSavedMs += step.TimeSavedMs
		analysis.CostSaved += step.CostSaved
		analysis.Steps = append(analysis.Steps, step)
	}
	return analysis, nil
}

// savings is what computing the skipped steps took and cost, by step.
func (s *Service) savings(ctx context.Context, run *rondo.Run, steps []rondo.RunStep) (map[string]store.StepCost, error) {
	const op = "read what reused steps cost"
	var keys []string
	for i := range steps {
		if steps[i].Status == rondo.RunStepSkipped && steps[i].CacheKey != "" {
			keys = append(keys, steps[i].CacheKey)
		}
	}
	history, err := s.store.StepHistory(ctx, run.TenantID, run.WorkflowName)
	if err != nil {
		return nil, rondo.Op(op, err)
	}
	saved := make(map[string]store.StepCost, len(steps))
	maps.Copy(saved, history)
	entries, err := s.store.LookupCache(ctx, run.TenantID, keys, s.now())
	if err != nil {
		return nil, rondo.Op(op, err)
	}
	for i := range steps {
		if found := entries[steps[i].CacheKey].Entry; found != nil {
			saved[steps[i].StepID] = store.StepCost{DurationMs: found.DurationMs, Cost: found.Cost}
		}
	}
	return saved, nil
}
