package flow

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/definition"
)

// startClock is the clock of something that begins now.
func startClock(sla definition.SLA, now time.Time) rondo.Clock {
	var clock rondo.Clock
	if sla.WarnAfter > 0 {
		clock.WarnAt = now.Add(sla.WarnAfter)
	}
	if sla.BreachAfter > 0 {
		clock.BreachAt = now.Add(sla.BreachAfter)
	}
	return clock
}

// reclock is what is left of a clock when another definition sets other limits
// for what began at since. What was said once is not said again.
func reclock(clock rondo.Clock, was, is definition.SLA, since time.Time) rondo.Clock {
	move := func(at time.Time, old, limit time.Duration) time.Time {
		switch {
		case limit == 0 || old > 0 && at.IsZero():
			return time.Time{}
		case old > 0:
			return at.Add(limit - old)
		}
		return since.Add(limit)
	}
	return rondo.Clock{
		WarnAt:   move(clock.WarnAt, was.WarnAfter, is.WarnAfter),
		BreachAt: move(clock.BreachAt, was.BreachAfter, is.BreachAfter),
	}
}

// leftOf is what an attempt that ends leaves to the next one at its step; nil
// when the step has no service level.
func (m *move) leftOf(att *rondo.Attempt) *rondo.Clock {
	if step := m.snap.Steps[att.StepID]; step == nil || step.SLA == (definition.SLA{}) {
		return nil
	}
	left := att.SLA
	return &left
}

// announceLevels says which service levels are at risk or breached by now. It
// comes first in every decision, so that a late timer hides nothing, and goes on
// while the case is halted.
func (m *move) announceLevels() {
	if at := levelsDue(m.inst); at.IsZero() || at.After(m.now) {
		return
	}
	m.own()
	machine := &m.inst.Machine
	machine.SLA = m.announceLevel(machine.SLA, m.snap.SLA, "")
	for k := range machine.Forks {
		m.announceAttempt(&machine.Forks[k].Attempt)
	}
	for i := range machine.Live {
		m.announceAttempt(&machine.Live[i])
	}
	if clock := haltedClock(m.inst); clock != nil {
		id := m.inst.HaltStepID
		left := *clock
		if step := m.snap.Steps[id]; step != nil {
			left = m.announceLevel(left, step.SLA, id)
		}
		life := machine.Steps[id]
		life.SLA = &left
		m.setLife(id, life)
	}
}

func (m *move) announceAttempt(att *rondo.Attempt) {
	if step := m.snap.Steps[att.StepID]; step != nil {
		att.SLA = m.announceLevel(att.SLA, step.SLA, step.ID)
	}
}

// announceLevel publishes the times of a clock that have come and returns the
// rest of it.
func (m *move) announceLevel(clock rondo.Clock, sla definition.SLA, stepID string) rondo.Clock {
	say := func(at *time.Time, eventType string, limit time.Duration) {
		if at.IsZero() || at.After(m.now) {
			return
		}
		m.publish(outgoing{ // time is the cause, not what this decision is about
			id: m.env.NewID(), eventType: eventType, at: m.now, correlation: m.inst.ID.String(),
			payload: newObject(192).text("instance_id", m.inst.ID.String()).optional("step_id", stepID).
				text("since", at.Add(-limit).Format(time.RFC3339Nano)).raw("limit_seconds", inSeconds(limit)).done(),
		})
		*at = time.Time{}
	}
	say(&clock.WarnAt, event.TypeWorkflowSLAWarned, sla.WarnAfter)
	say(&clock.BreachAt, event.TypeWorkflowSLABreached, sla.BreachAfter)
	return clock
}

// levelsDue is when the next service level is to be announced; zero = none.
func levelsDue(inst *rondo.Instance) time.Time {
	if inst.Status.Terminal() {
		return time.Time{}
	}
	due := clockDue(&inst.Machine.SLA)
	for i := range inst.Machine.Live {
		due = earliest(due, clockDue(&inst.Machine.Live[i].SLA))
	}
	for k := range inst.Machine.Forks {
		due = earliest(due, clockDue(&inst.Machine.Forks[k].Attempt.SLA))
	}
	if clock := haltedClock(inst); clock != nil {
		due = earliest(due, clockDue(clock))
	}
	return due
}

// haltedClock is the clock of the step that a halted case goes back to, when no
// attempt at it is open; nil = none.
func haltedClock(inst *rondo.Instance) *rondo.Clock {
	if inst.Status != rondo.StatusHalted {
		return nil
	}
	return inst.Machine.Steps[inst.HaltStepID].SLA
}

func clockDue(clock *rondo.Clock) time.Time { return earliest(clock.WarnAt, clock.BreachAt) }

func inSeconds(d time.Duration) json.RawMessage {
	return strconv.AppendFloat(nil, d.Seconds(), 'f', -1, 64)
}
