package engine_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/engine"
	"github.com/rondo-engine/rondo/engine/runs"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/memory"
)

const building = `{"name":"Building","start_step":"build","steps":{
	"build":{"kind":"start_run","timeout_seconds":3600,"params":{"workflow_name":"report","workflow_version":"1.0.0","input":{"title":"{{case.metadata.title}}"}},
		"transitions":{"on_complete":"done","on_failure":"mend"}},
	"mend":{"kind":"manual","params":{"title":"Mend it","outcomes":["on_mended"]},"transitions":{"on_mended":"done"}},
	"done":{"kind":"emit_final","transitions":{"on_complete":"TERMINAL"}}}}`

// recorder is a run service that says what it is asked for.
type recorder struct {
	refusal   error
	started   chan runs.Request
	cancelled chan rondo.ID
	delivered chan *event.Envelope
}

func newRecorder() *recorder {
	return &recorder{started: make(chan runs.Request, 8), cancelled: make(chan rondo.ID, 8), delivered: make(chan *event.Envelope, 8)}
}

func (r *recorder) Trigger(_ context.Context, p rondo.Principal, req runs.Request) (*rondo.Run, error) {
	if r.refusal != nil {
		return nil, r.refusal
	}
	r.started <- req
	return &rondo.Run{ID: req.ID, TenantID: p.Tenant}, nil
}

func (r *recorder) Cancel(_ context.Context, _ rondo.Principal, id rondo.ID) (*rondo.Run, error) {
	r.cancelled <- id
	return nil, rondo.WrongState("the run has ended")
}

func (r *recorder) Deliver(_ context.Context, answer *event.Envelope) error {
	r.delivered <- answer
	return nil
}

// bureau is an engine whose cases are served by a run service. Every case that
// rests, and every step that ends, is told.
type bureau struct {
	*engine.Engine
	store *memory.Store
	moved chan engine.Commit
}

func (o *bureau) Committed(c engine.Commit) { o.moved <- c }

// openBureau opens one on the embedded bus.
func openBureau(t *testing.T, driver func(o *bureau) engine.RunDriver) *bureau {
	t.Helper()
	return openBureauOn(t, nil, driver)
}

// openBureauOn opens one on a bus; nil = the embedded one.
func openBureauOn(t *testing.T, b bus.Bus, driver func(o *bureau) engine.RunDriver) *bureau {
	t.Helper()
	o := &bureau{store: memory.Open(memory.Options{Embedded: b == nil}), moved: make(chan engine.Commit, 256)}
	o.Engine = must(engine.New(engine.Config{Store: o.store, Bus: b, Observer: o, RunEnvironment: bench{}}))(t)
	if err := o.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Stop(context.WithoutCancel(t.Context())) })
	worker := o.RunWorker(driver(o))
	if err := worker.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := worker.Stop(); err != nil {
			t.Errorf("stopping the worker: %v", err)
		}
	})
	return o
}

// begin starts a case on a definition.
func (o *bureau) begin(t *testing.T, definition, mode string) {
	t.Helper()
	draft := must(o.CreateDefinition(t.Context(), author, rondo.NewDefinition{Source: []byte(definition)}))(t)
	must(o.PublishDefinition(t.Context(), author, draft.ID, "test"))(t)
	created := event.Envelope{
		EventID: rondo.NewIDs(time.Now).New(), Type: event.TypeCaseCreated, SchemaVersion: event.SchemaVersion, OccurredAt: time.Now(),
		CorrelationID: "c-1", CaseID: "c-1", OrgID: author.Tenant, ProductID: "skin",
		Payload: json.RawMessage(`{"metadata":{"title":"Summer"},"orchestration_mode":"` + mode + `"}`),
	}
	must(o.PublishEvent(t.Context(), author, created.Encode()))(t)
}

// instance is the case as it is.
func (o *bureau) instance(t *testing.T) rondo.Instance {
	t.Helper()
	found := must(o.Instances(t.Context(), author, store.InstanceFilter{OrgID: author.Tenant, CaseID: "c-1"}, store.Page{Limit: 1}))(t)
	if len(found) != 1 {
		t.Fatalf("there are %d cases", len(found))
	}
	return *found[0]
}

// until waits for a commit after which the case is as wanted.
func (o *bureau) until(t *testing.T, what string, wanted func(rondo.Instance) bool) rondo.Instance {
	t.Helper()
	late := time.After(20 * time.Second)
	for {
		if i := o.instance(t); wanted(i) {
			return i
		}
		select {
		case <-o.moved:
		case <-late:
			i := o.instance(t)
			t.Fatalf("the case is %s (%s at %s) with %+v, want it %s", i.Status, i.HaltReason, i.HaltStepID, i.Machine.Live, what)
		}
	}
}

