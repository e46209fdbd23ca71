package flow

import (
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
)

func TestNextWake(t *testing.T) {
	at := func(seconds int) time.Time { return epoch.Add(time.Duration(seconds) * time.Second) }
	live := rondo.Machine{Live: []rondo.Attempt{{TimeoutAt: at(50), ResendAt: at(60)}, {DueAt: at(40)}}}
	tests := []struct {
		name string
		inst rondo.Instance
		want time.Time
	}{
		{"the earliest of all", rondo.Instance{Status: rondo.StatusRunning, DeadlineAt: at(100), Machine: live}, at(40)},
		{"the deadline when it is first", rondo.Instance{Status: rondo.StatusRunning, DeadlineAt: at(30), Machine: live}, at(30)},
		{"an early promise ahead is kept", rondo.Instance{Status: rondo.StatusRunning, DeadlineAt: at(100), Machine: live, WakeAt: at(20)}, at(20)},
		{"a promise that has come is not", rondo.Instance{Status: rondo.StatusRunning, DeadlineAt: at(100), Machine: live, WakeAt: at(10)}, at(40)},
		{"a late promise is not", rondo.Instance{Status: rondo.StatusRunning, DeadlineAt: at(100), Machine: live, WakeAt: at(41)}, at(40)},
		{"halted: only the deadline", rondo.Instance{Status: rondo.StatusHalted, DeadlineAt: at(100), Machine: live}, at(100)},
		{"halted past the deadline: nothing", rondo.Instance{Status: rondo.StatusHalted, DeadlineExceeded: true, DeadlineAt: at(5), WakeAt: at(20)}, time.Time{}},
		{"completed: nothing", rondo.Instance{Status: rondo.StatusCompleted, DeadlineAt: at(100), WakeAt: at(20)}, time.Time{}},
		{"cancelled: nothing", rondo.Instance{Status: rondo.StatusCancelled, DeadlineAt: at(100)}, time.Time{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := nextWake(&tt.inst, at(10)); !got.Equal(tt.want) {
				t.Errorf("wakes at %s, want %s", clock(got), clock(tt.want))
			}
		})
	}
}

func TestBackoff(t *testing.T) {
	step := func(backoff string, base, limit time.Duration) *definition.Step {
		return &definition.Step{Backoff: backoff, RetryBase: base, RetryCap: limit}
	}
	tests := []struct {
		name string
		step *definition.Step
		want []time.Duration // of retries 1, 2, 3 …
	}{
		{"exponential doubles up to the cap", step(definition.BackoffExponential, 5*time.Second, 30*time.Second), seconds(5, 10, 20, 30, 30)},
		{"linear adds up to the cap", step(definition.BackoffLinear, 5*time.Second, 12*time.Second), seconds(5, 10, 12, 12)},
		{"fixed stays", step(definition.BackoffFixed, 5*time.Second, 12*time.Second), seconds(5, 5, 5)},
		{"a base above the cap is capped", step(definition.BackoffFixed, 5*time.Minute, time.Second), seconds(1, 1)},
		{"no base, no wait", step(definition.BackoffLinear, 0, time.Second), seconds(0, 0)},
		{"no base never doubles", step(definition.BackoffExponential, 0, time.Second), seconds(0, 0)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := &move{}
			for i, want := range tt.want {
				if got := m.backoff(tt.step, i+1); got != want {
					t.Errorf("retry %d waits %s, want %s", i+1, got, want)
				}
			}
			if got := m.backoff(tt.step, 1<<40); got < 0 || got > tt.step.RetryCap {
				t.Errorf("a very late retry waits %s", got)
			}
		})
	}
}

func seconds(all ...int) []time.Duration {
	var out []time.Duration
	for _, n := range all {
		out = append(out, time.Duration(n)*time.Second)
	}
	return out
}
