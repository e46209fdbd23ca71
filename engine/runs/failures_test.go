package runs

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/skill"
)

func retry(attempts int, more ...map[string]any) map[string]any {
	members := map[string]any{"retry": map[string]any{"max_attempts": attempts, "backoff": "1s"}}
	for _, m := range more {
		maps.Copy(members, m)
	}
	return members
}

func TestWhatSkillsDoWrong(t *testing.T) {
	t.Parallel()
	no := false
	tests := []struct {
		name     string
		do       deed
		more     map[string]any
		attempts int
		code     rondo.Code
		message  string
	}{
		{"fails", func(context.Context, skill.Call) (skill.Result, error) {
			return skill.Result{}, errors.New("exit status 1")
		}, retry(3), 3, rondo.CodeMaxRetries, "exit status 1"},
		{"fails with one attempt", func(context.Context, skill.Call) (skill.Result, error) {
			return skill.Result{}, errors.New("exit status 1")
		}, retry(1), 1, rondo.CodeSkillError, "exit status 1"},
		{"says that it failed", func(context.Context, skill.Call) (skill.Result, error) {
			return skill.Result{Error: "no quota", ErrorCode: "QUOTA", Retryable: &no}, nil
		}, retry(5), 1, "QUOTA", "no quota"},
		{"does not say why", func(context.Context, skill.Call) (skill.Result, error) { return skill.Result{Retryable: &no}, nil }, retry(5), 1, rondo.CodeSkillError, "did not say why"},
		{"panics", func(context.Context, skill.Call) (skill.Result, error) { panic("secret") }, retry(2), 2, rondo.CodeMaxRetries, "panicked"},
		{"hangs", func(ctx context.Context, _ skill.Call) (skill.Result, error) {
			<-ctx.Done()
			return skill.Result{}, ctx.Err()
		}, retry(2, map[string]any{"timeout": "10s"}), 2, rondo.CodeMaxRetries, string(rondo.CodeSkillTimeout)},
		{"hangs with one attempt", func(ctx context.Context, _ skill.Call) (skill.Result, error) {
			<-ctx.Done()
			return skill.Result{}, ctx.Err()
		}, retry(1, map[string]any{"timeout": "10s"}), 1, rondo.CodeSkillTimeout, "did not answer"},
		{"gives garbage", func(context.Context, skill.Call) (skill.Result, error) {
			return skill.Result{OK: true, Data: json.RawMessage("{oops")}, nil
		}, retry(5), 1, rondo.CodeSkillError, "not JSON"},
		{"gives garbage as a model", func(context.Context, skill.Call) (skill.Result, error) {
			return skill.Result{OK: true, Data: json.RawMessage("{oops")}, nil
		}, retry(2, map[string]any{"class": "llm"}), 2, rondo.CodeMaxRetries, "not JSON"},
		{"gives too much", func(context.Context, skill.Call) (skill.Result, error) {
			return skill.Result{OK: true, Data: json.RawMessage(`"` + strings.Repeat("x", 2<<20) + `"`)}, nil
		}, retry(5), 1, rondo.CodeSkillError, "make it an artifact"},
		{"breaks its schema", func(context.Context, skill.Call) (skill.Result, error) {
			return skill.Result{OK: true, Data: json.RawMessage(`{"a":"x"}`)}, nil
		}, retry(5, map[string]any{"output_schema": map[string]any{"properties": map[string]any{"a": map[string]any{"type": "number"}}}}), 1, rondo.CodeSkillError, "output_schema"},
		{"makes a file of bad metadata", func(context.Context, skill.Call) (skill.Result, error) {
			return skill.Result{OK: true, Artifacts: []skill.Artifact{{Bytes: []byte("x"), Metadata: json.RawMessage("{")}}}, nil
		}, retry(5), 1, rondo.CodeSkillError, "metadata"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inHouses(t, func(t *testing.T, h *house) {
				h.define("w", node{id: "bad", more: test.more}, node{id: "after", needs: []string{"bad"}}, node{id: "beside"})
				h.craft.let("bad", test.do)
				s := h.open()
				run := h.finish(begin(t, s, "w", 1).ID, rondo.RunFailed)
				steps := h.steps(run.ID)
				bad := steps["bad"]
				if bad.Status != rondo.RunStepFailed || bad.Attempt != test.attempts || bad.Error == nil ||
					bad.Error.Code != string(test.code) || !strings.Contains(bad.Error.Message, test.message) {
					t.Errorf("the step is %s in attempt %d: %+v", bad.Status, bad.Attempt, bad.Error)
				}
				if run.Error == nil || run.Error.FailedStepID != "bad" || run.Error.Code != string(test.code) {
					t.Errorf("the run says %+v", run.Error)
				}
				if _, attempted := steps["after"]; attempted || h.craft.called("after") > 0 {
					t.Error("what depends on it was attempted")
				}
				if steps["beside"].Status != rondo.RunStepCompleted {
					t.Errorf("the branch beside it is %s", steps["beside"].Status)
				}
			})
		})
	}
}

