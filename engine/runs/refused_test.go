package runs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/testenv"
	"github.com/rondo-engine/rondo/skill"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/mysql"
	"github.com/rondo-engine/rondo/store/postgres"
	"github.com/rondo-engine/rondo/store/sqlite"
)

// picky is a store that refuses a whole commit because of what is in one write.
type picky struct {
	store.Runs
	refused atomic.Int64
}

func (p *picky) CommitRuns(ctx context.Context, c store.RunCommit) ([]store.RunResult, error) {
	for i := range c.Writes {
		w := &c.Writes[i]
		bad := bytes.Contains(w.Run.TriggerPayload, []byte("endless"))
		for k := range w.Steps {
			bad = bad || bytes.Contains(w.Steps[k].Data, []byte("huge"))
		}
		if bad {
			p.refused.Add(1)
			return nil, &rondo.Error{Code: rondo.CodeTooLarge, Message: "the data is larger than the database accepts"}
		}
	}
	return p.Runs.CommitRuns(ctx, c)
}

func TestOneRunThatCannotBeStoredFailsAloneAndOnce(t *testing.T) {
	t.Parallel()
	inHouses(t, func(t *testing.T, h *house) {
		h.define("w", node{id: "a"}, node{id: "slow"}, node{id: "b", needs: []string{"a"}})
		h.craft.let("a", func(_ context.Context, call skill.Call) (skill.Result, error) {
			time.Sleep(time.Second) // so that all end at once and share a commit
			if string(call.Input) == `{"n":"bad"}` {
				return skill.Result{OK: true, Data: json.RawMessage(`"huge"`)}, nil
			}
			return made("a", call.Input), nil
		})
		h.craft.let("slow", func(ctx context.Context, call skill.Call) (skill.Result, error) {
			select {
			case <-time.After(time.Minute):
			case <-ctx.Done():
			}
			return made("slow", call.Input), ctx.Err()
		})
		runs := &picky{Runs: h.runs}
		s := h.open(slowly, func(c *Config) { c.Store, c.Slots = runs, 20 })
		bad := begin(t, s, "w", "bad")
		waiter := begin(t, s, "w", "bad") // of the same key
		good := []*rondo.Run{begin(t, s, "w", 1), begin(t, s, "w", 2), begin(t, s, "w", 3)}
		for _, id := range []rondo.ID{bad.ID, waiter.ID} {
			run := h.finish(id, rondo.RunFailed)
			if run.Error == nil || run.Error.Code != "TOO_LARGE" || run.Error.FailedStepID != "a" || !strings.Contains(run.Error.Message, "cannot be stored") {
				t.Errorf("the run says %+v", run.Error)
			}
			steps := h.steps(id)
			if steps["a"].Status != rondo.RunStepFailed || steps["a"].Error == nil || len(steps["a"].Data) > 0 {
				t.Errorf("its step is %s: %+v", steps["a"].Status, steps["a"].Error)
			}
			if got := steps["slow"].Status; got != rondo.RunStepCancelled {
				t.Errorf("the step beside it is %q", got)
			}
		}
		for _, run := range good {
			h.whole(h.finish(run.ID, rondo.RunCompleted))
		}
		if n := runs.refused.Load(); n > 20 {
			t.Errorf("what cannot be stored was tried %d times", n)
		}
		// Nothing of it is left in the air: the steps can be computed again.
		h.craft.let("a", nil)
		h.whole(h.finish(begin(t, s, "w", "bad").ID, rondo.RunCompleted))

		_, err := s.Trigger(t.Context(), bob, Request{WorkflowName: "w", TriggerPayload: payload("endless")})
		if rondo.CodeOf(err) != rondo.CodeTooLarge {
			t.Errorf("a payload that cannot be stored: %v", err)
		}
	})
}

