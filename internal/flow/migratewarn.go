package flow

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo/internal/definition"
)

// warnings tells, one sentence for each, which steps that can still run in the
// target read the output of a step that this case has not and will not get: most
// often one that has finished under another name.
func (p *planner) warnings(moves []StepMove) []string {
	ahead, standing := p.ahead(moves)
	known := map[string]bool{}
	for name := range p.inst.Context {
		if p.inst.Machine.Steps[name].Attempts > 0 {
			name = newName(p.renames(), name)
		}
		known[name] = true
	}
	var told []string
	for _, id := range p.to.Order {
		if !ahead[id] {
			continue
		}
		step := p.to.Steps[id]
		for _, root := range needed(step, standing[id]) {
			if p.to.Steps[root] == nil || root == id || known[root] || ahead[root] && p.mayPrecede(root, id) {
				continue
			}
			told = append(told, fmt.Sprintf("step %s reads the output of %s, which this case does not have and will not get: map %s to %s with step_map, or %s finds nothing there",
				id, root, p.finishedLike(root), root, id))
		}
	}
	return told
}

// ahead is every step that can run once the instance stands where it goes;
// standing are those that it stands at with an attempt open.
func (p *planner) ahead(moves []StepMove) (ahead, standing map[string]bool) {
	ahead, standing = map[string]bool{}, map[string]bool{}
	for _, s := range moves {
		ahead[s.To] = true
		standing[s.To] = s.State != moveHalted
		for id := range p.to.Reachable(s.To) {
			// The branches of a fork in flight are where their own steps stand.
			if s.State != moveFork || !p.within(id, s.To) {
				ahead[id] = true
			}
		}
	}
	return ahead, standing
}

// within reports whether a step of the target is in a branch of a parallel step,
// however far down.
func (p *planner) within(id, fork string) bool {
	for step := p.to.Steps[id]; step != nil && step.Fork != ""; step = p.to.Steps[step.Fork] {
		if step.Fork == fork {
			return true
		}
	}
	return false
}

// mayPrecede reports whether one step of the target can end before another
// begins: it leads to it, or runs in a branch beside it.
func (p *planner) mayPrecede(first, then string) bool {
	return p.to.CanReach(first, then) || p.to.Steps[first].Fork != "" && !p.to.CanReach(then, first)
}

// finishedLike names the finished steps whose output the target has no use for
// under their own names, of the kind of the target's step when there are such.
func (p *planner) finishedLike(root string) string {
	var finished, alike []string
	renamed := p.renames()
	for id, life := range p.inst.Machine.Steps {
		_, moved := renamed[id]
		was := p.from.Steps[id]
		if was == nil || moved || life.Output == 0 || p.to.Steps[id] != nil {
			continue
		}
		finished = append(finished, id)
		if was.Kind == p.to.Steps[root].Kind {
			alike = append(alike, id)
		}
	}
	if len(alike) > 0 {
		finished = alike
	}
	if len(finished) == 0 {
		return "a finished step"
	}
	slices.Sort(finished)
	return listed(finished, "or")
}

// needed lists the first parts of the paths that a step cannot do without, in the
// order they are read. Of a step with an open attempt, what it read when it began
// does not count any more; what it would be asked with again does.
func needed(step *definition.Step, begun bool) []string {
	var roots []string
	add := func(root string) {
		if !slices.Contains(roots, root) {
			roots = append(roots, root)
		}
	}
	if step.Expr != nil {
		for _, path := range step.Expr.Paths() {
			add(path[0])
		}
	}
	if step.Match != nil {
		for _, path := range step.Match.Paths() {
			if path[0] != "event" {
				add(path[0])
			}
		}
	}
	if step.Until != "" && !begun {
		root, _, _ := strings.Cut(step.Until, ".")
		add(root)
	}
	for _, member := range slices.Sorted(maps.Keys(step.Contract.Request)) {
		if selector := step.Contract.Request[member]; selector.Required {
			selected(&selector, add)
		}
	}
	return roots
}

func selected(s *definition.Selector, add func(root string)) {
	switch {
	case s.Context != "":
		root, _, _ := strings.Cut(s.Context, ".")
		add(root)
	case s.Pick != nil:
		selected(&s.Pick.From, add)
	}
}

// finishedRenames are the finished steps that the step map gives another name.
func (p *planner) finishedRenames(moves []StepMove) map[string]string {
	renamed := p.renames()
	for _, s := range moves {
		delete(renamed, s.From)
	}
	return renamed
}
