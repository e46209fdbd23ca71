package runs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/skill"
	"github.com/rondo-engine/rondo/store"
)

// door is a process's way to the store.
type door struct {
	store.Runs
	shut    atomic.Bool // everything fails
	commits atomic.Int64
	mu      sync.Mutex
	hook    func(n int64, commit func() ([]store.RunResult, error)) ([]store.RunResult, error)
}

var errAway = &rondo.Error{Code: rondo.CodeUnavailable, Message: "the store is away"}

func (d *door) meddle(hook func(n int64, commit func() ([]store.RunResult, error)) ([]store.RunResult, error)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hook = hook
}

func (d *door) CommitRuns(ctx context.Context, c store.RunCommit) ([]store.RunResult, error) {
	if d.shut.Load() {
		return nil, errAway
	}
	d.mu.Lock()
	hook := d.hook
	d.mu.Unlock()
	if hook == nil {
		return d.Runs.CommitRuns(ctx, c)
	}
	return hook(d.commits.Add(1), func() ([]store.RunResult, error) { return d.Runs.CommitRuns(context.WithoutCancel(ctx), c) })
}

func (d *door) Heartbeat(ctx context.Context, owner string, at time.Time, lease time.Duration) error {
	if d.shut.Load() {
		return errAway
	}
	return d.Runs.Heartbeat(ctx, owner, at, lease)
}

func (d *door) LeaveRuns(ctx context.Context, owner string) error {
	if d.shut.Load() {
		return errAway
	}
	return d.Runs.LeaveRuns(ctx, owner)
}

func (d *door) ClaimRuns(ctx context.Context, owner string, at time.Time, want store.Claim) ([]store.OwnedRun, error) {
	if d.shut.Load() {
		return nil, errAway
	}
	return d.Runs.ClaimRuns(ctx, owner, at, want)
}

func through(d *door) func(*Config) { return func(c *Config) { c.Store = d } }

func TestTheRunsOfADeadProcessGoOn(t *testing.T) {
	t.Parallel()
	inHouses(t, func(t *testing.T, h *house) {
		h.define("w", node{id: "a"}, node{id: "long", needs: []string{"a"}}, node{id: "z", needs: []string{"long"}})
		h.craft.let("long", func(ctx context.Context, call skill.Call) (skill.Result, error) {
			select {
			case <-time.After(time.Minute):
			case <-ctx.Done():
				return skill.Result{}, ctx.Err()
			}
			return made(call.StepID, call.Input), nil
		})
		first := h.open()
		id := begin(t, first, "w", 1).ID
		time.Sleep(30 * time.Second)
		kill(first)
		second := h.open()
		equal := begin(t, second, "w", 1).ID // waits for a flight whose holder is dead
		run := h.finish(id, rondo.RunCompleted)
		h.whole(run)
		h.whole(h.finish(equal, rondo.RunCompleted))
		if h.craft.called("a") != 1 || h.craft.called("long") != 2 || h.craft.called("z") != 1 {
			t.Errorf("a ran %d times, long %d, z %d", h.craft.called("a"), h.craft.called("long"), h.craft.called("z"))
		}
		rows, err := h.runs.RunSteps(t.Context(), id, 0, false)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			if row.StepID == "long" && row.Attempt == 1 && row.Status == rondo.RunStepRunning {
				t.Errorf("the attempt of the dead process is %s", row.Status)
			}
		}
		// It goes on when the lease of 15 s has run out, and then takes a minute.
		if took := run.CompletedAt.Sub(run.CreatedAt); took > 30*time.Second+16*time.Second+61*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

func TestAProcessThatWakesUpLateIsRefused(t *testing.T) {
	t.Parallel()
	inHouses(t, func(t *testing.T, h *house) {
		h.define("w", node{id: "a"}, node{id: "b", needs: []string{"a"}})
		h.craft.let("a", func(_ context.Context, call skill.Call) (skill.Result, error) {
			time.Sleep(10 * time.Second)
			return made(call.StepID, call.Input), nil
		})
		gate := &door{Runs: h.runs}
		first := h.open(through(gate))
		id := begin(t, first, "w", 1).ID
		time.Sleep(time.Second)
		// The first process stands still in the commit of what a gave.
		refused := make(chan error, 1)
		released := make(chan struct{})
		gate.meddle(func(_ int64, commit func() ([]store.RunResult, error)) ([]store.RunResult, error) {
			gate.meddle(nil)
			<-released
			results, err := commit()
			if err == nil {
				refused <- results[0].Err
			}
			return results, err
		})
		time.Sleep(10 * time.Second)
		gate.shut.Store(true) // and does not tell that it is alive
		time.Sleep(10 * time.Second)
		h.open()
		run := h.finish(id, rondo.RunCompleted)
		h.whole(run)
		gate.shut.Store(false)
		close(released)
		time.Sleep(time.Minute)
		if err := <-refused; !errors.Is(err, store.ErrLeaseLost) {
			t.Errorf("the late writer was told %v", err)
		}
		if h.craft.called("a") != 2 || h.craft.called("b") != 1 {
			t.Errorf("a ran %d times, b %d", h.craft.called("a"), h.craft.called("b"))
		}
		again, err := h.runs.Run(t.Context(), bob.Tenant, id)
		if err != nil || again.Seq != run.Seq {
			t.Errorf("after the late writer the run is at %d, not %d: %v", again.Seq, run.Seq, err)
		}
		// It drives runs again, under another name.
		h.whole(h.finish(begin(t, first, "w", 2).ID, rondo.RunCompleted))
	})
}

func TestAProcessWithoutTheStoreDropsEverythingWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	inHouses(t, func(t *testing.T, h *house) {
		h.define("w", node{id: "a"})
		ended := make(chan error, 4)
		h.craft.let("a", func(ctx context.Context, call skill.Call) (skill.Result, error) {
			select {
			case <-ctx.Done():
			case <-time.After(time.Minute):
			}
			ended <- ctx.Err()
			return made(call.StepID, call.Input), ctx.Err()
		})
		gate := &door{Runs: h.runs}
		first := h.open(through(gate))
		id := begin(t, first, "w", 1).ID
		time.Sleep(time.Second)
		gate.shut.Store(true)
		time.Sleep(20 * time.Second)
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the skill at work ended by %v", err)
		}
		if _, err := first.Trigger(t.Context(), bob, Request{WorkflowName: "w"}); rondo.CodeOf(err) != rondo.CodeUnavailable {
			t.Errorf("a trigger while nothing can be owned: %v", err)
		}
		gate.shut.Store(false)
		h.whole(h.finish(id, rondo.RunCompleted)) // the same process takes it over from itself
	})
}

