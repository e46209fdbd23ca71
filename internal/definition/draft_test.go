package definition

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
)

func TestParseDraftReadsEverySyntaxAlike(t *testing.T) {
	want := Draft{
		Body:            []byte(`{"name":"Intake","default_mode":"client_driven","workflow_timeout_seconds":3600,"start_step":"done","steps":{"done":{"kind":"emit_final","transitions":{"on_complete":"TERMINAL"}}}}`),
		Name:            "Intake",
		DefaultMode:     rondo.ModeClientDriven,
		WorkflowTimeout: time.Hour,
	}
	for name, src := range map[string]string{
		"JSON": string(want.Body),
		"JSON with comments and trailing commas": `// what a case goes through
			{
				"name": "Intake", /* the "name", */
				"default_mode": "client_driven",
				"workflow_timeout_seconds": 3600, // an hour
				"start_step": "done",
				"steps": {"done": {"kind": "emit_final", "transitions": {"on_complete": "TERMINAL",}, },
				/* end */ },
			}`,
		"JSON after a byte order mark": "\ufeff" + string(want.Body),
		"YAML": `
# what a case goes through
name: Intake
default_mode: client_driven
workflow_timeout_seconds: 3600
start_step: done
steps:
  done:
    kind: emit_final
    transitions:
      on_complete: TERMINAL
`,
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseDraft([]byte(src))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("draft (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseDraftFillsDefaults(t *testing.T) {
	got, err := ParseDraft([]byte(`{"name": "x"}`))
	if err != nil {
		t.Fatal(err)
	}
	want := Draft{Body: []byte(`{"name":"x"}`), Name: "x", DefaultMode: rondo.ModeActive, WorkflowTimeout: 30 * 24 * time.Hour}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("draft (-want +got):\n%s", diff)
	}
}

func TestParseDraftKeepsCommentsInStrings(t *testing.T) {
	got, err := ParseDraft([]byte(`{"name": "a // b /* c */ ,} \" // d", /**/}`))
	if err != nil {
		t.Fatal(err)
	}
	if want := `a // b /* c */ ,} " // d`; got.Name != want {
		t.Errorf("name is %q, want %q", got.Name, want)
	}
}

func TestParseDraftKeepsYAMLValues(t *testing.T) {
	got, err := ParseDraft([]byte("name: 'yes'\ndescription: 2026-01-02\nworkflow_timeout_seconds: 0x10\nsearch: [\"1\", no, case.metadata]\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"name":"yes","description":"2026-01-02","workflow_timeout_seconds":16,"search":["1","no","case.metadata"]}`
	if string(got.Body) != want {
		t.Errorf("body is %s, want %s", got.Body, want)
	}
}

func TestParseDraftRefuses(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40)
	for name, test := range map[string]struct {
		src, code, pointer, message string
	}{
		"nothing":                {"", "syntax", "", "the file is empty"},
		"an array":               {"[]", "wrong_type", "", "must be an object"},
		"a scalar":               {"hello", "wrong_type", "", "must be an object"},
		"no name":                {"{}", "missing_member", "/name", "give the definition a name"},
		"name of another type":   {`{"name": 5}`, "wrong_type", "/name", "must be a string"},
		"null member":            {`{"name": "x", "steps": null}`, "wrong_type", "/steps", "must be an object"},
		"case variant":           {`{"name": "x", "Steps": {}}`, "unknown_member", "/Steps", `did you mean "steps"?`},
		"unknown step member":    {`{"name": "x", "steps": {"a": {"knd": "halt"}}}`, "unknown_member", "/steps/a/knd", `did you mean "kind"?`},
		"duplicate key":          {`{"name": "x", "name": "y"}`, "syntax", "/name", "line 1, column 15"},
		"trailing data":          {`{"name": "x"} {}`, "syntax", "", "line 1, column 1"},
		"two commas":             {`{"name": "x",,}`, "syntax", "", "line 1, column 14"},
		"lone comma":             {`{,}`, "syntax", "", "line 1, column 2"},
		"endless comment":        {"{\n /* x", "syntax", "", "line 2, column 2: this comment never ends"},
		"lone slash":             {"{ / }", "syntax", "", "line 1, column 3: a lone slash"},
		"endless string":         {`{"name": "x`, "syntax", "/name", "line 1, column 10"},
		"deep nesting":           {deep, "syntax", strings.Repeat("/a", 32), "nests deeper"},
		"huge integer":           {`{"name": "x", "workflow_timeout_seconds": 9007199254740993}`, "syntax", "/workflow_timeout_seconds", "line 1"},
		"YAML syntax":            {"name: [", "syntax", "", "line 1"},
		"YAML anchor":            {"name: &a x", "syntax", "/name", "line 1, column 7: anchors and aliases"},
		"YAML alias":             {"a: &x [1]\nb: *x", "syntax", "/a", "anchors and aliases"},
		"YAML merge":             {"<<: {name: x}", "syntax", "", "keys must be strings"},
		"YAML number key":        {"name: x\nsteps: {1: {kind: halt}}", "syntax", "/steps", "line 2, column 9: keys must be strings"},
		"YAML bool key":          {"true: x", "syntax", "", "keys must be strings"},
		"YAML duplicate key":     {"name: x\nname: y", "syntax", "", `"name" is there twice`},
		"YAML tag":               {"name: !secret x", "syntax", "/name", "tags are not allowed"},
		"YAML binary":            {"name: !!binary aGk=", "syntax", "/name", "tags are not allowed"},
		"YAML infinity":          {"name: x\nworkflow_timeout_seconds: .inf", "syntax", "/workflow_timeout_seconds", "no JSON form"},
		"two YAML documents":     {"name: x\n---\nname: y", "syntax", "", "one file holds one definition"},
		"YAML nested too deep":   {"name: " + strings.Repeat("[", 50) + strings.Repeat("]", 50), "syntax", "/name", "nested too deep"},
		"search of another type": {`{"name": "x", "search": ["a", 5]}`, "wrong_type", "/search/1", "must be a string"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseDraft([]byte(test.src))
			bad, ok := errors.AsType[*rondo.Error](err)
			if !ok || bad.Code != rondo.CodeInvalid || len(bad.Fields) == 0 {
				t.Fatalf("got %v, want an invalid input with fields", err)
			}
			f := bad.Fields[0]
			if f.Code != test.code || f.Pointer != test.pointer || !strings.Contains(f.Message, test.message) {
				t.Errorf("got %s at %q: %s\nwant %s at %q: …%s…", f.Code, f.Pointer, f.Message, test.code, test.pointer, test.message)
			}
		})
	}
}

func TestParseDraftHoldsItsLimits(t *testing.T) {
	tooLarge := `{"name": "x", "description": "` + strings.Repeat("x", 1<<20) + `"}`
	if _, err := ParseDraft([]byte(tooLarge)); rondo.CodeOf(err) != rondo.CodeTooLarge {
		t.Errorf("a definition over 1 MiB: got %v, want too_large", err)
	}
	many := func(n int) string {
		var b strings.Builder
		b.WriteString("name: many\nsteps:\n")
		for i := range n {
			fmt.Fprintf(&b, "  s%d: {kind: halt}\n", i)
		}
		return b.String()
	}
	if _, err := ParseDraft([]byte(many(200))); err != nil {
		t.Errorf("200 steps: %v", err)
	}
	_, err := ParseDraft([]byte(many(201)))
	if bad, ok := errors.AsType[*rondo.Error](err); !ok || bad.Fields[0].Code != "too_many_steps" {
		t.Errorf("201 steps: got %v, want too_many_steps", err)
	}
}

func TestParseDraftSurvivesAnAliasBomb(t *testing.T) {
	bomb := "a: &a [x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c <= 'k'; c++ {
		previous := string(c - 1)
		bomb += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat("*"+previous+", ", 9), ", "))
	}
	if _, err := ParseDraft([]byte(bomb)); rondo.CodeOf(err) != rondo.CodeInvalid {
		t.Errorf("got %v, want a refusal", err)
	}
}
