package runs

import (
	"context"
	"encoding/json"
	"maps"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/plan"
	"github.com/rondo-engine/rondo/store"
)

// What UpdateRequest.Definition may be.
const (
	DefinitionPinned = "pinned" // that of the base run
	DefinitionLatest = "latest" // the highest active version; steps that differ are candidates
)

// Update starts an update run and returns it when it is durable. The payload is
// the base run's with the change's merged on top, member by member. Seeds are the
// steps of the change type and ChangedSteps; a request without a type has the
// latter alone, and with the latest definition it may have neither. They, the steps
// whose definition changed or whose result in the base run is unusable, and
// everything after them are candidates; the others are linked from the base run as
// they are.
//
// The base run must have completed (CodeBaseRunNotCompleted). With IfLatest it must
// not have been replaced: CodeStaleBaseRun when a completed update run has it as
// its base, directly or through others.
func (s *Service) Update(ctx context.Context, p rondo.Principal, request UpdateRequest) (*rondo.Run, error) {
	if err := onlyPlanned(request.Document); err != nil {
		return nil, err
	}
	u, err := s.prepareUpdate(ctx, p, request)
	if err != nil {
		return nil, err
	}
	return s.startUpdate(ctx, u)
}

// update is an update run that was checked.
type update struct {
	run  *rondo.Run
	w    *plan.Workflow
	base *baseRun
	in   plan.ForecastInput
}

// prepareUpdate checks a request against its base and its workflow.
func (s *Service) prepareUpdate(ctx context.Context, p rondo.Principal, request UpdateRequest) (*update, error) {
	base, err := s.updatable(ctx, p.Tenant, request)
	if err != nil {
		return nil, err
	}
	w, pinned, err := s.updateWorkflows(ctx, p.Tenant, &base.run, request)
	if err != nil {
		return nil, err
	}
	if err := checkOptions(w, request.Options); err != nil {
		return nil, err
	}
	if err := checkChangedSteps(w, pinned, request.Options.ChangedSteps); err != nil {
		return nil, err
	}
	seeds, all, err := updateSeeds(w, request)
	if err != nil {
		return nil, err
	}
	payload, err := mergePayload(base.run.TriggerPayload, request.Change.Payload)
	if err != nil {
		return nil, err
	}
	if err := w.ValidateInput(payload); err != nil {
		return nil, err
	}
	u := s.newUpdate(p, base, w, payload, request.Options)
	if request.Change.Type != "" || len(request.Change.Payload) > 0 {
		change := request.Change
		u.run.Change = &change
	}
	var changed []int
	if w != pinned {
		changed = w.ChangedSteps(pinned)
	}
	s.seed(ctx, u, seeds, changed, all)
	return u, nil
}

// updatable reads the base run, which must be one that can be updated.
func (s *Service) updatable(ctx context.Context, tenant string, request UpdateRequest) (*baseRun, error) {
	run, err := s.store.Run(ctx, tenant, request.BaseRunID)
	if err != nil {
		return nil, rondo.Op("read the base run", err)
	}
	if run.Status != rondo.RunCompleted {
		return nil, &rondo.Error{
			Code: rondo.CodeBaseRunNotCompleted, Message: "the base run is " + string(run.Status) + "; only a completed run can be updated",
			Hint: "wait until it has completed, or retry it when it failed",
		}
	}
	if request.IfLatest {
		newer, err := s.replacedBy(ctx, tenant, run.ID)
		if err != nil {
			return nil, err
		}
		if !newer.IsZero() {
			return nil, &rondo.Error{
				Code: rondo.CodeStaleBaseRun, Message: "the base run was updated already: run " + newer.String() + " replaced it",
				Hint: "update that one, or leave out ifLatest",
			}
		}
	}
	return s.loadBase(ctx, tenant, run.ID)
}

// updateWorkflows finds the workflow of an update, and the one of its base run.
func (s *Service) updateWorkflows(ctx context.Context, tenant string, base *rondo.Run, request UpdateRequest) (w, pinned *plan.Workflow, err error) {
	if pinned, err = s.cfg.Definitions.Frozen(ctx, tenant, base.DefinitionHash); err != nil {
		return nil, nil, rondo.Op("read the workflow of the base run", err)
	}
	if len(request.Document) > 0 {
		w, err = s.unregistered(request.Document, base.WorkflowName)
		return w, pinned, err
	}
	switch request.Definition {
	case "", DefinitionPinned:
		if request.WorkflowVersion != "" {
			const told = "a version goes with definition latest; a pinned definition is the base run's"
			return nil, nil, &rondo.Error{
				Code: rondo.CodeInvalid, Message: "the version of a pinned definition is given", Hint: told,
				Fields: []rondo.FieldError{{Code: "not_allowed", Pointer: "/workflowVersion", Message: told}},
			}
		}
		return pinned, pinned, nil
	case DefinitionLatest:
		w, err = s.cfg.Definitions.Named(ctx, tenant, base.WorkflowName, request.WorkflowVersion)
		return w, pinned, rondo.Op("read the latest workflow", err)
	}
	return nil, nil, &rondo.Error{
		Code: rondo.CodeInvalid, Message: "definition is " + quoted(request.Definition), Hint: "it is pinned or latest",
		Fields: []rondo.FieldError{{Code: "not_allowed", Pointer: "/definition", Message: "use pinned or latest"}},
	}
}

