package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/caseloop"
	"github.com/rondo-engine/rondo/store"
)

// EventList lists ledger rows of the organisation, newest first. The filter must
// name a case, or an outcome that people look for.
func (e *Engine) EventList(ctx context.Context, p rondo.Principal, filter store.EventFilter, page store.Page) ([]rondo.EventRecord, error) {
	filter.OrgID = p.Tenant
	return e.store.EventList(ctx, filter, page)
}

// Event returns the ledger row of an event.
func (e *Engine) Event(ctx context.Context, p rondo.Principal, eventID rondo.ID) (*rondo.EventRecord, error) {
	return e.store.Event(ctx, p.Tenant, eventID)
}

// ReplayEvent judges an unmatched event again, in place: a definition may be
// there now that was not when it came.
func (e *Engine) ReplayEvent(ctx context.Context, p rondo.Principal, eventID rondo.ID) (rondo.Receipt, error) {
	row, err := e.store.Event(ctx, p.Tenant, eventID)
	if err != nil {
		return rondo.Receipt{}, err
	}
	envelope, err := event.Parse(row.Envelope)
	if err != nil { // it was parsed when it came
		return rondo.Receipt{}, &rondo.Error{Code: rondo.CodeInternal, Op: "read the stored event", Err: err}
	}
	r := e.loop.Do(ctx, &caseloop.Input{
		Key: envelope.Key(), Event: &caseloop.Event{Envelope: envelope, Raw: row.Envelope, Replay: true},
	})
	if r.Err != nil {
		return rondo.Receipt{}, r.Err
	}
	return rondo.Receipt{EventID: eventID, Outcome: r.Outcome, Verdict: r.Verdict, Error: r.Reason}, nil
}

// DeadLetters lists dead letters, newest first. An organisation sees those whose
// envelope named it; an admin sees all, or those of filter.OrgID.
func (e *Engine) DeadLetters(ctx context.Context, p rondo.Principal, filter store.DeadLetterFilter, page store.Page) ([]rondo.DeadLetter, error) {
	var err error
	if filter.OrgID, err = lettersOf(p, filter.OrgID); err != nil {
		return nil, err
	}
	return e.store.DeadLetters(ctx, filter, page)
}

// DeadLetter returns one. org "" is every organisation for an admin, the
// caller's own for everyone else.
func (e *Engine) DeadLetter(ctx context.Context, p rondo.Principal, org string, id rondo.ID) (rondo.DeadLetter, error) {
	org, err := lettersOf(p, org)
	if err != nil {
		return rondo.DeadLetter{}, err
	}
	return e.store.DeadLetter(ctx, org, id)
}

// lettersOf is whose dead letters a caller may see; "" = everyone's.
func lettersOf(p rondo.Principal, org string) (string, error) {
	if p.Admin() {
		return org, nil
	}
	if p.Tenant == "" {
		return "", rondo.NotFound("dead letter")
	}
	return p.Tenant, nil
}

// ReplayDeadLetter reads a dead letter again. One that is an event now goes
// through the loop as such and is settled with the outcome; one that still is
// none stays as it is, and the error says why.
func (e *Engine) ReplayDeadLetter(ctx context.Context, p rondo.Principal, org string, id rondo.ID) (rondo.DeadLetter, rondo.Receipt, error) {
	letter, err := e.openLetter(ctx, p, org, id)
	if err != nil {
		return letter, rondo.Receipt{}, err
	}
	envelope, err := e.readLetter(ctx, letter)
	if err != nil {
		return letter, rondo.Receipt{}, err
	}
	if envelope.OrgID != p.Tenant && !p.Admin() {
		return letter, rondo.Receipt{}, rondo.NotFound("dead letter")
	}
	r := e.loop.Do(ctx, &caseloop.Input{
		Key: envelope.Key(),
		// On its own stream others have seen it; one that came on the wrong stream
		// is passed on to its own.
		Event: &caseloop.Event{Envelope: envelope, Raw: letter.Body, Relay: envelope.Type != letter.Stream, Copy: true},
	})
	if r.Err != nil {
		return letter, rondo.Receipt{}, r.Err
	}
	receipt := rondo.Receipt{EventID: envelope.EventID, Outcome: r.Outcome, Duplicate: r.Duplicate, Verdict: r.Verdict, Error: r.Reason}
	note := string(r.Outcome)
	if r.Reason != "" {
		note += ": " + r.Reason
	}
	letter, err = e.settle(ctx, p, letter, rondo.DeadLetterReplayed, note)
	return letter, receipt, err
}

