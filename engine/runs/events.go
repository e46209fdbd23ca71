package runs

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
)

// endedTypes are the events that tell how a run ended.
var endedTypes = map[rondo.RunStatus]string{
	rondo.RunCompleted: event.TypeRunCompleted,
	rondo.RunFailed:    event.TypeRunFailed,
	rondo.RunCancelled: event.TypeRunCancelled,
}

// lifecycle is the payload of run.started and of the events that end a run.
func lifecycle(run *rondo.Run) json.RawMessage {
	type failure struct {
		Code         string `json:"code"`
		Message      string `json:"message"`
		FailedStepID string `json:"failed_step_id,omitempty"`
	}
	told := struct {
		RunID  string          `json:"run_id"`
		Status rondo.RunStatus `json:"status"`
		Error  *failure        `json:"error,omitempty"`
	}{RunID: run.ID.String(), Status: run.Status}
	if run.Error != nil && run.Status == rondo.RunFailed {
		told.Error = &failure{run.Error.Code, run.Error.Message, run.Error.FailedStepID}
	}
	payload, _ := json.Marshal(told) // texts alone
	return payload
}

// tellStarted puts run.started into the next commit.
func (d *driven) tellStarted(now time.Time, id rondo.ID) {
	d.send(event.RunEnvelope(id, event.TypeRunStarted, &d.run, now, lifecycle(&d.run)), now)
}

// tellEnded puts the event that ends the run into the next commit. That of a run
// that a case waits for goes to the case, which is correlated by its own step.
func (d *driven) tellEnded(now time.Time, id rondo.ID) {
	kind := endedTypes[d.run.Status]
	if link := d.run.Case; link != nil {
		d.next.raised = append(d.next.raised, rondo.RaisedEvent{
			EventID: id.String(), Type: kind, CaseID: link.CaseID, CorrelationID: link.CorrelationID,
			CausationID: link.RequestID, Payload: lifecycle(&d.run), OccurredAt: now,
		})
		return
	}
	d.send(event.RunEnvelope(id, kind, &d.run, now, lifecycle(&d.run)), now)
}

func (d *driven) send(e *event.Envelope, now time.Time) {
	d.next.outbox = append(d.next.outbox, outgoing(e, now))
}

func outgoing(e *event.Envelope, now time.Time) rondo.Outgoing {
	return rondo.Outgoing{Stream: e.Type, OrgID: e.OrgID, EventID: e.EventID, Envelope: e.Encode(), CreatedAt: now}
}

// stepRequest offers the attempt of a step to remote workers.
func (d *driven) stepRequest(i int, id rondo.ID, now, deadline time.Time) rondo.Outgoing {
	st, def := d.steps[i], &d.w.Steps[i]
	payload, _ := json.Marshal(struct { // the input was made by us: it encodes
		RunID    string          `json:"run_id"`
		StepID   string          `json:"step_id"`
		Attempt  int             `json:"attempt"`
		Skill    string          `json:"skill"`
		Input    json.RawMessage `json:"input"`
		Deadline time.Time       `json:"deadline"`
	}{d.run.ID.String(), def.ID, st.attempt, def.Skill, st.input, deadline.UTC()})
	e := event.RunEnvelope(id, event.TypeRunStepRequested, &d.run, now, payload)
	e.CorrelationID = st.correlation.String()
	return outgoing(e, now)
}

// maxRaised bounds the payload of a raised event: the rest of its envelope needs some
// room as well.
const maxRaised = event.MaxBytes - 8<<10

// askable says why a step's input cannot be sent to a remote worker; nil = it can.
func (d *driven) askable(i int, ids *rondo.IDs, now, deadline time.Time) error {
	before := d.steps[i].correlation
	d.steps[i].correlation = ids.New()
	request := d.stepRequest(i, ids.New(), now, deadline)
	d.steps[i].correlation = before
	if len(request.Envelope) > event.MaxBytes {
		return fmt.Errorf("the request to a worker has %d bytes, more than the %d that an event may have; let the input select less, or artifacts", len(request.Envelope), event.MaxBytes)
	}
	if _, err := event.Parse(request.Envelope); err != nil {
		return fmt.Errorf("the request to a worker cannot be sent: %w", err)
	}
	return nil
}

// raise puts the event of a step that is done into the next commit. Steps that ran
// and steps that were reused from the cache raise, those that an update run links
// from its base do not: the base has raised for them. The id is that of the run and
// the step, so that the event is one, however often it is sent.
func (d *driven) raise(i int, now time.Time) error {
	def := &d.w.Steps[i]
	if def.Raise == nil {
		return nil
	}
	caseID, payload, err := d.w.ResolveRaise(i, d.sources, d.steps[i].out)
	if err != nil {
		return err
	}
	if len(payload) > 0 && payload[0] != '{' {
		return errors.New("its payload is not an object")
	}
	if len(payload) > maxRaised {
		return fmt.Errorf("its payload has %d bytes, more than the %d that an event may have", len(payload), maxRaised)
	}
	d.next.raised = append(d.next.raised, rondo.RaisedEvent{
		EventID: event.DerivedID(d.run.ID, "raise/"+def.ID).String(), Type: def.Raise.EventType, CaseID: caseID,
		CorrelationID: d.run.CorrelationID, Payload: payload, OccurredAt: now,
	})
	return nil
}
