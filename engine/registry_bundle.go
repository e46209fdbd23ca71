package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/canon"
	"github.com/rondo-engine/rondo/internal/definition"
	"github.com/rondo-engine/rondo/store"
)

// ExportDefinition returns a definition with the organisation's own step kinds
// and reason codes that it refers to: all that another organisation lacks. The
// kinds of a published definition are those that it was frozen with, whatever
// became of them since.
func (e *Engine) ExportDefinition(ctx context.Context, p rondo.Principal, id rondo.ID) (rondo.Definition, rondo.Bundle, error) {
	d, err := e.Definition(ctx, p, id)
	if err != nil {
		return rondo.Definition{}, rondo.Bundle{}, err
	}
	env, err := e.environment(ctx, d.OrgID)
	if err != nil {
		return rondo.Definition{}, rondo.Bundle{}, err
	}
	kinds, codes := references(d.Body)
	bundle := rondo.Bundle{Kind: d.Kind, ProductID: d.ProductID, Source: d.Body}
	usable, err := e.kindsFor(ctx, d)
	if err != nil {
		return rondo.Definition{}, rondo.Bundle{}, err
	}
	for _, kind := range usable {
		if slices.Contains(kinds, kind.Name) {
			bundle.StepKinds = append(bundle.StepKinds, kind)
			codes = append(codes, haltCodes(kind.Contract)...)
		}
	}
	for _, code := range env.ReasonCodes {
		if code.OrgID != "" && code.Scope == definition.ScopeHalt && slices.Contains(codes, code.Code) {
			bundle.ReasonCodes = append(bundle.ReasonCodes, code)
		}
	}
	return d, bundle, nil
}

// kindsFor are the organisation's own kinds as a definition sees them: those that
// it was frozen with, or, before it is published, those there are now.
func (e *Engine) kindsFor(ctx context.Context, d rondo.Definition) ([]rondo.StepKind, error) {
	if d.Kind == rondo.KindRun { // its steps have skills
		return nil, nil
	}
	if d.SnapshotHash == "" {
		kinds, err := e.store.StepKinds(ctx, d.OrgID)
		return kinds, rondo.Op("read step kinds", err)
	}
	document, err := e.store.Snapshot(ctx, d.SnapshotHash)
	if err != nil {
		return nil, rondo.Op("read the frozen definition", err)
	}
	return definition.FrozenKinds(document)
}

// references reads the kinds and halt codes that the steps of a definition name.
// What is not of the usual shape names nothing.
func references(body []byte) (kinds, codes []string) {
	var written struct {
		Steps map[string]struct {
			Kind   string                     `json:"kind"`
			Params map[string]json.RawMessage `json:"params"`
		} `json:"steps"`
	}
	_ = json.Unmarshal(body, &written) // what can be read is read
	for _, step := range written.Steps {
		kinds = append(kinds, step.Kind)
		var code string
		if json.Unmarshal(step.Params["reason_code"], &code) == nil {
			codes = append(codes, code)
		}
	}
	return kinds, codes
}

// haltCodes are the codes with which steps of a kind may halt when the
// definition does not say.
func haltCodes(contract []byte) []string {
	var written struct {
		Code     string                     `json:"failure_halt_code"`
		Defaults map[string]json.RawMessage `json:"defaults"`
	}
	_ = json.Unmarshal(contract, &written) // a stored contract was read as JSON before
	codes := []string{written.Code}
	var code string
	if json.Unmarshal(written.Defaults["reason_code"], &code) == nil {
		codes = append(codes, code)
	}
	return codes
}

