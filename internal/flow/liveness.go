package flow

import (
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
)

// Flaw is something that should wake an instance and is not armed.
type Flaw struct {
	StepID string // "" = the instance itself
	What   string // one of the Flaw words
}

// What can be missing.
const (
	FlawResend  = "resend"  // a request that was asked for would never be asked for again
	FlawTimeout = "timeout" // an attempt that has a timeout would never time out
	FlawDue     = "due"     // a delay, or an attempt that waits out its backoff, would never go on
	FlawWake    = "wake"    // nobody would look at the instance when something is due
	FlawToken   = "token"   // the instance runs and nothing is in flight
)

// Unarmed lists what a live instance should be woken by and is not: every token
// of a running instance waits for a time, for an event that may be asked for
// again, or for a person, and the instance itself wakes no later than the first
// of its times. A poller that has claimed an instance moves its WakeAt: look only
// at instances that nobody holds.
func Unarmed(inst *rondo.Instance, snap *definition.Snapshot) []Flaw {
	if inst.Status.Terminal() {
		return nil
	}
	var flaws []Flaw
	if inst.Status == rondo.StatusRunning {
		if len(inst.Machine.Live) == 0 {
			flaws = append(flaws, Flaw{What: FlawToken})
		}
		for i := range inst.Machine.Live {
			flaws = append(flaws, unarmed(inst.Mode, &inst.Machine.Live[i], snap)...)
		}
		for k := range inst.Machine.Forks {
			flaws = append(flaws, unarmed(inst.Mode, &inst.Machine.Forks[k].Attempt, snap)...)
		}
	}
	if due := Due(inst); !due.IsZero() && (inst.WakeAt.IsZero() || inst.WakeAt.After(due)) {
		flaws = append(flaws, Flaw{What: FlawWake})
	}
	return flaws
}

// unarmed lists what one open attempt lacks.
func unarmed(mode rondo.Mode, att *rondo.Attempt, snap *definition.Snapshot) (flaws []Flaw) {
	step := snap.Steps[att.StepID]
	if step == nil {
		return nil // its first wake-up halts the case
	}
	lacks := func(what string, at time.Time) {
		if at.IsZero() {
			flaws = append(flaws, Flaw{StepID: att.StepID, What: what})
		}
	}
	behaviour := step.Contract.Behaviour
	switch {
	case att.Status == rondo.StepPending, behaviour == definition.BehaviourDelay:
		lacks(FlawDue, att.DueAt)
		return flaws
	case behaviour == definition.BehaviourRequest && mode != rondo.ModeActive:
		return nil
	case behaviour == definition.BehaviourRequest:
		lacks(FlawResend, att.ResendAt)
	}
	if step.Timeout > 0 {
		lacks(FlawTimeout, att.TimeoutAt)
	}
	return flaws
}

// heal arms what is lost. Times count from when the attempt began, so that none
// is given more time than it had; what should have happened already happens now.
// A case that runs with nothing in flight is halted, for a person to see.
func (m *move) heal() {
	flaws := Unarmed(m.inst, m.snap)
	if len(flaws) == 0 {
		return
	}
	m.own()
	m.decided.Healed = len(flaws)
	if m.inst.Status != rondo.StatusRunning {
		return
	}
	for i := range m.inst.Machine.Live {
		m.healAttempt(&m.inst.Machine.Live[i])
	}
	for k := range m.inst.Machine.Forks {
		m.healAttempt(&m.inst.Machine.Forks[k].Attempt)
	}
	if len(m.inst.Machine.Live) == 0 && len(m.inst.Machine.Forks) == 0 {
		m.halt(haltStepFailed, "nothing was in flight", m.newestStep())
	}
}

func (m *move) healAttempt(att *rondo.Attempt) {
	flaws := unarmed(m.inst.Mode, att, m.snap)
	if len(flaws) > 0 && att.Remaining > 0 { // it was never re-armed after a halt
		m.rearm(att)
		flaws = unarmed(m.inst.Mode, att, m.snap)
	}
	step := m.snap.Steps[att.StepID]
	for _, flaw := range flaws {
		switch flaw.What {
		case FlawResend:
			att.ResendAt = latest(m.now, att.StartedAt.Add(resendAfter(att.Resends)))
		case FlawTimeout:
			att.TimeoutAt = latest(m.now, att.StartedAt.Add(step.Timeout))
		case FlawDue:
			att.DueAt = m.now
			if due, ok := readTime(descend(att.Input, "due_at")); ok && att.Status == rondo.StepInProgress {
				att.DueAt = latest(m.now, due)
			}
		}
	}
}

// newestStep is the step whose row was written last; the start when none was.
func (m *move) newestStep() string {
	newest, seq := m.snap.Start, 0
	for id, life := range m.inst.Machine.Steps {
		if life.Ended > seq && m.snap.Steps[id] != nil {
			newest, seq = id, life.Ended
		}
	}
	return newest
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
