package flow

import (
	"maps"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
)

// A parallel step is a fork: its own attempt stays open in Machine.Forks while
// each branch has a token of its own. Which fork and branch a token is in is
// written in the definition, for a step belongs to one branch only.

// Why attempts within a fork were skipped.
const (
	skippedJoined   = "joined"    // enough other branches have joined
	skippedTimedOut = "timed_out" // the fork as a whole took too long
	skippedFailed   = haltStepFailed
)

// parallel opens a fork and starts its branches, in order. A branch that stops
// the case leaves the ones after it at their first step, for resume to start.
func (m *move) parallel(att rondo.Attempt, step *definition.Step) string {
	branches := make(map[string]string, len(step.Branches))
	names := make([]string, 0, len(step.Branches))
	for _, branch := range step.Branches {
		branches[branch.Name] = rondo.BranchLive
		names = append(names, branch.Name)
	}
	att.Input = newObject(96).raw("branches", texts(names)).integer("need", int64(step.Need)).done()
	m.armTimeout(&att, step)
	m.inst.Machine.Forks = append(m.inst.Machine.Forks, rondo.Fork{Attempt: att, Branches: branches})
	for _, branch := range step.Branches {
		if k := m.forkAt(step.ID); k < 0 || m.inst.Machine.Forks[k].Attempt.RowID != att.RowID {
			break // the branches before were enough
		}
		m.follow(token{last: step.ID}, branch.Start)
	}
	return ""
}

// join ends the branch that a step closes. Once enough have joined, the fork is
// complete: what the other branches still do is skipped, and one token goes on.
func (m *move) join(last *definition.Step) {
	if last == nil {
		return
	}
	k := m.forkAt(last.Fork)
	step := m.snap.Steps[last.Fork]
	if k < 0 || step == nil {
		return
	}
	m.own()
	fork := &m.inst.Machine.Forks[k]
	fork.Branches = maps.Clone(fork.Branches)
	fork.Branches[last.Branch] = rondo.BranchDone
	if countJoined(fork) < step.Need {
		return
	}
	output := newObject(96)
	for _, branch := range step.Branches {
		word := rondo.BranchSkipped
		if fork.Branches[branch.Name] == rondo.BranchDone {
			word = rondo.BranchDone
		}
		output.text(branch.Name, word)
	}
	att := m.endFork(k, skippedJoined, ending{
		status: rondo.StepCompleted, outcome: definition.OnComplete,
		output: newObject(128).raw("branches", output.done()).done(),
	})
	m.follow(tokenOf(&att), step.Transitions[definition.OnComplete])
}

// countJoined counts the branches that have.
func countJoined(fork *rondo.Fork) int {
	n := 0
	for _, word := range fork.Branches {
		if word == rondo.BranchDone {
			n++
		}
	}
	return n
}

// timeoutFork ends a fork whose branches took too long.
func (m *move) timeoutFork(k int) {
	step := m.snap.Steps[m.inst.Machine.Forks[k].Attempt.StepID]
	if step == nil {
		id := m.inst.Machine.Forks[k].Attempt.StepID
		m.endFork(k, skippedTimedOut, ending{status: rondo.StepTimedOut, failure: failure{code: haltStepTimeout}.json()})
		m.halt(haltContractViolation, "the definition has no step "+id, id)
		return
	}
	m.timedOut(step, func(end ending) (rondo.Attempt, int) {
		att := m.endFork(k, skippedTimedOut, end)
		return att, len(m.inst.Machine.Live)
	})
}

