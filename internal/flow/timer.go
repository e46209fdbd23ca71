package flow

import (
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
)

// decideTimer does everything that is due. A timer is only a hint: what is due
// is read from the instance.
func decideTimer(s State, in Timer, env Env) Decision {
	m := newMove(s, env)
	if s.Instance == nil || s.Snapshot == nil {
		if s.Instance == nil {
			m.expireParked()
		}
		return m.finish()
	}
	if in.Heal {
		m.heal()
	}
	m.announceLevels()
	m.deadline()
	for m.inst.Status == rondo.StatusRunning && m.fireNext() {
	}
	if in.Resend && m.inst.Status == rondo.StatusRunning {
		m.resendAll()
	}
	m.settleParked()
	if !m.inst.Status.Terminal() && !Due(m.inst).Equal(m.inst.WakeAt) {
		m.own()
		// The stored wake-up is the poller's claim, not a promise: keeping it would
		// wake a sleeping case again and again.
		m.inst.WakeAt = time.Time{}
	}
	return m.finish()
}

// fireNext does what has been due for longest; false when nothing is. A fork
// goes before what is within it.
func (m *move) fireNext() bool {
	live, fork, since := -1, -1, m.now.Add(1)
	for k := range m.inst.Machine.Forks {
		if at := m.inst.Machine.Forks[k].Attempt.TimeoutAt; !at.IsZero() && at.Before(since) {
			fork, since = k, at
		}
	}
	for i := range m.inst.Machine.Live {
		if at := attemptDue(&m.inst.Machine.Live[i]); !at.IsZero() && at.Before(since) {
			live, since = i, at
		}
	}
	switch {
	case live >= 0:
		m.fire(live)
	case fork >= 0:
		m.timeoutFork(fork)
	default:
		return false
	}
	return true
}

// fire does what is due for one attempt. Each way out either ends the attempt or
// moves its due time past now.
func (m *move) fire(i int) {
	att := m.inst.Machine.Live[i]
	step := m.snap.Steps[att.StepID]
	switch {
	case step == nil:
		m.halt(haltContractViolation, "the definition has no step "+att.StepID, att.StepID)
	case att.Status == rondo.StepPending:
		m.cause = att.Cause
		m.start(i, m.take(i), step)
	case step.Contract.Behaviour == definition.BehaviourDelay:
		m.cause = att.Cause
		m.elapse(i, step)
	case !att.TimeoutAt.IsZero() && !att.TimeoutAt.After(m.now):
		m.cause = requestCause(&att)
		m.timeout(i)
	default:
		m.resend(i)
	}
	m.cause = ""
}

// resendAll asks again for everything that is open and was not asked for just
// now.
func (m *move) resendAll() {
	for i := range m.inst.Machine.Live {
		att := &m.inst.Machine.Live[i]
		if att.Status == rondo.StepInProgress && m.asks(att) && att.StartedAt.Before(m.now) {
			m.resend(i)
		}
	}
}

// requestCause is the unanswered request that a timeout follows from.
func requestCause(att *rondo.Attempt) string {
	if att.RequestID.IsZero() {
		return att.Cause
	}
	return att.RequestID.String()
}
