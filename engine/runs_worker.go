package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/engine/runs"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/caseloop"
	"github.com/rondo-engine/rondo/store"
)

// RunGroup is the consumer group that serves runs: what cases ask of them, and
// what workers answer to their steps.
const RunGroup = "runs"

// deadlineGrace is how long after the step that waits for it a run is given up:
// that its time is over the case says first, by its own timer, and not the run.
const deadlineGrace = 5 * time.Second

// RunDriver is what a RunWorker needs of the run service.
type RunDriver interface {
	// Trigger starts a run. The same id twice is one run.
	Trigger(ctx context.Context, p rondo.Principal, req runs.Request) (*rondo.Run, error)
	// Cancel ends a run; CodeWrongState when it has ended.
	Cancel(ctx context.Context, p rondo.Principal, id rondo.ID) (*rondo.Run, error)
	// Deliver takes a worker's answer and returns when it is durable; twice is once.
	Deliver(ctx context.Context, answer *event.Envelope) error
}

var _ RunDriver = (*runs.Service)(nil)

// RunWorker is between the bus and the run service. It starts what steps of kind
// start_run ask for and acks when the run is stored; the answer comes from the run
// itself, at its end. It cancels the runs of cases that were cancelled, and hands
// over what workers answer. What can never be started is answered with a failed
// event; what is no event, or an answer that no run can take, becomes a dead
// letter; what cannot be done now is done when it comes again.
//
// Requests and cancellations are served side by side, in any order: a run is begun
// only for a step that waits for it, and cancelled when the step stopped waiting
// while it was begun.
type RunWorker struct {
	taking
	driver RunDriver
	relay  runs.Relay
	ledger store.Ledger
	bury   func(context.Context, []rondo.DeadLetter) error
	newID  func() rondo.ID
	now    func() time.Time
}

// RunWorker serves the engine's cases, and what is published to the engine; it
// does not run yet.
func (e *Engine) RunWorker(driver RunDriver) *RunWorker {
	return &RunWorker{taking: taking{bus: e.bus, log: e.log}, driver: driver, relay: e.RunRelay(), ledger: e.store, bury: e.bury, newID: e.ids.New, now: e.now}
}

// Start joins the group and begins to serve.
func (w *RunWorker) Start(ctx context.Context) error {
	streams := []string{event.TypeRunRequested, event.TypeRunStepCompleted, event.TypeRunStepFailed, event.TypeWorkflowCancelled}
	return w.take(ctx, RunGroup, "runs", streams, w.serve)
}

// serve handles one entry. One that is not acked comes again.
func (w *RunWorker) serve(d bus.Delivery) {
	ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
	defer cancel()
	envelope, org, reason := caseloop.ReadEntry(d)
	if envelope != nil {
		useless, err := w.handle(ctx, envelope)
		if err != nil {
			w.log.Warn("an event for runs cannot be served now; it is tried again", "type", envelope.Type, "event", envelope.EventID, "error", err)
			return
		}
		if useless != nil {
			reason = caseloop.Reason(useless)
		}
	}
	if reason != "" {
		letter := rondo.DeadLetter{
			ID: w.newID(), OrgID: org, Stream: d.Stream, EntryID: d.EntryID, Body: d.Envelope, Reason: reason,
			ReceivedAt: w.now().UTC().Truncate(time.Microsecond),
		}
		if err := w.bury(ctx, []rondo.DeadLetter{letter}); err != nil {
			w.log.Warn("an entry for runs cannot become a dead letter now; it is tried again", "stream", d.Stream, "entry", d.EntryID, "error", err)
			return
		}
	}
	if err := w.consumer.Ack(ctx, []bus.Delivery{d}); err != nil {
		w.log.Warn("acking an event for runs", "error", err)
	}
}

// handle does what an event asks. useless says why an answer can serve no run; err
// means that the event is to come again.
func (w *RunWorker) handle(ctx context.Context, envelope *event.Envelope) (useless, err error) {
	switch envelope.Type {
	case event.TypeRunRequested:
		err := w.begin(ctx, envelope)
		if err != nil && neverRuns(err) {
			return nil, w.refuse(ctx, envelope, err)
		}
		return nil, err
	case event.TypeWorkflowCancelled:
		return nil, w.abandon(ctx, envelope)
	}
	err = w.driver.Deliver(ctx, envelope)
	if err != nil && neverRuns(err) {
		return err, nil
	}
	return nil, err
}

