package definition

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/rondo-engine/rondo"
)

func TestMermaidDrawsFinishedAndUnfinishedDefinitions(t *testing.T) {
	golden(t, "testdata/graph", "mermaid", func(t *testing.T, a *txtar.Archive) string {
		draft, err := ParseDraft(part(a, "definition.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		drawn, err := Mermaid(draft.Body)
		if err != nil {
			t.Fatal(err)
		}
		return drawn
	})
}

func TestSVGIsWellFormedAndShowsEveryStep(t *testing.T) {
	drafts := Templates()
	hostile, err := ParseDraft([]byte(`{"name": "</title><script>alert(1)</script>", "start_step": "a\"<b>", "steps": {
		"a\"<b>": {"kind": "]]><script>", "transitions": {"on_x&y": "a\"<b>", "on_z": "\u0000"}}, "\u0000": {"kind": "condition", "expr": "a < '\u0001'"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	parallel, err := ParseDraft([]byte(parallelDefinition))
	if err != nil {
		t.Fatal(err)
	}
	for _, draft := range append(drafts, hostile, parallel) {
		drawn, err := SVG(draft.Body)
		if err != nil {
			t.Fatalf("%s: %v", draft.Name, err)
		}
		d, err := readDrawing(draft.Body, nil)
		if err != nil {
			t.Fatal(err)
		}
		steps := 0
		decoder := xml.NewDecoder(strings.NewReader(drawn))
		for {
			token, err := decoder.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s is not XML: %v\n%s", draft.Name, err, drawn)
			}
			element, ok := token.(xml.StartElement)
			if !ok {
				continue
			}
			if element.Name.Local == "script" {
				t.Errorf("%s: the drawing holds a script", draft.Name)
			}
			if element.Name.Local == "g" {
				steps++
			}
		}
		if steps != len(d.nodes) {
			t.Errorf("%s: %d boxes drawn, want %d", draft.Name, steps, len(d.nodes))
		}
	}
}

func TestLayoutKeepsBoxesApart(t *testing.T) {
	files := map[string][]byte{"tangled": []byte(tangled), "parallel": []byte(parallelDefinition)}
	for _, draft := range Templates() {
		files[draft.Name] = draft.Body
	}
	for name, src := range files {
		draft, err := ParseDraft(src)
		if err != nil {
			t.Fatal(err)
		}
		d, err := readDrawing(draft.Body, nil)
		if err != nil {
			t.Fatal(err)
		}
		l := newLayout(d)
		for i, a := range l.boxes {
			if a.x-a.w/2 < 0 || a.x+a.w/2 > l.width || a.y < 0 || a.y+a.h > l.height {
				t.Errorf("%s: %s is out of view", name, a.name)
			}
			for _, b := range l.boxes[:i] {
				if a.y < b.y+b.h && b.y < a.y+a.h && a.x-a.w/2 < b.x+b.w/2 && b.x-b.w/2 < a.x+a.w/2 {
					t.Errorf("%s: %s and %s overlap", name, a.name, b.name)
				}
			}
		}
		if l.width > 6*(boxWidth+gapX) {
			t.Errorf("%s is %.0f wide", name, l.width)
		}
	}
}

const tangled = `
name: Tangled
start_step: a
steps:
  a: {kind: condition, expr: "case.metadata.kind in ['alpha', 'beta', 'gamma']", transitions: {on_true: b, on_false: c}}
  b: {kind: run_ai_review, transitions: {on_complete: d, on_failure: h1, on_timeout: h1}}
  c: {kind: gate_on_consent, transitions: {on_pass: e, on_fail: h2, on_failure: h1, on_timeout: d}}
  d: {kind: condition, expr: "sample(0.5)", transitions: {on_true: e, on_false: f}}
  e: {kind: emit_webhook, transitions: {on_complete: g}}
  f: {kind: custom_kind, transitions: {on_complete: g, on_a: fin, on_b: h2, on_failure: h2}}
  g: {kind: set_case_status, transitions: {on_complete: fin, on_failure: a}}
  fin: {kind: emit_final, transitions: {on_complete: TERMINAL}}
  h1: {kind: halt, params: {reason_code: step_failed}}
  h2: {kind: halt, params: {reason_code: consent_missing}}
  lone: {kind: halt}
`

func TestDrawingRefusesWhatIsNotWellFormed(t *testing.T) {
	for _, draw := range []func() (string, error){
		func() (string, error) { return Mermaid([]byte(`{"steps": 5}`)) },
		func() (string, error) { return SVG([]byte(`[`)) },
	} {
		if _, err := draw(); rondo.CodeOf(err) != rondo.CodeInvalid {
			t.Errorf("got %v, want an invalid input", err)
		}
	}
}
