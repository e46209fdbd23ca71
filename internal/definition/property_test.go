package definition

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A definition that is made at random, mostly sound, sometimes broken.
func randomDefinition(t *rapid.T) map[string]any {
	n := rapid.IntRange(1, 8).Draw(t, "steps")
	id := func(i int) string { return fmt.Sprintf("s%d", i) }
	steps := map[string]any{}
	broken := rapid.IntRange(0, 3).Draw(t, "broken") == 0
	target := func(i int, label string) string {
		if broken && rapid.IntRange(0, 9).Draw(t, label+"?") == 0 {
			return rapid.SampledFrom([]string{"nowhere", Join, "s0", "", Terminal}).Draw(t, label)
		}
		return id(rapid.IntRange(i+1, n).Draw(t, label))
	}
	for i := range n {
		kind := rapid.SampledFrom([]string{"gate_on_consent", "run_ai_review", "set_case_status", "condition", "emit_webhook"}).Draw(t, "kind")
		step := map[string]any{"kind": kind}
		transitions := map[string]any{}
		switch kind {
		case "gate_on_consent":
			step["params"] = map[string]any{"types": []string{"x"}}
			transitions["on_pass"], transitions["on_fail"] = target(i, "pass"), target(i, "fail")
		case "condition":
			step["expr"] = rapid.SampledFrom([]string{
				"sample(0.5)", "case.metadata.x == 1", "now() > 5", "s0.result", "s1.confidence < 0.7", "s2.granted", "len(s0) > 1 &&",
			}).Draw(t, "expr")
			transitions["on_true"], transitions["on_false"] = target(i, "true"), target(i, "false")
		case "emit_webhook":
			step["params"] = map[string]any{"event_name": "e", "payload_template": "{{s0.x}}"}
			transitions["on_complete"] = target(i, "complete")
		case "set_case_status":
			step["params"] = map[string]any{"status": "open"}
			transitions["on_complete"], transitions["on_timeout"] = target(i, "complete"), "stop"
			step["timeout_seconds"] = rapid.SampledFrom([]any{0.5, 60, 0, 1e9}).Draw(t, "timeout")
		default:
			transitions["on_complete"], transitions["on_failure"] = target(i, "complete"), "stop"
			step["max_retries"] = rapid.SampledFrom([]any{0, 3, -1, 1.5}).Draw(t, "retries")
		}
		step["transitions"] = transitions
		steps[id(i)] = step
	}
	steps[id(n)] = map[string]any{"kind": "emit_final", "transitions": map[string]any{"on_complete": Terminal}}
	steps["stop"] = map[string]any{"kind": "halt", "params": map[string]any{"reason_code": "step_failed"}}
	return map[string]any{"name": "random", "start_step": "s0", "steps": steps}
}

func TestWhatIsValidFreezesAndCompiles(t *testing.T) {
	valid, invalid := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		definition := randomDefinition(t)
		pruneUnreachable(definition)
		body, err := json.Marshal(definition)
		if err != nil {
			t.Fatal(err)
		}
		report := Validate(body, system())
		if !report.Valid() {
			invalid++
			return
		}
		valid++
		s := mustCompile(t, body)
		checkSnapshot(t, s)
	})
	t.Logf("%d valid, %d invalid", valid, invalid)
	if valid == 0 || invalid == 0 {
		t.Errorf("%d valid and %d invalid definitions: the generator no longer makes both", valid, invalid)
	}
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func mustCompile(t fataler, body []byte) *Snapshot {
	t.Helper()
	document, hash, err := Freeze(body, system())
	if err != nil {
		t.Fatalf("valid, but does not freeze: %v\n%s", err, body)
	}
	s, err := Compile(document)
	if err != nil {
		t.Fatalf("valid, but does not compile: %v\n%s", err, body)
	}
	if s.Hash != hash {
		t.Fatalf("compiled hash %s, frozen %s", s.Hash, hash)
	}
	return s
}

// checkSnapshot holds what the case machine relies on.
func checkSnapshot(t fataler, s *Snapshot) {
	t.Helper()
	place := map[string]int{}
	for i, id := range s.Order {
		place[id] = i
	}
	if len(place) != len(s.Steps) || len(s.Order) != len(s.Steps) || s.Order[0] != s.Start {
		t.Fatalf("order %v is not every step once, the start first", s.Order)
	}
	for id, step := range s.Steps {
		if id != s.Start && !s.CanReach(s.Start, id) {
			t.Fatalf("%s is not reachable", id)
		}
		for _, target := range step.Transitions {
			if target == Terminal {
				continue
			}
			if place[target] <= place[id] {
				t.Fatalf("order %v: %s comes before %s", s.Order, target, id)
			}
			if !s.CanReach(id, target) || s.CanReach(target, id) {
				t.Fatalf("reachability of %s → %s is wrong", id, target)
			}
		}
		if (step.Contract.Behaviour == BehaviourCondition) != (step.Expr != nil) {
			t.Fatalf("%s: a condition and only a condition has an expression", id)
		}
		for _, eventType := range []string{step.Contract.Completed, step.Contract.Failed} {
			if eventType != "" && (!slices.Contains(s.InboundTypes(), eventType) || !slices.Contains(s.StepsFor(eventType), step)) {
				t.Fatalf("%s is not found by %s", id, eventType)
			}
		}
	}
}

func pruneUnreachable(definition map[string]any) {
	steps := definition["steps"].(map[string]any)
	reached := map[string]bool{}
	var walk func(id string)
	walk = func(id string) {
		step, ok := steps[id].(map[string]any)
		if !ok || reached[id] {
			return
		}
		reached[id] = true
		transitions, _ := step["transitions"].(map[string]any)
		for _, target := range transitions {
			walk(target.(string))
		}
	}
	walk("s0")
	maps.DeleteFunc(steps, func(id string, _ any) bool { return !reached[id] })
}

func FuzzValidate(f *testing.F) {
	for _, draft := range Templates() {
		f.Add([]byte(draft.Body))
	}
	f.Add([]byte(`{"name":"x","steps":{"":{"kind":"condition","expr":"a"}},"start_step":""}`))
	f.Add([]byte(`{"name":"x","steps":{"a":{"kind":"halt","params":{"reason_code":null}}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if Validate(body, system()).Valid() {
			checkSnapshot(t, mustCompile(t, body))
		}
		_, _ = Mermaid(body)
		_, _ = SVG(body)
	})
}

func FuzzParseDraft(f *testing.F) {
	for _, draft := range Templates() {
		f.Add([]byte(draft.Body))
	}
	f.Add([]byte("name: x\nsteps: {a: {kind: halt}}"))
	f.Add([]byte("{// c\n\"name\": \"x\", /* */}"))
	f.Fuzz(func(t *testing.T, src []byte) {
		draft, err := ParseDraft(src)
		if err != nil {
			return
		}
		again, err := ParseDraft(draft.Body)
		if err != nil || string(again.Body) != string(draft.Body) || again.Name != draft.Name {
			t.Fatalf("a draft's body does not read as itself: %v\n%s\n%s", err, draft.Body, again.Body)
		}
	})
}

func FuzzParseContract(f *testing.F) {
	for _, kind := range BuiltinKinds() {
		f.Add([]byte(kind.Contract))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := ParseContract(raw)
		if err != nil {
			return
		}
		_ = c.OutputSchema.Validate(json.RawMessage(`{"a": [1, "x", null], "score": 5}`))
		if _, err := parseContract(c.JSON(), true); err != nil {
			t.Fatalf("a contract does not read again: %v", err)
		}
	})
}