// begin starts what a request asks for. A step whose time is over when the
// request is read waits no longer: nothing is started for it.
func (w *RunWorker) begin(ctx context.Context, request *event.Envelope) error {
	var asked struct {
		WorkflowName    string          `json:"workflow_name"`
		WorkflowVersion string          `json:"workflow_version"`
		Input           json.RawMessage `json:"input"`
		TimeoutSeconds  float64         `json:"timeout_seconds"`
	}
	if err := json.Unmarshal(request.Payload, &asked); err != nil || asked.WorkflowName == "" {
		return &rondo.Error{Code: rondo.CodeInvalid, Message: "the request must name a workflow", Err: err}
	}
	link := &rondo.CaseLink{
		OrgID: request.OrgID, CaseID: request.CaseID, CorrelationID: request.CorrelationID, RequestID: request.EventID.String(),
		CompletedType: event.TypeRunCompleted,
	}
	if asked.TimeoutSeconds > 0 {
		over := request.OccurredAt.Add(time.Duration(asked.TimeoutSeconds * float64(time.Second))).UTC()
		if !w.now().Before(over) {
			return nil
		}
		link.DeadlineAt = over.Add(deadlineGrace)
	}
	if waits, err := w.waits(ctx, request); err != nil || !waits {
		return err
	}
	run := RunID(request.OrgID, request.CorrelationID)
	_, err := w.driver.Trigger(ctx, ofCases(request.OrgID), runs.Request{
		WorkflowName: asked.WorkflowName, WorkflowVersion: asked.WorkflowVersion, TriggerPayload: asked.Input,
		CorrelationID: request.CorrelationID, ID: run, Case: link, ProductID: request.ProductID,
	})
	if err != nil {
		return err
	}
	// A cancellation that was served before the run was there did not find it.
	if waits, err := w.waits(ctx, request); err != nil || waits {
		return err
	}
	return w.cancel(ctx, request.OrgID, run)
}

// waits reports whether a step of the case still waits for what a request asks for.
func (w *RunWorker) waits(ctx context.Context, request *event.Envelope) (bool, error) {
	found, err := w.ledger.Instances(ctx, store.InstanceFilter{OrgID: request.OrgID, CaseID: request.CaseID}, store.Page{})
	if err != nil {
		return false, rondo.Op("read the case that asks for a run", err)
	}
	return slices.ContainsFunc(found, func(i *rondo.Instance) bool {
		return !i.Status.Terminal() && slices.ContainsFunc(i.Machine.Live, func(a rondo.Attempt) bool {
			return a.CorrelationID == request.CorrelationID
		})
	}), nil
}

// cancel ends a run that nobody waits for.
func (w *RunWorker) cancel(ctx context.Context, org string, run rondo.ID) error {
	_, err := w.driver.Cancel(ctx, ofCases(org), run)
	switch rondo.CodeOf(err) {
	case "", rondo.CodeNotFound, rondo.CodeWrongState: // it ended, or never began
		return nil
	}
	return rondo.Op("cancel the run of a case that does not wait for it", err)
}

// neverRuns reports whether asking again could never help.
func neverRuns(err error) bool {
	return hopeless(err) || rondo.CodeOf(err) == rondo.CodeWorkflowNotFound
}

// refuse tells the case that there will be no run. The event's id derives from
// the request's: told twice, it is one event.
func (w *RunWorker) refuse(ctx context.Context, request *event.Envelope, why error) error {
	failure := map[string]any{"code": rondo.CodeOf(why), "message": fmt.Sprintf("the run cannot be started: %s", rondo.CodeOf(why))}
	for told, ok := errors.AsType[*rondo.Error](why); ok; told, ok = errors.AsType[*rondo.Error](told.Err) {
		if told.Message != "" {
			failure["message"] = told.Message
			break
		}
	}
	payload, err := json.Marshal(map[string]any{
		"run_id": RunID(request.OrgID, request.CorrelationID), "status": rondo.RunFailed, "error": failure,
	})
	if err != nil {
		return err
	}
	return w.relay.Raise(ctx, request.OrgID, rondo.RaisedEvent{
		EventID: event.DerivedID(request.EventID, event.TypeRunFailed).String(), Type: event.TypeRunFailed,
		CaseID: request.CaseID, CorrelationID: request.CorrelationID, CausationID: request.EventID.String(),
		Payload: payload, OccurredAt: w.now().UTC().Truncate(time.Microsecond),
	})
}

// abandon cancels the runs that a cancelled case waited for.
func (w *RunWorker) abandon(ctx context.Context, cancelled *event.Envelope) error {
	instance, ok := instanceOf(cancelled.Payload)
	if !ok {
		return nil // there is nothing to look for
	}
	steps, err := w.ledger.Steps(ctx, cancelled.OrgID, instance)
	if err != nil {
		return rondo.Op("read the steps of a cancelled case", err)
	}
	for _, step := range steps {
		if step.Kind != kindStartRun || step.CorrelationID == "" || step.Status == rondo.StepCompleted {
			continue
		}
		if err := w.cancel(ctx, cancelled.OrgID, RunID(cancelled.OrgID, step.CorrelationID)); err != nil {
			return err
		}
	}
	return nil
}

// instanceOf is the instance that a payload is about; ok is false when it cannot be
// read.
func instanceOf(payload json.RawMessage) (id rondo.ID, ok bool) {
	var about struct {
		InstanceID rondo.ID `json:"instance_id"`
	}
	err := json.Unmarshal(payload, &about)
	return about.InstanceID, err == nil
}

// kindStartRun is the kind of step that this worker serves.
const kindStartRun = "start_run"

// ofCases is who acts on runs for the cases of an organisation.
func ofCases(org string) rondo.Principal {
	return rondo.Principal{Tenant: org, User: "rondo", Scopes: []string{rondo.ScopeRunsRead, rondo.ScopeRunsWrite}}
}

// RunID is the id of the run that a step starts: the UUIDv5 of the organisation in
// the namespace of the step's correlation id, so that a request that comes twice
// starts one run.
func RunID(org, correlationID string) rondo.ID {
	namespace, err := rondo.ParseID(correlationID)
	if err != nil {
		namespace = event.DerivedID(stepNamespace, correlationID)
	}
	return event.DerivedID(namespace, "run/"+org)
}