func completed(i rondo.Instance) bool { return i.Status == rondo.StatusCompleted }

func at(step string) func(rondo.Instance) bool {
	return func(i rondo.Instance) bool { return len(i.Machine.Live) == 1 && i.Machine.Live[0].StepID == step }
}

// soon receives what another goroutine is about to send.
func soon[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(20 * time.Second):
		t.Fatalf("%s did not come", what)
		panic("unreachable")
	}
}

func TestACaseStepAsksForOneRunAndHearsItsEnd(t *testing.T) {
	t.Parallel()
	driver := newRecorder()
	o := openBureau(t, func(*bureau) engine.RunDriver { return driver })
	o.begin(t, building, "active")
	req := soon(t, driver.started, "the request for a run")
	waiting := o.until(t, "waiting for the run", at("build")).Machine.Live[0]
	id := engine.RunID(author.Tenant, waiting.CorrelationID)
	want := runs.Request{
		WorkflowName: "report", WorkflowVersion: "1.0.0", TriggerPayload: json.RawMessage(`{"title":"Summer"}`),
		CorrelationID: waiting.CorrelationID, ID: id, ProductID: "skin",
		Case: &rondo.CaseLink{
			OrgID: author.Tenant, CaseID: "c-1", CorrelationID: waiting.CorrelationID, RequestID: waiting.RequestID.String(),
			CompletedType: event.TypeRunCompleted, DeadlineAt: waiting.StartedAt.Add(time.Hour + 5*time.Second), // the case gives up first
		},
	}
	if diff := cmp.Diff(want, req); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
	end := rondo.RaisedEvent{
		EventID: event.DerivedID(id, "end").String(), Type: event.TypeRunCompleted, CaseID: "c-1", CorrelationID: waiting.CorrelationID,
		Payload: json.RawMessage(`{"run_id":"` + id.String() + `","status":"completed"}`), OccurredAt: time.Now(),
	}
	for range 2 {
		if err := o.RunRelay().Raise(t.Context(), author.Tenant, end); err != nil {
			t.Fatal(err)
		}
	}
	i := o.until(t, "completed", completed)
	if diff := cmp.Diff(string(end.Payload), string(i.Context["build"])); diff != "" {
		t.Errorf("the step left (-want +got):\n%s", diff)
	}
	row := must(o.Event(t.Context(), author, event.DerivedID(id, "end")))(t)
	told := must(event.Parse(row.Envelope))(t)
	if row.Outcome != rondo.OutcomeApplied || row.Duplicates != 1 || told.RunID != id.String() {
		t.Errorf("the ledger has %s, %d repeats, run %q", row.Outcome, row.Duplicates, told.RunID)
	}
}

func TestARunThatCanNeverBeStartedFailsItsStep(t *testing.T) {
	t.Parallel()
	driver := newRecorder()
	driver.refusal = rondo.Op("trigger", &rondo.Error{Code: rondo.CodeWorkflowNotFound, Message: `there is no active workflow "report"`})
	o := openBureau(t, func(*bureau) engine.RunDriver { return driver })
	o.begin(t, building, "active")
	i := o.until(t, "at the way of a failure", at("mend"))
	steps, _, err := o.Steps(t.Context(), author, i.ID)
	if err != nil || len(steps) == 0 || steps[0].Status != rondo.StepFailed || !strings.Contains(string(steps[0].Error), "WORKFLOW_NOT_FOUND") || !strings.Contains(string(steps[0].Error), "no active workflow") {
		t.Errorf("the step is %+v (%v), want it to say which workflow is missing", steps, err)
	}
}

func TestCancellingACaseCancelsItsRun(t *testing.T) {
	t.Parallel()
	driver := newRecorder()
	o := openBureau(t, func(*bureau) engine.RunDriver { return driver })
	o.begin(t, building, "active")
	req := soon(t, driver.started, "the request for a run")
	must(o.Act(t.Context(), author, o.instance(t).ID, rondo.Action{Name: rondo.ActionCancel, Reason: "not needed"}))(t)
	if got := soon(t, driver.cancelled, "the cancellation"); got != req.ID {
		t.Errorf("run %s was cancelled, want %s", got, req.ID)
	}
}

// answer is what a worker says to a step of a run.
func answer(id rondo.ID) *event.Envelope {
	return &event.Envelope{
		EventID: id, Type: event.TypeRunStepCompleted, SchemaVersion: event.SchemaVersion, OccurredAt: time.Now().UTC(),
		CorrelationID: "attempt-1", OrgID: author.Tenant, RunID: "r-1", Payload: json.RawMessage(`{"data":1}`),
	}
}

