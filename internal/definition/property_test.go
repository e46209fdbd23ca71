package definition

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// parallelDefinition has every behaviour, in branches that nest.
const parallelDefinition = `{"name":"p","start_step":"fork","sla":{"warn_after_seconds":5},"search":["ask.outcome"],"require_tests":true,"tests":[{"x":1}],"steps":{
	"fork":{"kind":"parallel","params":{"branches":{"a":"ask","b":"inner"},"join":"all"},"transitions":{"on_complete":"sure","on_timeout":"stop"},"timeout_seconds":60},
	"ask":{"kind":"manual","params":{"title":"x","outcomes":["on_yes"]},"transitions":{"on_yes":"JOIN"}},
	"inner":{"kind":"parallel","params":{"branches":{"c":"later","d":"paid"},"join":"any"},"transitions":{"on_complete":"JOIN"}},
	"later":{"kind":"delay","params":{"seconds":5},"transitions":{"on_complete":"JOIN"}},
	"paid":{"kind":"wait_for_event","params":{"event_type":"ext.paid","match":"event.payload.x == 1"},"transitions":{"on_event":"JOIN"}},
	"sure":{"kind":"condition","expr":"ask.outcome == 'on_yes'","transitions":{"on_true":"done","on_false":"stop"}},
	"stop":{"kind":"halt","params":{"reason_code":"step_failed"}},
	"done":{"kind":"emit_final","transitions":{"on_complete":"TERMINAL"}}}}`

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
		kind := rapid.SampledFrom([]string{"gate_on_consent", "run_ai_review", "set_case_status", "condition", "emit_webhook", "delay", "wait_for_event", "manual", "parallel"}).Draw(t, "kind")
		step := map[string]any{"kind": kind}
		transitions := map[string]any{}
		switch kind {
		case "gate_on_consent":
			step["params"] = map[string]any{"types": []string{"x"}}
			transitions["on_pass"], transitions["on_fail"] = target(i, "pass"), target(i, "fail")
		case "delay":
			step["params"] = rapid.SampledFrom([]map[string]any{{"seconds": 5}, {"until": "case.metadata.due"}, {"until": "s0.fired_at"}, {}}).Draw(t, "delay")
			transitions["on_complete"] = target(i, "complete")
		case "wait_for_event":
			step["params"] = map[string]any{
				"event_type": rapid.SampledFrom([]string{"ext.paid", "ai_review.completed", "case.created"}).Draw(t, "awaited"),
				"match":      rapid.SampledFrom([]string{"event.payload.x == 1", "s0.x == event.payload.y", "event."}).Draw(t, "match"),
			}
			step["sla"] = map[string]any{"warn_after_seconds": rapid.SampledFrom([]any{1, 60, 0}).Draw(t, "warn"), "breach_after_seconds": 60.5}
			transitions["on_event"], transitions["on_timeout"] = target(i, "event"), target(i, "timeout")
		case "manual":
			step["params"] = map[string]any{"title": "x", "outcomes": []string{"on_yes", "no"}, "form": map[string]any{"type": "object"}}
			transitions["on_yes"], transitions["no"] = target(i, "yes"), target(i, "no")
		case "parallel":
			step["params"] = randomBranches(t, id(i), steps, broken, 0)
			transitions["on_complete"] = target(i, "complete")
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

// randomBranches adds the steps of a parallel step's branches, sometimes with
// branches of their own, and returns its params.
func randomBranches(t *rapid.T, fork string, steps map[string]any, broken bool, depth int) map[string]any {
	branches := map[string]any{}
	for b := range rapid.IntRange(1, 3).Draw(t, "branches") {
		name := fmt.Sprintf("b%d", b)
		first, second, halt := fork+"_"+name, fork+"_"+name+"_then", fork+"_"+name+"_halt"
		branches[name] = first
		end := Join
		if broken && rapid.IntRange(0, 9).Draw(t, "astray?") == 0 {
			end = rapid.SampledFrom([]string{Terminal, "s0", "nowhere", fork}).Draw(t, "astray")
		}
		steps[second] = map[string]any{"kind": "delay", "params": map[string]any{"seconds": 1}, "transitions": map[string]any{"on_complete": end}}
		steps[halt] = map[string]any{"kind": "halt", "params": map[string]any{"reason_code": "step_failed"}}
		if depth < 2 && rapid.Bool().Draw(t, "nested") {
			steps[first] = map[string]any{
				"kind": "parallel", "params": randomBranches(t, first, steps, broken, depth+1), "timeout_seconds": 60,
				"transitions": map[string]any{"on_complete": rapid.SampledFrom([]string{second, Join}).Draw(t, "after"), "on_timeout": halt},
			}
		} else {
			steps[first] = map[string]any{"kind": "run_ai_review", "transitions": map[string]any{"on_complete": second, "on_failure": halt}}
		}
	}
	join := rapid.SampledFrom([]any{"all", "any", map[string]any{"at_least": 2}}).Draw(t, "join")
	return map[string]any{"branches": branches, "join": join}
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
	at := map[string]int{}
	for i, id := range s.Order {
		at[id] = i
	}
	if len(at) != len(s.Steps) || len(s.Order) != len(s.Steps) || s.Order[0] != s.Start {
		t.Fatalf("order %v is not every step once, the start first", s.Order)
	}
	for id, step := range s.Steps {
		if id != s.Start && !s.CanReach(s.Start, id) {
			t.Fatalf("%s is not reachable", id)
		}
		checkBehaviour(t, s, step)
		targets := map[string]place{} // where each target must be
		here := place{step.Fork, step.Branch}
		for _, target := range step.Transitions {
			if target == Join {
				if target = s.Steps[step.Fork].Transitions[OnComplete]; target == Join {
					continue // the parallel step itself is held to what it joins
				}
				targets[target] = place{s.Steps[step.Fork].Fork, s.Steps[step.Fork].Branch}
				continue
			}
			targets[target] = here
		}
		for _, b := range step.Branches {
			targets[b.Start] = place{id, b.Name}
		}
		for target, there := range targets {
			if target == Terminal {
				continue
			}
			if s.Steps[target] == nil || (place{s.Steps[target].Fork, s.Steps[target].Branch}) != there {
				t.Fatalf("%s leads to %s, which is not in %v", id, target, there)
			}
			if at[target] <= at[id] {
				t.Fatalf("order %v: %s comes before %s", s.Order, target, id)
			}
			if !s.CanReach(id, target) || s.CanReach(target, id) {
				t.Fatalf("reachability of %s → %s is wrong", id, target)
			}
		}
		if (step.Contract.Behaviour == BehaviourCondition) != (step.Expr != nil) {
			t.Fatalf("%s: a condition and only a condition has an expression", id)
		}
		for _, eventType := range step.Contract.Answers() {
			if eventType != "" && (!slices.Contains(s.InboundTypes(), eventType) || !slices.Contains(s.StepsFor(eventType), step)) {
				t.Fatalf("%s is not found by %s", id, eventType)
			}
		}
	}
}

// checkBehaviour holds what each behaviour relies on.
func checkBehaviour(t fataler, s *Snapshot, step *Step) {
	t.Helper()
	var has []Behaviour
	if step.Delay > 0 != (step.Until != "") {
		has = append(has, BehaviourDelay)
	}
	if step.WaitFor != "" {
		has = append(has, BehaviourWait)
		if !slices.Contains(s.InboundTypes(), step.WaitFor) || !slices.Contains(s.Waiting(step.WaitFor), step) {
			t.Fatalf("%s is not found by %s", step.ID, step.WaitFor)
		}
	}
	if step.Manual != nil {
		has = append(has, BehaviourManual)
		for _, outcome := range step.Manual.Outcomes {
			if step.Transitions[outcome] == "" {
				t.Fatalf("%s: %s leads nowhere", step.ID, outcome)
			}
		}
	}
	if len(step.Branches) > 0 {
		has = append(has, BehaviourParallel)
		if step.Need < 1 || step.Need > len(step.Branches) {
			t.Fatalf("%s needs %d of %d branches", step.ID, step.Need, len(step.Branches))
		}
	}
	switch b := step.Contract.Behaviour; b {
	case BehaviourDelay, BehaviourWait, BehaviourManual, BehaviourParallel:
		if !slices.Equal(has, []Behaviour{b}) {
			t.Fatalf("%s is a %s step and has %v", step.ID, b, has)
		}
	default:
		if has != nil {
			t.Fatalf("%s is a %s step and has %v", step.ID, b, has)
		}
	}
	if step.SLA.WarnAfter < 0 || step.SLA.BreachAfter > 0 && step.SLA.WarnAfter >= step.SLA.BreachAfter {
		t.Fatalf("%s has the service level %v", step.ID, step.SLA)
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
		params, _ := step["params"].(map[string]any)
		branches, _ := params["branches"].(map[string]any)
		for _, start := range branches {
			walk(start.(string))
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
	f.Add([]byte(parallelDefinition))
	f.Add([]byte(`{"name":"x","start_step":"a","steps":{"a":{"kind":"parallel","params":{"branches":{"a":"a","b":"b"},"join":{"at_least":1}},"transitions":{"on_complete":"JOIN"}},"b":{"kind":"","params":{"branches":{"x":"a"}}}}}`))
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
	f.Add([]byte(parallelDefinition))
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
