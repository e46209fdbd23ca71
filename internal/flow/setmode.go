package flow

import (
	"fmt"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
)

func (m *move) prepareSetMode(c Command) (do func(), refusal error) {
	if err := checkMode(c.Mode); err != nil {
		return nil, err
	}
	return func() { m.setMode(c.Mode) }, nil
}

func checkMode(mode rondo.Mode) error {
	if mode == rondo.ModeActive || mode == rondo.ModeClientDriven {
		return nil
	}
	return invalidParam("/mode", "unknown_mode", fmt.Sprintf("mode must be %s or %s", rondo.ModeActive, rondo.ModeClientDriven))
}

// setMode changes who calls the modules. Only requests differ between the modes:
// delays, waits and people keep what they have. The mode that a case has already
// changes nothing.
func (m *move) setMode(mode rondo.Mode) {
	m.own()
	if m.inst.Mode == mode {
		return
	}
	m.inst.Mode = mode
	rows := make([]rondo.ID, 0, len(m.inst.Machine.Live))
	for i := range m.inst.Machine.Live {
		rows = append(rows, m.inst.Machine.Live[i].RowID)
	}
	for _, row := range rows { // starting one may end or halt others
		i := m.liveRow(row)
		if i < 0 {
			continue
		}
		step := m.snap.Steps[m.inst.Machine.Live[i].StepID]
		if step == nil || step.Contract.Behaviour != definition.BehaviourRequest {
			continue
		}
		if mode == rondo.ModeActive {
			m.takeOver(i, step)
		} else {
			m.handOver(i, step)
		}
	}
}

// takeOver asks the module of an open attempt, with the attempt's own
// correlation id, and arms its timer; that of a halted case is kept for resume.
func (m *move) takeOver(i int, step *definition.Step) {
	att := &m.inst.Machine.Live[i]
	if att.Status != rondo.StepInProgress {
		return
	}
	if _, used := m.inst.Machine.Consumed[att.CorrelationID]; used {
		// The client gave this attempt's id to another step: an id answers one.
		att.CorrelationID, att.RequestID = m.env.NewID().String(), rondo.ID{}
	}
	if att.RequestID.IsZero() {
		att.RequestID = m.env.NewID()
	}
	att.Resends = 0
	if m.inst.Status == rondo.StatusRunning {
		att.ResendAt = m.now.Add(resendAfter(0))
		if step.Timeout > 0 {
			att.TimeoutAt = m.now.Add(step.Timeout)
		}
	} else {
		att.Remaining = step.Timeout
	}
	m.ask(att, step)
}

// handOver clears the timers of an open attempt: the client decides when. An
// attempt that waits out a backoff is open to the client at once.
func (m *move) handOver(i int, step *definition.Step) {
	att := &m.inst.Machine.Live[i]
	switch {
	case att.Status == rondo.StepInProgress:
		att.TimeoutAt, att.ResendAt, att.Remaining, att.Resends = time.Time{}, time.Time{}, 0, 0
	case m.inst.Status == rondo.StatusRunning:
		m.start(i, m.take(i), step)
	default:
		att.Remaining = 1
	}
}

// rememberAnswer keeps, in active mode, the correlation id that a step consumed
// when another attempt may wait for the same event type later. Should the case
// be client-driven by then, where correlation ids do not choose, the same answer
// must not count twice.
func (m *move) rememberAnswer(step *definition.Step, eventType, correlation string) {
	inst := m.inst
	again := step.Fork != "" || len(m.snap.StepsFor(eventType)) > 1 || m.liveAt(step.ID) >= 0 || inst.HaltStepID == step.ID
	if inst.Status.Terminal() || !again {
		return
	}
	if inst.Machine.Consumed == nil {
		inst.Machine.Consumed = make(map[string]string, 4)
	}
	inst.Machine.Consumed[correlation] = step.ID
}
