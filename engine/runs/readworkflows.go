package runs

import (
	"context"
	"encoding/json"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/plan"
)

// WorkflowView is a workflow as callers see it.
type WorkflowView struct {
	Name           string          `json:"name"`
	Version        string          `json:"version"`
	DefinitionHash string          `json:"definitionHash"`
	InputSchema    json.RawMessage `json:"inputSchema,omitempty"`
	Steps          []WorkflowStep  `json:"steps"`
	// ChangeRequestMappings are the seed steps of each type of change; "*" alone is
	// every step.
	ChangeRequestMappings map[string][]string `json:"changeRequestMappings"`
}

// WorkflowStep is one step of a WorkflowView.
type WorkflowStep struct {
	StepID    string   `json:"stepId"`
	Skill     string   `json:"skill"`
	DependsOn []string `json:"dependsOn"`
	Class     string   `json:"class"`
}

// Workflows returns the active workflows, by name and then from the highest
// version.
func (s *Service) Workflows(ctx context.Context, p rondo.Principal) ([]WorkflowView, error) {
	list, err := s.cfg.Definitions.List(ctx, p.Tenant)
	if err != nil {
		return nil, rondo.Op("list workflows", err)
	}
	views := make([]WorkflowView, len(list))
	for i, w := range list {
		views[i] = viewOf(w)
	}
	return views, nil
}

// Workflow returns one, of the highest active version when version is "", or
// CodeWorkflowNotFound.
func (s *Service) Workflow(ctx context.Context, p rondo.Principal, name, version string) (WorkflowView, error) {
	w, err := s.cfg.Definitions.Named(ctx, p.Tenant, name, version)
	if err != nil {
		return WorkflowView{}, rondo.Op("read a workflow", err)
	}
	return viewOf(w), nil
}

func viewOf(w *plan.Workflow) WorkflowView {
	view := WorkflowView{
		Name: w.Name, Version: w.Version, DefinitionHash: w.Hash, InputSchema: w.InputSchema,
		Steps: make([]WorkflowStep, len(w.Steps)), ChangeRequestMappings: make(map[string][]string, len(w.Changes)),
	}
	for i := range w.Steps {
		step := &w.Steps[i]
		view.Steps[i] = WorkflowStep{StepID: step.ID, Skill: step.Skill, DependsOn: idsOf(w, step.Needs), Class: step.Class}
		if step.Class == "" {
			view.Steps[i].Class = "deterministic"
		}
	}
	for name, change := range w.Changes {
		if change.All {
			view.ChangeRequestMappings[name] = []string{"*"}
		} else {
			view.ChangeRequestMappings[name] = idsOf(w, change.Seeds)
		}
	}
	return view
}

// idsOf names steps.
func idsOf(w *plan.Workflow, steps []int) []string {
	ids := make([]string, len(steps))
	for i, step := range steps {
		ids[i] = w.Steps[step].ID
	}
	return ids
}
