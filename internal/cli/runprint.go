package cli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/client"
	"github.com/rondo-engine/rondo/engine/runs"
	"github.com/rondo-engine/rondo/internal/app"
	"github.com/rondo-engine/rondo/internal/plan"
)

// printReport prints a run that has ended for people.
func printReport(s streams, r runReport) error {
	rows := [][]string{{"STEP", "STATUS", "TIME", "WHY"}}
	for _, step := range r.Steps {
		word, why := statusWord(step), whyStep(step)
		if step.Status == rondo.RunStepPending {
			word, why = "never began", orDash(r.behind[step.StepID])
		}
		rows = append(rows, []string{step.StepID, word, stepTime(step), why})
	}
	if err := table(s.out, rows); err != nil {
		return err
	}
	if r.Explanation != nil {
		_, _ = fmt.Fprintln(s.out)
		if err := printExplanation(s, *r.Explanation); err != nil {
			return err
		}
	}
	if len(r.Artifacts) > 0 {
		_, _ = fmt.Fprintln(s.out)
		if err := printArtifacts(s, r.inOrder(), r.blobs); err != nil {
			return err
		}
	}
	for _, path := range r.Copied {
		_, _ = fmt.Fprintln(s.out, "copied to", path)
	}
	_, _ = fmt.Fprintf(s.out, "\n%s%s\n", runLine(r.Run, r.Analysis), alsoOf(r.Steps))
	if r.Plan != nil {
		printHeld(s, *r.Plan)
	}
	return nil
}

// runLine sums a run up.
func runLine(run client.Run, a client.RunCacheAnalysis) string {
	var line strings.Builder
	fmt.Fprintf(&line, "Run %s %s", run.RunID, run.Status)
	if run.DurationMs != nil {
		line.WriteString(" in " + elapsed(time.Duration(*run.DurationMs)*time.Millisecond))
	}
	if sum := run.StepsSummary; sum != nil {
		fmt.Fprintf(&line, ": %d ran, %d reused", sum.Completed, sum.Skipped)
		for _, more := range []struct {
			n    int
			word string
		}{{sum.Failed, "failed"}, {sum.Cancelled, "cancelled"}, {sum.Pending, "never began"}} {
			if more.n > 0 {
				fmt.Fprintf(&line, ", %d %s", more.n, more.word)
			}
		}
	}
	return line.String() + savedWords(a)
}

// alsoOf counts what a reader of the last line should look for above.
func alsoOf(steps []client.RunStep) string {
	var stale, same, differ int
	for _, step := range steps {
		if step.StaleInput {
			stale++
		}
		if step.Deterministic != nil {
			if *step.Deterministic {
				same++
			} else {
				differ++
			}
		}
	}
	line := ""
	if stale > 0 {
		line += fmt.Sprintf("; %s with an input that would be another now", count(stale, "step"))
	}
	if same+differ > 0 {
		line += fmt.Sprintf("; of %s verified, %d gave the same and %d differ", count(same+differ, "step"), same, differ)
	}
	return line
}

// statusWord says where a step stands, as people call it.
func statusWord(step client.RunStep) string {
	switch step.Status {
	case rondo.RunStepSkipped:
		return "reused"
	case rondo.RunStepCompleted:
		return "ran"
	case rondo.RunStepPending, rondo.RunStepRunning, rondo.RunStepFailed, rondo.RunStepCancelled:
	}
	return string(step.Status)
}

func stepTime(step client.RunStep) string {
	if step.DurationMs == nil || step.Status == rondo.RunStepSkipped {
		return "-"
	}
	out := elapsed(time.Duration(*step.DurationMs) * time.Millisecond)
	if step.Attempt > 1 {
		out += fmt.Sprintf(", attempt %d", step.Attempt)
	}
	return out
}

// whyStep is why a step did what it did, or what was wrong with it.
func whyStep(step client.RunStep) string {
	var parts []string
	if step.Error != nil {
		parts = append(parts, step.Error.Code+": "+oneLine(plain(step.Error.Message)))
	} else if step.Reason != nil && step.Reason.Code != "" {
		parts = append(parts, plain(plan.Sentence(*step.Reason)))
	}
	if step.StaleInput {
		parts = append(parts, staleWords)
	}
	if step.Deterministic != nil {
		parts = append(parts, verifiedWords(*step.Deterministic))
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, "; ")
}

// verifiedWords says how a step fared that was computed again to compare.
func verifiedWords(same bool) string {
	if same {
		return "the same came out"
	}
	return "differs: what came out is not what came out before"
}

// reasonText is a reason as the API names it; "" = there is none.
func reasonText(r *rondo.Reason) string {
	if r == nil {
		return ""
	}
	return r.String()
}

const staleWords = "its input would be another now (--strict looks at it again)"

