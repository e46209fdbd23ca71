package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
	"github.com/rondo-engine/rondo/store"
)

// CreateDefinition stores a draft, from a source or from a template. Any
// well-formed draft is taken; the publish rules come at publish. Only an admin
// may make a template.
func (e *Engine) CreateDefinition(ctx context.Context, p rondo.Principal, in rondo.NewDefinition) (rondo.Definition, error) {
	if in.Template && !p.Admin() {
		return rondo.Definition{}, onlyAdmin("templates", "leave is_template out to make a draft of your own organisation")
	}
	d := rondo.Definition{OrgID: p.Tenant, ProductID: in.ProductID, Kind: in.Kind}
	if d.Kind == "" {
		d.Kind = rondo.KindCase
	}
	source := in.Source
	if !in.TemplateID.IsZero() {
		template, err := e.Template(ctx, p, in.TemplateID)
		if err != nil {
			return rondo.Definition{}, err
		}
		source, d.Kind = template.Body, template.Kind
	}
	if in.Template {
		if in.ProductID != "" {
			return rondo.Definition{}, invalidField("/product_id", "not_for_templates", "a template is for every product; leave product_id out")
		}
		d.OrgID, d.IsTemplate = "", true
	}
	return e.create(ctx, p, d, source, in.Reason)
}

// create stores a draft whose place (org, product, kind) is decided.
func (e *Engine) create(ctx context.Context, p rondo.Principal, d rondo.Definition, source []byte, reason string) (rondo.Definition, error) {
	if err := e.write(ctx, &d, source); err != nil {
		return rondo.Definition{}, err
	}
	now := e.stamp()
	d.ID, d.Status, d.CreatedBy, d.CreatedAt, d.UpdatedAt = e.ids.New(), rondo.DefinitionDraft, p.User, now, now
	return e.store.CreateDefinition(ctx, d, e.revision(d, p, reason, nil))
}

// write puts a source into a definition: its body and what derives from it.
func (e *Engine) write(ctx context.Context, d *rondo.Definition, source []byte) error {
	draft, err := definition.ParseDraftOf(d.Kind, source)
	if err != nil {
		return e.explainDraft(ctx, d.OrgID, d.Kind, source, err)
	}
	d.Body, d.Name, d.Semver = draft.Body, draft.Name, draft.Semver
	d.DefaultMode, d.WorkflowTimeout = draft.DefaultMode, draft.WorkflowTimeout
	return nil
}

