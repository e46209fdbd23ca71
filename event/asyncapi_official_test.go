package event

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The official JSON Schema of AsyncAPI 3.0 is fetched by `make test`: see
// tools/asyncapi.
func TestTheAsyncAPIDocumentsMatchTheOfficialSchema(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "tools", "asyncapi", "node_modules", "@asyncapi", "specs", "schemas", "3.0.0-without-$id.json")
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && os.Getenv("RONDO_TEST_REQUIRE") != "1" {
		t.Skip("the schema is not there: run npm ci in tools/asyncapi")
	}
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("asyncapi.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("asyncapi.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range Roles() {
		raw, _ := readAsyncAPI(t, role)
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); err != nil {
			t.Errorf("%s: %v", role, err)
		}
	}
	if schema.Validate(map[string]any{"asyncapi": "3.0.0"}) == nil {
		t.Error("the schema takes a document without info: it checks nothing")
	}
}
