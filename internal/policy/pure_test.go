package policy_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestThePureCoreReadsNoClockAndStartsNothing(t *testing.T) {
	t.Parallel()
	checked := 0
	for dir, sources := range packages(t) {
		if !imports[dir].pure {
			continue
		}
		for _, s := range sources {
			if s.test {
				continue
			}
			checked++
			for _, found := range impurities(s.fset, s.file) {
				t.Error(found)
			}
		}
	}
	if checked == 0 {
		t.Error("no pure file was found: the table or the walk is wrong")
	}
}

// impurities lists what a file does that a pure package must not.
func impurities(fset *token.FileSet, file *ast.File) []string {
	names := importNames(file)
	var found []string
	report := func(node ast.Node, what string) {
		found = append(found, fmt.Sprintf("%s: %s in a pure package: let the caller do it, or take its result as an argument", fset.Position(node.Pos()), what))
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.GoStmt:
			report(n, "a goroutine")
		case *ast.SelectStmt:
			report(n, "a select")
		case *ast.ChanType:
			report(n, "a channel")
		case *ast.FuncDecl:
			if n.Recv == nil && n.Name.Name == "init" {
				report(n, "an init function")
			}
		case *ast.CallExpr:
			if ident, ok := n.Fun.(*ast.Ident); ok && (ident.Name == "print" || ident.Name == "println") {
				report(n, ident.Name)
			}
		case *ast.SelectorExpr:
			// Naming the function is enough: it could be called through a variable.
			if base, ok := n.X.(*ast.Ident); ok && slices.Contains(forbiddenCalls[names[base.Name]], n.Sel.Name) {
				report(n, names[base.Name]+"."+n.Sel.Name)
			}
		}
		return true
	})
	return found
}

// importNames maps the name a file uses to the import path behind it.
func importNames(file *ast.File) map[string]string {
	names := map[string]string{}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser has accepted it, so this does not happen
		}
		name := path.Base(imported)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = imported
	}
	return names
}

func TestImpuritiesAreFound(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, code, want string }{
		{"clock", `import "time"; var _ = time.Now()`, "time.Now"},
		{"clock under another name", `import clock "time"; var _ = clock.Since`, "time.Since"},
		{"clock as a value", `import "time"; var now = time.Now`, "time.Now"},
		{"goroutine", `func f() { go f() }`, "a goroutine"},
		{"channel", `func f(c chan int) {}`, "a channel"},
		{"printing", `import "fmt"; func f() { fmt.Println() }`, "fmt.Println"},
		{"init", `func init() {}`, "an init function"},
		{"time as a value", `import "time"; var _ = time.Duration(1) * time.Second; func f(now time.Time) bool { return now.IsZero() }`, ""},
		{"a field of that name", `type clock struct{ Now int }; func f(time clock) int { return time.Now }`, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, "code.go", "package p; "+test.code, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(impurities(fset, file), "\n")
			if (test.want == "") != (got == "") || !strings.Contains(got, test.want) {
				t.Errorf("impurities = %q, want one about %q", got, test.want)
			}
		})
	}
}
