package httpapi

import (
	"encoding/json"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine/runs"
	rules "github.com/rondo-engine/rondo/internal/definition"
)

// planDefinition is, for the document, a word or a definition.
type planDefinition struct{}

// Schema documents both.
func (planDefinition) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{
		{Type: huma.TypeString, Enum: []any{runs.DefinitionPinned, runs.DefinitionLatest}},
		{Type: huma.TypeObject, AdditionalProperties: true},
	}}
}

// definitionOrWord is the member that holds a definition to plan with; where words
// are taken, it may be one of them instead.
func definitionOrWord(into *string, document *json.RawMessage) member {
	const at = "/definition"
	return member{name: "definition", raw: func(value []byte) *rondo.FieldError {
		switch {
		case value[0] == '{':
			*document = slices.Clone(value)
			return nil
		case into == nil:
			return &rondo.FieldError{Code: "wrong_type", Pointer: at, Message: "definition must be the definition itself, an object"}
		case value[0] != '"':
			return &rondo.FieldError{Code: "wrong_type", Pointer: at, Message: "definition must be pinned, latest, or the definition itself"}
		}
		return word("definition", into, runs.DefinitionPinned, runs.DefinitionLatest).raw(value)
	}}
}

// judgeDocument holds a definition that is to be planned against the rules of
// publishing; none breaks none.
func judgeDocument(document json.RawMessage) error {
	if len(document) == 0 {
		return nil
	}
	draft, err := rules.ParseDraftOf(rondo.KindRun, document)
	if err != nil {
		refused := said(err)
		refused.Code = rondo.CodeInvalidDef
		return inDocument(&refused)
	}
	if report := rules.ValidateOf(rondo.KindRun, draft.Body, rules.Environment{}); !report.Valid() {
		return inDocument(&rondo.Error{Code: rondo.CodeInvalidDef, Fields: report.Errors})
	}
	return nil
}

// inDocument moves what is wrong with a definition to where it is in the body.
func inDocument(err error) error {
	if rondo.CodeOf(err) != rondo.CodeInvalidDef {
		return err
	}
	out := &rondo.Error{
		Code: rondo.CodeInvalidDef, Message: "the definition could not be published", Hint: "correct what errors lists; nothing was changed",
		Fields: slices.Clone(said(err).Fields),
	}
	for i := range out.Fields {
		out.Fields[i].Pointer = "/definition" + out.Fields[i].Pointer
	}
	return out
}
