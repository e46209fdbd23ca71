package engine

import (
	"context"
	"fmt"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/caseloop"
	"github.com/rondo-engine/rondo/internal/flow"
	"github.com/rondo-engine/rondo/store"
)

// PublishEvent takes one envelope in and returns when the commit that applied it
// is durable. The envelope must be of the principal's own organisation; an admin
// may publish for any.
func (e *Engine) PublishEvent(ctx context.Context, p rondo.Principal, raw []byte) (rondo.Receipt, error) {
	envelope, err := event.Parse(raw)
	if err != nil {
		return rondo.Receipt{}, err
	}
	if envelope.OrgID != p.Tenant && !p.Admin() {
		return rondo.Receipt{}, &rondo.Error{
			Code: rondo.CodeForbidden, Message: "org_id is not the organisation of your token",
			Hint: "publish events of your own organisation only",
		}
	}
	if event.PublishedByOrchestrator(envelope.Type) {
		return rondo.Receipt{}, &rondo.Error{
			Code: rondo.CodeForbidden, Message: fmt.Sprintf("only the orchestrator publishes %s", envelope.Type),
			Hint: "publish the matching completed or failed event",
		}
	}
	if !event.Known(envelope.Type) && !e.types.has(envelope.Type) {
		return rondo.Receipt{}, &rondo.Error{
			Code: rondo.CodeInvalid, Message: "event_type is not known here",
			Hint:   "use a type of the catalogue, or publish a definition whose kinds use this type first",
			Fields: []rondo.FieldError{{Code: "unknown_event_type", Pointer: "/event_type", Message: "use an event type of the catalogue or of a published step kind"}},
		}
	}
	r := e.loop.Do(ctx, &caseloop.Input{
		Key: envelope.Key(), Event: &caseloop.Event{Envelope: envelope, Raw: raw, Relay: true},
	})
	if r.Err != nil {
		return rondo.Receipt{}, r.Err
	}
	return rondo.Receipt{EventID: envelope.EventID, Outcome: r.Outcome, Duplicate: r.Duplicate, Error: r.Reason}, nil
}

// Act does what a person asks of an instance and returns the instance after it.
func (e *Engine) Act(ctx context.Context, p rondo.Principal, id rondo.ID, action rondo.Action) (*rondo.Instance, error) {
	instance, err := e.store.Instance(ctx, p.Tenant, id)
	if err != nil {
		return nil, err
	}
	if action.Name == rondo.ActionHalt {
		if err := e.checkHaltReason(ctx, p.Tenant, action); err != nil {
			return nil, err
		}
	}
	r := e.loop.Do(ctx, &caseloop.Input{
		Key: instance.Key(),
		Command: &caseloop.Command{InstanceID: id, Command: flow.Command{
			Action: string(action.Name), By: p.User, Reason: action.Reason, ReasonCode: action.ReasonCode, Note: action.Note,
		}},
	})
	return r.Instance, r.Err
}

func (e *Engine) checkHaltReason(ctx context.Context, org string, action rondo.Action) error {
	codes, err := e.store.ReasonCodes(ctx, org)
	if err != nil {
		return rondo.Op("read reason codes", err)
	}
	for _, code := range codes {
		if code.Scope != "halt" || code.Code != action.ReasonCode || !code.Active {
			continue
		}
		if code.RequiresNote && action.Note == "" {
			return invalidField("/note", "note_required", fmt.Sprintf("reason code %s needs a note: say in note why the case is halted", code.Code))
		}
		return nil
	}
	return invalidField("/reason_code", "unknown_reason_code", "reason_code is not an active code of scope halt; use for example manual_halt")
}

func invalidField(pointer, code, message string) *rondo.Error {
	return &rondo.Error{
		Code: rondo.CodeInvalid, Message: message,
		Fields: []rondo.FieldError{{Code: code, Pointer: pointer, Message: message}},
	}
}

// Instance returns one instance of the principal's organisation.
func (e *Engine) Instance(ctx context.Context, p rondo.Principal, id rondo.ID) (*rondo.Instance, error) {
	return e.store.Instance(ctx, p.Tenant, id)
}

// Snapshot returns the frozen definition that drives an instance.
func (e *Engine) Snapshot(ctx context.Context, _ rondo.Principal, instance *rondo.Instance) ([]byte, error) {
	return e.store.Snapshot(ctx, instance.SnapshotHash)
}

// Instances lists instances, newest first. Only an admin may ask for another
// organisation than their own.
func (e *Engine) Instances(ctx context.Context, p rondo.Principal, filter store.InstanceFilter, page store.Page) ([]*rondo.Instance, error) {
	if filter.OrgID == "" || !p.Admin() {
		filter.OrgID = p.Tenant
	}
	return e.store.Instances(ctx, filter, page)
}

// Steps returns the finished attempts of an instance, and the instance, whose
// Machine.Live are the open ones.
func (e *Engine) Steps(ctx context.Context, p rondo.Principal, id rondo.ID) ([]rondo.Step, *rondo.Instance, error) {
	instance, err := e.store.Instance(ctx, p.Tenant, id)
	if err != nil {
		return nil, nil, err
	}
	steps, err := e.store.Steps(ctx, p.Tenant, id)
	return steps, instance, err
}

// Events returns the ledger rows of an instance, oldest first.
func (e *Engine) Events(ctx context.Context, p rondo.Principal, id rondo.ID, page store.Page) ([]rondo.EventRecord, error) {
	if _, err := e.store.Instance(ctx, p.Tenant, id); err != nil {
		return nil, err
	}
	return e.store.Events(ctx, p.Tenant, id, page)
}
