package engine

import (
	"context"
	"maps"
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
	"github.com/rondo-engine/rondo/internal/turn"
	"github.com/rondo-engine/rondo/store"
)

// seed stores the shipped templates and system reason codes that are not there
// yet. Running it from several replicas at once is harmless: whoever comes
// second finds the row or is refused by its unique key.
func (e *Engine) seed(ctx context.Context) error {
	if err := e.seedReasonCodes(ctx); err != nil {
		return err
	}
	if err := e.seedTemplates(ctx, rondo.KindCase, definition.Templates()); err != nil {
		return err
	}
	return e.seedTemplates(ctx, rondo.KindConversation, conversationTemplates())
}

// conversationTemplates are the shipped conversation definitions.
func conversationTemplates() []definition.Draft {
	var drafts []definition.Draft
	shipped := turn.Shipped()
	for _, name := range slices.Sorted(maps.Keys(shipped)) {
		if draft, err := definition.ParseDraftOf(rondo.KindConversation, shipped[name]); err == nil { // a test holds that all are
			drafts = append(drafts, draft)
		}
	}
	return drafts
}

func (e *Engine) seedTemplates(ctx context.Context, kind rondo.DefinitionKind, drafts []definition.Draft) error {
	stored, err := e.store.DefinitionList(ctx, store.DefinitionFilter{Templates: true, Kind: kind}, store.Page{})
	if err != nil {
		return err
	}
	for _, draft := range drafts {
		// Any version counts: what an admin made of a template since stays the newest.
		if slices.ContainsFunc(stored, func(d rondo.Definition) bool {
			return d.Name == draft.Name && string(d.Body) == string(draft.Body)
		}) {
			continue
		}
		if err := e.seedTemplate(ctx, kind, draft); err != nil && rondo.CodeOf(err) != rondo.CodeConflict {
			return err
		}
	}
	return nil
}

func (e *Engine) seedTemplate(ctx context.Context, kind rondo.DefinitionKind, draft definition.Draft) error {
	now := e.stamp()
	d := rondo.Definition{
		ID: e.ids.New(), Kind: kind, Name: draft.Name, IsTemplate: true, Status: rondo.DefinitionActive,
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
