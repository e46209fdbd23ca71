package flow

import (
	"time"

	"github.com/rondo-engine/rondo"
)

// nextWake is the WakeAt to store. An earlier promise that still lies ahead is
// kept while it is early enough: waking too early costs one look, rewriting the
// index entry at every step would cost every case.
func nextWake(inst *rondo.Instance, now time.Time) time.Time {
	due := Due(inst)
	if !due.IsZero() && inst.WakeAt.After(now) && !inst.WakeAt.After(due) {
		return inst.WakeAt
	}
	return due
}

// Due is when the next thing becomes due by itself: the deadline, a service
// level, a retry, a delay, a timeout or a re-send. Zero = nothing can.
func Due(inst *rondo.Instance) time.Time {
	if inst.Status.Terminal() {
		return time.Time{}
	}
	due := levelsDue(inst)
	if inst.Status == rondo.StatusHalted && inst.DeadlineExceeded {
		return due
	}
	due = earliest(due, inst.DeadlineAt)
	if inst.Status == rondo.StatusRunning {
		for i := range inst.Machine.Live {
			if at := attemptDue(&inst.Machine.Live[i]); !at.IsZero() && at.Before(due) {
				due = at
			}
		}
		for k := range inst.Machine.Forks {
			due = earliest(due, inst.Machine.Forks[k].Attempt.TimeoutAt)
		}
	}
	return due
}

// attemptDue is when a live attempt needs the machine; zero = only an event
// moves it.
func attemptDue(att *rondo.Attempt) time.Time {
	return earliest(att.DueAt, earliest(att.TimeoutAt, att.ResendAt))
}

// earliest ignores zero times.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
