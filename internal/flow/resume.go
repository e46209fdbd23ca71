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
	m.own()
	inst := m.inst
	back := inst.HaltStepID
	inst.Status = rondo.StatusRunning
	inst.HaltReason, inst.HaltNote, inst.HaltStepID = "", "", ""
	var open rondo.ID
	for i := range inst.Machine.Live {
		m.rearm(&inst.Machine.Live[i])
		if inst.Machine.Live[i].StepID == back {
			open = inst.Machine.Live[i].RowID
		}
	}
	m.settleParked()
	m.cause = ""
	step := m.snap.Steps[back]
	if step == nil || m.inst.Status.Terminal() {
		return
	}
	place := len(m.inst.Machine.Live)
	tok := token{}
	if !open.IsZero() {
		place = m.liveRow(open)
		if place < 0 || m.inst.Status != rondo.StatusRunning {
			return
		}
		att := m.end(place, ending{status: rondo.StepSkipped, failure: failure{code: "resumed"}.json()})
		tok.fork, tok.branch = att.Fork, att.Branch
	}
	m.again(place, step, tok)
}

// again starts an attempt that a person asked for; it does not count against the
// automatic budget. When applying parked events has halted the case anew, the
// attempt waits for the next resume.
func (m *move) again(place int, step *definition.Step, tok token) {
	att := m.mint(step, tok)
	att.Manual = true
	if m.inst.Status != rondo.StatusRunning {
		att.Status, att.Remaining = rondo.StepPending, 1
		m.inst.Machine.Live = slices.Insert(m.inst.Machine.Live, place, att)
		return
	}
	m.start(place, att, step)
}

// tokenBefore says what ran before an attempt that starts in a decision of its
// own: the newest ended step among those that lead to it.
func (m *move) tokenBefore(att *rondo.Attempt) token {
	tok := token{fork: att.Fork, branch: att.Branch}
	newestWork, newest := 0, 0
	for id, life := range m.inst.Machine.Steps {
		step := m.snap.Steps[id]
		if step == nil || life.Ended == 0 || !m.snap.CanReach(id, att.StepID) {
			continue
		}
		if life.Ended > newest {
			tok.last, newest = id, life.Ended
		}
		if life.Ended > newestWork && step.Contract.Behaviour == definition.BehaviourRequest {
			tok.work, newestWork = id, life.Ended
		}
	}
	return tok
}
