package flow

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/definition"
)

// busy is a definition that reaches what the templates do not: retries with
// every backoff, timeouts that are handled and retried, a short deadline, emits,
// conditions that fail, and halts behind them.
const busy = `
name: busy
workflow_timeout_seconds: 900
start_step: early
steps:
  early: {kind: condition, expr: "sample(0.5) || now() > 0", transitions: {on_true: consent, on_false: stop}}
  consent: {kind: gate_on_consent, params: {types: [x]}, timeout_seconds: 60, max_retries: 1, retry_on_timeout: true, retry_backoff: fixed, transitions: {on_pass: tell, on_fail: stop, on_timeout: tell}}
  tell: {kind: emit_webhook, params: {event_name: n, payload_template: {c: "{{consent.granted}}"}}, transitions: {on_complete: check}}
  check: {kind: credit_check, timeout_seconds: 30, max_retries: 3, retry_jitter: true, retry_backoff: linear, transitions: {on_good: branch, on_bad: stop, on_failure: review}}
  branch: {kind: condition, expr: check.level < 3, transitions: {on_true: review, on_false: done}}
  review: {kind: request_human_review, params: {tier: sa_qa}, transitions: {on_complete: done}}
  done: {kind: emit_final, transitions: {on_complete: TERMINAL}}
  stop: {kind: halt, params: {reason_code: step_failed}}
`

// TestNothingBreaksTheMachine gives random inputs to random definitions. The
// world checks after each what must always hold; here every run is also played
// again and must end the same.
func TestNothingBreaksTheMachine(t *testing.T) {
	snapshots := []*definition.Snapshot{compiled(t, []byte(busy))}
	for _, draft := range definition.Templates() {
		snapshots = append(snapshots, compiled(t, draft.Body))
	}
	reached := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		snapshot := snapshots[0]
		if rapid.Bool().Draw(t, "template") {
			snapshot = snapshots[rapid.IntRange(0, len(snapshots)-1).Draw(t, "definition")]
		}
		w := newWorld(snapshot)
		var inputs []timedInput
		for range rapid.IntRange(1, 40).Draw(t, "inputs") {
			in := w.randomInput(t)
			inputs = append(inputs, timedInput{w.now, in})
			d := w.do(t, in)
			count(reached, d)
		}
		again := newWorld(snapshot)
		for _, in := range inputs {
			again.now = in.at
			again.do(t, in.input)
		}
		if diff := cmp.Diff(w.everything(), again.everything()); diff != "" {
			t.Fatalf("the same inputs led elsewhere (-first +again):\n%s", diff)
		}
	})
	for _, way := range []string{"completed", "halted", "cancelled", "retried", "timed_out", "parked", "stale", "rejected", "resumed", "deadline"} {
		if reached[way] == 0 {
			t.Errorf("no run ever reached %q: %v", way, reached)
		}
	}
}

type timedInput struct {
	at    time.Time
	input Input
}

