package deftest_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
	"github.com/rondo-engine/rondo/internal/deftest"
)

func template(t *testing.T, name string, edit ...string) *definition.Snapshot {
	t.Helper()
	for _, draft := range definition.Templates() {
		if draft.Name == name {
			return compiled(t, strings.NewReplacer(edit...).Replace(string(draft.Body)))
		}
	}
	t.Fatalf("no template %s", name)
	return nil
}

func compiled(t *testing.T, body string) *definition.Snapshot {
	t.Helper()
	document, _, err := definition.Freeze(json.RawMessage(body), definition.Environment{ReasonCodes: definition.SystemReasonCodes()})
	if err != nil {
		t.Fatal(err)
	}
	snap, err := definition.Compile(document)
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

func tests(t *testing.T, file string) []deftest.Test {
	t.Helper()
	raw, err := deftest.ParseFile([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := deftest.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

const escalation = "ai_with_confidence_escalation"

const escalationTests = `
- name: an unsure answer goes to a person
  given:
    steps:
      consent_gate: {complete: {granted: true, missing_types: []}}
      image_check: {complete: {count: 3, passed: true, image_ids: [a, b, c]}}
      ai_review:
        - {fail: {reason_code: busy, retryable: true}, after: 10s}
        - {complete: {confidence: 0.6, diagnoses: [{code: x}]}, after: 1m}
      customer_review: {complete: {decision: confirm, reviewer_id: r1}, after: 2h}
  expect:
    status: completed
    path: [consent_gate, image_check, ai_review, ai_review, branch_confidence, customer_review, emit_done]
    events: [ai_review.requested, ai_review.requested, human_review.requested, workflow.completed]
    context: {ai_review.confidence: 0.6, branch_confidence: {result: true}}
    took: 2h1m15s
- name: a sure answer does not
  given:
    steps:
      consent_gate: {complete: {granted: true, missing_types: []}}
      image_check: {complete: {count: 3, passed: true, image_ids: [a, b, c]}}
      ai_review: {complete: {confidence: 0.7, diagnoses: []}}
  expect: {status: completed, context: {branch_confidence.result: false}}
- name: nobody answers
  given:
    steps:
      consent_gate: {silent: true}
  expect: {status: halted, halt_reason: step_timeout, halt_step_id: consent_gate, took: 60s}
`

func TestTestsPassOnTheDefinitionTheyAreFor(t *testing.T) {
	report := deftest.Run(template(t, escalation), tests(t, escalationTests))
	for _, r := range report.Results {
		if !r.Passed {
			t.Errorf("%s: %s", r.Name, strings.Join(r.Failures, "; "))
		}
	}
	if report.Passed != 3 || report.Failed != 0 {
		t.Errorf("passed %d, failed %d", report.Passed, report.Failed)
	}
	want := []string{"consent_gate.on_fail", "image_check.on_fail", "ai_review.on_failure"}
	if diff := cmp.Diff(want, report.Coverage.TransitionsMissed); diff != "" {
		t.Errorf("transitions missed (-want +got):\n%s", diff)
	}
}

func TestFailuresSayWhatWasSeen(t *testing.T) {
	for _, test := range []struct{ name, file, want string }{
		{
			"another status", `[{"given": {"steps": {"consent_gate": {"complete": {"granted": false, "missing_types": ["ai_analysis"]}}}}, "expect": {"status": "completed"}}]`,
			"status: expected completed, saw halted (consent_missing at consent_gate)",
		},
		{
			"an answer is missing", `[{"given": {}, "expect": {"status": "completed"}}]`,
			"the case still waits at consent_gate: say under given.steps what answers it, or silent: true",
		},
		{
			"a step that is not there", `[{"given": {"steps": {"consent": {"silent": true}}}, "expect": {"waiting": ["consent_gate"]}}]`,
			`given.steps names "consent", which the definition does not have`,
		},
		{
			"an event that is not sent", `[{"given": {}, "expect": {"events": ["ai_review.requested"], "waiting": ["consent_gate"]}}]`,
			"events: expected ai_review.requested to be sent in this order, saw workflow.started, consent.check.requested",
		},
		{
			"no case began", `[{"given": {"case": {"images": 3}}, "expect": {"status": "completed"}}]`,
			"status: expected completed, saw that no case began: the payload of given.case was refused",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			report := deftest.Run(template(t, escalation), tests(t, test.file))
			if got := strings.Join(report.Results[0].Failures, "\n"); !strings.Contains(got, test.want) {
				t.Errorf("failures:\n%s\nwant among them:\n%s", got, test.want)
			}
		})
	}
}

func TestMalformedTestsAreRefusedWithTheirPlace(t *testing.T) {
	for _, test := range []struct{ name, test, want string }{
		{"an unknown member", `{"name": "x", "expects": {}}`, `/tests/0/expects "expects" is not known here; use name, given, expect`},
		{
			"an unknown member further in", `{"name": "x", "given": {"steps": {"a": {"complte": {}}}}}`,
			`/tests/0/given/steps/a/complte "complte" is not known here; use after, complete, fail, choose, form, silent`,
		},
		{"a list where a text belongs", `{"name": [], "given": {}}`, "/tests/0/name name must be a text"},
		{"a text where a list belongs", `{"name": "x", "expect": {"path": "a"}}`, "/tests/0/expect/path path must be a list"},
		{"two answers at once", `{"name": "x", "given": {"steps": {"a": {"silent": true, "complete": {}}}}}`, "/tests/0/given/steps/a give exactly one of complete, fail, choose and silent"},
		{"no answer", `{"name": "x", "given": {"steps": {"a": {"after": "3s"}}}}`, "/tests/0/given/steps/a give exactly one of complete, fail, choose and silent"},
		{
			"a time span that is none", `{"name": "x", "given": {"steps": {"a": {"after": "soon", "silent": true}}}}`,
			`/tests/0/given/steps/a/after "soon" is no time span; write "90s", "2h", "3d" or seconds`,
		},
		{"an action that is none", `{"name": "x", "given": {"actions": [{"action": "explode"}]}}`, "/tests/0/given/actions/0/action use halt, resume, cancel, retry_step, skip_step or set_mode"},
		{"nothing expected", `{"name": "x", "given": {}, "expect": {"events": [], "context": {}}}`, `/tests/0/expect expect something, e.g. "status": "completed"; a test that expects nothing shows nothing`},
		{"a mode that is none", `{"name": "x", "given": {"mode": "passive"}}`, "/tests/0/given/mode use active or client_driven"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := deftest.Parse([]json.RawMessage{json.RawMessage(test.test)})
			e, ok := errors.AsType[*rondo.Error](err)
			if !ok || len(e.Fields) == 0 {
				t.Fatalf("got %v", err)
			}
			if got := e.Fields[0].Pointer + " " + e.Fields[0].Message; got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// approval has every way to wait: for a person, an event, a time, and for
// branches of its own.
const approval = `{
	"name": "Approval", "start_step": "both",
	"steps": {
		"both": {"kind": "parallel", "params": {"branches": {"boss": "sign", "goods": "arrival"}}, "transitions": {"on_complete": "rest"}},
		"sign": {"kind": "manual", "params": {"title": "Sign", "outcomes": ["yes", "no"], "form": {"type": "object", "required": ["note"], "properties": {"note": {"type": "string"}}}},
			"transitions": {"yes": "JOIN", "no": "refused"}},
		"refused": {"kind": "halt", "params": {"reason_code": "manual_halt", "note": "The boss said no."}},
		"arrival": {"kind": "wait_for_event", "params": {"event_type": "ext.goods.arrived", "match": "event.payload.count >= 3"}, "timeout_seconds": 864000,
			"transitions": {"on_event": "JOIN", "on_timeout": "JOIN"}},
		"rest": {"kind": "delay", "params": {"seconds": 3600}, "transitions": {"on_complete": "done"}},
		"done": {"kind": "emit_final", "transitions": {"on_complete": "TERMINAL"}}
	}
}`

func TestEveryWayToWaitCanBeScripted(t *testing.T) {
	report := deftest.Run(compiled(t, approval), tests(t, `
- name: signed and arrived
  given:
    steps:
      sign: {choose: "yes", form: {note: fine}, after: 2d}
      arrival: {complete: {count: 3}, after: 1d}
    events: [{after: 1h, type: ext.goods.arrived, payload: {count: 2}}]
  expect:
    status: completed
    path: [arrival, sign, both, rest, done]
    took: 49h
    context: {sign: {outcome: "yes", note: fine}, both.branches: {boss: done, goods: done}, arrival.count: 3}
- name: refused
  given: {steps: {sign: {choose: "no", form: {note: sorry}}, arrival: {silent: true}}}
  expect: {status: halted, halt_reason: manual_halt, halt_step_id: sign}
- name: it never arrives
  given: {steps: {sign: {choose: "yes", form: {note: fine}}, arrival: {silent: true}}}
  expect: {status: completed, took: 241h}
`))
	for _, r := range report.Results {
		if !r.Passed {
			t.Errorf("%s: %s (path %v)", r.Name, strings.Join(r.Failures, "; "), r.Seen.Path)
		}
	}
	if report.Coverage.Percent != 100 {
		t.Errorf("coverage %+v", report.Coverage)
	}
}

func TestWhatAPersonMayNotDoFailsTheTest(t *testing.T) {
	report := deftest.Run(compiled(t, approval), tests(t, `
- name: a form that is not filled in
  given: {steps: {sign: {choose: "yes"}, arrival: {silent: true}}}
  expect: {status: running, waiting: [sign]}
`))
	if got := report.Results[0].Failures; len(got) != 1 || !strings.HasPrefix(got[0], "complete_step sign was refused: ") {
		t.Errorf("failures %q", got)
	}
}
