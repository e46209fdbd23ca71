package policy_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/rondo-engine/rondo"

// root is the module's folder, seen from this package.
const root = "../.."

// source is one parsed Go file.
type source struct {
	path string // relative to root, with slashes
	test bool
	fset *token.FileSet
	file *ast.File
}

// packages parses every Go file of the module, by folder ("." is the root).
func packages(t *testing.T) map[string][]source {
	t.Helper()
	found := map[string][]source{}
	fset := token.NewFileSet()
	walk(t, func(path string) {
		if !strings.HasSuffix(path, ".go") {
			return
		}
		file, err := parser.ParseFile(fset, filepath.Join(root, path), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("parse %s: %v", path, err)
		}
		dir := filepath.ToSlash(filepath.Dir(path))
		found[dir] = append(found[dir], source{path: path, test: strings.HasSuffix(path, "_test.go"), fset: fset, file: file})
	})
	if len(found) < 5 {
		t.Fatalf("found only %d packages under %s: the test looks at the wrong place", len(found), root)
	}
	return found
}

// walk calls visit with the slash-separated path of every file that belongs to
// the module: no hidden folders (but .ci), no test data, no nested modules.
func walk(t *testing.T, visit func(path string)) {
	t.Helper()
	skipped := []string{"testdata", "node_modules", "rondo-data", "bin"}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name := entry.Name()
		if !entry.IsDir() {
			if entry.Type().IsRegular() {
				visit(filepath.ToSlash(relative))
			}
			return nil
		}
		if relative == "." {
			return nil
		}
		hidden := strings.HasPrefix(name, ".") && name != ".ci"
		if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil || hidden || slices.Contains(skipped, name) {
			return filepath.SkipDir
		}
		return nil
	})
	if err != nil {
		t.Fatalf("walk the module: %v", err)
	}
}

// covers reports whether path is prefix or below it.
func covers(prefix, path string) bool {
	return path == prefix || strings.HasPrefix(path, prefix+"/")
}