// everything is all that a world has decided, to compare two of them.
func (w *world) everything() string {
	raw, err := json.Marshal([]any{w.state.Instance, w.state.Parked, w.rows, w.outbox, w.ledger, w.interventions})
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

func count(reached map[string]int, d Decision) {
	if d.Event != nil {
		reached[string(d.Event.Outcome)]++
	}
	for _, row := range d.Steps {
		reached[string(row.Status)]++
		if row.Attempt > 1 {
			reached["retried"]++
		}
	}
	if d.Instance != nil {
		reached[string(d.Instance.Status)]++
		if d.Instance.DeadlineExceeded {
			reached["deadline"]++
		}
	}
	if d.Intervention != nil && d.Intervention.Action == ActionResume {
		reached["resumed"]++
	}
}

// randomInput draws what happens next. Most draws move the case on, so that runs
// go deep; the rest is what a careless world sends.
func (w *world) randomInput(t *rapid.T) Input {
	w.now = w.now.Add(time.Duration(rapid.SampledFrom([]int{0, 0, 0, 1, 5, 30, 60, 600}).Draw(t, "seconds")) * time.Second)
	if w.state.Instance == nil && rapid.IntRange(0, 3).Draw(t, "wait") > 0 {
		return w.randomEvent(t, event.TypeCaseCreated, w.caseID)
	}
	switch rapid.IntRange(0, 9).Draw(t, "what") {
	case 0:
		action := rapid.SampledFrom([]string{ActionHalt, ActionResume, ActionCancel}).Draw(t, "action")
		if action == ActionCancel && rapid.IntRange(0, 2).Draw(t, "really") > 0 {
			action = ActionResume
		}
		return Command{Action: action, By: "ann", Reason: "because"}
	case 1, 2:
		return Timer{Resend: rapid.IntRange(0, 4).Draw(t, "lost") == 0}
	case 3:
		step := rapid.SampledFrom(w.state.Start.Snapshot.Order).Draw(t, "step")
		contract := w.state.Start.Snapshot.Steps[step].Contract
		eventType := rapid.SampledFrom([]string{contract.Completed, contract.Failed, event.TypeCaseCreated, "ext.other", "ext.unheard"}).Draw(t, "type")
		if eventType == "" {
			eventType = event.TypeHumanReviewCompleted
		}
		return w.randomEvent(t, eventType, w.randomCorrelation(t))
	}
	if w.state.Instance == nil || len(w.state.Instance.Machine.Live) == 0 {
		return Command{Action: ActionResume, By: "ann"}
	}
	att := rapid.SampledFrom(w.state.Instance.Machine.Live).Draw(t, "live")
	contract := w.state.Snapshot.Steps[att.StepID].Contract
	eventType := contract.Completed
	if rapid.IntRange(0, 3).Draw(t, "fails") == 0 {
		eventType = contract.Failed
	}
	return w.randomEvent(t, eventType, att.CorrelationID)
}

func (w *world) randomCorrelation(t *rapid.T) string {
	known := []string{"c-1", "c-2"}
	for _, step := range w.state.Start.Snapshot.Order {
		known = append(known, w.correlations[step]...)
	}
	return rapid.SampledFrom(known).Draw(t, "correlation")
}

func (w *world) randomEvent(t *rapid.T, eventType, correlation string) Input {
	payload := rapid.SampledFrom(payloadsFor(eventType)).Draw(t, "payload")
	e := w.inbound(eventType, correlation, json.RawMessage(payload))
	if rapid.IntRange(0, 19).Draw(t, "foreign") == 0 {
		e.ProductID = "another"
	}
	return Event{Envelope: e, Raw: e.Encode(), Relay: rapid.Bool().Draw(t, "relay")}
}

// payloadsFor are right and wrong payloads of an event type, the right ones first
// and more often.
func payloadsFor(eventType string) []string {
	wrong := []string{`{}`, `{"step_id":"consent"}`, `{"granted":"maybe","score":"x","confidence":2,"retryable":1}`}
	var right []string
	switch eventType {
	case event.TypeCaseCreated:
		right = []string{
			`{"patient_id":"p-1"}`, `{"patient_id":"p-1","orchestration_mode":"client_driven"}`,
			`{"patient_id":"p-1","images":[{"id":"a"}],"metadata":{"name":"x"}}`, `{"orchestration_mode":"turbo"}`,
		}
	case event.TypeConsentCheckCompleted:
		right = []string{`{"granted":true}`, `{"granted":true}`, `{"granted":true,"missing_types":[]}`, `{"granted":false}`}
	case event.TypeImagesCheckCompleted:
		right = []string{`{"count":3,"passed":true,"image_ids":["a"]}`, `{"count":4,"passed":true,"image_ids":[]}`, `{"count":0,"passed":false,"image_ids":[]}`}
	case event.TypeAIReviewCompleted:
		right = []string{`{"confidence":0.9,"diagnoses":[]}`, `{"confidence":0.1,"diagnoses":["x"]}`}
	case event.TypeHumanReviewCompleted:
		right = []string{`{"decision":"confirm","reviewer_id":"r"}`, `{"decision":"override","reviewer_id":"r","diagnoses":["y"],"step_id":"sa_qa"}`}
	case "ext.credit.completed":
		right = []string{`{"score":60,"level":9}`, `{"score":60,"level":1}`, `{"score":60}`, `{"score":1}`, `{"score":20}`}
	default:
		return []string{`{"retryable":true,"reason_code":"busy"}`, `{"retryable":true}`, `{"retryable":false}`, `{"retryable":"yes"}`, `{}`}
	}
	return append(append(right, right...), wrong...)
}

// FuzzAnswers gives any payload to a waiting step, in either mode: the machine
// never panics, and either completes the step or says why not.
func FuzzAnswers(f *testing.F) {
	for _, eventType := range []string{event.TypeConsentCheckCompleted, "ext.credit.completed", "ext.credit.failed"} {
		for _, payload := range payloadsFor(eventType) {
			f.Add(payload, false, true)
			f.Add(payload, true, false)
		}
	}
	f.Add(`{"patient_id":"\ud800","images":[{"id":"a","type":null}],"metadata":{"":[]}}`, true, true)
	snapshot := compiled(f, []byte(busy))
	f.Fuzz(func(t *testing.T, payload string, clientDriven, fails bool) {
		var object map[string]json.RawMessage
		if json.Unmarshal([]byte(payload), &object) != nil || object == nil {
			return // an envelope's payload is always an object
		}
		w := newWorld(snapshot)
		created := w.inbound(event.TypeCaseCreated, w.caseID, json.RawMessage(payload))
		w.do(t, Event{Envelope: created, Raw: created.Encode()})

		w = newWorld(snapshot)
		mode := rondo.ModeActive
		if clientDriven {
			mode = rondo.ModeClientDriven
		}
		w.say(t, event.TypeCaseCreated, w.caseID, fmt.Sprintf(`{"patient_id":"p","orchestration_mode":%q}`, mode))
		w.say(t, event.TypeConsentCheckCompleted, w.correlations["consent"][0], `{"granted":true}`)
		eventType := "ext.credit.completed"
		if fails {
			eventType = "ext.credit.failed"
		}
		if d := w.say(t, eventType, w.correlations["check"][0], payload); d.Event.Outcome != rondo.OutcomeApplied || len(d.Steps) == 0 {
			t.Fatalf("the answer of the waiting step was %s", d.Event.Outcome)
		}
	})
}

func (w *world) say(t *testing.T, eventType, correlation, payload string) Decision {
	e := w.inbound(eventType, correlation, json.RawMessage(payload))
	return w.do(t, Event{Envelope: e, Raw: e.Encode()})
}
