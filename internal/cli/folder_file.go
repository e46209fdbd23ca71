package cli

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
	"github.com/rondo-engine/rondo/internal/deftest"
)

// definitionFile is one definition with the tests beside it.
type definitionFile struct {
	path    string
	kind    rondo.DefinitionKind
	product string // "" = every product
	source  []byte
	tests   []json.RawMessage
	wrong   []rondo.FieldError // why the tests beside it cannot be read
}

// add reads one definition and the tests beside it.
func (f *folder) add(path string, at place) error {
	source, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	one := definitionFile{path: path, kind: at.kind, product: at.product, source: source}
	stem, _ := cutExtension(path)
	for _, ext := range extensions {
		beside := stem + testsSuffix + ext
		source, err := os.ReadFile(beside)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		tests, err := deftest.ParseFile(source)
		if err != nil {
			for _, found := range fieldsOf(err) {
				found.Message = filepath.Base(beside) + ": " + found.Message
				one.wrong = append(one.wrong, found)
			}
		}
		one.tests = append(one.tests, tests...)
	}
	f.definitions = append(f.definitions, one)
	return nil
}

// addNamed reads the one definition that was asked for. Where its place says
// nothing, its members tell what it is.
func (f *folder) addNamed(path string, at place) error {
	if err := f.add(path, at); err != nil {
		return err
	}
	if one := &f.definitions[0]; one.kind == rondo.KindCase && one.product == "" {
		one.kind = definition.KindOf(one.source)
	}
	return nil
}

// exportHint is the way out for who takes an export for a definition.
const exportHint = "this is an export, not a definition: use rondo definitions import, or rondo definitions get --as yaml for the definition alone"

// draft is the definition, its tests inside.
func (d definitionFile) draft() (definition.Draft, error) {
	if isExport(d.source) {
		return definition.Draft{}, &rondo.Error{
			Code: rondo.CodeInvalid, Message: "the file is not a definition", Fields: []rondo.FieldError{{Code: "is_export", Message: exportHint}},
		}
	}
	draft, err := definition.ParseDraftOf(d.kind, d.source)
	if err != nil || len(d.tests) == 0 {
		return draft, err
	}
	tests, _, err := definition.TestsOf(draft.Body)
	if err != nil {
		return draft, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(draft.Body, &members); err != nil {
		return draft, err
	}
	if members["tests"], err = json.Marshal(slices.Concat(tests, d.tests)); err != nil {
		return draft, err
	}
	draft.Body, err = json.Marshal(members)
	return draft, err
}

// isExport reports whether a document is what rondo definitions export prints.
func isExport(source []byte) bool {
	plain, err := definition.PlainJSON(source)
	if err != nil {
		return false
	}
	var members map[string]json.RawMessage
	return json.Unmarshal(plain, &members) == nil && members["format"] != nil && members["definition"] != nil
}
