package chart

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// scenario is one file of testdata: a machine and what happens to it. Members of a
// want that are not written are not compared.
type scenario struct {
	About  string                     `json:"about"`
	XState *bool                      `json:"xstate"` // false = XState does otherwise, or cannot read it
	Config json.RawMessage            `json:"config"`
	Start  map[string]json.RawMessage `json:"start"`
	Steps  []scenarioStep             `json:"steps"`
}

type scenarioStep struct {
	Send    string                     `json:"send"`
	Payload json.RawMessage            `json:"payload"`
	Fire    string                     `json:"fire"` // id of a timer
	At      int64                      `json:"at"`   // milliseconds
	Want    map[string]json.RawMessage `json:"want"`
}

func scenarios(t testing.TB) map[string]scenario {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal("there are no scenarios:", err)
	}
	all := map[string]scenario{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var s scenario
		if err := json.Unmarshal(raw, &s); err != nil {
			t.Fatal(file, err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".json")] = s
	}
	return all
}

func TestScenarios(t *testing.T) {
	t.Parallel()
	for name, s := range scenarios(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, problems := Compile(s.Config)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			result, err := m.Start(nil, Scope{Now: time.UnixMilli(0)})
			expect(t, m, "start", s.Start, result, err)
			for _, step := range s.Steps {
				scope := Scope{Now: time.UnixMilli(step.At)}
				before := reread(t, result.Snapshot)
				if step.Fire != "" {
					result, err = m.Fire(before, step.Fire, scope)
				} else {
					result, err = m.Send(before, Event{Type: step.Send, Payload: step.Payload}, scope)
				}
				expect(t, m, step.Send+step.Fire, step.Want, result, err)
				if diff := cmp.Diff(reread(t, before), before); diff != "" {
					t.Errorf("the snapshot that came in was changed: %s", diff)
				}
			}
		})
	}
}

// expect compares what is written in want.
func expect(t *testing.T, m *Machine, what string, want map[string]json.RawMessage, r Result, err error) {
	t.Helper()
	if says, ok := want["error"]; ok {
		if err == nil || !strings.Contains(err.Error(), decode(t, says).(string)) {
			t.Fatalf("%s: error %v, want one that says %s", what, err, says)
		}
		return
	}
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	effects, asked := []string{}, [][]any{}
	for _, e := range r.Effects {
		effects = append(effects, e.EventType)
	}
	for _, q := range r.Asked {
		asked = append(asked, []any{q.State, q.Taken})
	}
	timers, paused := map[string]int64{}, map[string]int64{}
	for _, timer := range r.Snapshot.Timers {
		timers[timer.ID] = timer.DueAt.UnixMilli()
	}
	for id, left := range r.Snapshot.Paused {
		paused[id] = left.Milliseconds()
	}
	got := map[string]any{
		"value": r.Snapshot.Value, "context": r.Snapshot.Context, "status": r.Snapshot.Status, "output": r.Snapshot.Output,
		"history": r.Snapshot.History, "entered": r.Snapshot.Entered, "timers": timers, "paused": paused, "effects": effects,
		"asked": asked, "path": append([]string{}, r.Path...), "handled": r.Handled, "changed": r.Changed, "step": m.Step(r.Snapshot),
	}
	for name, raw := range want {
		value, known := got[name]
		if !known {
			t.Fatalf("%s: nothing is called %q", what, name)
		}
		encoded, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(decode(t, raw), decode(t, encoded)); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", what, name, diff)
		}
	}
}
