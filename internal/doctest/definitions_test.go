package doctest_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
)

func TestDefinitionsAreValid(t *testing.T) {
	t.Parallel()
	env := definition.Environment{ReasonCodes: definition.SystemReasonCodes(), Kinds: exampleKinds(t)}
	checked := 0
	check := func(place, source string, kind rondo.DefinitionKind) {
		t.Helper()
		checked++
		draft, err := definition.ParseDraftOf(kind, []byte(source))
		if err != nil {
			t.Errorf("%s: %v", place, err)
			return
		}
		report := definition.ValidateOf(kind, draft.Body, env)
		for _, found := range slices.Concat(report.Errors, report.Warnings) {
			t.Errorf("%s: %s %s: %s", place, found.Code, found.Pointer, found.Message)
		}
	}
	for _, doc := range documents(t) {
		for _, b := range doc.blocks {
			if slices.Contains([]string{"json", "jsonc", "yaml"}, b.language) && strings.Contains(b.text, "start_step") && b.mark == "" {
				check(doc.path, b.text, rondo.KindCase)
			}
		}
	}
	for folder, kind := range map[string]rondo.DefinitionKind{"": rondo.KindCase, "conversations": rondo.KindConversation} {
		files, err := filepath.Glob(filepath.Join(root, "examples", "definitions", folder, "*.*"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no examples of kind %s (%v)", kind, err)
		}
		for _, file := range files {
			if strings.Contains(filepath.Base(file), ".tests.") {
				continue
			}
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			check(file, string(source), kind)
		}
	}
	if checked < 3 {
		t.Errorf("only %d definitions were checked", checked)
	}
}

// exampleKinds reads the step kinds beside the examples: one contract a file.
func exampleKinds(t *testing.T) []rondo.StepKind {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "examples", "kinds", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no kinds beside the examples: %v", err)
	}
	var kinds []rondo.StepKind
	for _, file := range files {
		contract, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := definition.ParseContract(contract); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		kinds = append(kinds, rondo.StepKind{Name: name, Version: 1, Contract: contract, Status: "active"})
	}
	return kinds
}

// The workflows that show generality use no built-in kind at all, and every
// kind that waits.
func TestNonClinicalExamplesAreBuiltFromKindsOfTheirOwn(t *testing.T) {
	t.Parallel()
	env := definition.Environment{ReasonCodes: definition.SystemReasonCodes(), Kinds: exampleKinds(t)}
	builtin := map[string]bool{}
	for _, kind := range definition.BuiltinKinds() {
		builtin[kind.Name] = true
	}
	for _, name := range []string{"onboarding.yaml", "purchase_approval.yaml"} {
		source, err := os.ReadFile(filepath.Join(root, "examples", "definitions", name))
		if err != nil {
			t.Fatal(err)
		}
		draft, err := definition.ParseDraft(source)
		if err != nil {
			t.Fatal(err)
		}
		document, _, err := definition.Freeze(draft.Body, env)
		if err != nil {
			t.Fatal(err)
		}
		snapshot, err := definition.Compile(document)
		if err != nil {
			t.Fatal(err)
		}
		used := map[definition.Behaviour]bool{}
		for id, step := range snapshot.Steps {
			used[step.Contract.Behaviour] = true
			if builtin[step.Kind] {
				t.Errorf("%s: step %s is of the built-in kind %s", name, id, step.Kind)
			}
		}
		for _, wanted := range []definition.Behaviour{definition.BehaviourParallel, definition.BehaviourManual, definition.BehaviourDelay, definition.BehaviourWait} {
			if !used[wanted] {
				t.Errorf("%s has no %s step", name, wanted)
			}
		}
	}
}

func TestExcerptsOfCodeAreWordForWord(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, doc := range documents(t) {
		for _, b := range doc.blocks {
			if b.language != "go" || b.mark == "" {
				continue
			}
			checked++
			source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(b.mark)))
			if err != nil {
				t.Errorf("%s:%d: %v", doc.path, b.line, err)
				continue
			}
			if !strings.Contains(string(source), b.text) {
				t.Errorf("%s:%d: %s does not have these lines", doc.path, b.line, b.mark)
			}
		}
	}
	if checked == 0 {
		t.Error("no excerpt was checked")
	}
}
