package flow

import (
	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/definition"
)

// Halt reasons that the machine itself gives.
const (
	haltStepFailed        = "step_failed"
	haltStepTimeout       = "step_timeout"
	haltDeadline          = "workflow_deadline_exceeded"
	haltContractViolation = "contract_violation"
	haltConditionError    = "condition_error"
	haltManual            = "manual_halt"
)

// halt stops the instance. Live attempts stay open: their timers are cleared
// with what was left of them kept, and their outcomes are parked until resume.
func (m *move) halt(reason, note, stepID string) {
	m.own()
	inst := m.inst
	inst.Status = rondo.StatusHalted
	inst.HaltReason, inst.HaltNote, inst.HaltStepID = reason, note, stepID
	for i := range inst.Machine.Live {
		disarm(&inst.Machine.Live[i], m.now)
	}
	for k := range inst.Machine.Forks {
		disarm(&inst.Machine.Forks[k].Attempt, m.now)
	}
	payload := newObject(192).text("instance_id", inst.ID.String()).text("halt_step_id", stepID).
		text("reason_code", reason).optional("reason_note", note).done()
	m.lifecycle(event.TypeWorkflowHalted, payload)
}

// haltStep runs a step of behaviour halt: it gets a completed row of its own,
// and the case goes back, on resume, to the work that led here.
func (m *move) haltStep(att rondo.Attempt, step *definition.Step, tok token) {
	reason, note := textParam(step, "reason_code"), textParam(step, "note")
	if reason == "" {
		reason = haltStepFailed
	}
	if len(reason)+len(note) > MaxWords {
		m.record(att, ending{status: rondo.StepFailed, failure: violated("reason_code and note are larger than 64 KiB").json()})
		m.halt(haltContractViolation, "", tok.stop(step.ID))
		return
	}
	att.Input = newObject(64).text("reason_code", reason).optional("note", note).done()
	m.record(att, ending{status: rondo.StepCompleted})
	m.halt(reason, note, tok.stop(step.ID))
}

// stop names the step that a halt goes back to: the work step that led to it,
// else the step before, else the halting step itself.
func (t token) stop(self string) string {
	switch {
	case t.work != "":
		return t.work
	case t.last != "":
		return t.last
	}
	return self
}

// inFlight names the step that a halt from outside interrupts.
func (m *move) inFlight() string {
	if len(m.inst.Machine.Live) > 0 {
		return m.inst.Machine.Live[0].StepID
	}
	return m.snap.Start
}

// deadline does what a passed deadline demands; it comes before anything else
// an event or a timer could do.
func (m *move) deadline() {
	inst := m.inst
	if m.now.Before(inst.DeadlineAt) || inst.Status.Terminal() || inst.DeadlineExceeded {
		return
	}
	m.own()
	m.inst.DeadlineExceeded = true
	if m.inst.Status == rondo.StatusRunning {
		m.halt(haltDeadline, "", m.inFlight())
	}
}

// textParam is a string param of a step; "" when it is not there.
func textParam(step *definition.Step, name string) string {
	raw, ok := step.Params[name]
	if !ok {
		return ""
	}
	return text(raw)
}
