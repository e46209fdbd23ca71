package definition

import (
	"encoding/json"
	"maps"
	"slices"
)

// resolve joins every step with the contract of its kind: the kind's defaults
// fill its params, a parallel step gets its branches, and every step learns
// which branch it is in. Kinds that are not known leave a step as it is written.
func (d *document) resolve(kinds map[string]*Contract) {
	for _, step := range d.steps {
		step.contract = kinds[step.kind]
		if step.contract != nil && len(step.contract.Defaults) > 0 {
			filled := maps.Clone(step.contract.Defaults)
			maps.Copy(filled, step.given)
			step.params = filled
		}
		step.readBranches()
	}
	d.assignBranches()
}

// readBranches finds the branches of a parallel step. A step of a kind that is
// not known counts as parallel when it is written like one.
func (w *writtenStep) readBranches() {
	if w.contract != nil && w.contract.Behaviour != BehaviourParallel {
		return
	}
	raw, given := w.params["branches"]
	if !given {
		w.waysLost = w.waysLost || w.contract != nil
		return
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		w.waysLost = true
		return
	}
	for _, name := range sortedKeys(members) {
		var start string
		if json.Unmarshal(members[name], &start) != nil {
			w.waysLost = true
			continue
		}
		w.branches = append(w.branches, Branch{Name: name, Start: start})
	}
}

// place is the branch that a step is in: the zero place is outside of all.
type place struct{ fork, branch string }

// assignBranches says of every step which branch it is in. What is outside is
// gone through before what is inside, so that a step that both can reach counts
// as outside; whoever leads there from a branch is at fault.
func (d *document) assignBranches() {
	seen := map[string]bool{}
	type begin struct {
		id string
		place
	}
	assign := func(first string) {
		pending := []begin{{id: first}}
		for len(pending) > 0 {
			here := pending[0].place
			level := []string{pending[0].id}
			pending = pending[1:]
			for len(level) > 0 {
				step := d.steps[level[0]]
				level = level[1:]
				if step == nil || seen[step.id] {
					continue
				}
				seen[step.id] = true
				step.fork, step.branch = here.fork, here.branch
				for _, outcome := range outcomeOrder(step.transitions) {
					level = append(level, step.transitions[outcome])
				}
				for _, b := range step.branches {
					pending = append(pending, begin{b.Start, place{step.id, b.Name}})
				}
			}
		}
	}
	assign(d.start)
	led := map[string]bool{}
	for _, step := range d.steps {
		for _, target := range step.transitions {
			led[target] = true
		}
		for _, b := range step.branches {
			led[b.Start] = true
		}
	}
	ids := sortedKeys(d.steps)
	for _, first := range slices.Concat(slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return led[id] }), ids) {
		if !seen[first] {
			assign(first)
		}
	}
}

func (w *writtenStep) place() place { return place{w.fork, w.branch} }

// afterJoin is where the ways that end at JOIN in a branch of the parallel step
// meet: its on_complete, or that of the next parallel step around it when it
// leads to JOIN itself. "" when it leads nowhere.
func (d *document) afterJoin(fork string) string {
	for range len(d.steps) {
		step := d.steps[fork]
		if step == nil {
			return ""
		}
		target := step.transitions[OnComplete]
		if target != Join {
			return target
		}
		fork = step.fork
	}
	return ""
}
