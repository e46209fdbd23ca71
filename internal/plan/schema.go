package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/rondo-engine/rondo"
)

const schemaURL = "rondo:run"

// noLoader fetches nothing: schemas come from tenants.
type noLoader struct{}

func (noLoader) Load(string) (any, error) {
	return nil, errors.New("schemas are not loaded from elsewhere")
}

// compileSchema compiles a schema that stands alone.
func compileSchema(raw json.RawMessage) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, errors.New("this is not JSON")
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoader{})
	compiler.DefaultDraft(jsonschema.Draft2020)
	if err := compiler.AddResource(schemaURL, doc); err != nil {
		return nil, errors.New("this is not a JSON Schema")
	}
	compiled, err := compiler.Compile(schemaURL)
	if err != nil {
		return nil, errors.New("this is not a JSON Schema (draft 2020-12) that stands alone; its references must lead into itself")
	}
	return compiled, nil
}

// ValidateInput judges a trigger payload: an object that matches input_schema.
// Its error is CodeInvalid; Fields point into the payload.
func (w *Workflow) ValidateInput(payload json.RawMessage) error {
	if kindOf(payload) != '{' {
		return &rondo.Error{Code: rondo.CodeInvalid, Message: "the trigger payload is not an object", Hint: `send an object, e.g. {"triggerPayload": {"brief": "…"}}`}
	}
	fields := judge(w.schema, payload)
	if len(fields) == 0 {
		return nil
	}
	return &rondo.Error{
		Code: rondo.CodeInvalid, Fields: fields,
		Message: fmt.Sprintf("the trigger payload does not match the input_schema of %s %s: %s", w.Name, w.Version, firstOf(fields)),
		Hint:    "send what the schema asks for; GET /workflows/" + w.Name + " shows it",
	}
}

// ValidateOutput judges what a step gave by its output_schema. Its error is
// CodeSkillError; Fields point into data.
func (w *Workflow) ValidateOutput(step int, data json.RawMessage) error {
	s := &w.Steps[step]
	if s.schema == nil {
		return nil
	}
	if len(data) == 0 {
		data = json.RawMessage("null")
	}
	fields := judge(s.schema, data)
	if len(fields) == 0 {
		return nil
	}
	return &rondo.Error{
		Code: rondo.CodeSkillError, Fields: fields,
		Message: fmt.Sprintf("what %s gave does not match the output_schema of step %s: %s", s.Skill, s.ID, firstOf(fields)),
		Hint:    "correct the skill or the output_schema",
	}
}

func firstOf(fields []rondo.FieldError) string {
	at := fields[0].Pointer
	if at == "" {
		at = "/"
	}
	text := at + " " + fields[0].Message
	if len(fields) > 1 {
		text += fmt.Sprintf(" (and %d more)", len(fields)-1)
	}
	return text
}

// judge says where a value is not what a schema asks for. It names places and
// rules, never values.
func judge(schema *jsonschema.Schema, raw json.RawMessage) []rondo.FieldError {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return []rondo.FieldError{{Code: "invalid_json", Message: "is not JSON"}}
	}
	if schema == nil {
		return nil
	}
	err = schema.Validate(value)
	if err == nil {
		return nil
	}
	violation, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return []rondo.FieldError{{Code: "schema", Message: "does not match the schema"}}
	}
	return violations(violation)
}

// maxViolations bounds what is said about one value.
const maxViolations = 20

// violations lists the innermost ones, in order of place.
func violations(e *jsonschema.ValidationError) []rondo.FieldError {
	var found []rondo.FieldError
	var walk func(e *jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		switch e.ErrorKind.(type) {
		case *kind.AnyOf, *kind.OneOf, *kind.Not: // their branches contradict each other
		default:
			if len(e.Causes) > 0 {
				for _, cause := range e.Causes {
					walk(cause)
				}
				return
			}
		}
		found = append(found, rondo.FieldError{Code: "schema", Pointer: pointer(e.InstanceLocation...), Message: rule(e.ErrorKind)})
	}
	walk(e)
	slices.SortFunc(found, func(a, b rondo.FieldError) int {
		if c := strings.Compare(a.Pointer, b.Pointer); c != 0 {
			return c
		}
		return strings.Compare(a.Message, b.Message)
	})
	found = slices.Compact(found)
	return found[:min(len(found), maxViolations)]
}

// rule says what a value must be, in the schema's words.
func rule(broken jsonschema.ErrorKind) string {
	switch k := broken.(type) {
	case *kind.Type:
		return "must be of type " + strings.Join(k.Want, " or ")
	case *kind.Required:
		return "must have " + strings.Join(k.Missing, ", ")
	case *kind.AdditionalProperties:
		return "has members that are not allowed"
	case *kind.Minimum:
		return "must be at least " + k.Want.RatString()
	case *kind.Maximum:
		return "must be at most " + k.Want.RatString()
	}
	return fmt.Sprintf("does not meet %q of its schema", strings.Join(broken.KeywordPath(), "/"))
}

// pointer builds a JSON Pointer (RFC 6901).
func pointer(tokens ...string) string {
	var b strings.Builder
	for _, token := range tokens {
		b.WriteByte('/')
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll(token, "~", "~0"), "/", "~1"))
	}
	return b.String()
}
