package flow

import (
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
)

// A poller claims a wake-up by moving it a little ahead. If the timer that
// follows kept that as a promise, a case that sleeps for a month would be woken
// every half minute.
func TestATimerWithNothingDueForgetsThePollersClaim(t *testing.T) {
	now := epoch.Add(time.Hour)
	sleeping := &rondo.Instance{
		Status: rondo.StatusRunning, Mode: rondo.ModeActive, Version: 3, DeadlineAt: now.Add(720 * time.Hour),
		WakeAt: now.Add(30 * time.Second), // the claim
	}
	d := Decide(State{Instance: sleeping, Snapshot: &definition.Snapshot{}}, Timer{}, Env{Now: now})
	if d.Instance == nil || !d.Instance.WakeAt.Equal(sleeping.DeadlineAt) {
		t.Fatalf("decided %+v, want the wake-up at the deadline", d.Instance)
	}
}