func TestAnswersOfWorkersGoToRunsAndNeverToCases(t *testing.T) {
	t.Parallel()
	driver := newRecorder()
	o := openBureau(t, func(*bureau) engine.RunDriver { return driver })
	ctx, ids := t.Context(), rondo.NewIDs(time.Now)
	raw := answer(ids.New()).Encode()
	_, err := o.PublishEvent(ctx, author, raw)
	refused(t, rondo.CodeUnavailable, err, "answer where no runs are driven")
	o.OnRunAnswer(driver.Deliver)
	receipt := must(o.PublishEvent(ctx, author, raw))(t)
	if got := soon(t, driver.delivered, "the answer"); receipt.Outcome != rondo.OutcomeApplied || got.CorrelationID != "attempt-1" || got.RunID != "r-1" {
		t.Errorf("%s; delivered %+v", receipt.Outcome, got)
	}
	_, err = o.PublishEvent(ctx, stranger, raw)
	refused(t, rondo.CodeForbidden, err, "answer for another organisation")
	own := answer(ids.New())
	if err := o.Bus().Publish(ctx, []bus.Message{{Stream: own.Type, EventID: own.EventID, Envelope: own.Encode()}}); err != nil {
		t.Fatal(err)
	}
	if got := soon(t, driver.delivered, "what a worker in the process answers"); got.EventID != own.EventID {
		t.Errorf("delivered %+v", got)
	}
	if _, err := o.Event(ctx, author, own.EventID); rondo.CodeOf(err) != rondo.CodeNotFound {
		t.Errorf("the answer is in the ledger of cases: %v", err)
	}
	o.OnRunAnswer(nil)
	_, err = o.PublishEvent(ctx, author, raw)
	refused(t, rondo.CodeUnavailable, err, "answer after runs have gone")
}

func TestHowARunEndedIsForRondoToSay(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]rondo.Code{"active": rondo.CodeForbidden, "client_driven": ""} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			driver := newRecorder()
			o := openBureau(t, func(*bureau) engine.RunDriver { return driver })
			o.begin(t, building, mode)
			waiting := o.until(t, "waiting for the run", at("build")).Machine.Live[0]
			const run = "018f3c2e-7a10-7c3d-9b1e-0000000000aa"
			told := event.Envelope{
				EventID: rondo.NewIDs(time.Now).New(), Type: event.TypeRunCompleted, SchemaVersion: event.SchemaVersion, OccurredAt: time.Now(),
				CorrelationID: waiting.CorrelationID, CaseID: "c-1", OrgID: author.Tenant, ProductID: "skin", RunID: run,
				Payload: json.RawMessage(`{"run_id":"` + run + `","status":"completed"}`),
			}
			_, err := o.PublishEvent(t.Context(), author, told.Encode())
			if rondo.CodeOf(err) != want {
				t.Fatalf("a client that says how a run ended: %v, want code %q", err, want)
			}
			if want == "" {
				o.until(t, "completed", completed)
			}
			told.CaseID, told.ProductID = "", ""
			_, err = o.PublishEvent(t.Context(), author, told.Encode())
			refused(t, rondo.CodeForbidden, err, "say how a run ended that no case started")
			err = o.Relay().Raise(t.Context(), author.Tenant, rondo.RaisedEvent{
				EventID: event.DerivedID(told.EventID, "raised").String(), Type: event.TypeRunCompleted, CaseID: "c-2",
				Payload: told.Payload, OccurredAt: time.Now(),
			})
			if err != nil {
				t.Fatal(err)
			}
			if letters := must(o.DeadLetters(t.Context(), author, store.DeadLetterFilter{}, store.Page{}))(t); len(letters) != 1 {
				t.Errorf("%d dead letters, want one: a conversation cannot say how a run ended", len(letters))
			}
		})
	}
}

func TestTheIDOfARunFollowsFromItsStep(t *testing.T) {
	t.Parallel()
	const step = "0192f0c1-0000-7000-8000-000000000001"
	id := engine.RunID("acme", step)
	if id.IsZero() || id != engine.RunID("acme", step) {
		t.Errorf("%s is not always the same UUID", id)
	}
	for _, other := range []rondo.ID{engine.RunID("beta", step), engine.RunID("acme", "not-a-uuid"), engine.RunID("acme", step+" ")} {
		if other == id {
			t.Error("two steps share a run")
		}
	}
}
