package definition

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/rondo-engine/rondo"
)

// The comment of each archive begins with the kind of its definition.
func TestDefinitionsOfTheOtherFacesAreJudged(t *testing.T) {
	golden(t, "testdata/otherkinds", "report", func(t *testing.T, a *txtar.Archive) string {
		kind := rondo.KindRun
		if part(a, "conversation.yaml") != nil {
			kind = rondo.KindConversation
		}
		source := part(a, string(kind)+".yaml")
		body, err := plainJSON(source)
		if err != nil {
			t.Fatal(err)
		}
		report := ValidateOf(kind, body, system())
		draft, err := ParseDraftOf(kind, source)
		refused, isError := errors.AsType[*rondo.Error](err)
		switch {
		case err == nil && cmp.Diff(string(body), string(draft.Body)) != "":
			t.Errorf("the draft's body is %s", draft.Body)
		case err != nil && (!isError || refused.Code != rondo.CodeInvalid):
			t.Errorf("ParseDraftOf gave %v", err)
		case err != nil && cmp.Diff(refused.Fields, report.Errors) != "":
			t.Error("ParseDraftOf and ValidateOf disagree about the shape")
		}
		found := lines("error", report.Errors) + lines("warning", report.Warnings)
		if err == nil {
			return "draft " + draft.Name + " " + draft.Semver + "\n" + found
		}
		return found
	})
}

func TestEveryShapeCompiles(t *testing.T) {
	for _, kind := range []rondo.DefinitionKind{rondo.KindRun, rondo.KindConversation} {
		if shapesOf()[kind] == nil {
			t.Errorf("the shape of %s does not compile", kind)
		}
	}
	if _, err := ParseDraftOf("dance", []byte(`{"name": "x"}`)); err == nil {
		t.Error("a kind that is not there has drafts")
	}
	if report := ValidateOf("dance", []byte(`{"name": "x"}`), system()); report.Valid() {
		t.Error("a kind that is not there has valid definitions")
	}
}

func TestCaseDefinitionsAreReadAsEver(t *testing.T) {
	for _, template := range Templates() {
		draft, err := ParseDraftOf(rondo.KindCase, template.Body)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(template, draft); diff != "" {
			t.Errorf("%s (-want +got):\n%s", template.Name, diff)
		}
		if report := ValidateOf(rondo.KindCase, template.Body, system()); !report.Valid() {
			t.Errorf("%s: %v", template.Name, report.Errors)
		}
	}
}

func TestTheKindOfAFileIsToldByItsMembers(t *testing.T) {
	for source, want := range map[string]rondo.DefinitionKind{
		"name: a\nsteps: [{id: a, skill: b}]": rondo.KindRun,
		"name: a\nsteps: [a]\nmachine: {}":    rondo.KindConversation,
		`{"name": "a", "steps": {}, /* */ }`:  rondo.KindCase,
		"name: a":                             rondo.KindCase,
		"{":                                   rondo.KindCase,
		"[1]":                                 rondo.KindCase,
		strings.Repeat(" ", maxBytes) + `{"a": 1}`: rondo.KindCase,
	} {
		if got := KindOf([]byte(source)); got != want {
			t.Errorf("%.40q is a %s, want a %s", source, got, want)
		}
	}
}

func TestVersionsOfRunsAreSemantic(t *testing.T) {
	for version, valid := range map[string]bool{
		"1.2.0": true, "0.0.0": true, "1.2.3-rc.1": true, "1.2.3+build.7": true, "10.20.30-a-b.0x1+z": true,
		"1": false, "1.2": false, "01.2.3": false, "1.2.3-": false, "1.2.3-01": false, "v1.2.3": false, "1.2.3 ": false, "": false,
	} {
		if semver.MatchString(version) != valid {
			t.Errorf("%q: valid is %v, want %v", version, !valid, valid)
		}
	}
}

func FuzzValidateOf(f *testing.F) {
	f.Add([]byte(`{"name":"a","version":"1.0.0","steps":[{"id":"a","skill":"a@1","depends_on":["a"],"input":{"x":{"step":"a"}}}]}`))
	f.Add([]byte(`{"name":"a","steps":["a"],"machine":{"initial":"a","states":{"a":{"on":{"X":{"target":"#.a","guard":"turn.x"}}}}}}`))
	f.Add([]byte(`{"name":"a","steps":["a"],"machine":{"id":"m","type":"parallel","on":{"X":".a"},"states":{"a":{"initial":"b","after":{"5":"a"},"states":{"b":{"always":"#m.a"}}}}}}`))
	f.Fuzz(func(_ *testing.T, body []byte) {
		for _, kind := range []rondo.DefinitionKind{rondo.KindRun, rondo.KindConversation} {
			_ = ValidateOf(kind, body, Environment{})
			_, _ = SVGOf(kind, body)
			_, _ = MermaidOf(kind, body)
		}
		_, _ = Diff(body, []byte(`{"steps":[{"id":"a"}]}`))
	})
}
