package policy_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestImportsGoOneWay(t *testing.T) {
	t.Parallel()
	for dir, sources := range packages(t) {
		row, known := imports[dir]
		if !known && hasCode(sources) {
			t.Errorf("%s has no row in internal/policy/table_test.go: say there what it may import", dir)
			continue
		}
		for _, s := range sources {
			if s.test {
				continue
			}
			for _, spec := range s.file.Imports {
				path, err := strconv.Unquote(spec.Path.Value)
				if err != nil {
					t.Fatalf("%s: import %s: %v", s.path, spec.Path.Value, err)
				}
				if why := refuse(dir, row, path); why != "" {
					t.Errorf("%s imports %s: %s", s.fset.Position(spec.Pos()), path, why)
				}
			}
		}
	}
}

// hasCode reports whether a folder is a package that ships, not only tests.
func hasCode(sources []source) bool {
	return slices.ContainsFunc(sources, func(s source) bool { return !s.test })
}

// refuse says why a package may not import a path, "" when it may.
func refuse(dir string, row rule, path string) string {
	switch {
	case covers(module, path):
		return refuseOwn(dir, row, strings.TrimPrefix(strings.TrimPrefix(path, module), "/"))
	case isStandard(path):
		if row.pure && isForbiddenInPure(path) {
			return dir + " is pure: what it needs from the world comes in as an argument"
		}
		return ""
	default:
		return refuseThird(dir, row, path)
	}
}

func refuseOwn(dir string, row rule, target string) string {
	if target == "" {
		target = "."
	}
	if slices.Contains(testSupport, target) && !slices.Contains(testSupport, dir) {
		return target + " is for tests only"
	}
	if row.anything || slices.Contains(row.rondo, target) {
		return ""
	}
	return fmt.Sprintf("the row of %s in internal/policy/table_test.go allows %v of this module", dir, row.rondo)
}

func refuseThird(dir string, row rule, path string) string {
	for prefix, owners := range exclusive {
		if covers(prefix, path) && !slices.Contains(owners, dir) {
			return fmt.Sprintf("only %s may know it", strings.Join(owners, ", "))
		}
	}
	if row.anything || slices.ContainsFunc(row.third, func(prefix string) bool { return covers(prefix, path) }) {
		return ""
	}
	return fmt.Sprintf("the row of %s in internal/policy/table_test.go allows these modules of others: %v", dir, row.third)
}

// isStandard tells the standard library by its first element, which has no dot.
func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

func isForbiddenInPure(path string) bool {
	if slices.Contains(pureNetPackages, path) {
		return false
	}
	return slices.ContainsFunc(forbiddenInPure, func(prefix string) bool { return covers(prefix, path) })
}

func TestTheTableRefusesWhatItShould(t *testing.T) {
	t.Parallel()
	tests := []struct {
		dir, path string
		allowed   bool
	}{
		{".", "encoding/json", true},
		{".", jsonSchema, false},
		{".", module + "/event", false},
		{"event", module, true},
		{"internal/flow", module + "/internal/definition", true},
		{"internal/flow", module + "/store", false},
		{"internal/flow", "math", true},
		{"internal/flow", "math/rand/v2", false},
		{"internal/flow", "log/slog", false},
		{"internal/flow", "net/http", false},
		{"internal/flow", "net/url", true},
		{"internal/canon", jsonExperiment + "/jsontext", true},
		{"store", module + "/engine", false},
		{"store/sqlite", sqliteDriver + "/lib", true},
		{"store/sqlite", postgresDriver, false},
		{"store/memory", module + "/store/storetest", false},
		{"engine", module + "/store/sqlite", false},
		{"engine", huma, false},
		{"internal/app", module + "/store/sqlite", true},
		{"internal/app", module + "/internal/testenv", false},
		{"internal/app", huma, false},
		{"internal/bench", postgresDriver + "/stdlib", false},
		{"internal/httpapi", huma + "/adapters/humago", true},
		{"internal/httpapi", module + "/store/postgres", false},
	}
	for _, test := range tests {
		why := refuse(test.dir, imports[test.dir], test.path)
		if (why == "") != test.allowed {
			t.Errorf("%s imports %s: allowed = %t (%s), want %t", test.dir, test.path, why == "", why, test.allowed)
		}
	}
}

func TestEveryRowNamesRowsOfTheTable(t *testing.T) {
	t.Parallel()
	for dir, row := range imports {
		for _, target := range row.rondo {
			if _, known := imports[target]; !known {
				t.Errorf("the row of %s allows %s, which has no row: a misspelling?", dir, target)
			}
		}
	}
}
