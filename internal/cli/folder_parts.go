package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/client"
	"github.com/rondo-engine/rondo/internal/definition"
)

// readKinds reads the step kinds of a folder. A folder without any has none; one
// that was asked for must be there.
func readKinds(root, kindsDir string) ([]kindFile, error) {
	asked := kindsDir != ""
	if !asked {
		kindsDir = filepath.Join(root, kindsFolder)
	}
	entries, err := os.ReadDir(kindsDir)
	if !asked && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var kinds []kindFile
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
		kinds = append(kinds, kindFile{path: path, StepKind: rondo.StepKind{Name: name, Version: 1, Contract: contract, Status: "active"}})
	}
	return kinds, nil
}

// readCodes reads the file of reason codes, if there is one.
func (f *folder) readCodes(root string) error {
	for _, ext := range extensions {
		path := filepath.Join(root, codesName+ext)
		if !exists(path) {
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
				return fmt.Errorf("%s: reason code %d: %s", path, i+1, strings.TrimPrefix(err.Error(), "json: "))
			}
			if len(code.ApplicableStepKinds) == 0 {
				code.ApplicableStepKinds = nil
			}
			f.codes = append(f.codes, code)
		}
		f.codesFile = path
	}
	return nil
}