func TestAStoreThatIsAwayForAWhileCostsNothing(t *testing.T) {
	t.Parallel()
	inHouses(t, func(t *testing.T, h *house) {
		h.define("w", fan(8)...)
		h.craft.slow(time.Second)
		gate := &door{Runs: h.runs}
		s := h.open(through(gate))
		var ids []rondo.ID
		for i := range 3 {
			ids = append(ids, begin(t, s, "w", i).ID)
		}
		time.Sleep(1500 * time.Millisecond)
		away := time.Now().Add(9 * time.Second)
		gate.meddle(func(_ int64, commit func() ([]store.RunResult, error)) ([]store.RunResult, error) {
			if time.Now().Before(away) {
				return nil, errAway
			}
			return commit()
		})
		time.Sleep(time.Second)
		if _, err := s.Trigger(t.Context(), bob, Request{WorkflowName: "w", TriggerPayload: payload(9)}); rondo.CodeOf(err) != rondo.CodeUnavailable {
			t.Errorf("a trigger while the store is away: %v", err)
		}
		for _, id := range ids {
			h.whole(h.finish(id, rondo.RunCompleted))
		}
		h.craft.onlyOnce(t)
	})
}

func TestACommitOfWhichTheStoreDoesNotKnow(t *testing.T) {
	t.Parallel()
	for _, happened := range []bool{true, false} {
		for nth := int64(1); nth <= 6; nth++ {
			t.Run(fmt.Sprintf("commit %d happened %v", nth, happened), func(t *testing.T) {
				inHouses(t, func(t *testing.T, h *house) {
					h.define("w", node{id: "a"}, node{id: "b", needs: []string{"a"}}, node{id: "c", needs: []string{"a"}}, node{id: "d", needs: []string{"b", "c"}})
					h.craft.slow(time.Second)
					gate := &door{Runs: h.runs}
					gate.meddle(func(n int64, commit func() ([]store.RunResult, error)) ([]store.RunResult, error) {
						if n != nth {
							return commit()
						}
						if happened {
							if _, err := commit(); err != nil {
								t.Errorf("commit: %v", err)
							}
						}
						return nil, fmt.Errorf("the connection died: %w", store.ErrAmbiguous)
					})
					s := h.open(through(gate))
					h.whole(h.finish(begin(t, s, "w", 1).ID, rondo.RunCompleted))
					time.Sleep(time.Second) // it may still be finding out about the last one
					h.whole(h.finish(begin(t, s, "w", 1).ID, rondo.RunCompleted))
					h.craft.onlyOnce(t)
				})
			})
		}
	}
}

