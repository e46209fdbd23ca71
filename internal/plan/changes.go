package plan

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo"
)

// Seeds returns the steps that a change begins with, in the order of the file: those
// of its type and the extra ones that exist; all says that it rebuilds everything.
// A type that the workflow does not know, and no step at all, are CodeInvalid. The
// type "" stands for the extra steps alone.
func (w *Workflow) Seeds(change string, extra []string) (seeds []int, all bool, err error) {
	known, exists := w.Changes[change]
	if !exists && (change != "" || len(extra) == 0) {
		return nil, false, &rondo.Error{
			Code:    rondo.CodeInvalid,
			Message: fmt.Sprintf("the workflow %s %s knows no change of type %q", w.Name, w.Version, change),
			Hint:    w.changesHint(),
			Fields:  []rondo.FieldError{{Code: "change_unknown", Pointer: "/changeRequest/type", Message: "the workflow knows no change of this type"}},
		}
	}
	if known.All {
		every := make([]int, len(w.Steps))
		for i := range every {
			every[i] = i
		}
		return every, true, nil
	}
	seeds = slices.Clone(known.Seeds)
	for _, id := range extra {
		if i, ok := w.index[id]; ok {
			seeds = append(seeds, i)
		}
	}
	if len(seeds) == 0 {
		return nil, false, &rondo.Error{
			Code:    rondo.CodeInvalid,
			Message: fmt.Sprintf("none of the steps to begin with is in %s %s", w.Name, w.Version),
			Hint:    w.changesHint(),
			Fields:  []rondo.FieldError{{Code: "target_unknown", Pointer: "/changedSteps", Message: "name steps of the workflow"}},
		}
	}
	slices.Sort(seeds)
	return slices.Compact(seeds), false, nil
}

func (w *Workflow) changesHint() string {
	if len(w.Changes) == 0 {
		return "it declares no changes; name steps in changedSteps"
	}
	return "it knows " + strings.Join(sortedKeys(w.Changes), ", ")
}

// ChangedSteps returns the steps whose definition is not what it was in old, or
// that old does not have: skill and its config, inputs with what they take from the
// registry, dependencies, cache and output schema. How often and how long a step is
// tried does not change what it gives.
func (w *Workflow) ChangedSteps(old *Workflow) []int {
	var changed []int
	for i := range w.Steps {
		if j, there := old.index[w.Steps[i].ID]; !there || !w.sameStep(i, old, j) {
			changed = append(changed, i)
		}
	}
	return changed
}

func (w *Workflow) sameStep(i int, old *Workflow, j int) bool {
	a, b := &w.Steps[i], &old.Steps[j]
	return a.Skill == b.Skill && slices.Equal(a.skill.components, b.skill.components) && a.skill.config == b.skill.config &&
		bytes.Equal(a.rawInput, b.rawInput) && bytes.Equal(a.rawCache, b.rawCache) && bytes.Equal(a.OutputSchema, b.OutputSchema) &&
		slices.EqualFunc(a.input, b.input, func(x, y member) bool { return sameValues(&x.selector, &y.selector) }) &&
		slices.Equal(w.needed(a), old.needed(b))
}

// sameValues compares what two selectors, written alike, take from registries.
func sameValues(a, b *selector) bool {
	return bytes.Equal(a.value, b.value) && slices.EqualFunc(a.parts, b.parts, func(x, y selector) bool { return sameValues(&x, &y) })
}

// needed are the ids of what a step depends on, sorted.
func (w *Workflow) needed(s *Step) []string {
	ids := make([]string, len(s.Needs))
	for n, need := range s.Needs {
		ids[n] = w.Steps[need].ID
	}
	slices.Sort(ids)
	return ids
}

// Candidates says of each step whether a change may have touched it: it is a seed,
// or its definition changed, or it comes after such a step; or all are.
func Candidates(w *Workflow, seeds, changed []int, all bool) []bool {
	if all {
		every := make([]bool, len(w.Steps))
		for i := range every {
			every[i] = true
		}
		return every
	}
	return w.closure(seeds, changed)
}
