package runs

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/blob"
	"github.com/rondo-engine/rondo/blob/file"
	"github.com/rondo-engine/rondo/internal/plan"
	"github.com/rondo-engine/rondo/skill"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/memory"
	"github.com/rondo-engine/rondo/store/sqlite"
)

// house is a store with any number of services on it, in fake time.
type house struct {
	t       testing.TB
	runs    store.Runs
	blobs   blob.Store
	shelf   *shelf
	craft   *craft
	durable bool // commits cost real time
}

// inHouses runs a test on every store.
func inHouses(t *testing.T, test func(*testing.T, *house)) {
	t.Helper()
	for _, name := range []string{"memory", "sqlite"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var db store.Store = memory.Open(memory.Options{})
				if name == "sqlite" {
					opened, err := sqlite.Open(filepath.Join(t.TempDir(), "runs.db"), sqlite.Options{})
					if err != nil {
						t.Fatal(err)
					}
					if err := opened.Migrate(t.Context()); err != nil {
						t.Fatal(err)
					}
					db = opened
				}
				t.Cleanup(func() { _ = db.Close() })
				h := newHouse(t, db.(store.Runs))
				h.durable = name == "sqlite"
				test(t, h)
			})
		})
	}
}

// inMemory runs a test on the memory store alone.
func inMemory(t *testing.T, test func(*testing.T, *house)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newHouse(t, memory.Open(memory.Options{}))) })
}

func newHouse(t *testing.T, runs store.Runs) *house {
	t.Helper()
	blobs, err := file.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &house{t: t, runs: runs, blobs: blobs, shelf: &shelf{byName: map[string]*plan.Workflow{}, byHash: map[string]*plan.Workflow{}}, craft: newCraft()}
}

// open starts a service; it is stopped when the test ends, unless it was killed.
func (h *house) open(change ...func(*Config)) *Service {
	h.t.Helper()
	cfg := Config{
		Store: h.runs, Definitions: h.shelf, Skills: h.craft, Blobs: h.blobs,
		Log: slog.New(slog.DiscardHandler), SweepEvery: 1000 * time.Hour,
	}
	for _, c := range change {
		c(&cfg)
	}
	s, err := New(cfg)
	if err != nil {
		h.t.Fatal(err)
	}
	if err := s.Start(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { kill(s) })
	return s
}

// kill ends a service as the death of its process does: nothing is given back.
func kill(s *Service) {
	s.stopping.Store(true)
	s.halt()
}

// shelf is Definitions of compiled workflows.
type shelf struct {
	mu             sync.Mutex
	byName, byHash map[string]*plan.Workflow
}

func (l *shelf) Named(_ context.Context, _, name, _ string) (*plan.Workflow, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w := l.byName[name]; w != nil {
		return w, nil
	}
	return nil, &rondo.Error{Code: rondo.CodeWorkflowNotFound, Message: "no workflow " + name}
}

func (l *shelf) Frozen(_ context.Context, _, hash string) (*plan.Workflow, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w := l.byHash[hash]; w != nil {
		return w, nil
	}
	return nil, &rondo.Error{Code: rondo.CodeWorkflowNotFound, Message: "no workflow of that hash"}
}

func (l *shelf) List(context.Context, string) ([]*plan.Workflow, error) { return nil, nil }

// node is a step of a workflow of these tests.
type node struct {
	id    string
	needs []string
	more  map[string]any // other members of the step
}

// define registers a workflow whose steps read everything they depend on, and the
// member n of the payload.
func (h *house) define(name string, nodes ...node) *plan.Workflow {
	h.t.Helper()
	steps := make([]map[string]any, len(nodes))
	for i, n := range nodes {
		input := map[string]any{"n": map[string]any{"trigger": "n"}}
		for _, need := range n.needs {
			input["of_"+need] = map[string]any{"step": need, "path": "data"}
		}
		steps[i] = map[string]any{"id": n.id, "skill": "work@1", "depends_on": n.needs, "input": input}
		if len(n.needs) == 0 {
			delete(steps[i], "depends_on")
		}
		maps.Copy(steps[i], n.more)
	}
	document, err := json.Marshal(map[string]any{
		"name": name, "version": "1.0.0", "steps": steps,
		"skills": map[string]any{"far@1": map[string]any{"type": "remote"}},
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return h.register(document)
}

func (h *house) register(document []byte) *plan.Workflow {
	h.t.Helper()
	w, err := plan.Compile(document, handmade{})
	if err != nil {
		h.t.Fatalf("compile: %v", err)
	}
	h.shelf.mu.Lock()
	defer h.shelf.mu.Unlock()
	h.shelf.byName[w.Name], h.shelf.byHash[w.Hash] = w, w
	return w
}

// handmade is an environment in which every skill is a Go function.
type handmade struct{}

func (handmade) Skill(string) (plan.SkillSpec, bool)           { return plan.SkillSpec{Type: "go"}, true }
func (handmade) Prompt(string, string) (json.RawMessage, bool) { return nil, false }
func (handmade) Config(string, string) (json.RawMessage, bool) { return nil, false }

// deed is what a test lets a step do.
type deed func(ctx context.Context, call skill.Call) (skill.Result, error)

// craft does the work of every step and counts.
type craft struct {
	mu           sync.Mutex
	takes        time.Duration
	deeds        map[string]deed // by step
	calls        map[string]int  // by step
	inputs       map[string]int  // by step and input
	atWork, most int
}

func newCraft() *craft {
	return &craft{deeds: map[string]deed{}, calls: map[string]int{}, inputs: map[string]int{}}
}

func (c *craft) Skill(string, plan.SkillSpec) (skill.Skill, error) { return skill.Func(c.do), nil }

func (c *craft) do(ctx context.Context, call skill.Call) (skill.Result, error) {
	c.mu.Lock()
	c.calls[call.StepID]++
	c.inputs[call.StepID+" "+string(call.Input)]++
	do, takes := c.deeds[call.StepID], c.takes
	c.atWork++
	c.most = max(c.most, c.atWork)
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.atWork--
	}()
	if takes > 0 {
		select {
		case <-time.After(takes):
		case <-ctx.Done():
			return skill.Result{}, ctx.Err()
		}
	}
	if do != nil {
		return do(ctx, call)
	}
	return made(call.StepID, call.Input), nil
}

// made is what a step gives of an input, for ever the same.
func made(step string, input []byte) skill.Result {
	sum := sha256.Sum256(input)
	return skill.Result{OK: true, Data: json.RawMessage(fmt.Sprintf(`{"step":%q,"of":"%x"}`, step, sum[:8]))}
}

func (c *craft) let(step string, do deed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deeds[step] = do
}

// slow makes every step take its time.
func (c *craft) slow(takes time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.takes = takes
}

// atOnce is how many steps were at work at once at most.
func (c *craft) atOnce() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.most
}

