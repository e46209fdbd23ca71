package explain_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo/internal/flow"
)

var update = flag.Bool("update", false, "rewrite testdata")

const begun = `{"patient_id":"p-1","images":[{"id":"i1","type":"DERMOSCOPIC"}]}`

// toReview brings a template to its AI review.
func toReview(w *world) {
	w.created(begun)
	w.answer("consent_gate", "consent.check.completed", `{"granted":true,"missing_types":[]}`)
	w.answer("image_check", "case.images_check.completed", `{"count":3,"passed":true,"image_ids":["i1"]}`)
}

// approval has every behaviour that waits.
const approval = `
name: Purchase approval
start_step: ask
workflow_timeout_seconds: 864000
sla: {warn_after_seconds: 3600, breach_after_seconds: 7200}
steps:
  ask:
    kind: parallel
    params: {branches: {boss: manager, bank: payment}, join: all}
    transitions: {on_complete: cool}
  manager:
    kind: manual
    params:
      title: Approve the purchase
      instructions: Look at the offer
      outcomes: [approved, refused]
      assignees: [bob, cleo]
      form: {type: object, properties: {limit: {type: number}}}
    timeout_seconds: 86400
    transitions: {approved: JOIN, refused: stop}
  payment:
    kind: wait_for_event
    params: {event_type: ext.payment.received, match: event.payload.amount >= 100}
    transitions: {on_event: JOIN}
  cool:
    kind: delay
    params: {seconds: 600}
    transitions: {on_complete: done}
  done: {kind: emit_final, transitions: {on_complete: TERMINAL}}
  stop: {kind: halt, params: {reason_code: manual_halt, note: The manager refused}}
`

// notifying tells somebody and goes on.
const notifying = `
name: Notify
start_step: tell
steps:
  tell: {kind: emit_webhook, params: {event_name: begun}, transitions: {on_complete: review}}
  review: {kind: request_human_review, params: {tier: sa_qa}, transitions: {on_complete: done}}
  done: {kind: emit_final, transitions: {on_complete: TERMINAL}}
`

