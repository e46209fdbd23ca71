package runs

import (
	"slices"
	"strconv"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/plan"
)

// lastAttempts returns one row per step of the workflow, in its order: the last
// attempt, or a pending one when there is none.
func lastAttempts(run rondo.ID, w *plan.Workflow, rows []rondo.RunStep) []rondo.RunStep {
	last := lastByStep(rows)
	steps := make([]rondo.RunStep, len(w.Steps))
	for i := range w.Steps {
		row, here := last[w.Steps[i].ID]
		if !here {
			row = rondo.RunStep{RunID: run, StepID: w.Steps[i].ID, Skill: w.Steps[i].Skill, Status: rondo.RunStepPending}
		}
		steps[i] = row
	}
	return steps
}

// asSeen is a step as it is shown: one that waits for its next attempt is pending,
// with the number, the error and the end of the wait of the one that failed.
func asSeen(run *rondo.Run, step rondo.RunStep) rondo.RunStep {
	if step.Status == rondo.RunStepFailed && !step.RetryAt.IsZero() && !run.Status.Ended() {
		step.Status = rondo.RunStepPending
	}
	return step
}

// lastByStep finds the last attempt of each step.
func lastByStep(rows []rondo.RunStep) map[string]rondo.RunStep {
	last := make(map[string]rondo.RunStep, len(rows))
	for i := range rows {
		if known, here := last[rows[i].StepID]; !here || later(&rows[i], &known) {
			last[rows[i].StepID] = rows[i]
		}
	}
	return last
}

// later says which of two rows of a step is the younger one. A step that was
// attempted and then reused what another computed has a row without an attempt
// that was written last.
func later(a, b *rondo.RunStep) bool {
	if a.Attempt == 0 || b.Attempt == 0 {
		return a.Seq > b.Seq
	}
	return a.Attempt > b.Attempt
}

// byAttempt orders the rows of one step, oldest first.
func byAttempt(rows []rondo.RunStep) {
	slices.SortFunc(rows, func(a, b rondo.RunStep) int {
		switch {
		case later(&a, &b):
			return 1
		case later(&b, &a):
			return -1
		}
		return 0
	})
}

// took is how long an attempt worked, in milliseconds; 0 as long as it has not
// ended.
func took(row *rondo.RunStep) int64 {
	if row.StartedAt.IsZero() || row.CompletedAt.IsZero() {
		return 0
	}
	return row.CompletedAt.Sub(row.StartedAt).Milliseconds()
}

// quoted is a name that came from outside, short enough for a message.
func quoted(name string) string {
	const most = 100
	if len(name) > most {
		name = name[:most] + "…"
	}
	return strconv.Quote(name)
}

// idText is the text of an id, "" for none.
func idText(id rondo.ID) string {
	if id.IsZero() {
		return ""
	}
	return id.String()
}
