package doctest_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-engine/rondo/internal/definition"
)

func TestDefinitionsAreValid(t *testing.T) {
	t.Parallel()
	checked := 0
	check := func(place, source string) {
		t.Helper()
		checked++
		draft, err := definition.ParseDraft([]byte(source))
		if err != nil {
			t.Errorf("%s: %v", place, err)
			return
		}
		report := definition.Validate(draft.Body, definition.Environment{ReasonCodes: definition.SystemReasonCodes()})
		for _, found := range slices.Concat(report.Errors, report.Warnings) {
			t.Errorf("%s: %s %s: %s", place, found.Code, found.Pointer, found.Message)
		}
	}
	for _, doc := range documents(t) {
		for _, b := range doc.blocks {
			if slices.Contains([]string{"json", "jsonc", "yaml"}, b.language) && strings.Contains(b.text, "start_step") && b.mark == "" {
				check(doc.path, b.text)
			}
		}
	}
	files, err := filepath.Glob(filepath.Join(root, "examples", "definitions", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.Contains(filepath.Base(file), ".tests.") {
			continue
		}
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		check(file, string(source))
	}
	if checked < 3 {
		t.Errorf("only %d definitions were checked", checked)
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