// worlds are small cases, each in a state that people ask about.
var worlds = map[string]struct {
	source string
	play   func(*world)
}{
	"emitted and delivered": {notifying, func(w *world) {
		w.created(begun)
		emitted := w.facts.Steps[0].CorrelationID
		w.event("workflow.webhook_emit.completed", "another", `{"delivery_id":"d-0"}`)
		w.event("workflow.webhook_emit.completed", emitted, `{"delivery_id":"d-1"}`)
	}},
	"waits for a module": {"ai_only", func(w *world) { w.created(begun) }},
	"waits for a retry": {"ai_only", func(w *world) {
		toReview(w)
		w.answer("ai_review", "ai_review.failed", `{"reason_code":"model_busy","retryable":true}`)
	}},
	"waits for the second answer": {"ai_only", func(w *world) {
		toReview(w)
		w.answer("ai_review", "ai_review.failed", `{"reason_code":"model_busy","retryable":true}`)
		w.pass(time.Minute)
		w.pass(2 * time.Minute)
	}},
	"halted by a failure": {"ai_only", func(w *world) {
		toReview(w)
		w.answer("ai_review", "ai_review.failed", `{"reason_code":"model_broken","retryable":false,"error":{"detail":"no weights"}}`)
	}},
	"halted by a timeout": {"ai_only", func(w *world) {
		w.created(begun)
		w.pass(2 * time.Minute)
	}},
	"halted by hand with an answer parked": {"ai_only", func(w *world) {
		toReview(w)
		w.act(flow.Command{Action: "halt", ReasonCode: "manual_halt", Note: "The patient called"})
		w.answer("ai_review", "ai_review.completed", `{"confidence":0.9,"diagnoses":[],"raw_response_id":"r"}`)
	}},
	"resumed after a halt": {"ai_only", func(w *world) {
		toReview(w)
		w.answer("ai_review", "ai_review.failed", `{"reason_code":"model_broken","retryable":false}`)
		w.act(flow.Command{Action: "resume", Reason: "the model is back"})
	}},
	"resumed with an answer parked": {"ai_only", func(w *world) {
		toReview(w)
		w.act(flow.Command{Action: "halt", ReasonCode: "manual_halt", Note: "The patient called"})
		w.answer("ai_review", "ai_review.completed", `{"confidence":0.9,"diagnoses":[],"raw_response_id":"r"}`)
		w.act(flow.Command{Action: "resume", Reason: "all is well"})
	}},
	"past its deadline": {"ai_only", func(w *world) {
		w.created(`{"patient_id":"p-1","orchestration_mode":"client_driven"}`)
		w.pass(31 * 24 * time.Hour)
	}},
	"driven by a client": {"ai_with_confidence_escalation", func(w *world) {
		w.created(`{"patient_id":"p-1","orchestration_mode":"client_driven"}`)
		w.event("ai_review.completed", "early", `{"confidence":0.61,"diagnoses":[],"raw_response_id":"r"}`)
	}},
	"completed": {"ai_with_confidence_escalation", func(w *world) {
		toReview(w)
		w.answer("ai_review", "ai_review.completed", `{"confidence":0.9,"diagnoses":[],"raw_response_id":"r"}`)
		w.event("ai_review.completed", "another", `{"confidence":0.1,"diagnoses":[],"raw_response_id":"r"}`)
	}},
	"halted by an answer that breaks the contract": {"clinician_only", func(w *world) {
		w.created(begun)
		w.answer("consent_gate", "consent.check.completed", `{"granted":"yes"}`)
	}},
	"halted by a request that cannot be built": {"clinician_only", func(w *world) { w.created(`{}`) }},
	"answers that nothing asked for": {"ai_only", func(w *world) {
		w.created(begun)
		w.event("consent.check.completed", "mine", `{"granted":true}`)
		asked := w.state.Instance.Machine.Live[0]
		w.answer("consent_gate", "consent.check.completed", `{"granted":true,"missing_types":[]}`)
		w.event("consent.check.completed", asked.CorrelationID, `{"granted":true}`)
		w.event("consent.check.completed", asked.RequestID.String(), `{"granted":true}`)
	}},
	"driven ahead of its steps": {"ai_with_confidence_escalation", func(w *world) {
		w.created(`{"patient_id":"p-1","orchestration_mode":"client_driven","images":[{"id":"i1","type":"DERMOSCOPIC"}]}`)
		w.event("case.images_check.completed", "two", `{"count":3,"passed":true,"image_ids":["i1"]}`)
		w.event("human_review.completed", "four", `{"decision":"confirm","reviewer_id":"r"}`)
		w.event("consent.check.completed", "one", `{"granted":true,"missing_types":[]}`)
		w.event("consent.check.completed", "one again", `{"granted":true,"missing_types":[]}`)
		w.event("ai_review.failed", "three", `{"reason_code":"model_busy","retryable":true,"error":"out of memory"}`)
		w.event("ext.unheard", "five", `{}`)
	}},
	"cancelled": {"ai_only", func(w *world) {
		w.created(begun)
		w.act(flow.Command{Action: "cancel", Reason: "withdrawn"})
	}},
	"branches of every kind": {approval, func(w *world) { w.created(`{}`) }},
	"an event before the case and one that does not match": {approval, func(w *world) {
		w.event("ext.payment.received", "x", `{"amount":1}`)
		w.created(`{"orchestration_mode":"client_driven"}`)
		w.event("ext.payment.received", "x", `{"amount":1}`)
	}},
	"a delay": {approval, func(w *world) {
		w.created(`{}`)
		w.event("ext.payment.received", "x", `{"amount":100}`)
		w.act(flow.Command{Action: "complete_step", StepID: "manager", Outcome: "approved", Output: json.RawMessage(`{"limit":5}`)})
	}},
	"halted by its definition": {approval, func(w *world) {
		w.created(`{}`)
		w.act(flow.Command{Action: "complete_step", StepID: "manager", Outcome: "refused"})
	}},
}

func TestExplanationsOfSmallWorlds(t *testing.T) {
	t.Parallel()
	for name, world := range worlds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, world.source)
			world.play(w)
			f := w.seen()
			var got bytes.Buffer
			fmt.Fprintln(&got, f.Why().Summary)
			for _, part := range []struct {
				title string
				value any
			}{{"why", f.Why()}, {"next step", f.NextStep()}, {"timeline", f.Timeline()}} {
				fmt.Fprintf(&got, "\n-- %s --\n", part.title)
				raw, err := json.MarshalIndent(part.value, "", " ")
				if err != nil {
					t.Fatal(err)
				}
				got.Write(append(raw, '\n'))
			}
			compare(t, filepath.Join("testdata", name+".txt"), got.Bytes())
		})
	}
}

// compare holds a text against a file.
func compare(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("if this is meant, run the test with -update (-want +got):\n%s", diff)
	}
}
