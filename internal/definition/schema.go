package definition

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/rondo-engine/rondo"
)

// Schema is a compiled JSON Schema (draft 2020-12). It stands alone: it refers to
// its own $defs at most, so that checking a value costs no more than the value
// and the unfolded schema are long. It is immutable and safe for concurrent use. The nil Schema
// accepts any object.
type Schema struct {
	compiled   *jsonschema.Schema
	props      []string // names under "properties", sorted; nil when it has none
	closed     bool     // additionalProperties is false
	forObjects bool     // an object may match
	required   []string
}

// CompileSchema compiles one schema.
func CompileSchema(raw json.RawMessage) (*Schema, error) {
	var doc any
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, fmt.Errorf("read JSON schema: %w", err)
	}
	if err := checkReferences(doc); err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoader{})
	compiler.DefaultDraft(jsonschema.Draft2020)
	if err := compiler.AddResource(schemaURL, doc); err != nil {
		return nil, fmt.Errorf("add JSON schema: %w", err)
	}
	compiled, err := compiler.Compile(schemaURL)
	if err != nil {
		return nil, notASchema(err)
	}
	s := &Schema{compiled: compiled, forObjects: doc != false}
	for _, part := range (&references{doc: doc}).parts() {
		if props, ok := part["properties"].(map[string]any); ok {
			s.props = append(s.props, sortedKeys(props)...)
		}
		s.closed = s.closed || part["additionalProperties"] == false
		s.required = append(s.required, texts(part["required"])...)
		if types := texts(part["type"]); len(types) > 0 && !slices.Contains(types, "object") {
			s.forObjects = false
		}
	}
	slices.Sort(s.props)
	s.props = slices.Compact(s.props)
	return s, nil
}

// texts are the strings of a value that is one, or a list of them.
func texts(value any) []string {
	items, many := value.([]any)
	if !many {
		items = []any{value}
	}
	var found []string
	for _, item := range items {
		if text, ok := item.(string); ok {
			found = append(found, text)
		}
	}
	return found
}

// Validate checks a JSON value. The error names the place (a JSON Pointer) and
// the rule, never the value, so that it can be shown and logged.
func (s *Schema) Validate(raw json.RawMessage) error {
	problems := s.check(raw, "")
	if len(problems) == 0 {
		return nil
	}
	parts := make([]string, 0, len(problems))
	for _, p := range problems {
		at := p.Pointer
		if at == "" {
			at = "/"
		}
		parts = append(parts, at+" "+p.Message)
	}
	return &rondo.Error{Code: rondo.CodeInvalid, Message: strings.Join(parts, "; "), Fields: problems}
}

// check returns every violation, in order of place, with pointers below base.
func (s *Schema) check(raw json.RawMessage, base string) []rondo.FieldError {
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return []rondo.FieldError{{Code: "invalid_json", Pointer: base, Message: "is not a JSON value"}}
	}
	if s == nil {
		if _, ok := value.(map[string]any); !ok {
			return []rondo.FieldError{{Code: "type", Pointer: base, Message: "must be an object"}}
		}
		return nil
	}
	err := s.compiled.Validate(value)
	if err == nil {
		return nil
	}
	violation, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return []rondo.FieldError{{Code: "schema", Pointer: base, Message: "does not match its schema"}}
	}
	var problems []rondo.FieldError
	for leaf := range leaves(violation) {
		problems = append(problems, describe(leaf, base, s.props)...)
	}
	slices.SortFunc(problems, compareFields)
	return slices.Compact(problems)
}

// notASchema says in one line where a document is not a schema.
func notASchema(err error) error {
	bad, ok := errors.AsType[*jsonschema.SchemaValidationError](err)
	if !ok {
		return fmt.Errorf("compile JSON schema: %w", err)
	}
	violation, ok := errors.AsType[*jsonschema.ValidationError](bad.Err)
	if !ok {
		return fmt.Errorf("compile JSON schema: %w", err)
	}
	var parts []string
	for leaf := range leaves(violation) {
		for _, p := range describe(leaf, "", nil) {
			parts = append(parts, p.Pointer+" "+p.Message)
		}
	}
	return fmt.Errorf("this is not a JSON Schema: %s", strings.Join(parts, "; "))
}

