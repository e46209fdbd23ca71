package engine

import (
	"context"
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
	"github.com/rondo-engine/rondo/store"
)

// seed stores the shipped templates and system reason codes that are not there
// yet. Running it from several replicas at once is harmless: whoever comes
// second finds the row or is refused by its unique key.
func (e *Engine) seed(ctx context.Context) error {
	if err := e.seedReasonCodes(ctx); err != nil {
		return err
	}
	stored, err := e.store.DefinitionList(ctx, store.DefinitionFilter{Templates: true, Kind: rondo.KindCase}, store.Page{})
	if err != nil {
		return err
	}
	for _, draft := range definition.Templates() {
		// Any version counts: what an admin made of a template since stays the newest.
		if slices.ContainsFunc(stored, func(d rondo.Definition) bool {
			return d.Name == draft.Name && string(d.Body) == string(draft.Body)
		}) {
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
