package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/canon"
	"github.com/rondo-engine/rondo/internal/definition"
	"github.com/rondo-engine/rondo/store"
)

// ChangeDraft replaces the definition of a draft, or moves it to another
// product, when the draft still has one of the revisions that the caller names.
func (e *Engine) ChangeDraft(ctx context.Context, p rondo.Principal, id rondo.ID, patch rondo.DefinitionPatch) (rondo.Definition, error) {
	seen, err := e.writable(ctx, p, id)
	if err != nil {
		return rondo.Definition{}, err
	}
	if err := changeable(seen, patch.Match); err != nil {
		return rondo.Definition{}, err
	}
	if seen.IsTemplate && patch.ProductID != nil && *patch.ProductID != "" {
		return rondo.Definition{}, invalidField("/product_id", "not_for_templates", "a template is for every product; leave product_id out")
	}
	written := seen
	if patch.Source != nil {
		if err := e.write(ctx, &written, patch.Source); err != nil {
			return rondo.Definition{}, err
		}
	}
	return e.store.ChangeDefinition(ctx, seen.OrgID, id, func(d rondo.Definition) (store.DefinitionChange, error) {
		if err := changeable(d, patch.Match); err != nil {
			return store.DefinitionChange{}, err
		}
		after := d
		after.UpdatedAt = e.stamp()
		assign(&after.ProductID, patch.ProductID)
		if patch.Source != nil {
			after.Body, after.Name, after.Semver = written.Body, written.Name, written.Semver
			after.DefaultMode, after.WorkflowTimeout = written.DefaultMode, written.WorkflowTimeout
		}
		return store.DefinitionChange{Definition: after, Revision: e.revision(after, p, patch.Reason, &d)}, nil
	})
}

// changeable says whether a definition may be edited by someone who has seen
// these revisions of it.
func changeable(d rondo.Definition, match []int64) error {
	if d.Status != rondo.DefinitionDraft {
		return notADraft(d, "changed")
	}
	if match != nil && !slices.Contains(match, d.Revision) {
		return &rondo.Error{
			Code: rondo.CodePrecondition, Message: "the draft changed since you read it",
			Hint: "read it again, make your change on what is there now, and send its ETag as If-Match",
		}
	}
	return nil
}

// CloneDefinition makes a draft of the principal's organisation out of any
// definition that they can see: a template, a draft, an active or archived one.
func (e *Engine) CloneDefinition(ctx context.Context, p rondo.Principal, id rondo.ID, in rondo.DefinitionCopy) (rondo.Definition, error) {
	from, err := e.Definition(ctx, p, id)
	if err != nil {
		return rondo.Definition{}, err
	}
	source := []byte(from.Body)
	if in.Name != "" {
		if source, err = renamed(source, in.Name); err != nil {
			return rondo.Definition{}, rondo.Op("rename definition", err)
		}
	}
	d := rondo.Definition{OrgID: p.Tenant, ProductID: from.ProductID, Kind: from.Kind}
	assign(&d.ProductID, in.ProductID)
	reason := in.Reason
	if reason == "" {
		reason = fmt.Sprintf("cloned from %s", from.ID)
	}
	return e.create(ctx, p, d, source, reason)
}

// renamed gives a definition another name and leaves the rest as it is written.
func renamed(body []byte, name string) ([]byte, error) {
	quoted, err := json.Marshal(name)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	separator := byte('{')
	err = canon.Members(body, canon.Limits{Bytes: len(body)}, func(key, value []byte) {
		out.WriteByte(separator)
		separator = ','
		if string(key) == "name" {
			value = quoted
		}
		member, _ := json.Marshal(string(key)) // a string can always be written
		out.Write(member)
		out.WriteByte(':')
		out.Write(value)
	})
	out.WriteByte('}')
	return out.Bytes(), err
}

// Revisions lists the changes of a definition, oldest first.
func (e *Engine) Revisions(ctx context.Context, p rondo.Principal, id rondo.ID) ([]rondo.DefinitionRevision, error) {
	if _, err := e.Definition(ctx, p, id); err != nil {
		return nil, err
	}
	return e.store.Revisions(ctx, p.Tenant, id)
}

// DiffDefinitions says what turns one definition into another. Both may be
// templates or of the principal's organisation.
func (e *Engine) DiffDefinitions(ctx context.Context, p rondo.Principal, from, to rondo.ID) (rondo.DefinitionDiff, error) {
	var diff rondo.DefinitionDiff
	var err error
	if diff.To, err = e.Definition(ctx, p, to); err != nil {
		return rondo.DefinitionDiff{}, err
	}
	if diff.From, err = e.Definition(ctx, p, from); err != nil {
		return rondo.DefinitionDiff{}, err
	}
	found, err := definition.Diff(diff.From.Body, diff.To.Body)
	if err != nil {
		return rondo.DefinitionDiff{}, rondo.Op("compare definitions", err)
	}
	diff.Patch, diff.Changes = found.Patch, found.Changes()
	return diff, nil
}

// DrawDefinition draws a definition of any kind as "svg" or "mermaid", as far as
// it goes: seeing a broken draft helps to mend it. Steps of the organisation's
// own kinds look like what they do, in a published definition by the contracts
// that it was frozen with.
func (e *Engine) DrawDefinition(ctx context.Context, p rondo.Principal, id rondo.ID, format string) (string, error) {
	d, err := e.Definition(ctx, p, id)
	if err != nil {
		return "", err
	}
	kinds, err := e.kindsFor(ctx, d)
	if err != nil {
		return "", err
	}
	draw := definition.SVGOf
	if format == "mermaid" {
		draw = definition.MermaidOf
	}
	drawing, err := draw(d.Kind, d.Body, kinds...)
	return drawing, rondo.Op("draw definition", err)
}
