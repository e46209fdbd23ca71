package doctest_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/auth"
	"github.com/rondo-engine/rondo/internal/cli"
	"github.com/rondo-engine/rondo/internal/definition"
	"github.com/rondo-engine/rondo/internal/httpapi"
	"github.com/rondo-engine/rondo/internal/sim"
)

// section returns the text from a heading up to the next one of the same rank.
func section(doc document, title string) string {
	_, after, found := strings.Cut("\n"+doc.text, "\n## "+title+"\n")
	if !found {
		return ""
	}
	before, _, _ := strings.Cut(after, "\n## ")
	return before
}

// named reports whether a text has the word in code type.
func named(text, word string) bool { return strings.Contains(text, "`"+word+"`") }

var (
	flag     = regexp.MustCompile(`(?m)^  (?:-\w, |    )--(\[no-\])?([a-z-]+)`)
	variable = regexp.MustCompile(`\(\$([A-Z_]+)\)|\$([A-Z_]+)`)
	written  = regexp.MustCompile("`--([a-z-]+)`")
)

// commandLine matches one command in what rondo --help prints.
var commandLine = regexp.MustCompile(`(?m)^  ([a-z-]+(?: [a-z-]+)?) (?:<|\[| )`)

func TestEveryFlagIsDocumentedAndNoOther(t *testing.T) {
	t.Parallel()
	doc := read(t, "docs/cli.md")
	var help bytes.Buffer
	if code := cli.Main([]string{"--help"}, &help, &help); code != 0 {
		t.Fatalf("rondo --help: exit code %d", code)
	}
	_, list, _ := strings.Cut(help.String(), "Commands:\n")
	sections := map[string]map[string]bool{} // title → flags that it may name
	commands := commandLine.FindAllStringSubmatch(list, -1)
	if len(commands) < 20 {
		t.Fatalf("found only %d commands: the test looks at the wrong place", len(commands))
	}
	for _, found := range commands {
		command := found[1]
		// A group of commands may share one section.
		title := "rondo " + command
		text := section(doc, title)
		if text == "" {
			group, _, _ := strings.Cut(command, " ")
			title = "rondo " + group
			text = section(doc, title)
		}
		if text == "" {
			t.Errorf("docs/cli.md has no section for rondo %s", command)
			continue
		}
		if sections[title] == nil {
			sections[title] = map[string]bool{"help": true}
		}
		flags := sections[title]
		var out bytes.Buffer
		cli.Main(append(strings.Fields(command), "--help"), &out, &out)
		for _, found := range flag.FindAllStringSubmatch(out.String(), -1) {
			flags[found[2]] = true
			if found[1] != "" {
				flags["no-"+found[2]] = true
			}
			if found[2] != "help" && !named(text, "--"+found[2]) {
				t.Errorf("docs/cli.md: the section of rondo %s does not name --%s", command, found[2])
			}
		}
		if flags["store"] || flags["database"] { // each is an alias of the other
			flags["store"], flags["database"] = true, true
		}
		for _, found := range variable.FindAllStringSubmatch(out.String(), -1) {
			if name := found[1] + found[2]; !named(text, name) {
				t.Errorf("docs/cli.md: the section of rondo %s does not name %s", command, name)
			}
		}
	}
	for title, flags := range sections {
		for _, found := range written.FindAllStringSubmatch(section(doc, title), -1) {
			if !flags[found[1]] {
				t.Errorf("docs/cli.md: %s has no --%s", title, found[1])
			}
		}
	}
}

func TestEveryRouteIsDocumentedWithItsScopes(t *testing.T) {
	t.Parallel()
	type (
		cases       struct{ httpapi.Cases }
		definitions struct{ httpapi.Definitions }
		events      struct{ httpapi.Events }
		trials      struct{ httpapi.Trials }
		jobs        struct{ httpapi.Jobs }
		retention   struct{ httpapi.Retention }
		health      struct{ httpapi.Health }
	)
	api, err := httpapi.New(httpapi.Config{Cases: cases{}, Definitions: definitions{}, Events: events{}, Trials: trials{}, Jobs: jobs{}, Retention: retention{}, Health: health{}, Auth: auth.Stub{}})
	if err != nil {
		t.Fatal(err)
	}
	doc := read(t, "docs/api.md")
	routes := map[string]bool{}
	for _, route := range api.Routes() {
		routes[route.Pattern()] = true
		_, after, found := strings.Cut(doc.text, "### `"+route.Pattern()+"`\n")
		if !found {
			t.Errorf("docs/api.md has no heading for %s", route.Pattern())
			continue
		}
		text, _, _ := strings.Cut(after, "\n#")
		for _, scope := range route.Scopes {
			if !named(text, scope) {
				t.Errorf("docs/api.md: %s does not name the scope %s", route.Pattern(), scope)
			}
		}
		for _, param := range route.Query {
			if param.Name != "org_id" && !named(text, param.Name) {
				t.Errorf("docs/api.md: %s does not name the parameter %s", route.Pattern(), param.Name)
			}
		}
	}
	for _, found := range regexp.MustCompile("(?m)^### `([A-Z]+ [^`]+)`$").FindAllStringSubmatch(doc.text, -1) {
		if !routes[found[1]] {
			t.Errorf("docs/api.md documents %s, which is not there", found[1])
		}
	}
}