const schemaURL = "rondo:schema"

// noLoader refuses to fetch anything: a schema comes from a tenant.
type noLoader struct{}

func (noLoader) Load(string) (any, error) {
	return nil, errors.New("schemas are not loaded from elsewhere")
}

// leaves yields the innermost violations; a choice (anyOf, oneOf, not) is one
// violation by itself, because its branches contradict each other, and so is a
// bad member name, because what is inside it has no place of its own.
func leaves(e *jsonschema.ValidationError) func(yield func(*jsonschema.ValidationError) bool) {
	return func(yield func(*jsonschema.ValidationError) bool) { walkLeaves(e, yield) }
}

func walkLeaves(e *jsonschema.ValidationError, yield func(*jsonschema.ValidationError) bool) bool {
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf, *kind.Not, *kind.PropertyNames:
		return yield(e)
	}
	if len(e.Causes) == 0 {
		return yield(e)
	}
	for _, cause := range e.Causes {
		if !walkLeaves(cause, yield) {
			return false
		}
	}
	return true
}

// describe says in one sentence what a value must be. It tells the schema's
// words, never the value's.
func describe(e *jsonschema.ValidationError, base string, known []string) []rondo.FieldError {
	at := base + pointer(e.InstanceLocation...)
	one := func(code, format string, args ...any) []rondo.FieldError {
		return []rondo.FieldError{{Code: code, Pointer: at, Message: fmt.Sprintf(format, args...)}}
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Type:
		return one("type", "must be %s", list(withArticles(k.Want), "or"))
	case *kind.Enum:
		return one("enum", "must be %s", list(jsonWords(k.Want), "or"))
	case *kind.Const:
		return one("const", "must be %s", jsonWords([]any{k.Want})[0])
	case *kind.Required:
		return one("required", "must have %s", list(quoted(k.Missing), "and"))
	case *kind.AdditionalProperties:
		var problems []rondo.FieldError
		for _, name := range k.Properties {
			message := "is not allowed here"
			if len(e.InstanceLocation) == 0 {
				message += suggestion(name, known)
			}
			problems = append(problems, rondo.FieldError{Code: "unknown_member", Pointer: at + pointer(name), Message: message})
		}
		return problems
	case *kind.PropertyNames:
		at = base // the library's place for this one is overwritten by later checks
		return one("property_names", "has a member, perhaps further inside, whose name is not allowed")
	case *kind.FalseSchema:
		return one("unknown_member", "is not allowed here")
	case *kind.Minimum:
		return one("minimum", "must be at least %s", k.Want.RatString())
	case *kind.Maximum:
		return one("maximum", "must be at most %s", k.Want.RatString())
	case *kind.ExclusiveMinimum:
		return one("minimum", "must be more than %s", k.Want.RatString())
	case *kind.ExclusiveMaximum:
		return one("maximum", "must be less than %s", k.Want.RatString())
	case *kind.MinLength:
		return one("min_length", "must have at least %d character(s)", k.Want)
	case *kind.MaxLength:
		return one("max_length", "must have at most %d character(s)", k.Want)
	case *kind.MinItems:
		return one("min_items", "must have at least %d item(s)", k.Want)
	case *kind.MaxItems:
		return one("max_items", "must have at most %d item(s)", k.Want)
	case *kind.UniqueItems:
		return one("unique_items", "must not have the same item twice")
	case *kind.Pattern:
		return one("pattern", "must match %s", k.Want)
	case *kind.Format:
		return one("format", "must be a valid %s", k.Want)
	default:
		return one("schema", "does not meet %q of its schema", strings.Join(e.ErrorKind.KeywordPath(), "/"))
	}
}

func jsonWords(values []any) []string {
	words := make([]string, 0, len(values))
	for _, v := range values {
		b, err := json.Marshal(v)
		if err != nil {
			b = []byte("?")
		}
		words = append(words, string(b))
	}
	return words
}

// withArticles turns JSON types into English.
func withArticles(types []string) []string {
	words := make([]string, 0, len(types))
	for _, t := range types {
		switch t {
		case "null":
			words = append(words, t)
		case "array", "object", "integer":
			words = append(words, "an "+t)
		default:
			words = append(words, "a "+t)
		}
	}
	return words
}
