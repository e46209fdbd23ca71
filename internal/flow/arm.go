package flow

import (
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
)

// armTimeout sets when an attempt that starts now times out.
func (m *move) armTimeout(att *rondo.Attempt, step *definition.Step) {
	if step.Timeout > 0 {
		att.TimeoutAt = m.now.Add(step.Timeout)
	}
}

// disarm clears an attempt's timers and keeps what was left of them. At least
// one nanosecond stays, so that a timer which was due is not forgotten.
func disarm(att *rondo.Attempt, now time.Time) {
	if at := earliest(att.DueAt, att.TimeoutAt); !at.IsZero() {
		att.Remaining = max(at.Sub(now), 1)
	}
	att.DueAt, att.TimeoutAt, att.ResendAt = time.Time{}, time.Time{}, time.Time{}
}

// rearm undoes disarm.
func (m *move) rearm(att *rondo.Attempt) {
	if att.Remaining > 0 {
		at := m.now.Add(max(att.Remaining, time.Microsecond))
		if att.Status == rondo.StepPending || m.behaves(att, definition.BehaviourDelay) {
			att.DueAt = at
		} else {
			att.TimeoutAt = at
		}
		att.Remaining = 0
	}
	if att.Status == rondo.StepInProgress && m.asks(att) {
		att.ResendAt = m.now.Add(resendAfter(att.Resends))
	}
}
