package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
	"github.com/rondo-engine/rondo/store"
)

// CreateDefinition stores a draft, from a source or from a shipped template. Any
// well-formed draft is taken; the publish rules come at publish.
func (e *Engine) CreateDefinition(ctx context.Context, p rondo.Principal, in rondo.NewDefinition) (rondo.Definition, error) {
	if in.Kind == "" {
		in.Kind = rondo.KindCase
	}
	if in.Kind != rondo.KindCase {
		return rondo.Definition{}, invalidField("/kind", "unsupported_kind", "this server takes definitions of kind case only")
	}
	source := in.Source
	if !in.TemplateID.IsZero() {
		template, err := e.Template(ctx, p, in.TemplateID)
		if err != nil {
			return rondo.Definition{}, err
		}
		source = template.Body
	}
	draft, err := definition.ParseDraft(source)
	if err != nil {
		return rondo.Definition{}, e.explainDraft(ctx, p.Tenant, source, err)
	}
	now := e.stamp()
	d := rondo.Definition{
		ID: e.ids.New(), OrgID: p.Tenant, ProductID: in.ProductID, Kind: in.Kind, Name: draft.Name,
		Status: rondo.DefinitionDraft, DefaultMode: draft.DefaultMode, Body: draft.Body, WorkflowTimeout: draft.WorkflowTimeout,
		CreatedBy: p.User, CreatedAt: now, UpdatedAt: now,
	}
	return e.store.CreateDefinition(ctx, d, e.revision(d, p, in.Reason, nil))
}

// explainDraft adds to a refused draft what else would forbid publishing it, so
// that its author sees everything at once.
func (e *Engine) explainDraft(ctx context.Context, org string, source []byte, refused error) error {
	shape, ok := errors.AsType[*rondo.Error](refused)
	if !ok || shape.Code != rondo.CodeInvalid {
		return refused
	}
	env, err := e.environment(ctx, org)
	if err != nil {
		return refused
	}
	whole := *shape
	whole.Fields = definition.Check(source, env).Errors
	return &whole
}

// Definition returns one definition of the organisation, or a shipped template.
func (e *Engine) Definition(ctx context.Context, p rondo.Principal, id rondo.ID) (rondo.Definition, error) {
	return e.store.Definition(ctx, p.Tenant, id)
}

// DefinitionList lists definitions, newest first.
func (e *Engine) DefinitionList(ctx context.Context, p rondo.Principal, filter store.DefinitionFilter, page store.Page) ([]rondo.Definition, error) {
	if filter.OrgID == "" || !p.Admin() {
		filter.OrgID = p.Tenant
	}
	return e.store.DefinitionList(ctx, filter, page)
}

// ValidateDefinition says whether a definition could be published as it is.
func (e *Engine) ValidateDefinition(ctx context.Context, p rondo.Principal, id rondo.ID) (rondo.ValidationReport, error) {
	d, err := e.store.Definition(ctx, p.Tenant, id)
	if err != nil {
		return rondo.ValidationReport{}, err
	}
	env, err := e.environment(ctx, d.OrgID)
	if err != nil {
		return rondo.ValidationReport{}, err
	}
	report := definition.Validate(d.Body, env)
	return rondo.ValidationReport{Valid: report.Valid(), Errors: report.Errors, Warnings: report.Warnings}, nil
}