// printPlan prints what a run would do.
func printPlan(s streams, planned client.RunPlan, explain bool) error {
	rows := [][]string{{"STEP", "WOULD", "ABOUT", "WHY"}}
	for _, step := range planned.Steps {
		why := ""
		if step.Reason != nil {
			why = plain(plan.Sentence(*step.Reason))
			if explain {
				why += " [" + plain(step.Reason.String()) + "]"
			}
		}
		if step.StaleInput {
			why += "; " + staleWords
		}
		would := step.Decision
		switch step.Decision {
		case runs.WouldRun:
			would = "run"
		case runs.WouldReuse:
			would = "reuse"
		case runs.UnknownUntil:
			would, why = "depends", "on what comes out of "+strings.Join(step.Until, ", ")
		case runs.WouldFail:
			would = "fail"
			if step.Error != nil {
				why = oneLine(plain(step.Error.Message))
			}
		case runs.NeverReached:
			would, why = "never reached", "behind "+strings.Join(step.Until, ", ")
		}
		about := "-"
		if step.EstimatedMs != nil {
			about = elapsed(time.Duration(*step.EstimatedMs) * time.Millisecond)
		}
		rows = append(rows, []string{step.StepID, would, about, why})
	}
	if err := table(s.out, rows); err != nil {
		return err
	}
	sum := planned.Summary
	line := fmt.Sprintf("%d would run, %d would be reused", sum.WouldRun, sum.Reuse)
	if sum.Unknown > 0 {
		line += fmt.Sprintf(", %d may run, by what comes out", sum.Unknown)
	}
	if sum.Fails > 0 {
		line += fmt.Sprintf(", %d would fail", sum.Fails)
	}
	if sum.NeverReached > 0 {
		line += fmt.Sprintf(", %d would never be reached", sum.NeverReached)
	}
	if sum.EstimatedMs > 0 {
		line += fmt.Sprintf("; about %s", elapsed(time.Duration(sum.EstimatedMs)*time.Millisecond))
	}
	if sum.EstimatedCost > 0 {
		line += fmt.Sprintf(", cost %.4g", sum.EstimatedCost)
	}
	_, err := fmt.Fprintf(s.out, "\n%s. Nothing was run.\n", line)
	return err
}

// printHeld says how a run kept to its plan.
func printHeld(s streams, held heldTo) {
	since := ""
	if held.FileChanged {
		since = "; the file has changed since the plan"
	}
	if held.AsPlanned {
		_, _ = fmt.Fprintf(s.out, "As planned%s.\n", since)
		return
	}
	_, _ = fmt.Fprintf(s.out, "Not as planned, at %s%s:\n", count(len(held.Deviations), "step"), since)
	for _, d := range held.Deviations {
		line := fmt.Sprintf("  %s: planned %s, %s", d.StepID, plannedWord(d.Planned), statusWord(client.RunStep{Status: rondo.RunStepStatus(d.Happened)}))
		if d.Reason.Code != "" {
			line += ": " + plain(plan.Sentence(d.Reason))
		}
		_, _ = fmt.Fprintln(s.out, line)
	}
}

// plannedWord is a decision of a plan as its table calls it.
func plannedWord(planned string) string {
	decision, _, _ := strings.Cut(planned, ":")
	switch decision {
	case runs.WouldRun:
		return "to run"
	case runs.WouldReuse:
		return "to be reused"
	case runs.WouldFail:
		return "to fail"
	case runs.NeverReached:
		return "never to be reached"
	}
	return decision
}

// printExplanation prints why every step did what it did.
func printExplanation(s streams, e client.RunExplanation) error {
	for _, step := range e.Steps {
		line := fmt.Sprintf("%s (%s): %s", step.StepID, statusWord(client.RunStep{Status: step.Status}), plain(step.Text))
		if step.StaleInput {
			line += "; " + staleWords
		}
		if _, err := fmt.Fprintln(s.out, line); err != nil {
			return err
		}
		for _, changed := range step.Changed {
			if changed.Component == "salt" { // neither is ever shown
				_, _ = fmt.Fprintln(s.out, "    salt: rotated")
				continue
			}
			_, _ = fmt.Fprintf(s.out, "    %s: %s → %s\n", plain(changed.Component), orDash(plain(changed.Before)), orDash(plain(changed.After)))
		}
	}
	return nil
}

// inOrder are the artifacts in the order of the steps.
func (r runReport) inOrder() []rondo.Artifact {
	place := make(map[string]int, len(r.Steps))
	for i, step := range r.Steps {
		place[step.StepID] = i
	}
	out := slices.Clone(r.Artifacts)
	slices.SortStableFunc(out, func(a, b rondo.Artifact) int { return cmp.Compare(place[a.StepID], place[b.StepID]) })
	return out
}

// where is where the bytes of an artifact are: their file, where there is a folder
// of them at hand, else their address with as much of the hash as tells it apart.
func where(a rondo.Artifact, blobs string) string {
	const enough = len("blob:") + 12
	if !strings.HasPrefix(a.URI, "blob:") {
		return plain(a.URI)
	}
	if path := app.BlobPath(blobs, a.ContentHash); path != "" {
		return shorter(path)
	}
	return plain(a.URI[:min(len(a.URI), enough)])
}

// shorter is a path as seen from here, when that is shorter.
func shorter(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	if relative, err := filepath.Rel(here, path); err == nil && len(relative) < len(path) {
		return relative
	}
	return path
}

// printArtifacts prints the files that a run has; blobs is the address of the store
// of their bytes, "" when it is not at hand.
func printArtifacts(s streams, artifacts []rondo.Artifact, blobs string) error {
	rows := [][]string{{"ARTIFACT", "STEP", "TYPE", "BYTES", "WHERE"}}
	for _, a := range artifacts {
		size := "-"
		if a.Size >= 0 {
			size = fmt.Sprint(a.Size)
		}
		name := plain(a.Filename)
		if name == "" {
			name = a.ID.String()
		}
		rows = append(rows, []string{name, a.StepID, plain(a.Type), size, where(a, blobs)})
	}
	return table(s.out, rows)
}
