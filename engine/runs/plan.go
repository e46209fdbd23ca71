package runs

import (
	"context"
	"encoding/json"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/plan"
	"github.com/rondo-engine/rondo/store"
)

// Plan says what a run would do, and does nothing. Its errors are those of Trigger.
func (s *Service) Plan(ctx context.Context, p rondo.Principal, request Request) (Plan, error) {
	w, err := s.planned(ctx, p.Tenant, request)
	if err != nil {
		return Plan{}, err
	}
	if err := checkOptions(w, request.Options); err != nil {
		return Plan{}, err
	}
	payload := request.TriggerPayload
	if len(payload) == 0 {
		payload = json.RawMessage("{}")
	}
	if err := w.ValidateInput(payload); err != nil {
		return Plan{}, err
	}
	return s.forecast(ctx, plan.ForecastInput{Workflow: w, Tenant: p.Tenant, Trigger: payload, Options: request.Options})
}

// planned is the workflow to plan: one that is registered, or a document.
func (s *Service) planned(ctx context.Context, tenant string, request Request) (*plan.Workflow, error) {
	if len(request.Document) > 0 {
		return s.unregistered(request.Document, request.WorkflowName)
	}
	w, err := s.cfg.Definitions.Named(ctx, tenant, request.WorkflowName, request.WorkflowVersion)
	return w, rondo.Op("read a workflow", err)
}

// unregistered compiles a document for a plan. Name is what it must be of; "" =
// anything.
func (s *Service) unregistered(document json.RawMessage, name string) (*plan.Workflow, error) {
	w, err := plan.Compile(document, s.cfg.Environment)
	if err != nil {
		return nil, rondo.Op("compile the definition", err)
	}
	if name != "" && w.Name != name {
		return nil, &rondo.Error{
			Code: rondo.CodeInvalid, Message: "the definition is of another workflow", Hint: "plan with a definition of the same name",
			Fields: []rondo.FieldError{{Code: "not_allowed", Pointer: "/definition/name", Message: "must be the name of the workflow"}},
		}
	}
	return w, nil
}

// onlyPlanned refuses to run what nobody registered: a run needs its definition for
// as long as it is kept.
func onlyPlanned(document json.RawMessage) error {
	if len(document) == 0 {
		return nil
	}
	return &rondo.Error{Code: rondo.CodeInvalid, Message: "a definition that is not registered can be planned, not run", Hint: "publish it first"}
}

// PlanUpdate says what an update run would do, and does nothing. Its errors are
// those of Update.
func (s *Service) PlanUpdate(ctx context.Context, p rondo.Principal, request UpdateRequest) (Plan, error) {
	u, err := s.prepareUpdate(ctx, p, request)
	if err != nil {
		return Plan{}, err
	}
	made, err := s.forecast(ctx, u.in)
	made.TriggerType, made.BaseRunID = string(rondo.TriggerUpdate), u.base.run.ID.String()
	return made, err
}

// forecast makes a dry run with what both tiers of the cache know.
func (s *Service) forecast(ctx context.Context, in plan.ForecastInput) (Plan, error) {
	in.Nearest = map[string]plan.Manifest{} // filled in as steps miss
	f := plan.NewForecast(in)
	reader := s.cacheReader(&in)
	for asks := f.Next(); len(asks) > 0; asks = f.Next() {
		found, err := reader.find(ctx, asks)
		if err != nil {
			return Plan{}, err
		}
		if err := s.nearest(ctx, &in, asks, found); err != nil {
			return Plan{}, err
		}
		f.Answer(s.now(), found)
	}
	history, err := s.store.StepHistory(ctx, in.Tenant, in.Workflow.Name)
	if err != nil {
		return Plan{}, rondo.Op("read what steps took", err)
	}
	made := Plan{
		WorkflowName: in.Workflow.Name, WorkflowVersion: in.Workflow.Version, TriggerType: string(rondo.TriggerInitial),
		Seeds: idsOf(in.Workflow, in.Seeds), Steps: make([]PlanStep, len(in.Workflow.Steps)),
	}
	for i, candidate := range f.Candidates() {
		if candidate && in.Base != nil {
			made.Candidates = append(made.Candidates, in.Workflow.Steps[i].ID)
		}
	}
	for i, step := range f.Steps() {
		made.Steps[i] = planStep(in.Workflow, &step, history)
	}
	made.Summary = planSummary(in.Workflow, made.Steps)
	return made, nil
}

// nearest gives the forecast something to compare with: the manifests of the
// youngest entries of steps that miss and have no base.
func (s *Service) nearest(ctx context.Context, in *plan.ForecastInput, asks []plan.Lookup, found map[string]plan.Found) error {
	var steps []string
	for _, ask := range asks {
		id := in.Workflow.Steps[ask.Step].ID
		if found[ask.Key].Entry == nil && len(in.Base[id].Manifest) == 0 {
			steps = append(steps, id)
		}
	}
	if len(steps) == 0 {
		return nil
	}
	entries, err := s.store.NearestEntries(ctx, in.Tenant, in.Workflow.Name, steps)
	if err != nil {
		return rondo.Op("find the nearest entries", err)
	}
	for id := range entries {
		if manifest, err := plan.DecodeManifest(entries[id].Manifest); err == nil {
			in.Nearest[id] = manifest
		}
	}
	return nil
}

func planStep(w *plan.Workflow, from *plan.PlannedStep, history map[string]store.StepCost) PlanStep {
	def := &w.Steps[from.Step]
	step := PlanStep{
		StepID: def.ID, Skill: def.Skill, Decision: string(from.Decision), Reason: from.Reason, StaleInput: from.StaleInput,
	}
	if len(from.Until) > 0 {
		step.Until = idsOf(w, from.Until)
	}
	if from.Err != nil {
		step.Error = &rondo.StepError{Code: string(from.Err.Code), Message: from.Err.Message}
		return step
	}
	runs := from.Decision == plan.WouldRun || from.Decision == plan.UnknownUntil
	if cost, known := history[def.ID]; known && runs {
		step.EstimatedMs, step.Cost = &cost.DurationMs, &cost.Cost
	}
	return step
}

func planSummary(w *plan.Workflow, steps []PlanStep) PlanSummary {
	var sum PlanSummary
	for i := range steps {
		switch steps[i].Decision {
		case WouldRun:
			sum.WouldRun++
		case WouldReuse:
			sum.Reuse++
		case WouldFail:
			sum.Fails++
		case NeverReached:
			sum.NeverReached++
		default:
			sum.Unknown++
		}
		if steps[i].Cost != nil {
			sum.EstimatedCost += *steps[i].Cost
		}
	}
	sum.EstimatedMs = plan.CriticalPath(w, func(i int) int64 {
		if steps[i].EstimatedMs == nil {
			return 0
		}
		return *steps[i].EstimatedMs
	})
	return sum
}
