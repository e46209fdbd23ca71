package runs

import (
	"context"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/plan"
	"github.com/rondo-engine/rondo/store"
)

// RunView is a run and how far its steps are.
type RunView struct {
	rondo.Run
	Summary StepsSummary
}

// StepsSummary counts the steps of a run by the status of their last attempt.
type StepsSummary struct {
	Total     int `json:"total"`
	Pending   int `json:"pending"`
	Running   int `json:"running"`
	Completed int `json:"completed"`
	Skipped   int `json:"skipped"`
	Failed    int `json:"failed"`
	Cancelled int `json:"cancelled"`
}

// Run returns one run, or CodeNotFound.
func (s *Service) Run(ctx context.Context, p rondo.Principal, id rondo.ID) (RunView, error) {
	run, err := s.store.Run(ctx, p.Tenant, id)
	if err != nil {
		return RunView{}, rondo.Op("read a run", err)
	}
	views, err := s.views(ctx, []rondo.Run{*run})
	if err != nil {
		return RunView{}, err
	}
	return views[0], nil
}

// Runs lists runs of the principal's tenant, newest first.
func (s *Service) Runs(ctx context.Context, p rondo.Principal, filter store.RunFilter, page store.Page) ([]RunView, error) {
	filter.TenantID = p.Tenant
	runs, err := s.store.RunList(ctx, filter, page)
	if err != nil {
		return nil, rondo.Op("list runs", err)
	}
	return s.views(ctx, runs)
}

// views counts the steps of runs, all of them in one read.
func (s *Service) views(ctx context.Context, runs []rondo.Run) ([]RunView, error) {
	if len(runs) == 0 {
		return nil, nil
	}
	ids := make([]rondo.ID, len(runs))
	for i := range runs {
		ids[i] = runs[i].ID
	}
	counts, err := s.store.CountRunSteps(ctx, ids)
	if err != nil {
		return nil, rondo.Op("count the steps of runs", err)
	}
	views := make([]RunView, len(runs))
	for i := range runs {
		of := counts[runs[i].ID]
		if err := s.withoutRetried(ctx, &runs[i], of); err != nil {
			return nil, err
		}
		views[i] = RunView{Run: runs[i], Summary: summarise(runs[i].TotalSteps, of)}
	}
	return views, nil
}

// withoutRetried takes steps that are between two attempts out of those that failed.
// Rows are read only where there can be some.
func (s *Service) withoutRetried(ctx context.Context, run *rondo.Run, counts map[rondo.RunStepStatus]int) error {
	if run.Status.Ended() || counts[rondo.RunStepFailed] == 0 {
		return nil
	}
	rows, err := s.store.RunSteps(ctx, run.ID, 0, false)
	if err != nil {
		return rondo.Op("count the steps of runs", err)
	}
	for _, row := range lastByStep(rows) {
		if row.Status == rondo.RunStepFailed && asSeen(run, row).Status == rondo.RunStepPending {
			counts[rondo.RunStepFailed]--
		}
	}
	return nil
}

func summarise(total int, counts map[rondo.RunStepStatus]int) StepsSummary {
	sum := StepsSummary{
		Total: total, Running: counts[rondo.RunStepRunning], Completed: counts[rondo.RunStepCompleted], Skipped: counts[rondo.RunStepSkipped],
		Failed: counts[rondo.RunStepFailed], Cancelled: counts[rondo.RunStepCancelled],
	}
	sum.Pending = max(0, total-sum.Running-sum.Completed-sum.Skipped-sum.Failed-sum.Cancelled)
	return sum
}

// Steps returns the last attempt of every step, in the order of the file and
// without data; a step that nothing was done about yet is pending. A status that
// is not "" keeps those that have it.
func (s *Service) Steps(ctx context.Context, p rondo.Principal, id rondo.ID, status rondo.RunStepStatus) ([]rondo.RunStep, error) {
	run, w, rows, err := s.history(ctx, p.Tenant, id, false)
	if err != nil {
		return nil, err
	}
	var steps []rondo.RunStep
	for _, step := range lastAttempts(id, w, rows) {
		step = asSeen(run, step)
		if status == "" || step.Status == status {
			steps = append(steps, step)
		}
	}
	return steps, nil
}

// StepOutput is one step with data: its last attempt, and every attempt, oldest
// first.
type StepOutput struct {
	Step     rondo.RunStep
	Attempts []rondo.RunStep
}

// StepOutput returns one step with data. A step that is pending has no attempts;
// one that the workflow does not have is CodeNotFound.
func (s *Service) StepOutput(ctx context.Context, p rondo.Principal, id rondo.ID, step string) (StepOutput, error) {
	run, w, err := s.frozen(ctx, p.Tenant, id)
	if err != nil {
		return StepOutput{}, err
	}
	i, known := w.Index(step)
	if !known {
		return StepOutput{}, noStep(step)
	}
	var out StepOutput
	if out.Attempts, err = s.store.RunStepData(ctx, run.ID, step); err != nil {
		return StepOutput{}, rondo.Op("read a step of a run", err)
	}
	byAttempt(out.Attempts)
	out.Step = rondo.RunStep{RunID: id, StepID: step, Skill: w.Steps[i].Skill, Status: rondo.RunStepPending}
	if n := len(out.Attempts); n > 0 {
		out.Step = asSeen(run, out.Attempts[n-1])
	}
	return out, nil
}

func noStep(step string) error {
	return &rondo.Error{Code: rondo.CodeNotFound, Message: "the workflow of this run has no step " + quoted(step), Hint: "list the steps of the run to see their ids"}
}

// history reads a run, the workflow it was started with, and the attempts of its
// steps.
func (s *Service) history(ctx context.Context, tenant string, id rondo.ID, withData bool) (*rondo.Run, *plan.Workflow, []rondo.RunStep, error) {
	run, w, err := s.frozen(ctx, tenant, id)
	if err != nil {
		return nil, nil, nil, err
	}
	rows, err := s.store.RunSteps(ctx, id, 0, withData)
	if err != nil {
		return nil, nil, nil, rondo.Op("read the steps of a run", err)
	}
	return run, w, rows, nil
}

// frozen reads a run and the workflow it was started with.
func (s *Service) frozen(ctx context.Context, tenant string, id rondo.ID) (*rondo.Run, *plan.Workflow, error) {
	run, err := s.store.Run(ctx, tenant, id)
	if err != nil {
		return nil, nil, rondo.Op("read a run", err)
	}
	w, err := s.cfg.Definitions.Frozen(ctx, tenant, run.DefinitionHash)
	return run, w, rondo.Op("read the workflow of a run", err)
}
