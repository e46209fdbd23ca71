package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine/chat"
	"github.com/rondo-engine/rondo/engine/runs"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/caseloop"
	"github.com/rondo-engine/rondo/store"
)

// Relay gives events that turns raise to the cases they are for: the way of any
// event that is published over HTTP, in the name of the conversation's
// organisation. An event that comes again has the same id and changes nothing.
// One that can never be taken in becomes a dead letter, for people to see.
func (e *Engine) Relay() chat.Relay { return raiser{engine: e, source: "conversation"} }

// RunRelay gives events that runs raise to the cases they are for, as Relay does,
// and tells the steps that wait for a run how it ended.
func (e *Engine) RunRelay() runs.Relay { return raiser{engine: e, source: sourceRun} }

const sourceRun = "run"

type raiser struct {
	engine *Engine
	source string // what raises, in the words of people
}

// Raise returns nil once the event is in the ledger or among the dead letters.
func (r raiser) Raise(ctx context.Context, org string, raised rondo.RaisedEvent) error {
	envelope, err := r.envelope(ctx, org, raised)
	if err != nil {
		return rondo.Op("relay an event of a "+r.source, err)
	}
	raw := envelope.Encode()
	err = r.publish(ctx, envelope, raw)
	switch rondo.CodeOf(err) {
	case rondo.CodeInvalid, rondo.CodeForbidden, rondo.CodeTooLarge:
		err = r.bury(ctx, envelope, raw, err)
	}
	return rondo.Op("relay an event of a "+r.source, err)
}

// publish takes the event in. What becomes of a run is Rondo's own to say, and a
// run says it here.
func (r raiser) publish(ctx context.Context, envelope *event.Envelope, raw []byte) error {
	if r.source == sourceRun && endOfRun(envelope.Type) {
		if _, err := event.Parse(raw); err != nil {
			return err
		}
		_, err := r.engine.take(ctx, &caseloop.Event{Envelope: envelope, Raw: raw, Relay: true})
		return err
	}
	_, err := r.engine.PublishEvent(ctx, rondo.Principal{Tenant: envelope.OrgID, User: "rondo"}, raw)
	return err
}

func (r raiser) envelope(ctx context.Context, org string, raised rondo.RaisedEvent) (*event.Envelope, error) {
	id, err := rondo.ParseID(raised.EventID)
	if err != nil {
		return nil, &rondo.Error{Code: rondo.CodeInternal, Message: "the event has no valid id", Err: err}
	}
	product, err := r.product(ctx, org, raised)
	if err != nil {
		return nil, err
	}
	envelope := &event.Envelope{
		EventID: id, Type: raised.Type, SchemaVersion: event.SchemaVersion, OccurredAt: raised.OccurredAt.UTC(),
		CorrelationID: cmp.Or(raised.CorrelationID, raised.CaseID), CausationID: raised.CausationID,
		CaseID: raised.CaseID, OrgID: org, ProductID: product, Payload: raised.Payload,
	}
	if event.AboutRun(raised.Type) {
		var about struct {
			RunID string `json:"run_id"`
		}
		_ = json.Unmarshal(raised.Payload, &about) // an event that names no run is refused
		envelope.RunID = about.RunID
	}
	if len(envelope.Payload) == 0 || string(envelope.Payload) == "null" {
		envelope.Payload = json.RawMessage("{}")
	}
	return envelope, nil
}

// product is the product of a case; of one that is not there yet, what the event
// itself says in product_id, and what raised it for want of that.
func (r raiser) product(ctx context.Context, org string, raised rondo.RaisedEvent) (string, error) {
	if raised.CaseID == "" {
		return r.source, nil
	}
	found, err := r.engine.store.Instances(ctx, store.InstanceFilter{OrgID: org, CaseID: raised.CaseID}, store.Page{Limit: 1})
	if err != nil {
		return "", err
	}
	if len(found) > 0 {
		return found[0].ProductID, nil
	}
	var said struct {
		ProductID string `json:"product_id"`
	}
	_ = json.Unmarshal(raised.Payload, &said) // what is no text says nothing
	return cmp.Or(said.ProductID, r.source), nil
}

// bury keeps an event that can never be taken in as a dead letter, once.
func (r raiser) bury(ctx context.Context, envelope *event.Envelope, raw []byte, refused error) error {
	_, err := r.engine.store.DeadLetter(ctx, envelope.OrgID, envelope.EventID)
	if rondo.CodeOf(err) != rondo.CodeNotFound {
		return err // nil: it was buried before
	}
	return r.engine.bury(ctx, []rondo.DeadLetter{{
		ID: envelope.EventID, OrgID: envelope.OrgID, Stream: envelope.Type, EntryID: r.source,
		Body: raw, Reason: r.refusal(refused), ReceivedAt: r.engine.stamp(),
	}})
}

// refusal says why an event was not taken in, with every finding.
func (r raiser) refusal(err error) string {
	told, ok := errors.AsType[*rondo.Error](err)
	if !ok {
		return err.Error()
	}
	words := []string{"raised by a " + r.source + ": " + told.Message}
	for _, f := range told.Fields {
		words = append(words, strings.TrimSpace(f.Pointer+" "+f.Message))
	}
	return strings.ToValidUTF8(strings.ReplaceAll(strings.Join(words, "; "), "\x00", "\ufffd"), "")
}
