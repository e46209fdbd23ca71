package definition

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
)

// The hash is how instances find what drives them: it must not change between
// versions of Rondo for content that did not change.
func TestSnapshotHashesOfTheTemplatesAreStable(t *testing.T) {
	var b strings.Builder
	for _, draft := range Templates() {
		_, hash, err := Freeze(draft.Body, system())
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(hash + "  " + draft.Name + "\n")
	}
	const file = "testdata/hashes.txt"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("hashes (-want +got):\n%s", diff)
	}
}

func TestFreezeIsTheSameForTheSameContent(t *testing.T) {
	a, hashA, err := Freeze(json.RawMessage(`{"name":"x","start_step":"d","steps":{"d":{"kind":"emit_final","transitions":{"on_complete":"TERMINAL"}}}}`), system())
	if err != nil {
		t.Fatal(err)
	}
	b, hashB, err := Freeze(json.RawMessage(` {"steps": {"d": {"transitions": {"on_complete": "TERMINAL"}, "kind": "emit_final"}}, "start_step": "d", "name": "x"}`), system())
	if err != nil {
		t.Fatal(err)
	}
	if hashA != hashB || string(a) != string(b) {
		t.Errorf("%s and %s differ", a, b)
	}
	_, hashC, err := Freeze(json.RawMessage(`{"name":"y","start_step":"d","steps":{"d":{"kind":"emit_final","transitions":{"on_complete":"TERMINAL"}}}}`), system())
	if err != nil {
		t.Fatal(err)
	}
	if hashC == hashA {
		t.Error("another name, the same hash")
	}
}

