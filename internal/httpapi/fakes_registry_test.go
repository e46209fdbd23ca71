package httpapi_test

import (
	"context"
	"encoding/json"

	"github.com/rondo-engine/rondo"
)

// registry is what the fake was asked of definitions, reason codes and kinds.
type registry struct {
	draft      rondo.DefinitionPatch
	copied     rondo.DefinitionCopy
	compared   [2]rondo.ID
	drawn      string
	bundle     rondo.Bundle
	imported   rondo.Imported
	codeFilter rondo.ReasonCodeFilter
	code       rondo.ReasonCode
	codePatch  rondo.ReasonCodePatch
	system     bool
	kindName   string
	contract   string
	semver     string // of the known definition; "" = it has none
}

var reasonCodeID = id(5)

func knownReasonCode() rondo.ReasonCode {
	return rondo.ReasonCode{ID: reasonCodeID, OrgID: "acme", Scope: "halt", Code: "lost", Label: "Lost", RequiresNote: true, ApplicableStepKinds: []string{"run_ai_review"}, Active: true}
}

func knownStepKind() rondo.StepKind {
	return rondo.StepKind{OrgID: "acme", Name: "weigh", Version: 2, Contract: json.RawMessage(`{"behaviour":"request"}`), Status: "active", CreatedBy: "ann", CreatedAt: start}
}

func (f *fake) ChangeDraft(ctx context.Context, p rondo.Principal, which rondo.ID, patch rondo.DefinitionPatch) (rondo.Definition, error) {
	f.draft = patch
	return f.Definition(ctx, p, which)
}

func (f *fake) CloneDefinition(ctx context.Context, p rondo.Principal, which rondo.ID, in rondo.DefinitionCopy) (rondo.Definition, error) {
	f.copied = in
	return f.Definition(ctx, p, which)
}

func (f *fake) Revisions(ctx context.Context, p rondo.Principal, which rondo.ID) ([]rondo.DefinitionRevision, error) {
	if _, err := f.Definition(ctx, p, which); err != nil {
		return nil, err
	}
	return []rondo.DefinitionRevision{{ID: id(12), DefinitionID: which, OrgID: "acme", ChangedBy: "ann", Diff: json.RawMessage(`{"before":null,"after":{"status":"draft"},"patch":[]}`), CreatedAt: start}}, nil
}

func (f *fake) DiffDefinitions(ctx context.Context, p rondo.Principal, from, to rondo.ID) (rondo.DefinitionDiff, error) {
	f.compared = [2]rondo.ID{from, to}
	d, err := f.Definition(ctx, p, to)
	return rondo.DefinitionDiff{
		From: knownDefinition(templateID), To: d, Patch: json.RawMessage(`[{"op":"remove","path":"/a"}]`),
		Changes: []rondo.DefinitionChange{{Pointer: "/a", Message: "removed"}},
	}, err
}

func (f *fake) DrawDefinition(ctx context.Context, p rondo.Principal, which rondo.ID, format string) (string, error) {
	f.drawn = format
	_, err := f.Definition(ctx, p, which)
	return "drawn as " + format, err
}

func (f *fake) ExportDefinition(ctx context.Context, p rondo.Principal, which rondo.ID) (rondo.Definition, rondo.Bundle, error) {
	d, err := f.Definition(ctx, p, which)
	return d, rondo.Bundle{Kind: d.Kind, ProductID: d.ProductID, Source: d.Body, StepKinds: []rondo.StepKind{knownStepKind()}, ReasonCodes: []rondo.ReasonCode{knownReasonCode()}}, err
}

func (f *fake) ImportDefinition(_ context.Context, p rondo.Principal, b rondo.Bundle) (rondo.Imported, error) {
	if err := f.begin(p); err != nil {
		return rondo.Imported{}, err
	}
	f.bundle = b
	made := f.imported
	made.Definition = knownDefinition(definitionID)
	return made, nil
}

func (f *fake) ReasonCodes(_ context.Context, p rondo.Principal, filter rondo.ReasonCodeFilter) ([]rondo.ReasonCode, error) {
	f.codeFilter = filter
	return []rondo.ReasonCode{knownReasonCode()}, f.begin(p)
}

func (f *fake) CheckReasonCode(context.Context, rondo.Principal, rondo.ReasonCode, bool) error {
	return nil
}

func (f *fake) CreateReasonCode(_ context.Context, p rondo.Principal, code rondo.ReasonCode, system bool) (rondo.ReasonCode, error) {
	f.code, f.system = code, system
	return knownReasonCode(), f.begin(p)
}

func (f *fake) ChangeReasonCode(_ context.Context, p rondo.Principal, which rondo.ID, patch rondo.ReasonCodePatch) (rondo.ReasonCode, error) {
	if err := f.begin(p); err != nil {
		return rondo.ReasonCode{}, err
	}
	f.codePatch = patch
	if which != reasonCodeID || p.Tenant != "acme" {
		return rondo.ReasonCode{}, rondo.NotFound("row")
	}
	return knownReasonCode(), nil
}

func (f *fake) StepKinds(_ context.Context, p rondo.Principal) ([]rondo.StepKind, error) {
	return []rondo.StepKind{{Name: "halt", Version: 1, Contract: json.RawMessage(`{}`), Status: "active"}, knownStepKind()}, f.begin(p)
}

func (f *fake) StepKindVersions(_ context.Context, p rondo.Principal, name string) ([]rondo.StepKind, error) {
	if err := f.begin(p); err != nil {
		return nil, err
	}
	if name != "weigh" || p.Tenant != "acme" {
		return nil, rondo.NotFound("row")
	}
	return []rondo.StepKind{knownStepKind()}, nil
}

func (f *fake) PutStepKind(_ context.Context, p rondo.Principal, name string, contract []byte) (rondo.StepKind, error) {
	f.kindName, f.contract = name, string(contract)
	return knownStepKind(), f.begin(p)
}

func (f *fake) ArchiveStepKind(ctx context.Context, p rondo.Principal, name string) (rondo.StepKind, error) {
	versions, err := f.StepKindVersions(ctx, p, name)
	if err != nil {
		return rondo.StepKind{}, err
	}
	return versions[0], nil
}
