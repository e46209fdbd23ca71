package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/canon"
	"github.com/rondo-engine/rondo/internal/plan"
	"github.com/rondo-engine/rondo/skill"
)

// The workflows that are measured.
const (
	fanName    = "bench.fan"
	chainName  = "bench.chain"
	layersName = "bench.layers"
)

const noopSkill = "bench.noop@1"

// benchStep is one no-op step that reads the run's own number and what it depends on.
func benchStep(id string, needs ...string) map[string]any {
	input := map[string]any{"n": map[string]any{"trigger": "n"}}
	for i, need := range needs[:min(len(needs), 2)] { // reading two is enough to hang on all
		input[fmt.Sprintf("in_%d", i)] = map[string]any{"step": need, "path": "data"}
	}
	step := map[string]any{"id": id, "skill": noopSkill, "input": input}
	if len(needs) > 0 {
		step["depends_on"] = needs
	}
	return step
}

// fanOf is a root, n steps side by side, and a join.
func fanOf(n int) []map[string]any {
	steps := []map[string]any{benchStep("root")}
	var all []string
	for i := range n {
		id := fmt.Sprintf("leaf_%d", i)
		all = append(all, id)
		steps = append(steps, benchStep(id, "root"))
	}
	return append(steps, benchStep("join", all...))
}

// chainOf is n steps in a row.
func chainOf(n int) []map[string]any {
	steps := []map[string]any{benchStep("step_0")}
	for i := 1; i < n; i++ {
		steps = append(steps, benchStep(fmt.Sprintf("step_%d", i), fmt.Sprintf("step_%d", i-1)))
	}
	return steps
}

// layersOf is layers of steps, each of which depends on two of the layer before.
func layersOf(layers, width int) []map[string]any {
	var steps []map[string]any
	for layer := range layers {
		for i := range width {
			id := fmt.Sprintf("step_%d_%d", layer, i)
			if layer == 0 {
				steps = append(steps, benchStep(id))
				continue
			}
			steps = append(steps, benchStep(id, fmt.Sprintf("step_%d_%d", layer-1, i), fmt.Sprintf("step_%d_%d", layer-1, (i+1)%width)))
		}
	}
	return steps
}

// workflows is a registry in memory.
type workflows struct {
	mu    sync.RWMutex
	named map[string]*plan.Workflow
}

// add compiles a workflow and keeps it under its name.
func (w *workflows) add(name string, steps []map[string]any) error {
	frozen, err := canon.Marshal(map[string]any{"name": name, "version": "1.0.0", "steps": steps})
	if err != nil {
		return err
	}
	compiled, err := plan.Compile(frozen, noopEnvironment{})
	if err != nil {
		return rondo.Op("compile the workflow", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.named[compiled.Name] = compiled
	return nil
}

// Named returns a workflow.
func (w *workflows) Named(_ context.Context, _, name, _ string) (*plan.Workflow, error) {
	return w.find(func(one *plan.Workflow) bool { return one.Name == name })
}

// Frozen returns a workflow by its hash.
func (w *workflows) Frozen(_ context.Context, _, hash string) (*plan.Workflow, error) {
	return w.find(func(one *plan.Workflow) bool { return one.Hash == hash })
}

func (w *workflows) find(is func(*plan.Workflow) bool) (*plan.Workflow, error) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	for _, one := range w.named {
		if is(one) {
			return one, nil
		}
	}
	return nil, rondo.NotFound("workflow")
}

// List returns nothing: nobody asks.
func (w *workflows) List(context.Context, string) ([]*plan.Workflow, error) { return nil, nil }

// noopEnvironment knows the one skill, which does nothing.
type noopEnvironment struct{}

// Skill declares it.
func (noopEnvironment) Skill(name string) (plan.SkillSpec, bool) {
	return plan.SkillSpec{Type: "go"}, name == noopSkill
}

// Prompt finds none.
func (noopEnvironment) Prompt(string, string) (json.RawMessage, bool) { return nil, false }

// Config finds none.
func (noopEnvironment) Config(string, string) (json.RawMessage, bool) { return nil, false }

// noopSkills makes it.
type noopSkills struct{}

// Skill returns the skill that does nothing.
func (noopSkills) Skill(string, plan.SkillSpec) (skill.Skill, error) {
	return skill.Func(func(context.Context, skill.Call) (skill.Result, error) {
		return skill.Result{OK: true, Data: json.RawMessage(`{"ok":true}`)}, nil
	}), nil
}
