package flow

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
)

// hooked is a definition that sends one webhook with a template and ends.
func hooked(template string) []byte {
	return []byte(`{"name": "hooked", "start_step": "tell", "steps": {
		"tell": {"kind": "emit_webhook", "params": {"event_name": "n", "payload_template": ` + template + `}, "transitions": {"on_complete": "done"}},
		"done": {"kind": "emit_final", "transitions": {"on_complete": "TERMINAL"}}}}`)
}

func TestATemplateOfManyReferencesIsNotFilledPastItsBound(t *testing.T) {
	template := `[` + strings.Repeat(`"{{case.metadata.note}}",`, 399) + `"{{case.metadata.note}}"]`
	for _, size := range []int{500, 100_000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			w := newWorld(compiled(t, hooked(template)))
			d := w.say(t, event.TypeCaseCreated, w.caseID, `{"metadata":{"note":"`+strings.Repeat("x", size)+`"}}`)
			if d.Instance.HaltReason != haltContractViolation || d.Instance.HaltStepID != "tell" {
				t.Errorf("the case is %s for %q at %q", d.Instance.Status, d.Instance.HaltReason, d.Instance.HaltStepID)
			}
			for _, out := range d.Outbox {
				if out.Stream == event.TypeWebhookEmitRequested || len(out.Envelope) > 1000 {
					t.Errorf("sent %s of %d bytes", out.Stream, len(out.Envelope))
				}
			}
			if row := d.Steps[0]; row.Status != rondo.StepFailed || len(row.Input) > 0 {
				t.Errorf("the row is %s with an input of %d bytes", row.Status, len(row.Input))
			}
			var value any
			if err := json.Unmarshal([]byte(template), &value); err != nil {
				t.Fatal(err)
			}
			r := rendering{context: d.Instance.Context, members: map[string]map[string]json.RawMessage{}}
			if r.value(value) || len(r.buf) > MaxOutput {
				t.Errorf("filled %d bytes", len(r.buf))
			}
		})
	}
}

func TestAPayloadMayBeAsLargeAsAnOutput(t *testing.T) {
	literal := func(size int) string { return `"` + strings.Repeat("y", size-2) + `"` }
	for _, test := range []struct {
		name     string
		template string
		note     int // bytes of the referenced value, quotes included
		want     rondo.Status
	}{
		{"a reference that just fits", `["{{case.metadata.note}}"]`, MaxOutput - 2, rondo.StatusCompleted},
		{"a reference one byte too large", `["{{case.metadata.note}}"]`, MaxOutput - 1, rondo.StatusHalted},
		{"an object that just fits", `{"a":"{{case.metadata.note}}"}`, MaxOutput - 6, rondo.StatusCompleted},
		{"an object one byte too large", `{"a":"{{case.metadata.note}}"}`, MaxOutput - 5, rondo.StatusHalted},
		{"a literal that just fits", literal(MaxOutput), 2, rondo.StatusCompleted},
		{"a literal one byte too large", literal(MaxOutput + 1), 2, rondo.StatusHalted},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(compiled(t, hooked(test.template)))
			d := w.say(t, event.TypeCaseCreated, w.caseID, `{"metadata":{"note":"`+strings.Repeat("x", test.note-2)+`"}}`)
			if d.Instance.Status != test.want {
				t.Errorf("the case is %s for %q, want %s", d.Instance.Status, d.Instance.HaltReason, test.want)
			}
		})
	}
}

func TestTemplatesAreFilled(t *testing.T) {
	context := rondo.Context{
		"case_id": json.RawMessage(`"c"`),
		"case":    json.RawMessage(`{"a": {"b": [1.50, {"c": 1}], "n": null}, "a\u0062": "escaped", "list": [1]}`),
	}
	for template, want := range map[string]string{
		``:                           `{}`,
		`null`:                       `{}`,
		`"{{case_id}}"`:              `"c"`,
		`["{{case.a.b}}"]`:           `[[1.50, {"c": 1}]]`,
		`["{{case.a.n}}"]`:           `[null]`,
		`["{{case.a.b.c}}"]`:         `[null]`,
		`["{{case.list.a}}"]`:        `[null]`,
		`["{{case.ab}}"]`:            `["escaped"]`,
		`["{{none.a}}","{{none}}"]`:  `[null,null]`,
		`{"b":"{{case_id}}","a":{}}`: `{"a":{},"b":"c"}`,
		`["{{case_id}}",[],true,false,null,1.50,"é \"q\""]`: `["c",[],true,false,null,1.50,"é \"q\""]`,
		`"{{case_id}} and more"`:                            `"{{case_id}} and more"`,
	} {
		m := newMove(State{Instance: &rondo.Instance{Context: context}}, Env{})
		got, fits := m.render(json.RawMessage(template))
		if !fits || string(got) != want {
			t.Errorf("%s became %s (fits: %v), want %s", template, got, fits, want)
		}
	}
}

