package chart

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rondo-engine/rondo"
)

// Whatever happens to whatever machine: a call ends, fails only with a code that is
// documented, leaves its input alone, and goes on alike from a snapshot that was
// written and read again.
func TestASnapshotIsWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		g := generator{rand: rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))}
		m, _ := Compile([]byte(g.machine()))
		if m == nil {
			return // a target that is refused
		}
		result, err := m.Start(nil, Scope{Now: time.UnixMilli(0)})
		for i := range rapid.IntRange(1, 8).Draw(rt, "events") {
			if err != nil {
				if rondo.CodeOf(err) != rondo.CodeWorkflowLogic {
					rt.Fatal(err)
				}
				return
			}
			before := result.Snapshot
			written := reread(t, before)
			event := Event{Type: rapid.SampledFrom(someEvents).Draw(rt, "event"), Payload: json.RawMessage(`{"v":1}`)}
			scope := Scope{Now: time.UnixMilli(int64(i) * 7)}
			other, otherErr := m.Send(written, event, scope)
			result, err = m.Send(before, event, scope)
			if (err == nil) != (otherErr == nil) {
				rt.Fatalf("%v, but after writing and reading %v", err, otherErr)
			}
			if diff := cmp.Diff(asJSON(rt, result), asJSON(rt, other)); diff != "" {
				rt.Fatalf("(-kept +written and read)\n%s", diff)
			}
			if diff := cmp.Diff(asJSON(rt, before), asJSON(rt, written)); diff != "" {
				rt.Fatalf("the snapshot that came in was changed: %s", diff)
			}
			if err == nil && m.Step(result.Snapshot) == "" {
				rt.Fatalf("there is no step at %s", result.Snapshot.Value)
			}
		}
	})
}

func asJSON(t *rapid.T, v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestSnapshotsOfOtherMachinesAreRefused(t *testing.T) {
	t.Parallel()
	m, problems := Compile([]byte(`{"id":"m","initial":"a","states":{
		"a":{"type":"parallel","states":{"l":{"initial":"x","states":{"x":{},"y":{}}},"r":{},"h":{"type":"history"}},"on":{"GO":"b"}},"b":{"on":{"GO":"a.h"}}}}`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, text := range []string{
		`{}`, `{"status":"active"}`, `{"status":"gone","value":"b"}`, `{"status":"active","value":"c"}`, `{"status":"active","value":"a"}`,
		`{"status":"active","value":{"b":{}}}`, `{"status":"active","value":{"a":{"l":"x"}}}`, `{"status":"active","value":{"a":{"l":"x","h":{}}}}`,
		`{"status":"active","value":{"a":{"l":"x","r":"z"}}}`, `{"status":"active","value":[]}`, `{"status":"active","value":{"a":{"l":"x","r":{}},"b":{}}}`,
		`{"status":"active","value":"b","entered":["m.a"]}`, `{"status":"active","value":"b","entered":[]}`,
		`{"status":"active","value":"b","history":{"m.b":["m.a.l"]}}`, `{"status":"active","value":"b","history":{"m.a.h":[]}}`,
		`{"status":"active","value":"b","history":{"m.a.h":["m.b"]}}`, `{"status":"active","value":"b","history":{"m.a.h":["m.a.l","m.a.l"]}}`,
		`{"status":"active","value":"b","history":{"m.a.h":{}}}`,
	} {
		var s Snapshot
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Send(s, Event{Type: "GO"}, Scope{}); rondo.CodeOf(err) != rondo.CodeStateCorrupt {
			t.Errorf("%s: %v", text, err)
		}
		if _, err := m.Fire(s, "x", Scope{}); rondo.CodeOf(err) != rondo.CodeStateCorrupt {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestEventsThatAreNoneAreRefused(t *testing.T) {
	t.Parallel()
	m, _ := Compile([]byte(`{"id":"m"}`))
	start, err := m.Start(map[string]json.RawMessage{"x": json.RawMessage(`1`)}, Scope{})
	if err != nil || string(start.Snapshot.Context["x"]) != "1" {
		t.Fatal(start, err)
	}
	for _, e := range []Event{{}, {Type: "*"}, {Type: "xstate.init"}, {Type: "GO", Payload: json.RawMessage(`{`)}} {
		if _, err := m.Send(start.Snapshot, e, Scope{}); rondo.CodeOf(err) != rondo.CodeInvalid {
			t.Errorf("%v: %v", e, err)
		}
	}
	if _, err := m.Start(map[string]json.RawMessage{"x": json.RawMessage(`{`)}, Scope{}); rondo.CodeOf(err) != rondo.CodeInvalid {
		t.Error(err)
	}
}

// A definition cannot exhaust memory: values that grow are stopped.
func TestValuesThatGrowAreStopped(t *testing.T) {
	t.Parallel()
	for _, set := range []string{
		`"x":{"json":{"path":"context.x"}}`,                    // twice the quotes each time
		`"x":{"path":"context"},"y":{"path":"context"}`,        // twice the context
		`"x":{"merge":[{"const":{"a":1}},{"path":"context"}]}`, // one level deeper
	} {
		m, problems := Compile([]byte(`{"initial":"a","context":{"x":"\""},"states":{"a":{"on":{"GO":"b"}},
			"b":{"always":{"target":"c","actions":{"type":"assign","set":{` + set + `}}}},"c":{"always":"b"}}}`))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		start, err := m.Start(nil, Scope{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Send(start.Snapshot, Event{Type: "GO"}, Scope{}); rondo.CodeOf(err) != rondo.CodeWorkflowLogic {
			t.Errorf("%s: %v", set, err)
		}
	}
}