func TestCompileFillsDefaultsAndKeepsWhatIsWritten(t *testing.T) {
	body, err := plainJSON([]byte(`
name: Times
default_mode: client_driven
workflow_timeout_seconds: 100
search: [plain.confidence]
start_step: plain
steps:
  plain: {kind: run_ai_review, transitions: {on_complete: full}}
  full:
    kind: run_ai_review
    timeout_seconds: 1.5
    max_retries: 7
    retry_backoff: linear
    retry_base_seconds: 0.25
    retry_cap_seconds: 60
    retry_jitter: true
    retry_on_timeout: true
    transitions: {on_complete: branch}
  branch: {kind: condition, params: {expr: plain.confidence > 0.5}, transitions: {on_true: done, on_false: done}}
  done: {kind: emit_final, transitions: {on_complete: TERMINAL}}
`))
	if err != nil {
		t.Fatal(err)
	}
	s := mustCompile(t, body)
	type times struct {
		Timeout    time.Duration
		MaxRetries int
		Backoff    string
		Base, Cap  time.Duration
		Jitter     bool
		OnTimeout  bool
	}
	of := func(id string) times {
		step := s.Steps[id]
		return times{step.Timeout, step.MaxRetries, step.Backoff, step.RetryBase, step.RetryCap, step.RetryJitter, step.RetryOnTimeout}
	}
	if diff := cmp.Diff(times{0, 0, "exponential", 5 * time.Second, 5 * time.Minute, false, false}, of("plain")); diff != "" {
		t.Errorf("plain (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(times{1500 * time.Millisecond, 7, "linear", 250 * time.Millisecond, time.Minute, true, true}, of("full")); diff != "" {
		t.Errorf("full (-want +got):\n%s", diff)
	}
	if s.DefaultMode != rondo.ModeClientDriven || s.WorkflowTimeout != 100*time.Second || s.Name != "Times" || s.Start != "plain" {
		t.Errorf("head is %s %s %s %s", s.DefaultMode, s.WorkflowTimeout, s.Name, s.Start)
	}
	if s.Steps["branch"].Expr == nil || s.Steps["branch"].Expr.Source() != "plain.confidence > 0.5" {
		t.Error("the alias params.expr was not compiled")
	}
	if diff := cmp.Diff([]string{"ai_review.completed", "ai_review.failed"}, s.InboundTypes()); diff != "" {
		t.Errorf("inbound types (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]bool{"branch": true, "done": true}, s.Reachable("full")); diff != "" {
		t.Errorf("reachable (-want +got):\n%s", diff)
	}
}

func TestCompileRefusesWhatTheMachineCannotRun(t *testing.T) {
	final := `"d":{"kind":"emit_final","transitions":{"on_complete":"TERMINAL"}}`
	kinds := `"kinds":{"emit_final":{"behaviour":"final","events":{"requested":"a.b"}},"condition":{"behaviour":"condition"}}`
	for name, document := range map[string]string{
		"not JSON":           `{`,
		"no definition":      `{"kinds":{}}`,
		"another member":     `{"definition":{"name":"x","start_step":"d","steps":{` + final + `}},` + kinds + `,"x":1}`,
		"missing kind":       `{"definition":{"name":"x","start_step":"d","steps":{` + final + `}},"kinds":{}}`,
		"bad contract":       `{"definition":{"name":"x","start_step":"d","steps":{` + final + `}},"kinds":{"emit_final":{"behaviour":"dance"}}}`,
		"no start":           `{"definition":{"name":"x","steps":{` + final + `}},` + kinds + `}`,
		"unknown target":     `{"definition":{"name":"x","start_step":"d","steps":{"d":{"kind":"emit_final","transitions":{"on_complete":"x"}}}},` + kinds + `}`,
		"cycle":              `{"definition":{"name":"x","start_step":"d","steps":{"d":{"kind":"emit_final","transitions":{"on_complete":"d"}}}},` + kinds + `}`,
		"expression missing": `{"definition":{"name":"x","start_step":"c","steps":{"c":{"kind":"condition"}}},` + kinds + `}`,
	} {
		if _, err := Compile([]byte(document)); rondo.CodeOf(err) != rondo.CodeInvalidDef {
			t.Errorf("%s: got %v, want a refusal", name, err)
		}
	}
}

func TestFreezeRefusesUnknownKinds(t *testing.T) {
	_, _, err := Freeze(json.RawMessage(`{"name":"x","steps":{"d":{"kind":"dance"}}}`), system())
	if rondo.CodeOf(err) != rondo.CodeInvalidDef {
		t.Errorf("got %v", err)
	}
}

func TestAFrozenDefinitionKeepsTheContractOfItsTime(t *testing.T) {
	body := json.RawMessage(`{"name":"x","start_step":"c","steps":{"c":{"kind":"credit_check","params":{"amount":1},"transitions":{"on_approved":"d","on_declined":"d"}},"d":{"kind":"emit_final","transitions":{"on_complete":"TERMINAL"}}}}`)
	document, _, err := Freeze(body, clinic())
	if err != nil {
		t.Fatal(err)
	}
	s, err := Compile(document) // no environment: the document stands alone
	if err != nil {
		t.Fatal(err)
	}
	c := s.Steps["c"].Contract
	if c.Requested != "ext.credit.requested" || c.FailureHaltCode != "credit_unknown" || len(c.Outcomes) != 2 || c.Request["customer"].Pick == nil {
		t.Errorf("contract is %+v", c)
	}
}

func TestSystemReasonCodesAreUniqueWithStableIDs(t *testing.T) {
	seen := map[string]bool{}
	for _, code := range SystemReasonCodes() {
		if seen[code.ID.String()] || seen[code.Scope+code.Code] {
			t.Errorf("%s %s is there twice", code.Scope, code.Code)
		}
		seen[code.ID.String()], seen[code.Scope+code.Code] = true, true
	}
	for _, word := range []string{
		"consent_missing", "insufficient_images", "ai_review_failed", "human_review_failed", "step_failed", "step_timeout",
		"workflow_deadline_exceeded", "contract_violation", "condition_error", "manual_halt",
	} {
		if !seen[ScopeHalt+word] {
			t.Errorf("no halt code %s", word)
		}
	}
	if got, want := SystemReasonCodes()[0].ID.String(), "47166718-987e-5b1c-a42d-da2536f660ed"; got != want {
		t.Errorf("id of consent_missing is %s, want %s", got, want)
	}
}

func TestSnapshotsKnowBranchesAndWhatFollowsThem(t *testing.T) {
	s := mustCompile(t, []byte(parallelDefinition))
	if diff := cmp.Diff([]string{"fork", "ask", "inner", "later", "paid", "sure", "done", "stop"}, s.Order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	fork, inner, paid := s.Steps["fork"], s.Steps["inner"], s.Steps["paid"]
	if diff := cmp.Diff([]Branch{{"a", "ask"}, {"b", "inner"}}, fork.Branches); diff != "" || fork.Need != 2 || fork.Fork != "" {
		t.Errorf("fork needs %d of %v in %q", fork.Need, fork.Branches, fork.Fork)
	}
	if inner.Need != 1 || inner.Fork != "fork" || inner.Branch != "b" || paid.Fork != "inner" || paid.Branch != "d" {
		t.Errorf("inner needs %d in %s/%s, paid is in %s/%s", inner.Need, inner.Fork, inner.Branch, paid.Fork, paid.Branch)
	}
	for _, step := range []struct {
		id   string
		want []string
	}{
		{"fork", []string{"ask", "done", "inner", "later", "paid", "stop", "sure"}},
		{"ask", []string{"done", "stop", "sure"}},
		{"paid", []string{"done", "stop", "sure"}}, // through two joins
		{"inner", []string{"done", "later", "paid", "stop", "sure"}},
	} {
		if diff := cmp.Diff(step.want, sortedKeys(s.Reachable(step.id))); diff != "" {
			t.Errorf("after %s (-want +got):\n%s", step.id, diff)
		}
	}
	if s.CanReach("ask", "paid") || s.CanReach("sure", "ask") {
		t.Error("branches lead to each other, or what follows leads back")
	}
	if diff := cmp.Diff([]string{"ext.paid"}, s.InboundTypes()); diff != "" {
		t.Errorf("inbound types (-want +got):\n%s", diff)
	}
	if got := s.Waiting("ext.paid"); len(got) != 1 || got[0] != paid || len(s.StepsFor("ext.paid")) != 0 {
		t.Errorf("%v wait for ext.paid", got)
	}
	if want := (SLA{WarnAfter: 5 * time.Second}); s.SLA != want {
		t.Errorf("service level %v, want %v", s.SLA, want)
	}
}

func TestTestsNeverChangeTheHash(t *testing.T) {
	body := []byte(parallelDefinition)
	tests, required, err := TestsOf(body)
	if err != nil || !required || len(tests) != 1 || string(tests[0]) != `{"x":1}` {
		t.Fatalf("tests %s, required %v, %v", tests, required, err)
	}
	without := strings.Replace(parallelDefinition, `"require_tests":true,"tests":[{"x":1}],`, "", 1)
	if tests, required, err := TestsOf([]byte(without)); err != nil || required || len(tests) != 0 {
		t.Fatalf("without tests: %s, required %v, %v", tests, required, err)
	}
	if a, b := mustCompile(t, body).Hash, mustCompile(t, []byte(without)).Hash; a != b {
		t.Errorf("the tests change the hash from %s to %s", b, a)
	}
	many := strings.Replace(parallelDefinition, `{"x":1}`, strings.Repeat("0,", maxTests)+"0", 1)
	if _, _, err := TestsOf([]byte(many)); err == nil {
		t.Error("more tests than may be are accepted")
	}
	if _, err := ParseDraft([]byte(many)); err == nil {
		t.Error("a draft with more tests than may be is accepted")
	}
	if _, _, err := TestsOf([]byte(`{"tests": {}}`)); err == nil {
		t.Error("tests that are no array are accepted")
	}
}

func TestDefaultsOfAKindFillWhatAStepDoesNotGive(t *testing.T) {
	env := clinic()
	body := []byte(`{"name":"x","start_step":"ask","steps":{
		"ask":{"kind":"approval","params":{"title":"Mine"},"transitions":{"on_approved":"done","on_rejected":"no"}},
		"no":{"kind":"refused"},"done":{"kind":"emit_final","transitions":{"on_complete":"TERMINAL"}}}}`)
	if report := Validate(body, env); !report.Valid() {
		t.Fatal(report.Errors)
	}
	document, _, err := Freeze(body, env)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Compile(document)
	if err != nil {
		t.Fatal(err)
	}
	want := &Manual{Title: "Mine", Outcomes: []string{"on_approved", "on_rejected"}}
	if diff := cmp.Diff(want, s.Steps["ask"].Manual); diff != "" {
		t.Errorf("manual (-want +got):\n%s", diff)
	}
	if got := string(s.Steps["no"].Params["reason_code"]); got != `"step_failed"` {
		t.Errorf("the reason code is %s", got)
	}
}

func TestCompileRefusesBranchesThatLeadAstray(t *testing.T) {
	for name, change := range map[string][2]string{
		"JOIN outside":     {`"on_false":"stop"`, `"on_false":"JOIN"`},
		"TERMINAL inside":  {`"on_yes":"JOIN"`, `"on_yes":"TERMINAL"`},
		"out of a branch":  {`"on_yes":"JOIN"`, `"on_yes":"sure"`},
		"across branches":  {`"on_yes":"JOIN"`, `"on_yes":"later"`},
		"unknown start":    {`"d":"paid"`, `"d":"nowhere"`},
		"too many to join": {`"join":"any"`, `"join":{"at_least":3}`},
		"no such join":     {`"join":"any"`, `"join":"some"`},
		"no outcomes":      {`"outcomes":["on_yes"]`, `"outcomes":[]`},
		"no delay":         {`"seconds":5`, `"second":5`},
		"no event type":    {`"event_type":"ext.paid"`, `"event_type":5`},
		"match":            {`event.payload.x == 1`, `event.`},
	} {
		t.Run(name, func(t *testing.T) {
			changed := strings.Replace(parallelDefinition, change[0], change[1], 1)
			if changed == parallelDefinition {
				t.Fatal("nothing was changed")
			}
			if Validate([]byte(changed), system()).Valid() {
				t.Error("it is valid")
			}
			document, _, err := Freeze([]byte(changed), system())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Compile(document); err == nil {
				t.Error("it compiles")
			}
		})
	}
}
