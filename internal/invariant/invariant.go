// Package invariant says what must always hold of stored cases, whatever
// crashed, came twice or came late. One checker serves the simulation, the crash
// tests and operators.
//
// It is pure: it looks at records and returns what is wrong. Numbers (I2, I9 …)
// are stable names used in reports.
package invariant

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
	"github.com/rondo-engine/rondo/internal/flow"
)

// Violation is one broken invariant.
type Violation struct {
	Invariant string // I1, I2, …
	Detail    string
}

// String reads "I9: …".
func (v Violation) String() string { return v.Invariant + ": " + v.Detail }

// Case is everything stored about one instance.
type Case struct {
	Instance      *rondo.Instance
	Snapshot      *definition.Snapshot
	Steps         []rondo.Step // by Seq
	Events        []rondo.EventRecord
	Interventions []rondo.Intervention
}

// Check returns every invariant that one case breaks.
func Check(c Case) []Violation {
	k := &checker{Case: c}
	k.readInterventions()
	k.history()
	k.attempts()
	k.forks()
	k.outcomes()
	k.context()
	k.terminal()
	k.timers()
	k.deadline()
	k.budget()
	return k.found
}

type checker struct {
	Case
	found []Violation

	migrations []migration
	observed   bool // the case is or was client-driven: correlation ids are the client's
}

func (k *checker) broken(invariant, format string, args ...any) {
	detail := fmt.Sprintf("case %s: ", k.Instance.CaseID) + fmt.Sprintf(format, args...)
	k.found = append(k.found, Violation{Invariant: invariant, Detail: detail})
}

// history: finished rows are numbered without gaps (I10).
func (k *checker) history() {
	if len(k.Steps) != k.Instance.Machine.Finished {
		k.broken("I10", "%d finished rows, but the instance counted %d", len(k.Steps), k.Instance.Machine.Finished)
	}
	for i, row := range k.Steps {
		if row.Seq != i+1 {
			k.broken("I10", "row %d of %s has number %d", i+1, row.StepID, row.Seq)
			return
		}
	}
}

// attempts: one open attempt per step (I3), numbered without gaps for life, and
// no correlation id used twice (I11).
func (k *checker) attempts() {
	numbers := map[string][]int{}
	correlations := map[string]string{}
	see := func(step string, number int, correlation string) {
		numbers[step] = append(numbers[step], number)
		if correlation == "" {
			return
		}
		name := fmt.Sprintf("%s#%d", step, number)
		if other, used := correlations[correlation]; used && !k.observed {
			k.broken("I11", "correlation id of %s is that of %s", name, other)
		}
		correlations[correlation] = name
	}
	for _, row := range k.Steps {
		see(k.nameNow(row), row.Attempt, row.CorrelationID)
	}
	open := map[string]int{}
	for _, att := range k.open() {
		see(att.StepID, att.Number, att.CorrelationID)
		if open[att.StepID]++; open[att.StepID] > 1 {
			k.broken("I3", "step %s has %d open attempts", att.StepID, open[att.StepID])
		}
	}
	for step, seen := range numbers {
		slices.Sort(seen)
		for i, n := range seen {
			if n != i+1 {
				k.broken("I11", "attempts of %s are %v", step, seen)
				break
			}
		}
	}
}

// outcomes: an applied outcome belongs to exactly one ended attempt and no
// attempt has two (I2, I6).
func (k *checker) outcomes() {
	ended := map[string]int{}
	for _, row := range k.Steps {
		ended[row.CorrelationID]++
	}
	applied := map[string]int{}
	for _, e := range k.Events {
		if e.Outcome != rondo.OutcomeApplied || !k.answers(e.Type) {
			continue
		}
		correlation := correlationOf(e.Envelope)
		applied[correlation]++
		if !k.observed && ended[correlation] != 1 {
			k.broken("I6", "event %s was applied, but %d ended attempts have its correlation id", e.EventID, ended[correlation])
		}
	}
	for correlation, n := range applied {
		if n > 1 && !k.observed {
			k.broken("I2", "%d outcomes with correlation id %s were applied", n, correlation)
		}
	}
}