// databases refuse things for reasons of their own.
var databases = map[string]func(*testing.T) store.Store{
	"sqlite": func(t *testing.T) store.Store {
		s, err := sqlite.Open(filepath.Join(t.TempDir(), "runs.db"), sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	},
	"postgres": func(t *testing.T) store.Store {
		s, err := postgres.Open(testenv.Postgres(t), postgres.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	},
	"mysql": func(t *testing.T) store.Store {
		s, err := mysql.Open(testenv.MySQL(t), mysql.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	},
}

func TestWhateverSkillsSayIsStoredOrFailsItsRun(t *testing.T) {
	t.Parallel()
	nul := `"a\u0000b ` + "\u2028" + ` 😀"`
	deeds := map[string]struct {
		do   skill.Result
		may  bool // it may be refused
		more map[string]any
	}{
		"nul":        {do: skill.Result{OK: true, Data: json.RawMessage(nul)}},
		"large":      {do: skill.Result{OK: true, Data: json.RawMessage(`"` + strings.Repeat("x", 1<<20-2) + `"`)}},
		"very large": {may: true, do: skill.Result{OK: true, Data: json.RawMessage(`"` + strings.Repeat("x", 17<<20) + `"`)}},
		"artifact": {do: skill.Result{OK: true, Artifacts: []skill.Artifact{
			{Type: "text/plain", Name: "a\u0000b", Bytes: []byte{0, 1}, Metadata: json.RawMessage(`{"n":` + nul + `}`)},
		}}},
		"error": {may: true, do: skill.Result{Error: "no\u0000 \xff way", ErrorCode: "NUL\u0000"}, more: retry(1)},
	}
	for name, open := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t)
			t.Cleanup(func() { _ = db.Close() })
			if err := db.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			h := newHouse(t, db.(store.Runs))
			s := h.open(func(c *Config) { c.Limits.Output = 32 << 20 })
			ids := map[string]rondo.ID{}
			for name, deed := range deeds {
				id := strings.ReplaceAll(name, " ", "_")
				h.define(id, node{id: id, more: deed.more}, node{id: "next", needs: []string{id}})
				h.craft.let(id, func(context.Context, skill.Call) (skill.Result, error) { return deed.do, nil })
				ids[name] = begin(t, s, id, "trigger "+nul+" \u0000").ID
			}
			for name, deed := range deeds {
				run := h.ended(ids[name])
				switch row := h.steps(run.ID)[strings.ReplaceAll(name, " ", "_")]; {
				case run.Status == rondo.RunCompleted:
					if row.Status != rondo.RunStepCompleted || !bytes.Equal(row.Data, deed.do.Data) {
						t.Errorf("%s: the step is %s with %d bytes of %d", name, row.Status, len(row.Data), len(deed.do.Data))
					}
				case !deed.may:
					t.Errorf("%s: the run failed: %+v", name, run.Error)
				case row.Status != rondo.RunStepFailed || row.Error == nil || run.Error == nil || run.Error.FailedStepID != row.StepID:
					t.Errorf("%s: the run says %+v, its step is %s: %+v", name, run.Error, row.Status, row.Error)
				}
			}
		})
	}
}

// ended waits for the end of a run, in real time.
func (h *house) ended(id rondo.ID) *rondo.Run {
	h.t.Helper()
	until := time.Now().Add(time.Minute)
	for time.Now().Before(until) {
		run, err := h.runs.Run(h.t.Context(), bob.Tenant, id)
		if err != nil {
			h.t.Fatal(err)
		}
		if run.Status.Ended() {
			return run
		}
		time.Sleep(5 * time.Millisecond)
	}
	h.t.Fatalf("run %s does not end", id)
	return nil
}

func TestWaitersDoNotTryWhatTheHolderTriesAgain(t *testing.T) {
	t.Parallel()
	for name, services := range map[string]int{"one service": 1, "two services": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inHouses(t, func(t *testing.T, h *house) {
				h.define("w", node{id: "a", more: map[string]any{"retry": map[string]any{"max_attempts": 3, "backoff": "3s"}}})
				var order []string
				var at []time.Time
				lock := make(chan struct{}, 1)
				h.craft.let("a", func(_ context.Context, call skill.Call) (skill.Result, error) {
					lock <- struct{}{}
					defer func() { <-lock }()
					order, at = append(order, call.RunID.String()), append(at, time.Now())
					return skill.Result{}, errors.New("it fails")
				})
				var open []*Service
				for range services {
					open = append(open, h.open())
				}
				const equal = 4
				var ids []rondo.ID
				for i := range equal {
					ids = append(ids, begin(t, open[i%services], "w", 1).ID)
				}
				for _, id := range ids {
					h.finish(id, rondo.RunFailed)
				}
				if len(order) != 3*equal {
					t.Fatalf("%d attempts of %d runs with 3 each", len(order), equal)
				}
				for i := range order {
					if order[i] != order[i/3*3] {
						t.Fatalf("attempt %d is of another run than the two beside it: a waiter did not wait for the holder's retries", i)
					}
					if want := []time.Duration{0, 3 * time.Second, 6 * time.Second}[i%3]; i%3 > 0 && at[i].Sub(at[i-1]) < want {
						t.Errorf("attempt %d came %s after the one before, not %s", i, at[i].Sub(at[i-1]), want)
					}
				}
			})
		})
	}
}

func TestAStepThatWaitsForItsNextAttemptGivesItsFlightBackWhenItsRunEnds(t *testing.T) {
	t.Parallel()
	inHouses(t, func(t *testing.T, h *house) {
		h.define("w", node{id: "a", more: map[string]any{"retry": map[string]any{"max_attempts": 3, "backoff": "20s"}}})
		h.craft.let("a", func(context.Context, skill.Call) (skill.Result, error) {
			return skill.Result{}, errors.New("it fails")
		})
		s := h.open()
		held := begin(t, s, "w", 1)
		waiter := begin(t, s, "w", 1)
		time.Sleep(10 * time.Second)
		if n := h.craft.called("a"); n != 1 {
			t.Fatalf("%d attempts while the first waits for its second", n)
		}
		h.craft.let("a", nil)
		if _, err := s.Cancel(t.Context(), bob, held.ID); err != nil {
			t.Fatal(err)
		}
		before := time.Now()
		h.finish(held.ID, rondo.RunCancelled)
		h.whole(h.finish(waiter.ID, rondo.RunCompleted))
		if took := time.Since(before); took > 5*time.Second {
			t.Errorf("the waiter went on %s after the holder was cancelled", took)
		}
	})
}
