package httpapi

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/rondo-engine/rondo"
)

// bundleFormat is the number of the form that exports have.
const bundleFormat = 1

// bundle is an exported definition on the wire, made to be kept as a file.
type bundle struct {
	Format      int               `json:"format" doc:"1"`
	Kind        string            `json:"kind" enum:"case,conversation,run"`
	ProductID   *string           `json:"product_id"`
	Name        string            `json:"name" doc:"For the reader; the definition says it"`
	Version     definitionVersion `json:"version" doc:"For the reader: what it was where it was exported"`
	Definition  anyJSON           `json:"definition"`
	StepKinds   []bundleKind      `json:"step_kinds" nullable:"false" doc:"Kinds of the organisation that the definition uses"`
	ReasonCodes []bundleCode      `json:"reason_codes" nullable:"false" doc:"Codes of the organisation that the definition uses"`
}

type bundleKind struct {
	Name     string  `json:"name"`
	Contract anyJSON `json:"contract"`
}

type bundleCode struct {
	Scope               string   `json:"scope"`
	Code                string   `json:"code"`
	Label               string   `json:"label"`
	Description         string   `json:"description"`
	RequiresNote        bool     `json:"requires_note"`
	ApplicableStepKinds []string `json:"applicable_step_kinds" nullable:"true"`
	Active              bool     `json:"active"`
}

// importBody documents the body of import: an export, as it is.
type importBody struct {
	Format      int              `json:"format" enum:"1"`
	Kind        string           `json:"kind,omitempty" enum:"case,conversation,run" default:"case"`
	ProductID   *string          `json:"product_id,omitempty" minLength:"1" maxLength:"128" nullable:"true"`
	Name        string           `json:"name,omitempty" doc:"Not read: the definition says it"`
	Version     any              `json:"version,omitempty" doc:"Not read"`
	Definition  definitionSource `json:"definition"`
	StepKinds   []map[string]any `json:"step_kinds,omitempty"`
	ReasonCodes []map[string]any `json:"reason_codes,omitempty"`
	Reason      string           `json:"reason,omitempty" maxLength:"4096"`
}

// imported is what an import found and made.
type imported struct {
	Definition  definition `json:"definition"`
	Created     bool       `json:"created" doc:"False: a definition with this content was there already"`
	StepKinds   []string   `json:"created_step_kinds" nullable:"false"`
	ReasonCodes []string   `json:"created_reason_codes" nullable:"false" doc:"scope/code"`
}

type (
	bundleOut   struct{ Body bundle }
	importedOut struct {
		Status int
		Body   imported
	}
)

func (a *API) registerBundles(r *registrar) {
	handle(r, "export-definition", nil, a.exportDefinition)
	handle(r, "import-definition", importBody{}, a.importDefinition)
	r.also("import-definition", 200, "It was there already")
}

func (a *API) exportDefinition(ctx context.Context, c *call) (*bundleOut, error) {
	d, b, err := a.cfg.Definitions.ExportDefinition(ctx, c.principal, c.id)
	if err != nil {
		return nil, err
	}
	return &bundleOut{Body: bundle{
		Format: bundleFormat, Kind: string(b.Kind), ProductID: maybe(b.ProductID), Name: d.Name, Version: versionOf(d),
		Definition: b.Source,
		StepKinds: viewed(b.StepKinds, func(k rondo.StepKind) bundleKind {
			return bundleKind{Name: k.Name, Contract: anyJSON(k.Contract)}
		}),
		ReasonCodes: viewed(b.ReasonCodes, func(c rondo.ReasonCode) bundleCode {
			return bundleCode{c.Scope, c.Code, c.Label, c.Description, c.RequiresNote, c.ApplicableStepKinds, c.Active}
		}),
	}}, nil
}

func (a *API) importDefinition(ctx context.Context, c *call) (*importedOut, error) {
	wanted, err := readBundle(c.body)
	if err != nil {
		return nil, err
	}
	made, err := a.cfg.Definitions.ImportDefinition(ctx, c.principal, wanted)
	if err != nil {
		return nil, err
	}
	out := &importedOut{Status: 200, Body: imported{
		Definition: viewDefinition(made.Definition), Created: made.Created,
		StepKinds: listed(made.StepKinds), ReasonCodes: listed(made.ReasonCodes),
	}}
	if made.Created {
		out.Status = 201
	}
	return out, nil
}

func readBundle(raw []byte) (rondo.Bundle, error) {
	b := rondo.Bundle{}
	kind := string(rondo.KindCase)
	var format, kinds, codes []byte
	keep := func(into *[]byte) func([]byte) *rondo.FieldError {
		return func(value []byte) *rondo.FieldError { *into = value; return nil }
	}
	ignored := func([]byte) *rondo.FieldError { return nil }
	err := decode(raw,
		member{name: "format", required: true, raw: keep(&format)},
		member{name: "kind", text: &kind},
		member{name: "product_id", identifier: true, text: &b.ProductID},
		member{name: "name", raw: ignored},
		member{name: "version", raw: ignored},
		member{name: "definition", required: true, raw: func(value []byte) *rondo.FieldError { return takeSource(value, &b.Source) }},
		member{name: "step_kinds", raw: keep(&kinds)},
		member{name: "reason_codes", raw: keep(&codes)},
		member{name: "reason", text: &b.Reason},
	)
	if err != nil {
		return rondo.Bundle{}, err
	}
	var wrong []rondo.FieldError
	if string(format) != fmt.Sprint(bundleFormat) {
		wrong = append(wrong, rondo.FieldError{Code: "unknown_value", Pointer: "/format", Message: "this server reads format 1"})
	}
	b.Kind = rondo.DefinitionKind(kind)
	if field := knownKind(b.Kind); field != nil {
		wrong = append(wrong, *field)
	}
	wrong = append(wrong, each("step_kinds", kinds, func(item []byte) error {
		var kind rondo.StepKind
		err := decode(item,
			member{name: "name", required: true, text: &kind.Name},
			member{name: "contract", required: true, raw: func(value []byte) *rondo.FieldError {
				return takeObject("contract", value, (*[]byte)(&kind.Contract))
			}},
		)
		b.StepKinds = append(b.StepKinds, kind)
		return err
	})...)
	wrong = append(wrong, each("reason_codes", codes, func(item []byte) error {
		code := rondo.ReasonCode{Active: true}
		err := decode(item, reasonCodeMembers(&code)...)
		b.ReasonCodes = append(b.ReasonCodes, code)
		return err
	})...)
	if len(wrong) > 0 {
		return rondo.Bundle{}, badBody(wrong...)
	}
	return b, nil
}

// each reads the items of a list, and places what is wrong with one in the list.
func each(name string, raw []byte, read func(item []byte) error) []rondo.FieldError {
	if raw == nil {
		return nil
	}
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		return []rondo.FieldError{{Code: "wrong_type", Pointer: "/" + name, Message: name + " must be a list"}}
	}
	var wrong []rondo.FieldError
	for i, item := range items {
		at := fmt.Sprintf("/%s/%d", name, i)
		if item[0] != '{' {
			wrong = append(wrong, rondo.FieldError{Code: "wrong_type", Pointer: at, Message: "must be an object"})
			continue
		}
		if err := read(item); err != nil {
			for _, field := range said(err).Fields {
				field.Pointer = at + field.Pointer
				wrong = append(wrong, field)
			}
		}
	}
	return wrong
}