// words finds what a pattern's first group matches in the source files of some
// folders.
func words(t *testing.T, pattern string, globs ...string) []string {
	t.Helper()
	expression := regexp.MustCompile(pattern)
	var out []string
	for _, glob := range globs {
		files, err := filepath.Glob(filepath.Join(root, glob))
		if err != nil || len(files) == 0 {
			t.Fatalf("no file is %s (%v)", glob, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range expression.FindAllStringSubmatch(string(source), -1) {
				out = append(out, found[1])
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// runMembers are what workflows and their steps are written with.
var runMembers = []string{
	"name", "version", "description", "input_schema", "steps", "changes", "skills", "prompts", "configs",
	"id", "skill", "depends_on", "input", "output_schema", "class", "cache.enabled", "cache.scope", "cache.ttl", "cache.ignore", "cache.salt",
	"retry.max_attempts", "retry.backoff", "timeout", "raise",
}

func TestListsAreComplete(t *testing.T) {
	t.Parallel()
	kinds := func() (names []string) {
		for _, kind := range definition.BuiltinKinds() {
			names = append(names, kind.Name)
		}
		return names
	}
	reasons := func() (codes []string) {
		for _, code := range definition.SystemReasonCodes() {
			codes = append(codes, code.Code)
		}
		return codes
	}
	mistakes := func() (names []string) {
		for _, mistake := range sim.Mistakes() {
			names = append(names, string(mistake))
		}
		return names
	}
	tests := []struct {
		what, file string
		words      []string
		atLeast    int
	}{
		{"problem code", "docs/api.md", words(t, `\bCode *= "(\w+)"`, "errors.go", "internal/auth/*.go", "internal/httpapi/*.go"), 15},
		{"validation code", "docs/definitions.md", words(t, `(?:add|warn|report)\("([a-z_]+)"`, "internal/definition/document.go", "internal/definition/reader.go", "internal/definition/validate*.go", "internal/definition/behave.go"), 45},
		{"step kind", "docs/definitions.md", kinds(), 13},
		{"reason code", "docs/definitions.md", reasons(), 10},
		{"metric", "docs/operations.md", words(t, `"((?:workflow|rondo)_[a-z_]+)"`, "internal/metrics/metrics.go", "internal/metrics/chat.go"), 15},
		{"event type", "docs/modules.md", event.Types(), 20},
		{"reason of a step of a run", "docs/runs.md", words(t, `ReasonWord *= "(\w+)"`, "run.go"), 17},
		{"error code of runs", "docs/runs.md", words(t, `Code = "([A-Z_]+)"`, "run.go"), 8},
		{"cache mode", "docs/runs.md", words(t, `CacheMode = "(\w+)"`, "run.go"), 5},
		{"member of a workflow", "docs/runs.md", runMembers, 12},
		{"outcome", "docs/concepts.md", words(t, `Outcome = "(\w+)"`, "eventrecord.go"), 7},
		{"invariant", "docs/simulation.md", words(t, `broken\("(I\d+)"`, "internal/invariant/*.go", "internal/sim/*.go"), 8},
		{"planted mistake", "docs/simulation.md", mistakes(), 5},
	}
	for _, test := range tests {
		text := read(t, test.file).text
		if len(test.words) < test.atLeast {
			t.Errorf("found only %d words of kind %s: the test looks at the wrong place", len(test.words), test.what)
		}
		for _, word := range test.words {
			if !named(text, word) {
				t.Errorf("%s does not name the %s `%s`", test.file, test.what, word)
			}
		}
	}
}
