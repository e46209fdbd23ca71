package turn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// structuredOutput is what an agent's structured answer looks like where a
// definition brings no schema of its own. Further members are welcome.
const structuredOutput = `{
  "type": "object",
  "properties": {
    "action": {"enum": ["ask", "research", "confirm", "complete", "error"]},
    "prompt": {"type": "string"},
    "data": {"type": "object"},
    "confidence": {"type": "number", "minimum": 0, "maximum": 1},
    "citations": {"type": "array", "items": {"type": "string"}}
  }
}`

// ownSchema is structuredOutput, compiled once; it never changes. A test holds
// that it compiles.
var ownSchema = sync.OnceValues(func() (*jsonschema.Schema, error) { return compileSchema([]byte(structuredOutput)) })

const schemaURL = "rondo:output"

// compileSchema compiles a schema that stands alone: nothing is fetched.
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
	if bad, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		if violation, ok := errors.AsType[*jsonschema.ValidationError](bad.Err); ok {
			return nil, fmt.Errorf("this is not a JSON Schema: %s", strings.Join(violations(violation), "; "))
		}
	}
	if err != nil {
		return nil, errors.New("this schema cannot be used: it must stand alone, and its references must lead somewhere")
	}
	return compiled, nil
}

// noLoader fetches nothing: schemas come from tenants.
type noLoader struct{}

func (noLoader) Load(string) (any, error) {
	return nil, errors.New("schemas are not loaded from elsewhere")
}

// checkSchema says where a value is not what a schema asks for; nothing when it
// is. It names places and rules, never values.
func checkSchema(schema *jsonschema.Schema, members map[string]json.RawMessage) []string {
	raw, err := compact(members)
	if err != nil {
		return []string{"the structured output is not JSON"}
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return []string{"the structured output is not JSON"}
	}
	err = schema.Validate(value)
	if err == nil {
		return nil
	}
	violation, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return []string{"the structured output does not match its schema"}
	}
	return violations(violation)
}

// maxViolations bounds what is said about one value.
const maxViolations = 20

// violations lists the innermost ones, in order of place.
func violations(e *jsonschema.ValidationError) []string {
	var found []string
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
		at := pointer(e.InstanceLocation...)
		if at == "" {
			at = "/"
		}
		found = append(found, at+" "+rule(e.ErrorKind))
	}
	walk(e)
	slices.Sort(found)
	found = slices.Compact(found)
	if len(found) > maxViolations {
		found = append(found[:maxViolations], fmt.Sprintf("and %d more", len(found)-maxViolations))
	}
	return found
}

// rule says what a value must be, in the schema's words.
func rule(broken jsonschema.ErrorKind) string {
	switch k := broken.(type) {
	case *kind.Type:
		return "must be of type " + strings.Join(k.Want, " or ")
	case *kind.Enum:
		words, err := compact(k.Want)
		if err != nil {
			return "must be one of the values listed"
		}
		return "must be one of " + string(words)
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