// The bounds on context and outputs keep real cases far below what an event can
// carry; these contexts are made by hand.
func TestAContextThatNoEventCanCarryIsNotSent(t *testing.T) {
	for step, definition := range map[string]string{
		"done":   `{"name": "n", "start_step": "first", "steps": {"first": {"kind": "no_op", "transitions": {"on_complete": "done"}}, "done": {"kind": "emit_final", "transitions": {"on_complete": "TERMINAL"}}}}`,
		"review": `{"name": "n", "start_step": "first", "steps": {"first": {"kind": "no_op", "transitions": {"on_complete": "review"}}, "review": {"kind": "request_human_review", "params": {"tier": "sa_qa"}, "transitions": {"on_complete": "done"}}, "done": {"kind": "emit_final", "transitions": {"on_complete": "TERMINAL"}}}}`,
	} {
		t.Run(step, func(t *testing.T) {
			w := newWorld(compiled(t, []byte(definition)))
			w.say(t, event.TypeCaseCreated, w.caseID, `{}`)
			m := newMove(w.state, w.env())
			m.own()
			m.inst.Context["case"] = quoted(strings.Repeat("x", MaxPayload))
			m.follow(token{work: "first", last: "first"}, step)
			d := m.finish()
			if d.Instance.HaltReason != haltContractViolation || d.Instance.HaltStepID != step {
				t.Errorf("the case is %s for %q at %q", d.Instance.Status, d.Instance.HaltReason, d.Instance.HaltStepID)
			}
			if len(d.Outbox) != 1 || d.Outbox[0].Stream != event.TypeWorkflowHalted {
				t.Errorf("sent %d events", len(d.Outbox))
			}
			if len(d.Steps) != 1 || d.Steps[0].Status != rondo.StepFailed || len(d.Steps[0].Input) > 0 {
				t.Errorf("%d rows are written, or one with its input", len(d.Steps))
			}
		})
	}
}

func TestTheLargestPayloadLeavesRoomForTheLargestEnvelope(t *testing.T) {
	longest := strings.Repeat("\x01", event.MaxIDBytes)
	m := newMove(State{Instance: &rondo.Instance{OrgID: longest, CaseID: longest, ProductID: longest}}, Env{Now: epoch})
	m.publish(outgoing{
		id: namedID(1, 1), eventType: longest, at: epoch.Add(time.Microsecond), correlation: longest, cause: longest,
		payload: quoted(strings.Repeat("x", MaxPayload-2)),
	})
	if size := len(m.decided.Outbox[0].Envelope); size > event.MaxPublishedBytes {
		t.Errorf("the envelope has %d bytes", size)
	}
}

func TestWordsThatNoEventCanCarryAreRefused(t *testing.T) {
	w := newWorld(compiled(t, chain(1)))
	w.say(t, event.TypeCaseCreated, w.caseID, `{}`)
	long := strings.Repeat("\x01", MaxWords) // six bytes each on the wire
	d := w.do(t, Command{Action: ActionHalt, By: "ann", ReasonCode: haltManual, Note: long})
	if rondo.CodeOf(d.Refused) != rondo.CodeInvalid {
		t.Errorf("refused with %v", d.Refused)
	}
	d = w.do(t, Command{Action: ActionHalt, By: "ann", ReasonCode: haltManual, Note: long[:MaxWords-len("ann"+haltManual)]})
	if d.Refused != nil || d.Instance.Status != rondo.StatusHalted {
		t.Errorf("refused with %v", d.Refused)
	}
}