// DiscardDeadLetter says that a dead letter is of no use.
func (e *Engine) DiscardDeadLetter(ctx context.Context, p rondo.Principal, org string, id rondo.ID, reason string) (rondo.DeadLetter, error) {
	letter, err := e.openLetter(ctx, p, org, id)
	if err != nil {
		return letter, err
	}
	return e.settle(ctx, p, letter, rondo.DeadLetterDiscarded, reason)
}

// openLetter finds a dead letter that nobody settled yet.
func (e *Engine) openLetter(ctx context.Context, p rondo.Principal, org string, id rondo.ID) (rondo.DeadLetter, error) {
	letter, err := e.DeadLetter(ctx, p, org, id)
	if err == nil && letter.Status != rondo.DeadLetterOpen {
		err = &rondo.Error{
			Code: rondo.CodeWrongState, Message: fmt.Sprintf("the dead letter is %s already", letter.Status),
			Hint: "only an open one can be replayed or discarded",
		}
	}
	return letter, err
}

func (e *Engine) settle(ctx context.Context, p rondo.Principal, letter rondo.DeadLetter, status rondo.DeadLetterStatus, note string) (rondo.DeadLetter, error) {
	return e.store.SettleDeadLetter(ctx, letter.OrgID, letter.ID, store.Settlement{Status: status, By: p.User, Note: note, At: e.stamp()})
}

// readLetter turns a dead letter into an event, or says why it still is none.
func (e *Engine) readLetter(ctx context.Context, letter rondo.DeadLetter) (*event.Envelope, error) {
	refusal := &rondo.Error{
		Code: rondo.CodeWrongState, Message: "the dead letter still is not an event that can be applied",
		Hint: "publish a corrected event and discard the dead letter",
	}
	if len(letter.Body) > caseloop.MaxEvent {
		refusal.Fields = []rondo.FieldError{{Code: "too_large", Message: "the event is larger than 256 KiB"}}
		return nil, refusal
	}
	if len(letter.Body) == 0 {
		refusal.Fields = []rondo.FieldError{{Code: "no_envelope", Message: `the entry had no field "envelope", or it was empty`}}
		return nil, refusal
	}
	envelope, err := event.Parse(letter.Body)
	if err != nil {
		refusal.Fields = []rondo.FieldError{{Code: "not_an_envelope", Message: "the body is not an envelope"}}
		if told, ok := errors.AsType[*rondo.Error](err); ok && len(told.Fields) > 0 {
			refusal.Fields = told.Fields
		}
		return nil, refusal
	}
	switch {
	case event.RunAnswer(envelope.Type):
		refusal.Fields = []rondo.FieldError{{Code: "run_answer", Pointer: "/event_type", Message: "it answers a step of a run and is for no case"}}
	case event.PublishedByOrchestrator(envelope.Type):
		refusal.Fields = []rondo.FieldError{{Code: "orchestrator_event", Pointer: "/event_type", Message: "only the orchestrator publishes this type"}}
	default:
		if err := e.checkType(ctx, envelope.OrgID, envelope.Type); rondo.CodeOf(err) != rondo.CodeInvalid {
			return envelope, err
		}
		refusal.Fields = []rondo.FieldError{{Code: "unknown_event_type", Pointer: "/event_type", Message: "no published step kind or definition of its organisation uses this type"}}
		refusal.Hint = "publish a definition whose kinds use this type first"
	}
	return nil, refusal
}
