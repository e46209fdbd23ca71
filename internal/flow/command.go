package flow

import (
	"encoding/json"
	"fmt"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/definition"
)

// MaxWords is how many bytes of words (a reason, a note, a code, a name) one
// intervention or one halt may come with: they are published.
const MaxWords = 64 << 10

// decideCommand does what a person asked, or says why not. An intervention that
// is refused changes nothing.
func decideCommand(s State, c Command, env Env) Decision {
	if s.Instance == nil || s.Snapshot == nil {
		return Decision{Refused: rondo.NotFound("instance")}
	}
	m := newMove(s, env)
	if err := m.refuse(c); err != nil {
		return Decision{Refused: err}
	}
	m.announceLevels()
	switch rondo.ActionName(c.Action) {
	case rondo.ActionSupersede:
		return m.supersede(s.Start, c)
	case rondo.ActionMigrate:
		return m.migrate(c)
	}
	before := standing(m.inst)
	do, err := m.prepare(c)
	if err != nil {
		return Decision{Refused: err}
	}
	do()
	m.settleParked()
	m.cause = ""
	m.intervened(c, m.inst, before, standing(m.inst))
	return m.finish()
}

// prepare checks what an action is asked to do and returns how to do it. It
// changes nothing itself.
func (m *move) prepare(c Command) (do func(), refusal error) {
	switch rondo.ActionName(c.Action) {
	case rondo.ActionHalt:
		return func() { m.haltByHand(c) }, nil
	case rondo.ActionResume:
		return m.resume, nil
	case rondo.ActionCancel:
		return func() { m.cancel(c.By, c.Reason, "cancelled") }, nil
	case rondo.ActionSetMode:
		return m.prepareSetMode(c)
	case rondo.ActionRetryStep:
		return m.prepareRetry(c)
	case rondo.ActionSkipStep:
		return m.prepareSkip(c)
	case rondo.ActionCompleteStep:
		return m.prepareComplete(c)
	}
	return nil, unknownAction(c.Action)
}

func (m *move) haltByHand(c Command) {
	reason := c.ReasonCode
	if reason == "" {
		reason = haltManual
	}
	m.halt(reason, c.Note, m.inFlight())
}

// cancel ends the instance for good. The rows of what was open say why.
func (m *move) cancel(by, reason, code string) {
	m.own()
	m.inst.Status = rondo.StatusCancelled
	m.inst.CancelledBy, m.inst.CancelledReason = by, reason
	m.inst.CompletedAt = m.now
	m.skipLive(code)
	m.lifecycle(event.TypeWorkflowCancelled, newObject(128).text("instance_id", m.inst.ID.String()).
		text("cancelled_by", by).optional("reason", reason).done())
}

// intervened records what a command did to an instance and says so.
func (m *move) intervened(c Command, inst *rondo.Instance, before, after json.RawMessage) {
	reason := c.Reason
	if reason == "" {
		reason = c.Note
	}
	id := c.ID
	if id.IsZero() {
		id = m.env.NewID()
	}
	m.decided.Intervention = &rondo.Intervention{
		ID:          id,
		OrgID:       inst.OrgID,
		InstanceID:  inst.ID,
		Action:      c.Action,
		PerformedBy: c.By,
		Reason:      reason,
		Before:      before,
		After:       after,
		CreatedAt:   m.now,
	}
	m.publish(outgoing{
		id: m.env.NewID(), eventType: event.TypeWorkflowIntervened, at: m.now, correlation: inst.ID.String(), cause: m.cause,
		payload: newObject(192).text("instance_id", inst.ID.String()).text("action", c.Action).
			text("performed_by", c.By).optional("reason", reason).done(),
	})
}

// standing is where an instance stands, for the record of an intervention.
func standing(inst *rondo.Instance) json.RawMessage {
	o := newObject(256).text("status", string(inst.Status)).text("mode", string(inst.Mode)).
		optional("halt_reason", inst.HaltReason).optional("halt_note", inst.HaltNote).optional("halt_step_id", inst.HaltStepID)
	if inst.DeadlineExceeded {
		o.boolean("deadline_exceeded", true)
	}
	if !inst.SupersededByID.IsZero() {
		o.text("superseded_by_id", inst.SupersededByID.String())
	}
	steps := []byte{'['}
	add := func(att *rondo.Attempt) {
		if len(steps) > 1 {
			steps = append(steps, ',')
		}
		steps = append(steps, newObject(128).text("step_id", att.StepID).text("status", string(att.Status)).
			integer("attempt", int64(att.Number)).text("correlation_id", att.CorrelationID).done()...)
	}
	for i := range inst.Machine.Forks {
		add(&inst.Machine.Forks[i].Attempt)
	}
	for i := range inst.Machine.Live {
		add(&inst.Machine.Live[i])
	}
	return o.raw("live_steps", append(steps, ']')).done()
}

// namedStepOf finds the step that a command names.
func (m *move) namedStepOf(c Command) (*definition.Step, error) {
	if c.StepID == "" {
		return nil, invalidParam("/step_id", "required", "name the step in step_id")
	}
	step := m.snap.Steps[c.StepID]
	if step == nil {
		return nil, invalidParam("/step_id", "unknown_step", fmt.Sprintf("the definition has no step %q; use one of the instance's current steps", c.StepID))
	}
	return step, nil
}

// invalidParam says which parameter of an action is wrong.
func invalidParam(pointer, code, message string) *rondo.Error {
	return &rondo.Error{
		Code: rondo.CodeInvalid, Message: message,
		Fields: []rondo.FieldError{{Code: code, Pointer: pointer, Message: message}},
	}
}