func TestAHaltStepWithTooManyWordsHaltsForThatReason(t *testing.T) {
	snapshot := compiled(t, []byte(`
name: words
start_step: work
steps:
  work: {kind: no_op, transitions: {on_complete: done, on_failure: stop}}
  done: {kind: emit_final, transitions: {on_complete: TERMINAL}}
  stop: {kind: halt, params: {reason_code: step_failed}}
`))
	snapshot.Steps["stop"].Params["note"] = quoted(strings.Repeat("x", MaxWords)) // more than a definition may say today
	w := newWorld(snapshot)
	w.say(t, event.TypeCaseCreated, w.caseID, `{}`)
	d := w.answerStep(t, "work", "ext.noop.failed", `{}`)
	if d.Instance.HaltReason != haltContractViolation || d.Instance.HaltStepID != "work" || d.Instance.HaltNote != "" {
		t.Errorf("the case is %s for %q at %q", d.Instance.Status, d.Instance.HaltReason, d.Instance.HaltStepID)
	}
}

// The number of ways through branches that meet again doubles with each: 60 of
// them would never be walked one by one.
func TestWaysThatMeetAgainAreWalkedOnce(t *testing.T) {
	var source strings.Builder
	source.WriteString("name: diamonds\ndefault_mode: client_driven\nstart_step: first\nsteps:\n  first: {kind: no_op, transitions: {on_complete: c0}}\n")
	for i := range 60 {
		next := fmt.Sprintf("c%d", i+1)
		if i == 59 {
			next = "gate"
		}
		fmt.Fprintf(&source, "  c%d: {kind: condition, expr: \"true\", transitions: {on_true: e%d, on_false: %s}}\n", i, i, next)
		fmt.Fprintf(&source, "  e%d: {kind: emit_webhook, params: {event_name: n}, transitions: {on_complete: %s}}\n", i, next)
	}
	source.WriteString(`  gate: {kind: gate_on_consent, params: {types: [x]}, transitions: {on_pass: last, on_fail: stop}}
  last: {kind: copy_case, transitions: {on_complete: done}}
  done: {kind: emit_final, transitions: {on_complete: TERMINAL}}
  stop: {kind: halt, params: {reason_code: consent_missing}}
`)
	w := newWorld(compiled(t, []byte(source.String())))
	w.say(t, event.TypeCaseCreated, w.caseID, `{}`)
	d := w.say(t, "ext.copy.completed", "c-1", `{}`)
	if d.Event.Outcome != rondo.OutcomeParked || d.Event.Verdict != verdictSkippedGate {
		t.Errorf("the event is %s with verdict %q", d.Event.Outcome, d.Event.Verdict)
	}
}