// onlyOnce checks that nothing was computed twice of the same input.
func (c *craft) onlyOnce(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for input, n := range c.inputs {
		if n != 1 {
			t.Errorf("computed %d times: %s", n, input)
		}
	}
}

func (c *craft) called(step string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[step]
}

// bob asks in these tests.
var bob = rondo.Principal{Tenant: "acme", User: "bob"}

func payload(n any) json.RawMessage {
	raw, _ := json.Marshal(map[string]any{"n": n})
	return raw
}

// begin triggers a run.
func begin(t *testing.T, s *Service, workflow string, n any, change ...func(*Request)) *rondo.Run {
	t.Helper()
	request := Request{WorkflowName: workflow, TriggerPayload: payload(n)}
	for _, c := range change {
		c(&request)
	}
	run, err := s.Trigger(t.Context(), bob, request)
	if err != nil {
		t.Fatalf("trigger %s: %v", workflow, err)
	}
	return run
}

// finish waits until a run has ended, whoever drives it.
func (h *house) finish(id rondo.ID, want rondo.RunStatus) *rondo.Run {
	return h.finishOf(bob.Tenant, id, want)
}

func (h *house) finishOf(tenant string, id rondo.ID, want rondo.RunStatus) *rondo.Run {
	h.t.Helper()
	for range 40_000 {
		run, err := h.runs.Run(h.t.Context(), tenant, id)
		if err != nil {
			h.t.Fatal(err)
		}
		if run.Status.Ended() {
			if run.Status != want {
				h.t.Fatalf("run %s is %s, not %s: %+v", id, run.Status, want, run.Error)
			}
			return run
		}
		time.Sleep(100 * time.Millisecond) // of the bubble
	}
	var left []string
	for step, row := range h.steps(id) {
		if !row.Status.Done() {
			left = append(left, fmt.Sprintf("%s is %s in attempt %d (%d)", step, row.Status, row.Attempt, row.Seq))
		}
	}
	h.t.Fatalf("run %s does not end: %v", id, left)
	return nil
}

// steps are the last attempts of a run by step, with data.
func (h *house) steps(id rondo.ID) map[string]rondo.RunStep {
	h.t.Helper()
	rows, err := h.runs.RunSteps(h.t.Context(), id, 0, true)
	if err != nil {
		h.t.Fatal(err)
	}
	return lastByStep(rows)
}

// whole checks a completed run against a pure evaluation: every step is done once,
// after what it depends on, with the output that it must have.
func (h *house) whole(run *rondo.Run) {
	h.t.Helper()
	w := h.shelf.byHash[run.DefinitionHash]
	rows, err := h.runs.RunSteps(h.t.Context(), run.ID, 0, true)
	if err != nil {
		h.t.Fatal(err)
	}
	done := map[string]int{}
	for i := range rows {
		if rows[i].Status.Done() {
			done[rows[i].StepID]++
		}
	}
	last := lastByStep(rows)
	outputs := make([]plan.Output, len(w.Steps))
	sources := plan.Sources{Trigger: run.TriggerPayload, Step: func(i int) (plan.Output, bool) { return outputs[i], true }}
	for _, i := range w.Order() {
		def := &w.Steps[i]
		row := last[def.ID]
		if done[def.ID] != 1 || !row.Status.Done() {
			h.t.Fatalf("step %s has %d rows that are done, the last is %s", def.ID, done[def.ID], row.Status)
		}
		for _, need := range def.Needs {
			if before := last[w.Steps[need].ID]; row.Attempt > 0 && row.StartedAt.Before(before.CompletedAt) {
				h.t.Fatalf("step %s began at %s, before %s ended at %s", def.ID, row.StartedAt, before.StepID, before.CompletedAt)
			}
		}
		input, err := w.Resolve(i, sources)
		if err != nil {
			h.t.Fatal(err)
		}
		outputs[i] = plan.Output{Data: made(def.ID, input).Data}
		if string(row.Data) != string(outputs[i].Data) {
			h.t.Fatalf("step %s gave %s, not %s", def.ID, row.Data, outputs[i].Data)
		}
	}
}

func fan(width int) []node {
	nodes := []node{{id: "root"}}
	join := node{id: "join"}
	for i := range width {
		id := fmt.Sprintf("leaf%d", i)
		nodes = append(nodes, node{id: id, needs: []string{"root"}})
		join.needs = append(join.needs, id)
	}
	return append(nodes, join)
}

func chain(length int) []node {
	nodes := []node{{id: "s0"}}
	for i := 1; i < length; i++ {
		nodes = append(nodes, node{id: fmt.Sprintf("s%d", i), needs: []string{fmt.Sprintf("s%d", i-1)}})
	}
	return nodes
}