// failStranded halts a case that waits for a join which cannot come: a branch
// has lost its token, as when a person skipped past the step that a halt in it
// goes back to, and the others are too few.
func (m *move) failStranded() {
	for k := len(m.inst.Machine.Forks) - 1; k >= 0; k-- {
		if m.inst.Status != rondo.StatusRunning {
			return
		}
		if k >= len(m.inst.Machine.Forks) {
			continue
		}
		fork := &m.inst.Machine.Forks[k]
		step := m.snap.Steps[fork.Attempt.StepID]
		if step == nil || m.canJoin(fork) >= step.Need {
			continue
		}
		m.skipWithin(fork.Attempt.StepID, skippedFailed)
		att := m.takeFork(m.forkAt(step.ID))
		m.follow(tokenOf(&att), m.fail(att, step, failure{code: haltStepFailed, message: "too few branches can still join"}))
	}
}

// canJoin counts the branches that have joined or still may.
func (m *move) canJoin(fork *rondo.Fork) int {
	n := 0
	for name, word := range fork.Branches {
		if word == rondo.BranchDone || m.occupied(fork.Attempt.StepID, name) {
			n++
		}
	}
	return n
}

// occupied reports whether a branch has anything in flight.
func (m *move) occupied(fork, branch string) bool {
	in := func(att *rondo.Attempt) bool { return att.Fork == fork && att.Branch == branch }
	return slices.ContainsFunc(m.inst.Machine.Live, func(att rondo.Attempt) bool { return in(&att) }) ||
		slices.ContainsFunc(m.inst.Machine.Forks, func(f rondo.Fork) bool { return in(&f.Attempt) })
}

// endFork skips everything within a fork and writes the fork's own row.
func (m *move) endFork(k int, why string, end ending) rondo.Attempt {
	id := m.inst.Machine.Forks[k].Attempt.StepID
	m.skipWithin(id, why)
	att := m.takeFork(m.forkAt(id))
	m.record(att, end)
	return att
}

// skipWithin ends what is open in the branches of a fork, also in forks within.
func (m *move) skipWithin(fork, why string) {
	m.own()
	skipped := ending{status: rondo.StepSkipped, failure: failure{code: why}.json(), over: true}
	for i := 0; i < len(m.inst.Machine.Live); {
		if m.inst.Machine.Live[i].Fork != fork {
			i++
			continue
		}
		m.end(i, skipped)
	}
	for k := 0; k < len(m.inst.Machine.Forks); {
		if m.inst.Machine.Forks[k].Attempt.Fork != fork {
			k++
			continue
		}
		m.endFork(k, why, skipped)
		k = 0
	}
}

// forkAt finds the open fork of a parallel step, -1 = none.
func (m *move) forkAt(stepID string) int {
	return slices.IndexFunc(m.inst.Machine.Forks, func(f rondo.Fork) bool { return f.Attempt.StepID == stepID })
}

// takeFork removes a fork without writing its row.
func (m *move) takeFork(k int) rondo.Attempt {
	m.own()
	att := m.inst.Machine.Forks[k].Attempt
	m.inst.Machine.Forks = slices.Delete(m.inst.Machine.Forks, k, k+1)
	return att
}

// skipOpen ends whatever is open at a step, with all that is within it, and
// returns the place among the live attempts where the next attempt belongs.
// found is false when nothing is open there.
func (m *move) skipOpen(stepID, why string) (place int, found bool) {
	skipped := ending{status: rondo.StepSkipped, failure: failure{code: why}.json()}
	if k := m.forkAt(stepID); k >= 0 {
		m.endFork(k, why, skipped)
		return len(m.inst.Machine.Live), true
	}
	i := slices.IndexFunc(m.inst.Machine.Live, func(att rondo.Attempt) bool { return att.StepID == stepID })
	if i < 0 {
		return len(m.inst.Machine.Live), false
	}
	m.end(i, skipped)
	return i, true
}

// unreachable reports whether a step lies in a branch whose fork has closed: no
// attempt may start there.
func (m *move) unreachable(step *definition.Step) bool {
	return step.Fork != "" && m.forkAt(step.Fork) < 0
}

// hold keeps a token at the step it has reached while the case stands still.
func (m *move) hold(att rondo.Attempt) {
	att.Status, att.Remaining, att.StartedAt = rondo.StepPending, 1, time.Time{}
	m.setLive(att)
}