func TestExpiredRowsAreUnmatched(t *testing.T) {
	row := func(n uint64, waited time.Duration) rondo.EventRecord {
		return rondo.EventRecord{
			ID: namedID(1, n), EventID: namedID(2, n), Type: "ext.noop.completed",
			ReceivedAt: epoch.Add(-waited), Outcome: rondo.OutcomeParked,
		}
	}
	parked := []rondo.EventRecord{row(1, 2*time.Hour), row(2, time.Hour), row(3, time.Hour-time.Microsecond), row(4, 0)}
	before := append([]rondo.EventRecord(nil), parked...)
	var want []rondo.EventRecord
	for _, one := range parked[:2] {
		one.Outcome, one.Error, one.Processed = rondo.OutcomeUnmatched, "parked_too_long", true
		want = append(want, one)
	}
	if diff := cmp.Diff(want, Expired(parked, epoch, time.Hour)); diff != "" {
		t.Errorf("expired rows differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, parked); diff != "" {
		t.Errorf("the rows given were changed:\n%s", diff)
	}
	if got := Expired(parked[2:], epoch, time.Hour); got != nil {
		t.Errorf("expired too early: %+v", got)
	}
}

func TestWhatWaitedTooLongMakesRoom(t *testing.T) {
	w := newWorld(compiled(t, chain(1)))
	for range MaxParked {
		if d := w.say(t, "ext.noop.completed", "c", `{}`); d.Event.Outcome != rondo.OutcomeParked {
			t.Fatalf("the event is %s", d.Event.Outcome)
		}
	}
	w.now = w.now.Add(ParkedFor - time.Microsecond)
	d := w.say(t, "ext.noop.completed", "c", `{}`)
	if d.Event.Outcome != rondo.OutcomeRejected || d.Event.Error != "too_many_parked" || !d.Event.Processed || len(d.Rejudged) > 0 {
		t.Fatalf("the event is %s (%s), %d rejudged", d.Event.Outcome, d.Event.Error, len(d.Rejudged))
	}
	w.now = w.now.Add(time.Microsecond)
	d = w.say(t, "ext.noop.completed", "c", `{}`)
	if d.Event.Outcome != rondo.OutcomeParked || len(d.Rejudged) != MaxParked || len(w.state.Parked) != 1 {
		t.Errorf("the event is %s, %d rejudged, %d parked", d.Event.Outcome, len(d.Rejudged), len(w.state.Parked))
	}
}

func TestHowLongAnEventWaitsForItsCaseIsGiven(t *testing.T) {
	w := newWorld(compiled(t, chain(1)))
	w.say(t, "ext.noop.completed", "c", `{}`)
	env := w.env()
	env.ParkedFor = time.Hour
	env.Now = w.now.Add(time.Hour - time.Microsecond)
	if d := Decide(w.state, Timer{}, env); !cmp.Equal(d, Decision{}) {
		t.Errorf("before its time: %+v", d)
	}
	env.Now = w.now.Add(time.Hour)
	if d := Decide(w.state, Timer{}, env); len(d.Rejudged) != 1 || d.Rejudged[0].Outcome != rondo.OutcomeUnmatched || d.Instance != nil {
		t.Errorf("at its time: %+v", d)
	}
}

// A case that has begun keeps what is parked for it, however long it takes.
func TestAnInstanceKeepsItsParkedEvents(t *testing.T) {
	w := newWorld(compiled(t, []byte("name: slow\nworkflow_timeout_seconds: 31536000\n"+strings.TrimPrefix(string(chain(1)), "name: chain\n"))))
	w.say(t, event.TypeCaseCreated, w.caseID, `{}`)
	w.do(t, Command{Action: ActionHalt, By: "ann"})
	w.complete(t, "step_1", `{}`)
	w.now = w.now.Add(2 * ParkedFor)
	w.say(t, "ext.other", "c", `{}`)
	d := w.do(t, Command{Action: ActionResume, By: "ann"})
	if len(d.Rejudged) != 1 || d.Rejudged[0].Outcome != rondo.OutcomeApplied || d.Instance.Status != rondo.StatusCompleted {
		t.Errorf("rejudged %+v", d.Rejudged)
	}
}

// Forks in a row and in each other are walked once too.
func TestWaysThroughForksAreWalkedOnce(t *testing.T) {
	var source strings.Builder
	source.WriteString("name: forks\ndefault_mode: client_driven\nstart_step: first\nsteps:\n  first: {kind: no_op, transitions: {on_complete: p0}}\n")
	for i := range 30 {
		next := fmt.Sprintf("p%d", i+1)
		if i == 29 {
			next = "gate"
		}
		fmt.Fprintf(&source, "  p%d: {kind: parallel, params: {branches: {a: a%d, b: b%d}}, transitions: {on_complete: %s}}\n", i, i, i, next)
		fmt.Fprintf(&source, "  a%d: {kind: no_op, transitions: {on_complete: JOIN}}\n", i)
		fmt.Fprintf(&source, "  b%d: {kind: parallel, params: {branches: {c: c%d, d: d%d}}, transitions: {on_complete: JOIN}}\n", i, i, i)
		fmt.Fprintf(&source, "  c%d: {kind: no_op, transitions: {on_complete: JOIN}}\n  d%d: {kind: no_op, transitions: {on_complete: JOIN}}\n", i, i)
	}
	source.WriteString(`  gate: {kind: gate_on_consent, params: {types: [x]}, transitions: {on_pass: last, on_fail: stop}}
  last: {kind: copy_case, transitions: {on_complete: done}}
  done: {kind: emit_final, transitions: {on_complete: TERMINAL}}
  stop: {kind: halt, params: {reason_code: consent_missing}}
`)
	w := newWorld(compiled(t, []byte(source.String())))
	w.say(t, event.TypeCaseCreated, w.caseID, `{}`)
	for range 3 { // also with forks open
		d := w.say(t, "ext.copy.completed", "c-1", `{}`)
		if d.Event.Outcome != rondo.OutcomeParked || d.Event.Verdict != verdictSkippedGate {
			t.Errorf("the event is %s with verdict %q", d.Event.Outcome, d.Event.Verdict)
		}
		w.say(t, "ext.noop.completed", fmt.Sprintf("n-%d", w.sent), `{}`)
	}
}
