package flow

import (
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
)

// resume lets a halted instance run again. What arrived meanwhile is applied
// first, in the order it was received; then the step that the halt goes back to
// is asked anew, unless one of those events just answered it. Other open
// attempts stay open with the time they had left.
func (m *move) resume() {
	back := m.wake()
	open := m.openRow(back)
	m.reopening = back
	m.settleParked()
	m.cause, m.reopening = "", ""
	step := m.snap.Steps[back]
	switch {
	case step == nil, m.inst.Status.Terminal(), m.unreachable(step), m.openRow(back) != open:
		return
	case !open.IsZero() && m.inst.Status != rondo.StatusRunning:
		return // it stays open and waits for the next resume
	}
	m.restart(step, "resumed")
}

// wake lets a halted instance run again: the timers of what is open go on with
// the time they had left. It returns the step that the halt goes back to, "" when
// the instance was running.
func (m *move) wake() string {
	m.own()
	inst := m.inst
	if inst.Status != rondo.StatusHalted {
		return ""
	}
	back := inst.HaltStepID
	inst.Status = rondo.StatusRunning
	inst.HaltReason, inst.HaltNote, inst.HaltStepID = "", "", ""
	for i := range inst.Machine.Forks {
		m.rearm(&inst.Machine.Forks[i].Attempt)
	}
	for i := range inst.Machine.Live {
		m.rearm(&inst.Machine.Live[i])
	}
	return back
}

// openRow is the row of what is open at a step; zero = nothing is.
func (m *move) openRow(stepID string) rondo.ID {
	if i := m.liveAt(stepID); i >= 0 {
		return m.inst.Machine.Live[i].RowID
	}
	if k := m.forkAt(stepID); k >= 0 {
		return m.inst.Machine.Forks[k].Attempt.RowID
	}
	return rondo.ID{}
}

// liveAt finds the live attempt at a step, -1 = none.
func (m *move) liveAt(stepID string) int {
	return slices.IndexFunc(m.inst.Machine.Live, func(att rondo.Attempt) bool { return att.StepID == stepID })
}

// restart ends what is open at a step, if anything, and starts its next attempt.
func (m *move) restart(step *definition.Step, why string) {
	place, _ := m.skipOpen(step.ID, why)
	m.again(place, step)
}

// again starts an attempt that a person asked for; it does not count against the
// automatic budget. When the case has halted anew meanwhile, the attempt waits
// for the next resume.
func (m *move) again(place int, step *definition.Step) {
	att := m.mint(step)
	att.Manual = true
	if m.inst.Status != rondo.StatusRunning {
		att.Status, att.Remaining = rondo.StepPending, 1
		m.inst.Machine.Live = slices.Insert(m.inst.Machine.Live, place, att)
		return
	}
	m.start(place, att, step)
}

// tokenBefore says what ran before an attempt that starts in a decision of its
// own: the newest ended step among those of its branch that lead to it, else the
// fork.
func (m *move) tokenBefore(att *rondo.Attempt) token {
	tok := token{last: att.Fork}
	newestWork, newest := 0, 0
	for id, life := range m.inst.Machine.Steps {
		step := m.snap.Steps[id]
		if step == nil || life.Ended == 0 || step.Fork != att.Fork || step.Branch != att.Branch || !m.snap.CanReach(id, att.StepID) {
			continue
		}
		if life.Ended > newest {
			tok.last, newest = id, life.Ended
		}
		if life.Ended > newestWork && works(step) {
			tok.work, newestWork = id, life.Ended
		}
	}
	return tok
}