func TestASkillThatIgnoresItsEndIsLeftAlone(t *testing.T) {
	t.Parallel()
	inMemory(t, func(t *testing.T, h *house) {
		h.define("w", node{id: "deaf", more: retry(1, map[string]any{"timeout": "10s"})}, node{id: "next", more: map[string]any{"timeout": "10s"}})
		let := make(chan struct{})
		h.craft.let("deaf", func(context.Context, skill.Call) (skill.Result, error) {
			<-let
			return made("deaf", nil), nil
		})
		s := h.open(func(c *Config) { c.Slots = 1 })
		run := h.finish(begin(t, s, "w", 1).ID, rondo.RunFailed)
		if steps := h.steps(run.ID); steps["deaf"].Error.Code != string(rondo.CodeSkillTimeout) || steps["next"].Status != rondo.RunStepCompleted {
			t.Errorf("steps: %+v", steps)
		}
		close(let)
	})
}

func TestDelaysBetweenAttempts(t *testing.T) {
	t.Parallel()
	inHouses(t, func(t *testing.T, h *house) {
		h.define("w", node{id: "a", more: map[string]any{"retry": map[string]any{"max_attempts": 4, "backoff": "3s"}}})
		var at []time.Time
		h.craft.let("a", func(context.Context, skill.Call) (skill.Result, error) {
			at = append(at, time.Now())
			if len(at) < 4 {
				return skill.Result{}, errors.New("not yet")
			}
			return made("a", nil), nil
		})
		s := h.open()
		run := h.finish(begin(t, s, "w", 1).ID, rondo.RunCompleted)
		for i, want := range []time.Duration{3 * time.Second, 6 * time.Second, 12 * time.Second} {
			if got := at[i+1].Sub(at[i]); got != want {
				t.Errorf("attempt %d came %s after the one before, not %s", i+2, got, want)
			}
		}
		rows, err := h.runs.RunSteps(t.Context(), run.ID, 0, false)
		if err != nil || len(rows) != 4 {
			t.Errorf("%d rows, %v: one per attempt", len(rows), err)
		}
	})
}

func TestThirtyPercentFaults(t *testing.T) {
	t.Parallel()
	inHouses(t, func(t *testing.T, h *house) {
		count := 100
		if h.durable {
			count = 20
		}
		var mu sync.Mutex
		random := rand.New(rand.NewPCG(7, 7))
		nodes := []node{{id: "a"}, {id: "b", needs: []string{"a"}}, {id: "c", needs: []string{"a"}}, {id: "d", needs: []string{"b", "c"}}}
		h.define("w", nodes...)
		for _, n := range nodes {
			h.craft.let(n.id, func(_ context.Context, call skill.Call) (skill.Result, error) {
				mu.Lock()
				defer mu.Unlock()
				if random.Float64() < 0.3 {
					return skill.Result{}, errors.New("injected")
				}
				return made(call.StepID, call.Input), nil
			})
		}
		s := h.open()
		var ids []rondo.ID
		for i := range count {
			ids = append(ids, begin(t, s, "w", i).ID)
		}
		failed, first := 0, 0
		for _, id := range ids {
			var run *rondo.Run
			for run == nil || !run.Status.Ended() {
				time.Sleep(time.Second)
				var err error
				if run, err = h.runs.Run(t.Context(), bob.Tenant, id); err != nil {
					t.Fatal(err)
				}
			}
			for _, row := range h.steps(id) {
				if row.Attempt > 1 {
					first++
					if row.Status == rondo.RunStepFailed {
						failed++
					}
				}
			}
		}
		if first < count/2 || float64(failed) > 0.05*float64(first) {
			t.Errorf("of %d steps that failed at first %d failed for good", first, failed)
		}
	})
}

func TestFailFastCancelsWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	inHouses(t, func(t *testing.T, h *house) {
		h.define("w", node{id: "bad", more: retry(1)}, node{id: "slow"}, node{id: "after", needs: []string{"slow"}}, node{id: "queued"})
		ended := make(chan error, 1)
		h.craft.let("bad", func(context.Context, skill.Call) (skill.Result, error) {
			time.Sleep(time.Second)
			return skill.Result{}, errors.New("no")
		})
		h.craft.let("slow", func(ctx context.Context, _ skill.Call) (skill.Result, error) {
			<-ctx.Done()
			ended <- ctx.Err()
			return skill.Result{}, ctx.Err()
		})
		s := h.open(func(c *Config) { c.Slots = 2 })
		run := h.finish(begin(t, s, "w", 1, func(r *Request) { r.Options.FailurePolicy = rondo.FailureFast }).ID, rondo.RunFailed)
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the skill under way ended by %v", err)
		}
		steps := h.steps(run.ID)
		for _, id := range []string{"slow", "after", "queued"} {
			if steps[id].Status != rondo.RunStepCancelled {
				t.Errorf("%s is %s", id, steps[id].Status)
			}
		}
		if run.Error.FailedStepID != "bad" || h.craft.called("queued") != 0 {
			t.Errorf("error %+v, queued ran %d times", run.Error, h.craft.called("queued"))
		}
		// What was cancelled left nothing behind: another run computes it.
		h.craft.let("bad", nil)
		h.craft.let("slow", nil)
		h.whole(h.finish(begin(t, s, "w", 1).ID, rondo.RunCompleted))
	})
}

func TestCancelEndsSkillsUnderWay(t *testing.T) {
	t.Parallel()
	inHouses(t, func(t *testing.T, h *house) {
		h.define("w", node{id: "a"}, node{id: "slow", needs: []string{"a"}}, node{id: "after", needs: []string{"slow"}})
		ended := make(chan struct{}, 1)
		h.craft.let("slow", func(ctx context.Context, _ skill.Call) (skill.Result, error) {
			<-ctx.Done()
			ended <- struct{}{}
			return made("slow", nil), nil // too late
		})
		s, other := h.open(), h.open()
		for _, by := range []*Service{s, other} { // its owner, and another process
			id := begin(t, s, "w", time.Now().String()).ID
			time.Sleep(time.Second)
			if _, err := by.Cancel(t.Context(), bob, id); err != nil {
				t.Fatal(err)
			}
			h.finish(id, rondo.RunCancelled)
			<-ended
			steps := h.steps(id)
			if steps["a"].Status != rondo.RunStepCompleted || steps["slow"].Status != rondo.RunStepCancelled || steps["after"].Status != rondo.RunStepCancelled {
				t.Errorf("a is %s, slow %s, after %s", steps["a"].Status, steps["slow"].Status, steps["after"].Status)
			}
			if _, err := by.Cancel(t.Context(), bob, id); rondo.CodeOf(err) != rondo.CodeWrongState {
				t.Errorf("cancelling again: %v", err)
			}
			if _, err := by.Retry(t.Context(), bob, id); rondo.CodeOf(err) != rondo.CodeWrongState {
				t.Errorf("retrying a cancelled run: %v", err)
			}
			if _, err := by.Cancel(t.Context(), rondo.Principal{Tenant: "eve"}, id); rondo.CodeOf(err) != rondo.CodeNotFound {
				t.Errorf("cancelling another tenant's: %v", err)
			}
		}
	})
}

func TestRetryGoesOnFromWhatFailed(t *testing.T) {
	t.Parallel()
	inHouses(t, func(t *testing.T, h *house) {
		h.define("w", node{id: "a"}, node{id: "bad", needs: []string{"a"}, more: retry(2)}, node{id: "after", needs: []string{"bad"}})
		h.craft.let("bad", func(context.Context, skill.Call) (skill.Result, error) { return skill.Result{}, errors.New("no") })
		s, other := h.open(), h.open()
		id := begin(t, s, "w", 1).ID
		h.finish(id, rondo.RunFailed)
		if _, err := other.Retry(t.Context(), bob, id); err != nil { // fails again, with a budget of its own
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		h.finish(id, rondo.RunFailed)
		if row := h.steps(id)["bad"]; row.Attempt != 4 {
			t.Errorf("after a retry of two attempts the last is number %d", row.Attempt)
		}
		h.craft.let("bad", nil)
		again, err := s.Retry(t.Context(), bob, id)
		if err != nil || again.Status != rondo.RunRunning || again.Error != nil {
			t.Fatalf("retry: %+v, %v", again, err)
		}
		run := h.finish(id, rondo.RunCompleted)
		h.whole(run)
		if h.craft.called("a") != 1 || run.Error != nil || h.steps(id)["bad"].Attempt != 5 {
			t.Errorf("a ran %d times, error %+v, bad in attempt %d", h.craft.called("a"), run.Error, h.steps(id)["bad"].Attempt)
		}
	})
}
