// Package schema checks answers against a JSON Schema that stands alone: nothing is
// fetched. Its errors name places and rules, never values.
//
// It imports the standard library, the root package and jsonschema.
package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/rondo-engine/rondo"
)

// Schema is a compiled schema. It is safe for concurrent use.
type Schema struct{ compiled *jsonschema.Schema }

const address = "rondo:skill"

// Compile reads a schema. Its error is for people who wrote it.
func Compile(raw json.RawMessage) (*Schema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, rondo.Invalid("this is not JSON")
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(nowhere{})
	compiler.DefaultDraft(jsonschema.Draft2020)
	if err := compiler.AddResource(address, document); err != nil {
		return nil, rondo.Invalid("this is not a JSON Schema")
	}
	compiled, err := compiler.Compile(address)
	if err != nil {
		return nil, rondo.Invalid("this is not a JSON Schema that stands alone: check its keywords and that its references lead somewhere within it")
	}
	return &Schema{compiled}, nil
}

// Check says where a value is not what the schema asks for, "" when it is.
func (s *Schema) Check(raw []byte) string {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return "it is not JSON"
	}
	wrong, ok := errors.AsType[*jsonschema.ValidationError](s.compiled.Validate(value))
	if !ok {
		return ""
	}
	for len(wrong.Causes) > 0 {
		wrong = wrong.Causes[0]
	}
	return "it breaks " + strings.Join(wrong.ErrorKind.KeywordPath(), "/") + " at /" + strings.Join(wrong.InstanceLocation, "/")
}

// nowhere loads nothing: schemas come from tenants.
type nowhere struct{}

// Load refuses.
func (nowhere) Load(string) (any, error) {
	return nil, errors.New("schemas are not loaded from elsewhere")
}