func TestACrashAtEveryCommit(t *testing.T) {
	t.Parallel()
	nodes := []node{{id: "a"}, {id: "b", needs: []string{"a"}}, {id: "c", needs: []string{"a"}, more: retry(3)}, {id: "d", needs: []string{"b", "c"}}}
	for _, after := range []bool{false, true} {
		for nth := int64(1); nth <= 8; nth++ {
			t.Run(fmt.Sprintf("commit %d after %v", nth, after), func(t *testing.T) {
				inHouses(t, func(t *testing.T, h *house) {
					h.define("w", nodes...)
					h.craft.slow(time.Second)
					h.craft.let("c", func(_ context.Context, call skill.Call) (skill.Result, error) {
						if call.Attempt == 1 {
							return skill.Result{}, errors.New("the first time it fails")
						}
						return made(call.StepID, call.Input), nil
					})
					gate := &door{Runs: h.runs}
					s := h.open(through(gate))
					crashed := make(chan struct{})
					gate.meddle(func(n int64, commit func() ([]store.RunResult, error)) ([]store.RunResult, error) {
						if n != nth {
							return commit()
						}
						if after {
							if _, err := commit(); err != nil {
								t.Errorf("commit: %v", err)
							}
						}
						gate.shut.Store(true)
						close(crashed)
						s.stop()
						return nil, errAway
					})
					id := s.cfg.IDs.New()
					request := Request{WorkflowName: "w", TriggerPayload: payload(1), ID: id}
					_, _ = s.Trigger(t.Context(), bob, request) // refused when it dies at once
					select {
					case <-crashed:
					case <-time.After(time.Minute): // it had fewer commits
					}
					kill(s)
					done := map[string]int{}
					for step, row := range h.steps(id) {
						if row.Status.Done() {
							done[step] = h.craft.called(step)
						}
					}
					second := h.open()
					if _, err := second.Trigger(t.Context(), bob, request); err != nil { // the caller asks again
						t.Fatal(err)
					}
					h.whole(h.finish(id, rondo.RunCompleted))
					for step, calls := range done {
						if h.craft.called(step) != calls {
							t.Errorf("%s was done when the process died and was computed again", step)
						}
					}
				})
			})
		}
	}
}

func TestStopLetsWorkEndAndLeavesTheRest(t *testing.T) {
	t.Parallel()
	inHouses(t, func(t *testing.T, h *house) {
		h.define("w", chain(5)...)
		h.craft.slow(10 * time.Second)
		first := h.open()
		id := begin(t, first, "w", 1).ID
		time.Sleep(15 * time.Second) // the second of five is at work
		began := time.Now()
		if err := first.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("stopping took %s", took)
		}
		if row := h.steps(id)["s1"]; row.Status != rondo.RunStepCompleted {
			t.Errorf("what was at work is %s", row.Status)
		}
		if _, err := first.Trigger(t.Context(), bob, Request{WorkflowName: "w"}); rondo.CodeOf(err) != rondo.CodeUnavailable {
			t.Errorf("a trigger after the stop: %v", err)
		}
		h.open() // takes over at once: the runs were left
		run := h.finish(id, rondo.RunCompleted)
		h.whole(run)
		if took := run.CompletedAt.Sub(run.CreatedAt); took > 52*time.Second {
			t.Errorf("it took %s", took)
		}
		// One that does not end in time is given up.
		second := h.open()
		id = begin(t, second, "w", 2).ID
		time.Sleep(15 * time.Second)
		hurry, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := second.Stop(hurry); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("stopping in a hurry: %v", err)
		}
		h.whole(h.finish(id, rondo.RunCompleted))
		if h.craft.called("s1") != 3 {
			t.Errorf("s1 ran %d times", h.craft.called("s1"))
		}
	})
}
