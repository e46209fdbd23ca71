package definition

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/rondo-engine/rondo"
)

func TestParseContractReportsEverythingThatIsWrong(t *testing.T) {
	golden(t, "testdata/contract", "report", func(t *testing.T, a *txtar.Archive) string {
		_, err := ParseContract(part(a, "contract.json"))
		if err == nil {
			return ""
		}
		bad, ok := errors.AsType[*rondo.Error](err)
		if !ok || bad.Code != rondo.CodeInvalid {
			t.Fatalf("got %v, want an invalid input", err)
		}
		return lines("error", bad.Fields)
	})
}

func TestContractSaysWhichOutcomesTransitionsName(t *testing.T) {
	for kind, want := range map[string][2][]string{
		"gate_on_consent":      {{"on_pass", "on_fail"}, {"on_failure", "on_timeout"}},
		"require_images":       {{"on_pass", "on_fail"}, {"on_failure", "on_timeout"}},
		"run_ai_review":        {{"on_complete"}, {"on_failure", "on_timeout"}},
		"request_human_review": {{"on_complete"}, {"on_failure", "on_timeout"}},
		"set_case_status":      {{"on_complete"}, {"on_failure", "on_timeout"}},
		"condition":            {{"on_true", "on_false"}, nil},
		"emit_webhook":         {{"on_complete"}, nil},
		"emit_final":           {{"on_complete"}, nil},
		"halt":                 {nil, nil},
	} {
		c := builtinContracts()[kind]
		if c == nil {
			t.Errorf("no kind %s", kind)
			continue
		}
		if diff := cmp.Diff(want, [2][]string{c.Mandatory, c.Optional}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
}

func TestSchemaErrorsNameThePlaceAndNeverTheValue(t *testing.T) {
	const canary = "canary-4711"
	schema, err := CompileSchema(json.RawMessage(`{
		"type": "object", "required": ["id"],
		"properties": {
			"id": {"type": "string", "pattern": "^[0-9]+$"}, "n": {"maximum": 1}, "e": {"enum": ["a", "b"]}, "c": {"const": 1},
			"list": {"type": "array", "items": {"maxLength": 3}}, "any": {"anyOf": [{"type": "null"}, {"minLength": 20}]}, "o": {"propertyNames": {"maxLength": 2}}
		}}`))
	if err != nil {
		t.Fatal(err)
	}
	err = schema.Validate(json.RawMessage(`{"id": "` + canary + `", "n": 4711, "e": "` + canary + `", "c": "` + canary + `", "list": ["ok", "` + canary + `"], "any": "` + canary + `", "o": {"long": 1}}`))
	if err == nil {
		t.Fatal("accepted a value that breaks every rule")
	}
	want := "/ has a member, perhaps further inside, whose name is not allowed; /any does not meet \"anyOf\" of its schema; /c must be 1; /e must be \"a\" or \"b\"; /id must match ^[0-9]+$; " +
		"/list/1 must have at most 3 character(s); /n must be at most 1"
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
	if strings.Contains(err.Error(), "4711") {
		t.Error("the message tells the value")
	}
	if err := schema.Validate(json.RawMessage(`[]`)); err == nil || err.Error() != "/ must be an object" {
		t.Errorf("got %v", err)
	}
}

func TestNilSchemaAcceptsAnyObjectOnly(t *testing.T) {
	var schema *Schema
	if err := schema.Validate(json.RawMessage(`{"a": [1]}`)); err != nil {
		t.Error(err)
	}
	for _, raw := range []string{"", "null", "[]", "5", "{"} {
		if schema.Validate(json.RawMessage(raw)) == nil {
			t.Errorf("accepted %q", raw)
		}
	}
}

func TestASchemaRefersToItsOwnParts(t *testing.T) {
	schema, err := CompileSchema(json.RawMessage(`{"$ref": "#/$defs/order",
		"$defs": {"order": {"type": "object", "required": ["to"], "additionalProperties": false, "properties": {"to": {"$ref": "#/$defs/a~1b"}}}, "a/b": {"type": "string", "maxLength": 3}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(json.RawMessage(`{"to": "abc"}`)); err != nil {
		t.Error(err)
	}
	if err := schema.Validate(json.RawMessage(`{"to": "abcd"}`)); err == nil || err.Error() != "/to must have at most 3 character(s)" {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff([]any{[]string{"to"}, []string{"to"}, true, true}, []any{schema.props, schema.required, schema.closed, schema.forObjects}); diff != "" {
		t.Errorf("what is known of it (-want +got):\n%s", diff)
	}
}

// Each part refers to the next twice: thirty lines would be checked a billion
// times.
func TestReferencesCannotMakeCheckingExpensive(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"$ref": "#/$defs/d0", "$defs": {"d30": {"type": "object"}`)
	for i := range 30 {
		fmt.Fprintf(&b, `, "d%d": {"allOf": [{"$ref": "#/$defs/d%d"}, {"$ref": "#/$defs/d%d"}]}`, i, i+1, i+1)
	}
	b.WriteString(`}}`)
	if _, err := CompileSchema(json.RawMessage(b.String())); err == nil || !strings.Contains(err.Error(), "refer less") {
		t.Errorf("got %v", err)
	}
	for _, raw := range []string{
		`{"$ref": "#"}`, `{"$ref": "#/properties/a", "properties": {"a": {}}}`, `{"$ref": 5}`, `{"$ref": "other.json"}`, `{"$dynamicRef": "#a"}`,
		`{"$ref": "#/$defs/a", "$defs": {"a": {"$id": "x"}}}`, `{"$schema": "http://json-schema.org/draft-04/schema#", "$ref": "#/$defs/a", "$defs": {"a": {}}}`,
	} {
		if _, err := CompileSchema(json.RawMessage(raw)); err == nil {
			t.Errorf("%s is accepted", raw)
		}
	}
}
