package flow

import (
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
)

// What an event is too early for: the steps that the case can still reach.

// requestAhead looks for a request step not yet run that the event type would
// complete: "" when none can still be reached, skipped_gate when a gate that has
// not been passed stands before every such step, else early.
func (m *move) requestAhead(eventType string) (verdict string) {
	for _, step := range m.snap.StepsFor(eventType) {
		if step.Contract.Behaviour == definition.BehaviourRequest && m.inst.Machine.Steps[step.ID].Attempts == 0 {
			verdict = sooner(verdict, m.ahead(step.ID))
		}
	}
	return verdict
}

// waitAhead looks for a step that is still to wait for the event type, likewise.
// One that has run counts when the case has gone back to before it.
func (m *move) waitAhead(eventType string) (verdict string) {
	for _, step := range m.snap.Waiting(eventType) {
		switch {
		case m.comesAgain(step.ID):
			return verdictEarly
		case m.liveAt(step.ID) < 0:
			verdict = sooner(verdict, m.ahead(step.ID))
		}
	}
	return verdict
}

// comesAgain reports whether a step that ran before is to run again: its next
// attempt waits out a backoff, or resume goes back to it.
func (m *move) comesAgain(stepID string) bool {
	for i := range m.inst.Machine.Live {
		if att := &m.inst.Machine.Live[i]; att.StepID == stepID {
			return att.Status == rondo.StepPending
		}
	}
	return stepID == m.reopening || m.inst.Status == rondo.StatusHalted && stepID == m.inst.HaltStepID
}

// sooner is the better of two verdicts on what lies ahead.
func sooner(a, b string) string {
	if a == verdictEarly || b == "" {
		return a
	}
	return b
}

// ahead says how a step lies before the case: "" when it cannot be reached.
func (m *move) ahead(stepID string) (verdict string) {
	for _, from := range m.standsAt() {
		if from != stepID && !m.snap.CanReach(from, stepID) {
			continue
		}
		if (&walk{move: m}).open(from, stepID) {
			return verdictEarly
		}
		verdict = verdictSkippedGate
	}
	return verdict
}

// standsAt lists the steps from which the case goes on: those in flight, the one
// that a halt goes back to, and where open forks lead. A branch that has joined
// leads nowhere by itself, and a case that has ended goes nowhere.
func (m *move) standsAt() []string {
	if m.inst.Status.Terminal() {
		return nil
	}
	machine := &m.inst.Machine
	from := make([]string, 0, len(machine.Live)+2)
	for i := range machine.Live {
		from = append(from, machine.Live[i].StepID)
	}
	for _, back := range [...]string{m.inst.HaltStepID, m.reopening} {
		if back != "" {
			from = append(from, back)
		}
	}
	for k := range machine.Forks {
		if step := m.snap.Steps[machine.Forks[k].Attempt.StepID]; step != nil && m.snap.Steps[step.Transitions[definition.OnTimeout]] != nil {
			from = append(from, step.Transitions[definition.OnTimeout])
		}
	}
	return from
}

// isGate reports whether a kind decides if the case may go on at all.
func isGate(c *definition.Contract) bool {
	return slices.Contains(c.Mandatory, "on_pass") && slices.Contains(c.Mandatory, "on_fail")
}

// dropped reports whether the event type completes a step whose branch was
// skipped: its outcome is no longer wanted.
func (m *move) dropped(eventType string) bool {
	return slices.ContainsFunc(m.snap.StepsFor(eventType), m.inSkippedBranch)
}

func (m *move) inSkippedBranch(step *definition.Step) bool {
	for step != nil && step.Fork != "" {
		if text(m.contextAt(step.Fork, "branches", step.Branch)) == rondo.BranchSkipped {
			return true
		}
		step = m.snap.Steps[step.Fork]
	}
	return false
}