// PublishDefinition freezes a draft and makes it the active one of its
// (organisation, product); the one that was active is archived in the same
// commit. Running cases keep the snapshot they started with.
func (e *Engine) PublishDefinition(ctx context.Context, p rondo.Principal, id rondo.ID, reason string) (rondo.Definition, error) {
	env, err := e.environment(ctx, p.Tenant)
	if err != nil {
		return rondo.Definition{}, err
	}
	published, err := e.store.ChangeDefinition(ctx, p.Tenant, id, func(d rondo.Definition) (store.DefinitionChange, error) {
		if d.Status != rondo.DefinitionDraft {
			return store.DefinitionChange{}, &rondo.Error{
				Code: rondo.CodeWrongState, Message: fmt.Sprintf("the definition is %s; only a draft can be published", d.Status),
				Hint: "create a new draft",
			}
		}
		if report := definition.Validate(d.Body, env); !report.Valid() {
			return store.DefinitionChange{}, &rondo.Error{
				Code: rondo.CodeInvalidDef, Message: fmt.Sprintf("the definition breaks %d publish rules", len(report.Errors)),
				Hint: "correct what errors lists and publish again; nothing was changed", Fields: report.Errors,
			}
		}
		document, hash, err := definition.Freeze(d.Body, env)
		if err != nil {
			return store.DefinitionChange{}, rondo.Op("freeze definition", err)
		}
		after := d
		after.Status, after.SnapshotHash = rondo.DefinitionActive, hash
		after.PublishedAt, after.UpdatedAt = e.stamp(), e.stamp()
		return store.DefinitionChange{Definition: after, Revision: e.revision(after, p, reason, &d), Snapshot: document}, nil
	})
	if err != nil {
		return rondo.Definition{}, err
	}
	if err := e.refreshTypes(ctx); err != nil {
		return rondo.Definition{}, err
	}
	signal(e.learned)
	return published, nil
}

// ArchiveDefinition takes an active definition out of use, or discards a draft.
// Running cases are not disturbed.
func (e *Engine) ArchiveDefinition(ctx context.Context, p rondo.Principal, id rondo.ID, reason string) (rondo.Definition, error) {
	return e.store.ChangeDefinition(ctx, p.Tenant, id, func(d rondo.Definition) (store.DefinitionChange, error) {
		if d.Status == rondo.DefinitionArchived {
			return store.DefinitionChange{}, rondo.WrongState("the definition is archived already")
		}
		after := d
		after.Status, after.UpdatedAt = rondo.DefinitionArchived, e.stamp()
		return store.DefinitionChange{Definition: after, Revision: e.revision(after, p, reason, &d)}, nil
	})
}

// Templates lists the shipped templates.
func (e *Engine) Templates(ctx context.Context, _ rondo.Principal) ([]rondo.Definition, error) {
	return e.store.DefinitionList(ctx, store.DefinitionFilter{Templates: true}, store.Page{Limit: 200})
}

// Template returns one shipped template.
func (e *Engine) Template(ctx context.Context, p rondo.Principal, id rondo.ID) (rondo.Definition, error) {
	d, err := e.store.Definition(ctx, p.Tenant, id)
	if err != nil || !d.IsTemplate {
		return rondo.Definition{}, rondo.NotFound("template")
	}
	return d, nil
}

// environment is what an organisation's definitions may refer to.
func (e *Engine) environment(ctx context.Context, org string) (definition.Environment, error) {
	codes, err := e.store.ReasonCodes(ctx, org)
	if err != nil {
		return definition.Environment{}, rondo.Op("read reason codes", err)
	}
	kinds, err := e.store.StepKinds(ctx, org)
	if err != nil {
		return definition.Environment{}, rondo.Op("read step kinds", err)
	}
	return definition.Environment{ReasonCodes: codes, Kinds: kinds}, nil
}

// revision records a change of a definition: before is nil when it was created.
func (e *Engine) revision(after rondo.Definition, p rondo.Principal, reason string, before *rondo.Definition) rondo.DefinitionRevision {
	type side struct {
		Status rondo.DefinitionStatus `json:"status"`
		Body   json.RawMessage        `json:"definition,omitempty"`
	}
	diff := struct {
		Before *side `json:"before"`
		After  *side `json:"after"`
	}{After: &side{Status: after.Status, Body: after.Body}}
	if before != nil {
		diff.Before = &side{Status: before.Status}
		if string(before.Body) != string(after.Body) {
			diff.Before.Body = before.Body
		} else {
			diff.After.Body = nil
		}
	}
	encoded, err := json.Marshal(diff)
	if err != nil { // bodies are valid JSON by construction
		encoded = []byte("{}")
	}
	return rondo.DefinitionRevision{
		ID: e.ids.New(), DefinitionID: after.ID, OrgID: after.OrgID, ChangedBy: p.User,
		Diff: encoded, Reason: reason, CreatedAt: e.stamp(),
	}
}

// stamp is now, as the stores keep it.
func (e *Engine) stamp() time.Time { return e.now().UTC().Truncate(time.Microsecond) }
