package engine_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/engine"
	"github.com/rondo-engine/rondo/engine/runs"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/store"
)

// asking is the request of a step that waits for a run.
func asking(waiting rondo.Attempt) *event.Envelope {
	return &event.Envelope{
		EventID: waiting.RequestID, Type: event.TypeRunRequested, SchemaVersion: event.SchemaVersion, OccurredAt: time.Now(),
		CorrelationID: waiting.CorrelationID, CaseID: "c-1", OrgID: author.Tenant, ProductID: "skin",
		Payload: json.RawMessage(`{"workflow_name":"report"}`),
	}
}

// meddler lets something happen while a run is being started.
type meddler struct {
	*recorder
	meanwhile func()
}

func (m meddler) Trigger(ctx context.Context, p rondo.Principal, req runs.Request) (*rondo.Run, error) {
	m.meanwhile()
	return m.recorder.Trigger(ctx, p, req)
}

func TestNoRunIsLeftForACaseThatWasCancelled(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	first := newRecorder()
	o := openBureau(t, func(*bureau) engine.RunDriver { return first })
	o.begin(t, building, "active")
	soon(t, first.started, "the request for a run")
	waiting := o.until(t, "waiting for the run", at("build")).Machine.Live[0]

	// The cancellation is served before the run is there, and finds none.
	second := newRecorder()
	cancelling := meddler{second, func() {
		must(o.Act(ctx, author, o.instance(t).ID, rondo.Action{Name: rondo.ActionCancel, Reason: "not needed"}))(t)
	}}
	if _, err := o.RunWorker(cancelling).Handle(ctx, asking(waiting)); err != nil {
		t.Fatal(err)
	}
	if got, want := soon(t, second.cancelled, "the cancellation"), engine.RunID(author.Tenant, waiting.CorrelationID); got != want {
		t.Errorf("run %s is cancelled, want %s", got, want)
	}

	// The request is read after the case was cancelled.
	third := newRecorder()
	if _, err := o.RunWorker(third).Handle(ctx, asking(waiting)); err != nil {
		t.Fatal(err)
	}
	if len(third.started) > 0 {
		t.Error("a run is started for a case that was cancelled")
	}
}

// deaf takes no answer.
type deaf struct {
	*recorder
	refusal error
}

func (d deaf) Deliver(context.Context, *event.Envelope) error { return d.refusal }

// acks is a consumer that is told what was done.
type acks struct {
	bus.Consumer
	acked []bus.Delivery
}

func (a *acks) Ack(_ context.Context, done []bus.Delivery) error {
	a.acked = append(a.acked, done...)
	return nil
}

func TestAnswersThatNoRunCanTakeBecomeDeadLetters(t *testing.T) {
	t.Parallel()
	ids := rondo.NewIDs(time.Now)
	good := answer(ids.New())
	for name, test := range map[string]struct {
		body   string
		org    string
		reason string
	}{
		"garbage":                   {"garbage", "", "JSON"},
		"half an envelope":          {`{"org_id":"acme","event_type":"run.step.completed"}`, "acme", "not valid: /"},
		"on another type's stream":  {strings.Replace(string(good.Encode()), "step.completed", "step.failed", 1), author.Tenant, "came on the stream of run.step.completed"},
		"for a run that is unknown": {string(good.Encode()), author.Tenant, "no such run"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := openBureau(t, func(*bureau) engine.RunDriver { return newRecorder() })
			entry, from := bus.Delivery{Stream: event.TypeRunStepCompleted, EntryID: "1-0", Envelope: []byte(test.body)}, &acks{}
			o.RunWorker(deaf{newRecorder(), rondo.Op("deliver", rondo.NotFound("run"))}).Serve(entry, from)
			if len(from.acked) != 1 {
				t.Errorf("%d entries are acked, want the one", len(from.acked))
			}
			admin := rondo.Principal{Tenant: author.Tenant, User: "root", Scopes: []string{rondo.ScopeAdmin}}
			letters := must(o.DeadLetters(t.Context(), admin, store.DeadLetterFilter{}, store.Page{}))(t)
			if len(letters) != 1 || letters[0].OrgID != test.org || string(letters[0].Body) != test.body || !strings.Contains(letters[0].Reason, test.reason) {
				t.Errorf("dead letters %+v, want one of %q with the body and %q", letters, test.org, test.reason)
			}
		})
	}
}
