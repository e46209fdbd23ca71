package runs

import (
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/plan"
)

// explainText is why a step did what it did, as a sentence. Steps are the last
// attempts of the run, in the order of the file.
func explainText(run *rondo.Run, w *plan.Workflow, steps []rondo.RunStep, i int) string {
	row := &steps[i]
	switch {
	case row.Status == rondo.RunStepPending && run.Status.Ended():
		return "it was never reached" + whatFailed(run, failedBefore(w, steps, i))
	case row.Status == rondo.RunStepPending:
		return "nothing was done about it yet"
	case row.Reason.Code == "" && row.Error != nil:
		return row.Error.Message
	case row.Reason.Code == "" && row.Status == rondo.RunStepCancelled:
		return "the run ended before it was its turn" + whatFailed(run, failedBefore(w, steps, i))
	}
	text := plan.Sentence(row.Reason)
	if text == "" {
		text = row.Reason.String()
	}
	if row.Deterministic != nil {
		text += map[bool]string{true: "; what came out is the same", false: "; what came out is not what came out before"}[*row.Deterministic]
	}
	return text
}

// whatFailed names what kept a run from a step.
func whatFailed(run *rondo.Run, failed []string) string {
	switch {
	case len(failed) > 0:
		return ": " + strings.Join(failed, " and ") + " failed"
	case run.Status == rondo.RunCancelled:
		return ": the run was cancelled"
	case run.Error != nil && run.Error.FailedStepID != "":
		return ": " + run.Error.FailedStepID + " failed"
	}
	return ""
}

// failedBefore names the steps before a step, near or far, that failed, in the order
// they run.
func failedBefore(w *plan.Workflow, steps []rondo.RunStep, i int) []string {
	before := make([]bool, len(w.Steps))
	look := []int{i}
	for len(look) > 0 {
		at := look[len(look)-1]
		look = look[:len(look)-1]
		for _, need := range w.Steps[at].Needs {
			if !before[need] {
				before[need] = true
				look = append(look, need)
			}
		}
	}
	var failed []string
	for _, at := range w.Order() {
		if before[at] && steps[at].Status == rondo.RunStepFailed {
			failed = append(failed, w.Steps[at].ID)
		}
	}
	return failed
}
