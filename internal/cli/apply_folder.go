package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/client"
	"github.com/rondo-engine/rondo/internal/definition"
)

// A folder that is applied holds, beside what every folder of definitions does:
//
//	products/ID/NAME.yaml    case definitions of one product; ID as in a URL
//	conversations/NAME.yaml  definitions of kind conversation
//	runs/NAME.yaml           definitions of kind run
//	reason-codes.yaml        a list of reason codes
//
// Case definitions at the top are for every product.
type wanted struct {
	definitions []wantedDefinition
	kinds       []rondo.StepKind
	codes       []client.ReasonCode
	codesFile   string
}

// wantedDefinition is a definition as the folder has it, its tests inside.
type wantedDefinition struct {
	file    string
	kind    rondo.DefinitionKind
	product string // "" = every product
	draft   definition.Draft
}

// line is what only one active definition can have.
func (w wantedDefinition) line() string {
	switch w.kind {
	case rondo.KindCase:
		return fmt.Sprintf("case of product %q", w.product)
	case rondo.KindRun:
		return fmt.Sprintf("run %q %s", w.draft.Name, w.draft.Semver)
	default:
		return fmt.Sprintf("%s %q", w.kind, w.draft.Name)
	}
}

// readWanted reads a folder, or one case definition and the kinds that it uses.
// product is that of the case definitions at the top; kindsDir is where the kinds
// are, "" = kinds/ beside the definitions.
func readWanted(path, product, kindsDir string) (wanted, error) {
	var w wanted
	top, err := readFolder(path, kindsDir)
	if err != nil {
		return w, err
	}
	w.kinds = top.kinds
	if err := w.take(top, rondo.KindCase, product); err != nil {
		return w, err
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		w.kinds = slices.DeleteFunc(w.kinds, func(k rondo.StepKind) bool { return !uses(w.definitions[0].draft.Body, k.Name) })
		return w, err
	}
	return w, w.readParts(path)
}

// readParts reads what else a folder holds.
func (w *wanted) readParts(dir string) error {
	products, err := os.ReadDir(filepath.Join(dir, "products"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, entry := range products {
		id, err := url.PathUnescape(entry.Name())
		if err != nil || !entry.IsDir() {
			return fmt.Errorf("%s is not a folder named after a product", filepath.Join(dir, "products", entry.Name()))
		}
		if err := w.takeFolder(filepath.Join(dir, "products", entry.Name()), rondo.KindCase, id); err != nil {
			return err
		}
	}
	for folder, kind := range map[string]rondo.DefinitionKind{"conversations": rondo.KindConversation, "runs": rondo.KindRun} {
		if err := w.takeFolder(filepath.Join(dir, folder), kind, ""); err != nil {
			return err
		}
	}
	if err := w.readCodes(dir); err != nil {
		return err
	}
	return w.distinct()
}

// takeFolder reads the definitions of a folder that need not be there.
func (w *wanted) takeFolder(path string, kind rondo.DefinitionKind, product string) error {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	found, err := readFolder(path, "")
	if err != nil {
		return err
	}
	return w.take(found, kind, product)
}

// take adds definitions, each with the tests beside it put inside.
func (w *wanted) take(found folder, kind rondo.DefinitionKind, product string) error {
	for _, one := range found.definitions {
		draft, err := definition.ParseDraftOf(kind, one.source)
		if err == nil && len(one.tests) > 0 {
			draft.Body, err = withTests(draft.Body, one.tests)
		}
		if err != nil {
			return rondo.Op(one.path, err)
		}
		w.definitions = append(w.definitions, wantedDefinition{file: one.path, kind: kind, product: product, draft: draft})
	}
	return nil
}

// withTests adds tests to those that a definition has.
func withTests(body json.RawMessage, more []json.RawMessage) (json.RawMessage, error) {
	tests, _, err := definition.TestsOf(body)
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		return nil, err
	}
	if members["tests"], err = json.Marshal(append(tests, more...)); err != nil {
		return nil, err
	}
	return json.Marshal(members)
}

// readCodes reads the file of reason codes, if there is one.
func (w *wanted) readCodes(dir string) error {
	for _, ext := range extensions {
		path := filepath.Join(dir, "reason-codes"+ext)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		raw, err := readDocument(path)
		if err != nil {
			return err
		}
		var rows []json.RawMessage
		if err := json.Unmarshal(raw, &rows); err != nil {
			return fmt.Errorf("%s: must be a list of reason codes", path)
		}
		for i, row := range rows {
			code := client.ReasonCode{Active: true}
			decoder := json.NewDecoder(strings.NewReader(string(row)))
			decoder.DisallowUnknownFields()
			if err := decoder.Decode(&code); err != nil {
				return fmt.Errorf("%s: reason code %d: %w", path, i+1, err)
			}
			if len(code.ApplicableStepKinds) == 0 {
				code.ApplicableStepKinds = nil
			}
			w.codes = append(w.codes, code)
		}
		w.codesFile = path
	}
	return nil
}

// distinct refuses two files for what only one can be active of: each would
// replace the other for ever.
func (w *wanted) distinct() error {
	seen := map[string]string{}
	for _, one := range w.definitions {
		if other, twice := seen[one.line()]; twice {
			return &rondo.Error{
				Code: rondo.CodeInvalid, Message: fmt.Sprintf("%s and %s are both the %s, of which one can be active", other, one.file, one.line()),
				Hint: "put case definitions of a product into products/ID/, or give --product; leave one of them out",
			}
		}
		seen[one.line()] = one.file
	}
	if len(w.definitions)+len(w.kinds)+len(w.codes) == 0 {
		return &rondo.Error{
			Code: rondo.CodeInvalid, Message: "there is nothing to apply in that folder",
			Hint: "a definition is a .yaml, .yml, .json or .jsonc file; kinds are in kinds/, codes in reason-codes.yaml",
		}
	}
	return nil
}

// uses reports whether a step of a definition is of a kind.
func uses(body json.RawMessage, kind string) bool {
	var written struct {
		Steps map[string]struct {
			Kind string `json:"kind"`
		} `json:"steps"`
	}
	_ = json.Unmarshal(body, &written) // what is not of that shape uses no kinds
	for _, step := range written.Steps {
		if step.Kind == kind {
			return true
		}
	}
	return false
}
