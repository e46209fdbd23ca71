package flow

import (
	"encoding/json"
	"fmt"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
)

// The actions a person can take.
const (
	ActionHalt   = "halt"
	ActionResume = "resume"
	ActionCancel = "cancel"
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
	before := standing(m.inst)
	switch c.Action {
	case ActionHalt:
		m.haltByHand(c)
	case ActionResume:
		m.resume()
	case ActionCancel:
		m.cancel(c)
	}
	m.settleParked()
	m.cause = ""
	m.intervened(c, before)
	return m.finish()
}

// refuse checks that the action can be published and that the state allows it.
func (m *move) refuse(c Command) error {
	inst := m.inst
	if len(c.By)+len(c.Reason)+len(c.ReasonCode)+len(c.Note) > MaxWords {
		return &rondo.Error{Code: rondo.CodeInvalid, Message: "the words of the intervention are larger than 64 KiB", Hint: "shorten the reason or the note"}
	}
	var allowed bool
	switch c.Action {
	case ActionHalt:
		allowed = inst.Status == rondo.StatusRunning
	case ActionResume:
		allowed = inst.Status == rondo.StatusHalted
	case ActionCancel:
		allowed = !inst.Status.Terminal()
	default:
		return &rondo.Error{Code: rondo.CodeInvalid, Message: fmt.Sprintf("there is no action %q", c.Action), Hint: "use halt, resume or cancel"}
	}
	late := !inst.Status.Terminal() && c.Action != ActionCancel && (inst.DeadlineExceeded || !m.now.Before(inst.DeadlineAt))
	if allowed && !late {
		return nil
	}
	refusal := rondo.WrongState(fmt.Sprintf("the instance is %s, which does not allow %s", inst.Status, c.Action))
	switch {
	case late:
		refusal.Message = fmt.Sprintf("the instance is %s and past its deadline, which does not allow %s", inst.Status, c.Action)
		refusal.Hint = "past the deadline only cancel is allowed"
	case inst.Status == rondo.StatusRunning:
		refusal.Hint = "a running instance allows halt and cancel"
	case inst.Status == rondo.StatusHalted:
		refusal.Hint = "a halted instance allows resume and cancel"
	default:
		refusal.Hint = fmt.Sprintf("a %s instance is final and allows nothing", inst.Status)
	}
	return refusal
}

func (m *move) haltByHand(c Command) {
	reason := c.ReasonCode
	if reason == "" {
		reason = haltManual
	}
	m.halt(reason, c.Note, m.inFlight())
}

// cancel ends the instance for good.
func (m *move) cancel(c Command) {
	m.own()
	m.inst.Status = rondo.StatusCancelled
	m.inst.CancelledBy, m.inst.CancelledReason = c.By, c.Reason
	m.inst.CompletedAt = m.now
	m.skipLive("cancelled")
	m.lifecycle(event.TypeWorkflowCancelled, newObject(128).text("instance_id", m.inst.ID.String()).
		text("cancelled_by", c.By).optional("reason", c.Reason).done())
}

// intervened records the command with what it changed.
func (m *move) intervened(c Command, before json.RawMessage) {
	reason := c.Reason
	if reason == "" {
		reason = c.Note
	}
	m.decided.Intervention = &rondo.Intervention{
		ID:          m.env.NewID(),
		OrgID:       m.inst.OrgID,
		InstanceID:  m.inst.ID,
		Action:      c.Action,
		PerformedBy: c.By,
		Reason:      reason,
		Before:      before,
		After:       standing(m.inst),
		CreatedAt:   m.now,
	}
	m.lifecycle(event.TypeWorkflowIntervened, newObject(192).text("instance_id", m.inst.ID.String()).text("action", c.Action).
		text("performed_by", c.By).optional("reason", reason).done())
}

// standing is where an instance stands, for the record of an intervention.
func standing(inst *rondo.Instance) json.RawMessage {
	o := newObject(256).text("status", string(inst.Status)).text("mode", string(inst.Mode)).
		optional("halt_reason", inst.HaltReason).optional("halt_note", inst.HaltNote).optional("halt_step_id", inst.HaltStepID)
	if inst.DeadlineExceeded {
		o.boolean("deadline_exceeded", true)
	}
	steps := []byte{'['}
	for i := range inst.Machine.Live {
		att := &inst.Machine.Live[i]
		if i > 0 {
			steps = append(steps, ',')
		}
		steps = append(steps, newObject(128).text("step_id", att.StepID).text("status", string(att.Status)).
			integer("attempt", int64(att.Number)).text("correlation_id", att.CorrelationID).done()...)
	}
	return o.raw("live_steps", append(steps, ']')).done()
}
