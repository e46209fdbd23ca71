package runs

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/testenv"
	"github.com/rondo-engine/rondo/skill"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/memory"
)

// The simulation runs random workflows on two services that crash, lose the store
// and do not know what became of commits, with skills that fail and hang. Whatever
// happens every run ends, each of its steps is done once, after what it depends on,
// with the output that it must have. A seed that fails is run again by its name.
func TestSimulation(t *testing.T) {
	t.Parallel()
	seeds := uint64(60)
	if testenv.Race {
		seeds = 20
	}
	var sum coverage
	for seed := range seeds {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { simulate(t, seed, &sum) })
		})
	}
	if sum.crashes == 0 || sum.ambiguous == 0 || sum.away == 0 || sum.retried == 0 || sum.skipped == 0 || sum.inflight == 0 || sum.lost == 0 {
		t.Errorf("the simulation does not reach everything: %+v", sum)
	}
}

// coverage counts what the simulation reached.
type coverage struct{ crashes, ambiguous, away, retried, skipped, inflight, lost int }

// dice are safe for concurrent use.
type dice struct {
	mu     sync.Mutex
	random *rand.Rand
}

func (d *dice) chance(p float64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.random.Float64() < p
}

func (d *dice) below(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.random.IntN(n)
}

func simulate(t *testing.T, seed uint64, sum *coverage) {
	h := newHouse(t, memory.Open(memory.Options{}))
	roll := &dice{random: rand.New(rand.NewPCG(seed, 1))}
	workflows := 1 + roll.below(3)
	for w := range workflows {
		h.define(fmt.Sprintf("w%d", w), randomDAG(h, roll, 1+roll.below(12))...)
	}
	calm := time.Now().Add(4 * time.Minute) // faults end then
	var mu sync.Mutex
	open := func() *Service {
		gate := &door{Runs: h.runs}
		gate.meddle(func(_ int64, commit func() ([]store.RunResult, error)) ([]store.RunResult, error) {
			if time.Now().After(calm) {
				return commit()
			}
			switch {
			case roll.chance(0.05):
				mu.Lock()
				sum.away++
				mu.Unlock()
				return nil, errAway
			case roll.chance(0.05):
				mu.Lock()
				sum.ambiguous++
				mu.Unlock()
				if roll.chance(0.5) {
					if _, err := commit(); err != nil {
						return nil, err
					}
				}
				return nil, fmt.Errorf("who knows: %w", store.ErrAmbiguous)
			}
			return commit()
		})
		return h.open(through(gate), func(c *Config) { c.Slots, c.Shards = 1+roll.below(6), 1+roll.below(2) })
	}
	services := []*Service{open(), open()}
	var ids []rondo.ID
	for range 20 {
		by := services[roll.below(2)]
		request := Request{WorkflowName: fmt.Sprintf("w%d", roll.below(workflows)), TriggerPayload: payload(roll.below(4)), ID: by.cfg.IDs.New()}
		for {
			if _, err := by.Trigger(t.Context(), bob, request); err == nil {
				break
			}
			time.Sleep(time.Second)
			by = services[roll.below(2)]
		}
		ids = append(ids, request.ID)
		time.Sleep(time.Duration(roll.below(3000)) * time.Millisecond)
		if roll.chance(0.15) {
			k := roll.below(2)
			kill(services[k])
			services[k] = open()
			sum.crashes++
		}
	}
	for _, id := range ids {
		run := h.finish(id, rondo.RunCompleted)
		h.whole(run)
		rows, err := h.runs.RunSteps(t.Context(), id, 0, false)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			switch {
			case row.Reason.Code == rondo.ReasonInflight:
				sum.inflight++
			case row.Status == rondo.RunStepSkipped:
				sum.skipped++
			case row.Status == rondo.RunStepFailed && !row.RetryAt.IsZero():
				sum.retried++
			case row.Status == rondo.RunStepCancelled && row.Error != nil:
				sum.lost++
			case row.Status == rondo.RunStepRunning || row.Status == rondo.RunStepPending:
				t.Errorf("run %s has ended and attempt %d of %s is %s", id, row.Attempt, row.StepID, row.Status)
			}
		}
	}
}

// randomDAG makes a workflow whose skills fail, hang and take their time.
func randomDAG(h *house, roll *dice, size int) []node {
	nodes := make([]node, size)
	for i := range nodes {
		nodes[i] = node{id: fmt.Sprintf("s%d", i), more: map[string]any{
			"retry": map[string]any{"max_attempts": 10, "backoff": "100ms"}, "timeout": "5s",
		}}
		for j := range i {
			if roll.chance(0.3) {
				nodes[i].needs = append(nodes[i].needs, nodes[j].id)
			}
		}
		if roll.chance(0.2) {
			nodes[i].more["cache"] = map[string]any{"enabled": false}
		}
		h.craft.let(nodes[i].id, func(ctx context.Context, call skill.Call) (skill.Result, error) {
			select {
			case <-time.After(time.Duration(roll.below(2000)) * time.Millisecond):
			case <-ctx.Done():
				return skill.Result{}, ctx.Err()
			}
			switch {
			case roll.chance(0.15):
				return skill.Result{}, errors.New("injected")
			case roll.chance(0.02):
				panic("injected")
			case roll.chance(0.02):
				<-ctx.Done()
				return skill.Result{}, ctx.Err()
			}
			return made(call.StepID, call.Input), nil
		})
	}
	return nodes
}