// ImportDefinition creates what the organisation lacks of a bundle, and a draft.
// Doing it again changes nothing: a definition of the same line with the same
// content is returned as it is. A step kind that the organisation has with
// another contract is CodeConflict, and nothing is created then.
func (e *Engine) ImportDefinition(ctx context.Context, p rondo.Principal, b rondo.Bundle) (rondo.Imported, error) {
	d := rondo.Definition{OrgID: p.Tenant, ProductID: b.ProductID, Kind: b.Kind}
	if err := e.write(ctx, &d, b.Source); err != nil {
		return rondo.Imported{}, err
	}
	kinds, codes, err := e.missing(ctx, p, b)
	if err != nil {
		return rondo.Imported{}, err
	}
	var made rondo.Imported
	for _, kind := range kinds {
		if _, err := e.PutStepKind(ctx, p, kind.Name, kind.Contract); err != nil {
			return rondo.Imported{}, err
		}
		made.StepKinds = append(made.StepKinds, kind.Name)
	}
	for _, code := range codes {
		_, err := e.CreateReasonCode(ctx, p, code, false)
		if err != nil && rondo.CodeOf(err) != rondo.CodeConflict { // a conflict: someone made it meanwhile
			return rondo.Imported{}, err
		}
		made.ReasonCodes = append(made.ReasonCodes, code.Scope+"/"+code.Code)
	}
	if same, found, err := e.sameContent(ctx, d); found || err != nil {
		made.Definition = same
		return made, err
	}
	made.Created = true
	made.Definition, err = e.create(ctx, p, d, b.Source, b.Reason)
	return made, err
}

// missing judges the kinds and codes of a bundle and returns those that the
// organisation does not have.
func (e *Engine) missing(ctx context.Context, p rondo.Principal, b rondo.Bundle) (kinds []rondo.StepKind, codes []rondo.ReasonCode, err error) {
	have, err := e.environment(ctx, p.Tenant)
	if err != nil {
		return nil, nil, err
	}
	var wrong []rondo.FieldError
	for i, kind := range b.StepKinds {
		at := fmt.Sprintf("/step_kinds/%d", i)
		known := slices.IndexFunc(have.Kinds, func(k rondo.StepKind) bool { return k.Name == kind.Name })
		switch bad := checkStepKind(kind.Name, kind.Contract); {
		case bad != nil:
			for _, field := range fieldsOf(bad) {
				field.Pointer = at + field.Pointer
				wrong = append(wrong, field)
			}
		case known < 0:
			kinds = append(kinds, kind)
		case !sameJSON(have.Kinds[known].Contract, kind.Contract):
			return nil, nil, &rondo.Error{
				Code: rondo.CodeConflict, Message: fmt.Sprintf("the step kind %s has another contract here", kind.Name),
				Hint: "publish the new contract with POST /step-kinds first, or give the kind another name",
			}
		}
	}
	for i, code := range b.ReasonCodes {
		known := func(c rondo.ReasonCode) bool { return c.Scope == code.Scope && c.Code == code.Code }
		if slices.ContainsFunc(have.ReasonCodes, known) {
			continue
		}
		code.OrgID, code.ApplicableStepKinds = p.Tenant, slices.Clone(code.ApplicableStepKinds)
		if bad := e.checkReasonCode(ctx, p.Tenant, kinds, code); bad != nil {
			for _, field := range fieldsOf(bad) {
				field.Pointer = fmt.Sprintf("/reason_codes/%d", i) + field.Pointer
				wrong = append(wrong, field)
			}
		}
		codes = append(codes, code)
	}
	return kinds, codes, invalidFields("the import is not valid", wrong)
}

// sameContent finds the newest definition of a draft's line that says the same.
func (e *Engine) sameContent(ctx context.Context, d rondo.Definition) (rondo.Definition, bool, error) {
	known, err := e.store.DefinitionList(ctx, store.DefinitionFilter{OrgID: d.OrgID, ProductID: d.ProductID, Kind: d.Kind, Name: d.Name}, store.Page{})
	if err != nil {
		return rondo.Definition{}, false, rondo.Op("list definitions", err)
	}
	for _, other := range known {
		if other.Status != rondo.DefinitionArchived && other.ProductID == d.ProductID && sameDefinition(d.Kind, other.Body, d.Body) {
			return other, true, nil
		}
	}
	return rondo.Definition{}, false, nil
}

// sameDefinition reports whether two definitions of a kind say the same. In the
// statechart of a conversation the order of members has a meaning.
func sameDefinition(kind rondo.DefinitionKind, a, b []byte) bool {
	if kind != rondo.KindConversation {
		return sameJSON(a, b)
	}
	_, first, err := freezeConversation(a)
	if err != nil {
		return false
	}
	_, second, err := freezeConversation(b)
	return err == nil && first == second
}

// sameJSON reports whether two documents say the same.
func sameJSON(a, b []byte) bool {
	first, err := canon.Digest(a)
	if err != nil {
		return false
	}
	second, err := canon.Digest(b)
	return err == nil && first == second
}