// explainDraft adds to a refused draft what else would forbid publishing it, so
// that its author sees everything at once.
func (e *Engine) explainDraft(ctx context.Context, org string, kind rondo.DefinitionKind, source []byte, refused error) error {
	shape, ok := errors.AsType[*rondo.Error](refused)
	if !ok || shape.Code != rondo.CodeInvalid || kind != rondo.KindCase {
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

// Definition returns one definition of the organisation, or a template.
func (e *Engine) Definition(ctx context.Context, p rondo.Principal, id rondo.ID) (rondo.Definition, error) {
	d, err := e.store.Definition(ctx, p.Tenant, id)
	if err != nil {
		return rondo.Definition{}, err
	}
	if d.IsTemplate && d.Status == rondo.DefinitionDraft && !p.Admin() {
		return rondo.Definition{}, rondo.NotFound("workflow definition")
	}
	return d, nil
}

// writable returns a definition that the principal may change.
func (e *Engine) writable(ctx context.Context, p rondo.Principal, id rondo.ID) (rondo.Definition, error) {
	d, err := e.Definition(ctx, p, id)
	if err == nil && d.IsTemplate && !p.Admin() {
		return rondo.Definition{}, onlyAdmin("templates", "clone it and change the copy")
	}
	return d, err
}

// DefinitionList lists definitions, newest first.
func (e *Engine) DefinitionList(ctx context.Context, p rondo.Principal, filter store.DefinitionFilter, page store.Page) ([]rondo.Definition, error) {
	if filter.OrgID == "" || !p.Admin() {
		filter.OrgID = p.Tenant
	}
	return e.store.DefinitionList(ctx, filter, page)
}

// ValidateDefinition says whether a definition could be published as it is; its
// tests are part of that.
func (e *Engine) ValidateDefinition(ctx context.Context, p rondo.Principal, id rondo.ID) (rondo.ValidationReport, error) {
	d, err := e.Definition(ctx, p, id)
	if err != nil {
		return rondo.ValidationReport{}, err
	}
	env, err := e.environment(ctx, d.OrgID)
	if err != nil {
		return rondo.ValidationReport{}, err
	}
	report := e.judge(d, env)
	return rondo.ValidationReport{Valid: report.Valid(), Errors: report.Errors, Warnings: report.Warnings}, nil
}

// PublishDefinition freezes a draft and makes it active. Of the case definitions
// of one (organisation, product), and of the conversations of one name, one is
// active: the one that was is archived in the same commit. Running cases keep
// the snapshot they started with. Of runs any number of versions are active, and
// what a version once was it stays: another content needs another version.
func (e *Engine) PublishDefinition(ctx context.Context, p rondo.Principal, id rondo.ID, reason string) (rondo.Definition, error) {
	seen, snapshot, err := e.publishable(ctx, p, id)
	if err != nil {
		return rondo.Definition{}, err
	}
	if err := e.checkRepublished(ctx, seen); err != nil {
		return rondo.Definition{}, err
	}
	return e.publish(ctx, p, seen, snapshot, reason)
}

// publish makes a draft active that was judged as seen.
func (e *Engine) publish(ctx context.Context, p rondo.Principal, seen rondo.Definition, snapshot []byte, reason string) (rondo.Definition, error) {
	published, err := e.store.ChangeDefinition(ctx, seen.OrgID, seen.ID, func(d rondo.Definition) (store.DefinitionChange, error) {
		if d.Status != rondo.DefinitionDraft {
			return store.DefinitionChange{}, notADraft(d, "published")
		}
		if d.Revision != seen.Revision {
			return store.DefinitionChange{}, &rondo.Error{
				Code: rondo.CodeConflict, Message: "the draft changed while it was judged", Hint: "look at the change and publish again",
			}
		}
		after := d
		after.Status, after.SnapshotHash = rondo.DefinitionActive, seen.SnapshotHash
		after.PublishedAt, after.UpdatedAt = e.stamp(), e.stamp()
		return store.DefinitionChange{Definition: after, Revision: e.revision(after, p, reason, &d), Snapshot: snapshot}, nil
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

// publishable judges a draft by every publish rule and by its tests, without
// holding on to it, and returns it with its frozen form.
func (e *Engine) publishable(ctx context.Context, p rondo.Principal, id rondo.ID) (rondo.Definition, []byte, error) {
	d, err := e.writable(ctx, p, id)
	if err != nil {
		return rondo.Definition{}, nil, err
	}
	if d.Status != rondo.DefinitionDraft {
		return rondo.Definition{}, nil, notADraft(d, "published")
	}
	env, err := e.environment(ctx, d.OrgID)
	if err != nil {
		return rondo.Definition{}, nil, err
	}
	if broken := e.judge(d, env).Errors; len(broken) > 0 {
		return rondo.Definition{}, nil, brokenRules(broken)
	}
	if d.IsTemplate { // nothing runs from its frozen form
		return d, nil, nil
	}
	var snapshot []byte
	var hash string
	switch d.Kind {
	case rondo.KindConversation:
		snapshot, hash, err = freezeConversation(d.Body)
	case rondo.KindRun:
		snapshot, hash, err = freezeRun(d.Body)
	default:
		snapshot, hash, err = definition.Freeze(d.Body, env)
	}
	if err != nil {
		return rondo.Definition{}, nil, rondo.Op("freeze definition", err)
	}
	d.SnapshotHash = hash
	return d, snapshot, nil
}

func brokenRules(broken []rondo.FieldError) *rondo.Error {
	return &rondo.Error{
		Code: rondo.CodeInvalidDef, Message: fmt.Sprintf("the definition breaks %d publish rules", len(broken)),
		Hint: "correct what errors lists and publish again; nothing was changed", Fields: broken,
	}
}

func notADraft(d rondo.Definition, verb string) *rondo.Error {
	return &rondo.Error{
		Code: rondo.CodeWrongState, Message: fmt.Sprintf("the definition is %s; only a draft can be %s", d.Status, verb),
		Hint: "clone it and go on with the copy",
	}
}

// ArchiveDefinition takes an active definition out of use, or discards a draft.
// Running cases are not disturbed.
func (e *Engine) ArchiveDefinition(ctx context.Context, p rondo.Principal, id rondo.ID, reason string) (rondo.Definition, error) {
	seen, err := e.writable(ctx, p, id)
	if err != nil {
		return rondo.Definition{}, err
	}
	return e.store.ChangeDefinition(ctx, seen.OrgID, id, func(d rondo.Definition) (store.DefinitionChange, error) {
		if d.Status == rondo.DefinitionArchived {
			return store.DefinitionChange{}, rondo.WrongState("the definition is archived already")
		}
		after := d
		after.Status, after.UpdatedAt = rondo.DefinitionArchived, e.stamp()
		return store.DefinitionChange{Definition: after, Revision: e.revision(after, p, reason, &d)}, nil
	})
}

// Templates lists the templates that can be used; an admin sees drafts and
// archived ones too.
func (e *Engine) Templates(ctx context.Context, p rondo.Principal) ([]rondo.Definition, error) {
	filter := store.DefinitionFilter{Templates: true}
	if !p.Admin() {
		filter.Status = rondo.DefinitionActive
	}
	return e.store.DefinitionList(ctx, filter, store.Page{})
}

// Template returns one template.
func (e *Engine) Template(ctx context.Context, p rondo.Principal, id rondo.ID) (rondo.Definition, error) {
	d, err := e.Definition(ctx, p, id)
	if err != nil || !d.IsTemplate {
		return rondo.Definition{}, rondo.NotFound("template")
	}
	return d, nil
}

// environment is what an organisation's definitions may refer to; those of
// templates ("") may refer to what the system has only.
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

// stamp is now, as the stores keep it.
func (e *Engine) stamp() time.Time { return e.now().UTC().Truncate(time.Microsecond) }
