package flow

import (
	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
)

// walk looks for ways through a definition that pass no gate. Ways that meet
// again are walked once, for their number doubles with every branch.
type walk struct {
	*move
	shut map[way]bool // led nowhere before
}

// way is from a step to another, or to the join of a fork.
type way struct{ from, to, join string }

// open reports whether a way leads from one step to another past no gate.
func (w *walk) open(from, to string) bool { return from == to || w.leads(way{from: from, to: to}) }

func (w *walk) leads(to way) bool {
	step := w.snap.Steps[to.from]
	if step == nil || w.shut[to] || isGate(step.Contract) {
		return false
	}
	for _, branch := range step.Branches {
		if w.goes(branch.Start, step, to) {
			return true
		}
	}
	for outcome, target := range step.Transitions {
		// A fork is left through its branches.
		if (len(step.Branches) == 0 || outcome != definition.OnComplete) && w.goes(target, step, to) {
			return true
		}
	}
	if w.shut == nil {
		w.shut = map[way]bool{}
	}
	w.shut[to] = true
	return false
}

// goes reports whether a way goes on from a target of a step. A join lets it
// through when enough branches can get there.
func (w *walk) goes(target string, step *definition.Step, to way) bool {
	for target == definition.Join {
		if to.join != "" && step.Fork == to.join {
			return true
		}
		fork := w.snap.Steps[step.Fork]
		if fork == nil || !w.joins(fork) {
			return false
		}
		target, step = fork.Transitions[definition.OnComplete], fork
	}
	if to.to != "" && target == to.to {
		return true
	}
	to.from = target
	return w.leads(to)
}

// joins reports whether enough branches of a fork have joined, or can without
// passing a gate.
func (w *walk) joins(fork *definition.Step) bool {
	k, n := w.forkAt(fork.ID), 0
	for _, branch := range fork.Branches {
		var can bool
		switch {
		case k < 0:
			can = w.leads(way{from: branch.Start, join: fork.ID})
		case w.inst.Machine.Forks[k].Branches[branch.Name] == rondo.BranchDone:
			can = true
		default:
			can = w.branchJoins(fork.ID, branch.Name)
		}
		if can {
			n++
		}
	}
	return n >= fork.Need
}

// branchJoins reports whether what is in flight in a branch can join.
func (w *walk) branchJoins(fork, branch string) bool {
	for _, from := range w.standsAt() {
		step := w.snap.Steps[from]
		for step != nil && step.Fork != "" {
			if step.Fork == fork {
				if step.Branch == branch && w.leads(way{from: from, join: fork}) {
					return true
				}
				break
			}
			step = w.snap.Steps[step.Fork]
		}
	}
	return false
}
