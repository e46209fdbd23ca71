package definition

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/rondo-engine/rondo"
)

func TestMermaidDrawsFinishedAndUnfinishedDefinitions(t *testing.T) {
	golden(t, "testdata/graph", "mermaid", func(t *testing.T, a *txtar.Archive) string {
		kind, draft := drawnDraft(t, a)
		drawn, err := MermaidOf(kind, draft.Body)
		if err != nil {
			t.Fatal(err)
		}
		return drawn
	})
}

// drawnDraft reads the definition of an archive: a case, unless its file says
// otherwise.
func drawnDraft(t *testing.T, a *txtar.Archive) (rondo.DefinitionKind, Draft) {
	t.Helper()
	kind, source := rondo.KindCase, part(a, "definition.yaml")
	for _, other := range []rondo.DefinitionKind{rondo.KindConversation, rondo.KindRun} {
		if written := part(a, string(other)+".yaml"); written != nil {
			kind, source = other, written
		}
	}
	draft, err := ParseDraftOf(kind, source)
	if err != nil {
		t.Fatal(err)
	}
	return kind, draft
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
	type drawable struct {
		Draft
		kind rondo.DefinitionKind
	}
	var all []drawable
	for _, draft := range append(drafts, hostile, parallel) {
		all = append(all, drawable{draft, rondo.KindCase})
	}
	for _, source := range []struct {
		kind rondo.DefinitionKind
		body string
	}{
		{rondo.KindConversation, `{"name": "</title>", "steps": ["a"], "machine": {"initial": "<script>", "states": {"<script>": {"on": {"<b>": "<script>", "]]>": {"target": "<script>", "guard": "<"}}}}}}`},
		{rondo.KindRun, `{"name": "a", "version": "1.0.0", "steps": [{"id": "a", "skill": "a.b@1", "depends_on": ["b", "a", "gone"]}, {"id": "b", "skill": "a.b@1", "depends_on": ["a"]}, {"id": "a", "skill": "a.b@1"}]}`},
	} {
		draft, err := ParseDraftOf(source.kind, []byte(source.body))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, drawable{draft, source.kind})
	}
	for _, draft := range all {
		drawn, err := SVGOf(draft.kind, draft.Body)
		if err != nil {
			t.Fatalf("%s: %v", draft.Name, err)
		}
		d, err := readDrawingOf(draft.kind, draft.Body, nil)
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
	drawings := map[string]*drawing{}
	files, err := filepath.Glob("testdata/graph/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		kind, draft := drawnDraft(t, archive)
		if drawings[file], err = readDrawingOf(kind, draft.Body, nil); err != nil {
			t.Fatal(err)
		}
	}
	sources := map[string][]byte{"tangled": []byte(tangled), "parallel": []byte(parallelDefinition)}
	for _, draft := range Templates() {
		sources[draft.Name] = draft.Body
	}
	for name, src := range sources {
		draft, err := ParseDraft(src)
		if err != nil {
			t.Fatal(err)
		}
		if drawings[name], err = readDrawing(draft.Body, nil); err != nil {
			t.Fatal(err)
		}
	}
	for name, d := range drawings {
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
		ends := len(l.loops)
		for _, w := range d.ways {
			if w.from != w.to {
				ends++
			}
		}
		if len(l.edges)+len(l.loops) != ends {
			t.Errorf("%s: %d lines and %d loops are drawn of %d ways", name, len(l.edges), len(l.loops), len(d.ways))
		}
		for _, e := range l.edges {
			if first, last := e.points[0], e.points[len(e.points)-1]; first.y >= last.y {
				t.Errorf("%s: the line %q does not go down", name, e.label)
			}
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
		func() (string, error) { return SVGOf(rondo.KindRun, []byte(`{"name": "a"}`)) },
		func() (string, error) {
			return MermaidOf(rondo.KindConversation, []byte(`{"name": "a", "steps": ["a"], "machine": {"states": {"a": 5}}}`))
		},
	} {
		if _, err := draw(); rondo.CodeOf(err) != rondo.CodeInvalid {
			t.Errorf("got %v, want an invalid input", err)
		}
	}
}

// Each step waits for the one before it and for the first, and so many lines
// would pass so many layers that the drawing could not be made.
func TestRunsOfThousandsOfStepsAreDrawn(t *testing.T) {
	const steps = 5000
	var b strings.Builder
	for i := range steps {
		needs := ""
		if i > 1 {
			needs = fmt.Sprintf(`,"depends_on":["s%d","s0"]`, i-1)
		}
		fmt.Fprintf(&b, `,{"id":"s%d","skill":"a.b@1"%s}`, i, needs)
	}
	d, err := readDrawingOf(rondo.KindRun, []byte(`{"name":"long","version":"1.0.0","steps":[`+b.String()[1:]+`]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	l := newLayout(d)
	points := 0
	for _, e := range l.edges {
		points += len(e.points)
	}
	if len(l.boxes) != steps || len(l.edges) != 2*(steps-2) || points > 2*(len(l.edges)+maxBends) {
		t.Errorf("%d boxes and %d lines through %d points", len(l.boxes), len(l.edges), points)
	}
}
