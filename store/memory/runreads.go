package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// Run implements store.Runs.
func (s *Store) Run(ctx context.Context, tenant string, id rondo.ID) (*rondo.Run, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.runs.byID[id]
	if row == nil || row.run.TenantID != tenant {
		return nil, rondo.Op("memory: read run", rondo.NotFound("run"))
	}
	run := copyRun(&row.run)
	return &run, nil
}

// RunList implements store.Runs.
func (s *Store) RunList(ctx context.Context, f store.RunFilter, page store.Page) ([]rondo.Run, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	rows := newestFirst(s.runs.ascending, page, runID, func(row *runRow) bool {
		run := &row.run
		return run.TenantID == f.TenantID && (f.Workflow == "" || run.WorkflowName == f.Workflow) && (f.Status == "" || run.Status == f.Status) &&
			(f.Trigger == "" || run.TriggerType == f.Trigger) && (f.Base.IsZero() || run.BaseRunID == f.Base)
	})
	found := make([]rondo.Run, len(rows))
	for i, row := range rows {
		found[i] = copyRun(&row.run)
	}
	return found, nil
}

// RunSteps implements store.Runs.
func (s *Store) RunSteps(ctx context.Context, run rondo.ID, after int64, withData bool) ([]rondo.RunStep, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.runs.byID[run]
	if row == nil {
		return nil, nil
	}
	var found []rondo.RunStep
	for _, step := range row.sorted() {
		if step.Seq <= after {
			continue
		}
		if !withData {
			step.Data, step.Manifest, step.Debug = nil, nil, nil
		}
		found = append(found, step)
	}
	return found, nil
}

// RunStepData implements store.Runs.
func (s *Store) RunStepData(ctx context.Context, run rondo.ID, step string) ([]rondo.RunStep, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.runs.byID[run]
	if row == nil {
		return nil, nil
	}
	return row.sortedOf(func(id string) bool { return id == step }), nil
}

// sorted is a copy of every attempt, by Seq.
func (row *runRow) sorted() []rondo.RunStep { return row.sortedOf(func(string) bool { return true }) }

// sortedOf is a copy of every attempt of some steps, by Seq.
func (row *runRow) sortedOf(wanted func(stepID string) bool) []rondo.RunStep {
	var steps []rondo.RunStep
	for key, step := range row.steps {
		if wanted(key.step) {
			steps = append(steps, copyRunStep(&step))
		}
	}
	slices.SortFunc(steps, func(a, b rondo.RunStep) int {
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.StepID, b.StepID), cmp.Compare(a.Attempt, b.Attempt))
	})
	return steps
}

// CountRunSteps implements store.Runs.
func (s *Store) CountRunSteps(ctx context.Context, runs []rondo.ID) (map[rondo.ID]map[rondo.RunStepStatus]int, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := map[rondo.ID]map[rondo.RunStepStatus]int{}
	for _, id := range runs {
		row := s.runs.byID[id]
		if row == nil || len(row.steps) == 0 {
			continue
		}
		last := map[string]rondo.RunStep{}
		for _, step := range row.steps {
			if known, ok := last[step.StepID]; !ok || known.Attempt < step.Attempt {
				last[step.StepID] = step
			}
		}
		counts[id] = map[rondo.RunStepStatus]int{}
		for _, step := range last {
			counts[id][step.Status]++
		}
	}
	return counts, nil
}

// Artifact implements store.Runs.
func (s *Store) Artifact(ctx context.Context, tenant string, id rondo.ID) (rondo.Artifact, error) {
	found, err := s.Artifacts(ctx, tenant, []rondo.ID{id})
	if err == nil && len(found) == 0 {
		err = rondo.Op("memory: read artifact", rondo.NotFound("artifact"))
	}
	if err != nil {
		return rondo.Artifact{}, err
	}
	return found[0], nil
}

// Artifacts implements store.Runs.
func (s *Store) Artifacts(ctx context.Context, tenant string, ids []rondo.ID) ([]rondo.Artifact, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runs.artifactsOf(tenant, ids), nil
}

func (r *runs) artifactsOf(tenant string, ids []rondo.ID) []rondo.Artifact {
	ids = slices.Clone(ids)
	slices.SortFunc(ids, compareIDs)
	var found []rondo.Artifact
	for _, id := range slices.Compact(ids) {
		if artifact, ok := r.artifacts[id]; ok && artifact.TenantID == tenant {
			found = append(found, artifact)
		}
	}
	return found
}

// RunArtifacts implements store.Runs.
func (s *Store) RunArtifacts(ctx context.Context, tenant string, run rondo.ID, step string) ([]rondo.Artifact, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.runs.byID[run]
	if row == nil || row.run.TenantID != tenant {
		return nil, nil
	}
	var ids []rondo.ID
	for key, attempt := range row.steps {
		if step == "" || key.step == step {
			ids = append(ids, attempt.ArtifactIDs...)
		}
	}
	return s.runs.artifactsOf(tenant, ids), nil
}

// PurgeRuns implements store.Runs.
func (s *Store) PurgeRuns(ctx context.Context, tenant string, before time.Time, limit int) (int, []string, error) {
	if err := ctx.Err(); err != nil {
		return 0, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	needed := map[rondo.ID]bool{}
	for _, row := range s.runs.ascending {
		if !row.run.Status.Ended() {
			needed[row.run.BaseRunID] = true
		}
	}
	var ended []*runRow
	for _, row := range s.runs.ascending {
		_, own := s.retention[row.run.TenantID]
		of := tenant == row.run.TenantID || tenant == "" && !own
		if of && row.run.Status.Ended() && !row.run.CompletedAt.IsZero() && row.run.CompletedAt.Before(before) && !needed[row.run.ID] {
			ended = append(ended, row)
		}
	}
	slices.SortStableFunc(ended, func(a, b *runRow) int { return a.run.CompletedAt.Compare(b.run.CompletedAt) })
	ended = ended[:max(0, min(limit, len(ended)))]
	for _, gone := range ended {
		delete(s.runs.byID, gone.run.ID)
		s.runs.ascending = slices.DeleteFunc(s.runs.ascending, func(row *runRow) bool { return row == gone })
		s.runs.signals = slices.DeleteFunc(s.runs.signals, func(signal store.RunSignal) bool { return signal.RunID == gone.run.ID })
	}
	return len(ended), s.runs.dropArtifacts(), nil
}
