package runs

import (
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/store"
)

// unresolvable is an input that cannot be made: the merge of what is no object.
func unresolvable() map[string]any {
	return map[string]any{"input": map[string]any{"y": map[string]any{"merge": []any{map[string]any{"const": 5}, map[string]any{"trigger": "n"}}}}}
}

func failFast(r *Request) { r.Options.FailurePolicy = rondo.FailureFast }

// Steps that were gathered to be looked up when another of the same round fails the
// run hold nothing: an equal step of the next run is computed.
func TestAFailureFoundWhileSettlingLeavesNoFlight(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		bad  node
		mode rondo.CacheMode
		code rondo.Code
	}{
		{"selector", node{id: "b", more: unresolvable()}, "", rondo.CodeInputSelector},
		{"only", node{id: "b"}, rondo.CacheOnly, rondo.CodeCacheOnlyMiss},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inHouses(t, func(t *testing.T, h *house) {
				h.define("w", node{id: "a"}, test.bad, node{id: "c", needs: []string{"a"}}, node{id: "z"})
				s := h.open()
				fast := begin(t, s, "w", 1, failFast, func(r *Request) {
					if test.mode != "" {
						r.Options.StepModes = map[string]rondo.CacheMode{"b": test.mode}
					}
				})
				run := h.finish(fast.ID, rondo.RunFailed)
				if run.Error == nil || run.Error.Code != string(test.code) || run.Error.FailedStepID != "b" {
					t.Errorf("the run says %+v", run.Error)
				}
				time.Sleep(time.Minute)
				for _, id := range []string{"a", "c", "z"} {
					if row := h.steps(run.ID)[id]; row.Status != rondo.RunStepCancelled || row.Attempt != 0 {
						t.Errorf("%s is %s in attempt %d", id, row.Status, row.Attempt)
					}
				}
				h.define("after", node{id: "x"}, node{id: "y"})
				h.finish(begin(t, s, "after", 1).ID, rondo.RunCompleted) // every slot was given back
				again := h.finish(begin(t, s, "w", 1, func(r *Request) { r.Options.StepModes = nil }).ID, map[bool]rondo.RunStatus{true: rondo.RunCompleted, false: rondo.RunFailed}[test.mode != ""])
				for _, id := range []string{"a", "c", "z"} {
					if row := h.steps(again.ID)[id]; row.Status != rondo.RunStepCompleted {
						t.Errorf("in the next run %s is %s", id, row.Status)
					}
				}
			})
		})
	}
}

// The request to a remote worker that was about to be sent is not, and the step is
// free for the next run.
func TestAFailureFoundWhileSettlingAsksNoWorker(t *testing.T) {
	t.Parallel()
	for _, order := range [][]string{{"a", "b"}, {"b", "a"}} {
		inHouses(t, func(t *testing.T, h *house) {
			nodes := map[string]node{"a": {id: "a", more: far(1)}, "b": {id: "b"}}
			h.define("w", nodes[order[0]], nodes[order[1]])
			bus := newSent(h)
			s := h.open(func(c *Config) { c.Store = bus })
			fast := begin(t, s, "w", 1, failFast, func(r *Request) {
				r.Options.StepModes = map[string]rondo.CacheMode{"b": rondo.CacheOnly, "a": rondo.CacheRefresh}
			})
			h.finish(fast.ID, rondo.RunFailed)
			time.Sleep(2 * time.Minute)
			if row := h.steps(fast.ID)["a"]; row.Status != rondo.RunStepCancelled || row.Attempt != 0 {
				t.Errorf("the remote step is %s in attempt %d", row.Status, row.Attempt)
			}
			if asked := bus.of(t, event.TypeRunStepRequested); len(asked) != 0 {
				t.Fatalf("a worker was asked %d times", len(asked))
			}
			next := begin(t, s, "w", 1)
			asked := bus.of(t, event.TypeRunStepRequested)
			if len(asked) != 1 {
				t.Fatalf("for the next run a worker was asked %d times", len(asked))
			}
			if err := s.Deliver(t.Context(), answer(asked[0], event.TypeRunStepCompleted, `{"data":1}`)); err != nil {
				t.Fatal(err)
			}
			h.finish(next.ID, rondo.RunCompleted)
		})
	}
}

// A run that is taken over and cancelled in the same turn ends, and the attempt that
// a worker was asked for is the one that is cancelled.
func TestATakenOverRemoteRunIsCancelledAtOnce(t *testing.T) {
	t.Parallel()
	inHouses(t, func(t *testing.T, h *house) {
		more := far(1)
		more["timeout"] = "1h"
		h.define("w", node{id: "far", more: more})
		first := h.open()
		id := begin(t, first, "w", 1).ID
		kill(first)
		signal := store.RunSignal{ID: rondo.NewIDs(time.Now).New(), RunID: id, Kind: store.SignalCancel, At: time.Now()}
		if err := h.runs.PutSignals(t.Context(), []store.RunSignal{signal}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // the first has lapsed
		bus := newSent(h)
		second := h.open(func(c *Config) { c.Store = bus })
		h.finish(id, rondo.RunCancelled)
		rows, err := h.runs.RunSteps(t.Context(), id, 0, false)
		if err != nil || len(rows) != 1 || rows[0].Status != rondo.RunStepCancelled || rows[0].Attempt != 1 {
			t.Errorf("rows %+v, %v", rows, err)
		}
		next := begin(t, second, "w", 1)
		asked := bus.of(t, event.TypeRunStepRequested)
		if len(asked) != 1 {
			t.Fatalf("for the next run a worker was asked %d times", len(asked))
		}
		if err := second.Deliver(t.Context(), answer(asked[0], event.TypeRunStepCompleted, `{"data":1}`)); err != nil {
			t.Fatal(err)
		}
		h.finish(next.ID, rondo.RunCompleted)
	})
}
