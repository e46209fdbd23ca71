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