// replacedBy returns a completed update run of a run; zero when there is none. One
// that replaced it through others did so through such a one: the base of an update
// run has completed.
func (s *Service) replacedBy(ctx context.Context, tenant string, id rondo.ID) (rondo.ID, error) {
	newer, err := s.store.RunList(ctx, store.RunFilter{TenantID: tenant, Base: id, Status: rondo.RunCompleted}, store.Page{Limit: 1})
	if err != nil || len(newer) == 0 {
		return rondo.ID{}, rondo.Op("look for newer runs", err)
	}
	return newer[0].ID, nil
}

// updateSeeds are the steps that a request begins with.
func updateSeeds(w *plan.Workflow, request UpdateRequest) (seeds []int, all bool, err error) {
	latest := request.Definition == DefinitionLatest || len(request.Document) > 0
	if request.Change.Type == "" && len(request.Options.ChangedSteps) == 0 && latest {
		return nil, false, nil // what changed in the definition is what changed
	}
	return w.Seeds(request.Change.Type, request.Options.ChangedSteps)
}

// mergePayload puts the members of a change on top of those of a payload.
func mergePayload(base, change json.RawMessage) (json.RawMessage, error) {
	if len(change) == 0 {
		return base, nil
	}
	var over map[string]json.RawMessage
	if json.Unmarshal(change, &over) != nil || over == nil {
		return nil, &rondo.Error{
			Code: rondo.CodeInvalid, Message: "the payload of the change is not an object", Hint: "send the members that are to change, e.g. {\"brief\": …}",
			Fields: []rondo.FieldError{{Code: "wrong_type", Pointer: "/changeRequest/payload", Message: "must be an object"}},
		}
	}
	merged := map[string]json.RawMessage{}
	if len(base) > 0 {
		if err := json.Unmarshal(base, &merged); err != nil {
			return nil, &rondo.Error{Code: rondo.CodeStateCorrupt, Message: "the payload of the base run is not an object"}
		}
	}
	maps.Copy(merged, over)
	payload, err := json.Marshal(merged)
	return payload, rondo.Op("merge payloads", err)
}

// newUpdate makes the record of an update run. Its status, times and Seq are set
// when it starts.
func (s *Service) newUpdate(p rondo.Principal, base *baseRun, w *plan.Workflow, payload json.RawMessage, options rondo.RunOptions) *update {
	id := s.cfg.IDs.New()
	return &update{w: w, base: base, run: &rondo.Run{
		ID: id, TenantID: p.Tenant, WorkflowName: w.Name, WorkflowVersion: w.Version, DefinitionHash: w.Hash,
		TriggerType: rondo.TriggerUpdate, TriggerPayload: payload, BaseRunID: base.run.ID, Options: options,
		TotalSteps: len(w.Steps), CorrelationID: id.String(), CreatedBy: p.User,
	}}
}

// seed says what the update begins with.
func (s *Service) seed(ctx context.Context, u *update, seeds, changed []int, all bool) {
	u.in = plan.ForecastInput{
		Workflow: u.w, Tenant: u.run.TenantID, Trigger: u.run.TriggerPayload, Options: u.run.Options, Change: u.run.Change,
		Base: u.base.forPlan(), Seeds: seeds, Candidates: plan.Candidates(u.w, seeds, changed, all), All: all,
	}
	u.in.Unusable = s.unusable(ctx, &u.in)
}

// forPlan is the base run as package plan wants it.
func (b *baseRun) forPlan() map[string]plan.BaseStep {
	steps := make(map[string]plan.BaseStep, len(b.steps))
	for id, row := range b.steps {
		steps[id] = plan.BaseStep{RunStep: row, Artifacts: b.attached(row.ArtifactIDs)}
	}
	return steps
}

// startUpdate links what is linked and lets the rest run.
func (s *Service) startUpdate(ctx context.Context, u *update) (*rondo.Run, error) {
	links, _ := plan.Link(u.in)
	rows := make([]rondo.RunStep, len(links))
	now := s.now()
	for i := range links {
		rows[i] = linkedRow(u.w, &links[i], u.base.run.ID, now)
	}
	return s.start(ctx, u.run, u.w, prepared{linked: rows, base: u.base})
}

// linkedRow is the row of a step that is taken from the base run as it is.
func linkedRow(w *plan.Workflow, link *plan.Linked, base rondo.ID, now time.Time) rondo.RunStep {
	from := &link.Base.RunStep
	source := from.SourceRunID
	if source.IsZero() {
		source = base
	}
	return rondo.RunStep{
		StepID: w.Steps[link.Step].ID, Skill: w.Steps[link.Step].Skill, Status: rondo.RunStepSkipped,
		InputHash: from.InputHash, CacheKey: from.CacheKey, Manifest: from.Manifest,
		Reason: rondo.Reason{Code: rondo.ReasonBase}, CacheHit: true,
		Data: from.Data, OutputHash: from.OutputHash, ArtifactIDs: from.ArtifactIDs,
		StartedAt: now, CompletedAt: now, SourceRunID: source, StaleInput: link.StaleInput,
	}
}
