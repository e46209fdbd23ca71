package cli

import (
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

// A folder of definitions, as it lies in a repository. Every command that reads
// definition files reads it alike:
//
//	NAME.yaml                a case definition for every product (or .yml, .json, .jsonc)
//	NAME.tests.yaml          tests of it, beside those inside it
//	products/ID/NAME.yaml    case definitions of one product; ID as in a URL
//	conversations/NAME.yaml  definitions of kind conversation
//	runs/NAME.yaml           definitions of kind run
//	kinds/NAME.json          the contract of a step kind
//	reason-codes.yaml        a list of reason codes
type folder struct {
	definitions []definitionFile
	kinds       []kindFile
	codes       []client.ReasonCode
	codesFile   string
	ignored     []string // what looks like a definition and is at no place for one, with why
}

// kindFile is one contract of a step kind.
type kindFile struct {
	path string
	rondo.StepKind
}

// Folders with a meaning of their own.
const (
	productsFolder      = "products"
	conversationsFolder = "conversations"
	runsFolder          = "runs"
	kindsFolder         = "kinds"
	codesName           = "reason-codes"
	testsSuffix         = ".tests"
)

var extensions = []string{".yaml", ".yml", ".json", ".jsonc"}

// readFolder reads a folder, or a single definition file with the kinds and
// codes of the folder that it is part of. kindsDir is where the kinds are; "" =
// kinds/ of that folder, if there is one.
func readFolder(path, kindsDir string) (folder, error) {
	var f folder
	info, err := os.Stat(path)
	if err != nil {
		return f, err
	}
	dir := path
	if !info.IsDir() {
		dir = filepath.Dir(path)
	}
	at := placeOf(dir)
	if info.IsDir() {
		err = f.readAll(path, at)
	} else {
		err = f.addNamed(path, at)
	}
	if err != nil {
		return f, err
	}
	if f.kinds, err = readKinds(at.root, kindsDir); err != nil {
		return f, err
	}
	return f, f.readCodes(at.root)
}

// place is what a definition file is by where it lies.
type place struct {
	root    string // of the whole folder
	kind    rondo.DefinitionKind
	product string
}

func placeOf(dir string) place {
	whole, err := filepath.Abs(dir)
	if err != nil {
		return place{root: dir, kind: rondo.KindCase}
	}
	up := filepath.Dir(whole)
	switch {
	case filepath.Base(whole) == conversationsFolder:
		return place{root: filepath.Join(dir, ".."), kind: rondo.KindConversation}
	case filepath.Base(whole) == runsFolder:
		return place{root: filepath.Join(dir, ".."), kind: rondo.KindRun}
	case filepath.Base(up) == productsFolder:
		if id, err := url.PathUnescape(filepath.Base(whole)); err == nil {
			return place{root: filepath.Join(dir, "..", ".."), kind: rondo.KindCase, product: id}
		}
	}
	return place{root: dir, kind: rondo.KindCase}
}

// readAll reads the definitions of a folder, and those in the folders below it
// that have a meaning.
func (f *folder) readAll(dir string, at place) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case !e.IsDir():
			err = f.readFile(path, at)
		case at.root != dir: // only the top has folders below it
			f.ignore(path, "only files are read here")
		case e.Name() == conversationsFolder || e.Name() == runsFolder:
			err = f.readAll(path, placeOf(path))
		case e.Name() == productsFolder:
			err = f.readProducts(path)
		case e.Name() != kindsFolder:
			f.ignore(path, "definitions of a product are in products/ID/")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readFile takes a file that is a definition.
func (f *folder) readFile(path string, at place) error {
	stem, ok := cutExtension(path)
	definition, tests := strings.CutSuffix(stem, testsSuffix)
	switch {
	case !ok || filepath.Base(stem) == codesName:
		return nil
	case !tests:
		return f.add(path, at)
	case !slices.ContainsFunc(extensions, func(ext string) bool { return exists(definition + ext) }):
		f.ignored = append(f.ignored, fmt.Sprintf("%s (there is no definition %s beside it)", path, filepath.Base(definition)))
	}
	return nil
}

func (f *folder) readProducts(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !e.IsDir() {
			f.ignore(path, "definitions of a product are in products/ID/")
			continue
		}
		if _, err := url.PathUnescape(e.Name()); err != nil {
			return fmt.Errorf("%s is not named after a product: write it as in a URL", path)
		}
		if err := f.readAll(path, placeOf(path)); err != nil {
			return err
		}
	}
	return nil
}

// ignore notes what could have been meant as a definition.
func (f *folder) ignore(path, why string) {
	_ = filepath.WalkDir(path, func(at string, e fs.DirEntry, err error) error { // what cannot be read is not meant
		if err != nil {
			return nil //nolint:nilerr // go on with what can be
		}
		hidden := strings.HasPrefix(e.Name(), ".")
		if e.IsDir() && hidden {
			return fs.SkipDir
		}
		if _, ok := cutExtension(at); !e.IsDir() && !hidden && ok {
			f.ignored = append(f.ignored, fmt.Sprintf("%s (%s)", at, why))
		}
		return nil
	})
}

// cutExtension splits the extension of a file that may hold a document.
func cutExtension(name string) (stem string, ok bool) {
	ext := filepath.Ext(name)
	return strings.TrimSuffix(name, ext), slices.Contains(extensions, ext)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// environment is what the definitions of the folder are judged by without a
// server: what is built in, and what the folder holds.
func (f folder) environment() definition.Environment {
	env := definition.Environment{ReasonCodes: definition.SystemReasonCodes()}
	for _, k := range f.kinds {
		env.Kinds = append(env.Kinds, k.StepKind)
	}
	env.ReasonCodes = append(env.ReasonCodes, asCodes(f.codes)...) // later ones shadow
	return env
}

func asCodes(codes []client.ReasonCode) []rondo.ReasonCode {
	out := make([]rondo.ReasonCode, len(codes))
	for i, c := range codes {
		out[i] = rondo.ReasonCode{
			Scope: c.Scope, Code: c.Code, RequiresNote: c.RequiresNote, ApplicableStepKinds: c.ApplicableStepKinds, Active: c.Active,
		}
	}
	return out
}

// warn tells on standard error what was left out.
func (f folder) warn(s streams) {
	for _, one := range f.ignored {
		_, _ = fmt.Fprintln(s.err, "rondo: ignored:", one)
	}
}

// nothing is the error for a folder in which there are no definitions.
func nothing(path, what string) error {
	return &rondo.Error{
		Code: rondo.CodeInvalid, Message: fmt.Sprintf("there is nothing to %s in %s", what, path),
		Hint: "a definition is a .yaml, .yml, .json or .jsonc file at the top, in products/ID/, conversations/ or runs/",
	}
}