// answers reports whether an event type answers a request of the definition, and
// nothing else: what a step waits for may have any correlation id.
func (k *checker) answers(eventType string) bool {
	if len(k.Snapshot.Waiting(eventType)) > 0 {
		return false
	}
	for _, step := range k.Snapshot.StepsFor(eventType) {
		if step.Contract.Behaviour == definition.BehaviourRequest {
			return true
		}
	}
	return false
}

// context: the fold of the rows' outputs, a later attempt replacing an earlier
// one (I9).
func (k *checker) context() {
	folded := map[string][]byte{}
	for _, row := range k.Steps {
		if len(row.Output) > 0 && (row.Status == rondo.StepCompleted || row.Status == rondo.StepSkipped) {
			folded[k.nameNow(row)] = row.Output
		}
	}
	for step, output := range folded {
		if !bytes.Equal(k.Instance.Context[step], output) {
			k.broken("I9", "context has %s for %s, the rows say %s", clip(k.Instance.Context[step]), step, clip(output))
		}
	}
	for member := range k.Instance.Context {
		if _, isStep := k.Snapshot.Steps[member]; isStep && folded[member] == nil {
			k.broken("I9", "context has an output of %s that no row has", member)
		}
	}
}

// terminal: an instance that ended has nothing left (I5).
func (k *checker) terminal() {
	i := k.Instance
	if !i.Status.Terminal() {
		return
	}
	if open := k.open(); len(open) > 0 || !i.WakeAt.IsZero() || i.CompletedAt.IsZero() {
		k.broken("I5", "it is %s with %d open attempts, wake-up %v, ended at %v", i.Status, len(open), i.WakeAt, i.CompletedAt)
	}
	if !i.SupersededByID.IsZero() && (i.Status != rondo.StatusCancelled || i.CancelledReason != "superseded_by:"+i.SupersededByID.String()) {
		k.broken("I5", "it was superseded and is %s because %q", i.Status, i.CancelledReason)
	}
	for _, e := range k.Events {
		if e.Outcome == rondo.OutcomeParked {
			k.broken("I5", "it is %s and event %s is still parked", i.Status, e.EventID)
		}
	}
}

// timers: a wake-up is armed no later than what is due (I7), and none fired
// early.
func (k *checker) timers() {
	i := k.Instance
	if due := flow.Due(i); !due.IsZero() && (i.WakeAt.IsZero() || i.WakeAt.After(due)) {
		k.broken("I7", "it is due at %v but is only woken at %v", due, i.WakeAt)
	}
	for _, row := range k.Steps {
		if row.Status == rondo.StepTimedOut && row.CompletedAt.Before(row.TimeoutAt) {
			k.broken("I7", "%s#%d timed out at %v, before %v", row.StepID, row.Attempt, row.CompletedAt, row.TimeoutAt)
		}
		if due := delayedUntil(row); row.Status == rondo.StepCompleted && row.CompletedAt.Before(due) {
			k.broken("I7", "the delay %s#%d was over at %v, before %v", row.StepID, row.Attempt, row.CompletedAt, due)
		}
	}
}

// deadline: nothing starts or is applied at or after it (I8).
func (k *checker) deadline() {
	late := func(at time.Time) bool { return !at.IsZero() && !at.Before(k.Instance.DeadlineAt) }
	for _, row := range k.Steps {
		if late(row.StartedAt) {
			k.broken("I8", "%s#%d started at %v, the deadline was %v", row.StepID, row.Attempt, row.StartedAt, k.Instance.DeadlineAt)
		}
		if row.Status == rondo.StepCompleted && late(row.CompletedAt) {
			k.broken("I8", "%s#%d was completed at %v, the deadline was %v", row.StepID, row.Attempt, row.CompletedAt, k.Instance.DeadlineAt)
		}
	}
	for _, att := range k.open() {
		if late(att.StartedAt) {
			k.broken("I8", "%s#%d started at %v, the deadline was %v", att.StepID, att.Number, att.StartedAt, k.Instance.DeadlineAt)
		}
	}
}
