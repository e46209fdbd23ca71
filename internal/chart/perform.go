package chart

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/rondo-engine/rondo"
)

// failed says which state could not do what it should.
func (n *node) failed(what string, err error) *rondo.Error {
	return &rondo.Error{
		Code:    rondo.CodeWorkflowLogic,
		Message: fmt.Sprintf("%s of %s failed: %v", what, n.id, err),
		Hint:    correctAt(n.at),
	}
}

// correctAt points at a place of the machine in the definition that it is part of.
func correctAt(at string) string { return "correct the definition at /machine" + at }

// do performs actions in order.
func (r *run) do(actions []action) error {
	for _, a := range actions {
		var err error
		switch {
		case a.assign != nil:
			err = r.assign(a.assign)
		case a.raise != nil:
			err = r.raise(a.raise)
		case a.effect != nil:
			err = r.raiseCase(a.effect)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *run) assign(a *assign) error {
	values := make([]json.RawMessage, len(a.set))
	for i, assignment := range a.set {
		raw, err := r.resolve(assignment.from)
		if err != nil {
			return fmt.Errorf("assign %q: %w", assignment.field, err)
		}
		if values[i] = raw; raw == nil {
			values[i] = json.RawMessage("null")
		}
	}
	for i, assignment := range a.set {
		r.context[assignment.field] = values[i]
		delete(r.decoded, "context."+assignment.field)
	}
	size := 0
	for name, raw := range r.context {
		size += len(name) + len(raw)
	}
	if size > maxValue {
		return errTooLarge
	}
	r.mutated = true
	return nil
}

func (r *run) raise(a *raise) error {
	e := occurrence{name: a.event}
	if a.payload != nil {
		var err error
		if e.payload, err = r.resolve(a.payload); err != nil {
			return fmt.Errorf("raise %s: %w", a.event, err)
		}
	}
	return r.push(e)
}

// push queues an event. More events than steps are allowed could never be handled.
func (r *run) push(e occurrence) error {
	if len(r.queue) >= MaxMicrosteps {
		return fmt.Errorf("more than %d raised events wait", MaxMicrosteps)
	}
	r.queue = append(r.queue, e)
	return nil
}

func (r *run) raiseCase(a *effect) error {
	if len(r.result.Effects) >= MaxEffects {
		return fmt.Errorf("more than %d case events for one event", MaxEffects)
	}
	e := Effect{Type: effectType, EventType: a.eventType, Payload: json.RawMessage("{}")}
	if a.caseID != nil {
		raw, err := r.resolve(a.caseID)
		if err != nil {
			return fmt.Errorf("%s %s: %w", effectType, a.eventType, err)
		}
		if len(raw) > 0 && string(bytes.TrimSpace(raw)) != "null" && json.Unmarshal(raw, &e.CaseID) != nil {
			return errors.New("caseId is no string")
		}
	}
	if a.payload != nil {
		raw, err := r.resolve(a.payload)
		if err != nil {
			return fmt.Errorf("%s %s: %w", effectType, a.eventType, err)
		}
		if e.Payload = raw; raw == nil {
			e.Payload = json.RawMessage("null")
		}
	}
	r.result.Effects = append(r.result.Effects, e)
	return nil
}
