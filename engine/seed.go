package engine

import (
	"context"
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
)

// seed stores the shipped templates and system reason codes that are not there
// yet. Running it from several replicas at once is harmless: whoever comes
// second finds the row or is refused by its unique key.
func (e *Engine) seed(ctx context.Context) error {
	if err := e.seedReasonCodes(ctx); err != nil {
		return err
	}
	shipped, err := e.Templates(ctx, rondo.Principal{})
	if err != nil {
		return err
	}
	bodies := map[string]string{}                       // name → newest body
	for _, template := range slices.Backward(shipped) { // the list is newest first
		bodies[template.Name] = string(template.Body)
	}
	for _, draft := range definition.Templates() {
		if bodies[draft.Name] == string(draft.Body) {
			continue
		}
		if err := e.seedTemplate(ctx, draft); err != nil && rondo.CodeOf(err) != rondo.CodeConflict {
			return err
		}
	}
	return nil
}

func (e *Engine) seedTemplate(ctx context.Context, draft definition.Draft) error {
	now := e.stamp()
	d := rondo.Definition{
		ID: e.ids.New(), Kind: rondo.KindCase, Name: draft.Name, IsTemplate: true, Status: rondo.DefinitionActive,
		DefaultMode: draft.DefaultMode, Body: draft.Body, WorkflowTimeout: draft.WorkflowTimeout,
		CreatedBy: "rondo", CreatedAt: now, UpdatedAt: now, PublishedAt: now,
	}
	_, err := e.store.CreateDefinition(ctx, d, e.revision(d, rondo.Principal{User: "rondo"}, "shipped", nil))
	return err
}

func (e *Engine) seedReasonCodes(ctx context.Context) error {
	stored, err := e.store.ReasonCodes(ctx, "")
	if err != nil {
		return err
	}
	have := map[string]bool{}
	for _, code := range stored {
		have[code.Scope+" "+code.Code] = true
	}
	for _, code := range definition.SystemReasonCodes() {
		if have[code.Scope+" "+code.Code] {
			continue
		}
		if err := e.store.PutReasonCode(ctx, code); err != nil && rondo.CodeOf(err) != rondo.CodeConflict {
			return err
		}
	}
	return nil
}

// PutStepKind publishes the next version of an organisation's own step kind.
func (e *Engine) PutStepKind(ctx context.Context, p rondo.Principal, name string, contract []byte) (rondo.StepKind, error) {
	if _, err := definition.ParseContract(contract); err != nil {
		return rondo.StepKind{}, err
	}
	return e.store.PutStepKind(ctx, rondo.StepKind{OrgID: p.Tenant, Name: name, Contract: contract, Status: "active"})
}
