package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
	"github.com/rondo-engine/rondo/internal/deftest"
)

// A folder of definitions, as it lies in a repository:
//
//	NAME.yaml          a definition (or .yml, .json)
//	NAME.tests.yaml    tests of it, beside those inside it
//	kinds/NAME.json    the contract of a step kind (or .yaml, .yml)
type folder struct {
	definitions []definitionFile
	kinds       []rondo.StepKind
}

// definitionFile is one definition with the tests beside it.
type definitionFile struct {
	path   string
	source []byte
	tests  []json.RawMessage
}

// readFolder reads a folder, or the folder of a single definition file and that
// file only. kindsDir is where the kinds are; "" = kinds/ in the folder, if any.
func readFolder(path, kindsDir string) (folder, error) {
	var f folder
	info, err := os.Stat(path)
	if err != nil {
		return f, err
	}
	dir, files := path, []string{}
	if info.IsDir() {
		entries, err := os.ReadDir(path)
		if err != nil {
			return f, err
		}
		for _, e := range entries {
			if !e.IsDir() && isDefinitionFile(e.Name()) {
				files = append(files, filepath.Join(path, e.Name()))
			}
		}
	} else {
		dir, files = filepath.Dir(path), []string{path}
	}
	for _, file := range files {
		one, err := readDefinitionFile(file)
		if err != nil {
			return f, err
		}
		f.definitions = append(f.definitions, one)
	}
	f.kinds, err = readKinds(dir, kindsDir)
	return f, err
}

func isDefinitionFile(name string) bool {
	stem, ok := cutExtension(name)
	return ok && !strings.HasSuffix(stem, ".tests") && stem != "reason-codes"
}

// cutExtension splits the extension of a file that may hold a document.
func cutExtension(name string) (stem string, ok bool) {
	ext := filepath.Ext(name)
	return strings.TrimSuffix(name, ext), slices.Contains(extensions, ext)
}

var extensions = []string{".yaml", ".yml", ".json", ".jsonc"}

func readDefinitionFile(path string) (definitionFile, error) {
	source, err := os.ReadFile(path)
	if err != nil {
		return definitionFile{}, err
	}
	one := definitionFile{path: path, source: source}
	stem, _ := cutExtension(path)
	for _, ext := range extensions {
		beside := stem + ".tests" + ext
		src, err := os.ReadFile(beside)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return one, err
		}
		tests, err := deftest.ParseFile(src)
		if err != nil {
			return one, fmt.Errorf("%s: %w", beside, err)
		}
		one.tests = append(one.tests, tests...)
	}
	return one, nil
}

// readKinds reads the step kinds of a folder. A folder without any has none; one
// that was asked for must be there.
func readKinds(dir, kindsDir string) ([]rondo.StepKind, error) {
	asked := kindsDir != ""
	if !asked {
		kindsDir = filepath.Join(dir, "kinds")
	}
	entries, err := os.ReadDir(kindsDir)
	if !asked && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var kinds []rondo.StepKind
	for _, e := range entries {
		name, ok := cutExtension(e.Name())
		if e.IsDir() || !ok {
			continue
		}
		path := filepath.Join(kindsDir, e.Name())
		source, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		contract, err := definition.PlainJSON(source)
		if err == nil {
			_, err = definition.ParseContract(contract)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		kinds = append(kinds, rondo.StepKind{Name: name, Version: 1, Contract: contract, Status: "active"})
	}
	return kinds, nil
}
