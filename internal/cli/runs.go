package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/client"
)

// runsCommand is about runs of a server.
type runsCommand struct {
	Start     runsStart     `cmd:"" help:"Start a published workflow by its name."`
	List      runsList      `cmd:"" help:"List runs, newest first."`
	Show      runsShow      `cmd:"" help:"Show a run: where it stands and how its steps fare."`
	Steps     runsSteps     `cmd:"" help:"List the steps of a run, each with why."`
	Output    runsOutput    `cmd:"" help:"Print what a step gave."`
	Explain   runsExplain   `cmd:"" help:"Say of every step why it ran or was reused, and what changed."`
	Analysis  runsAnalysis  `cmd:"" help:"Say what the cache was good for in a run."`
	Artifacts runsArtifacts `cmd:"" help:"List the files that a run has, or copy them."`
	Watch     runsWatch     `cmd:"" help:"Show a run until it has ended."`
	Update    runsUpdate    `cmd:"" help:"Redo what a change touches of a completed run, or say what that would be."`
	Cancel    runsCancel    `cmd:"" help:"Cancel a run."`
	Retry     runsRetry     `cmd:"" help:"Go on with a failed run from what failed."`
}

type runsList struct {
	remote
	paged
	Workflow string `help:"Of this workflow." placeholder:"NAME"`
	Status   string `help:"queued, running, completed, failed or cancelled." placeholder:"STATUS"`
	Trigger  string `help:"initial or update." placeholder:"TYPE"`
	Base     string `help:"Update runs of this run." placeholder:"ID"`
}

// Run lists runs.
func (c runsList) Run(ctx context.Context, s streams) error {
	call := client.Call{Path: client.RunsPath, Query: c.query("workflow", c.Workflow, "status", c.Status, "trigger", c.Trigger, "base", c.Base)}
	return c.fetch(ctx, s, call, func(answer json.RawMessage) error {
		return chatItems(s, answer, []string{"ID", "WORKFLOW", "VERSION", "TRIGGER", "STATUS", "CREATED", "TOOK", "RAN", "REUSED", "FAILED"}, func(run client.Run) []string {
			took, ran, reused, failed := "-", "-", "-", "-"
			if run.DurationMs != nil {
				took = elapsed(time.Duration(*run.DurationMs) * time.Millisecond)
			}
			if sum := run.StepsSummary; sum != nil {
				ran, reused, failed = fmt.Sprint(sum.Completed), fmt.Sprint(sum.Skipped), fmt.Sprint(sum.Failed)
			}
			return []string{run.RunID, run.WorkflowName, run.WorkflowVersion, string(run.TriggerType), string(run.Status), moment(run.CreatedAt), took, ran, reused, failed}
		})
	})
}

// oneRun is a command about one run.
type oneRun struct {
	remote
	ID string `arg:"" help:"Id of the run."`
}

// readOne reads a part of the run and prints it.
func readOne[T any](ctx context.Context, s streams, c oneRun, part string, show func(T) error) error {
	return c.fetch(ctx, s, client.Call{Path: client.RunPath(c.ID, part)}, func(answer json.RawMessage) error {
		var found T
		if err := json.Unmarshal(answer, &found); err != nil {
			return err
		}
		return show(found)
	})
}

type runsShow struct{ oneRun }

// Run shows a run.
func (c runsShow) Run(ctx context.Context, s streams) error {
	return readOne(ctx, s, c.oneRun, "", func(run client.Run) error { return printRun(s, run) })
}

func printRun(s streams, run client.Run) error {
	var change, failed, took, steps string
	if run.Change != nil {
		change = plain(run.Change.Type)
	}
	if run.Error != nil {
		failed = plain(fmt.Sprintf("%s %s: %s", run.Error.Code, run.Error.FailedStepID, run.Error.Message))
	}
	if run.DurationMs != nil {
		took = elapsed(time.Duration(*run.DurationMs) * time.Millisecond)
	}
	if sum := run.StepsSummary; sum != nil {
		steps = fmt.Sprintf("%d of %d done: %d ran, %d reused, %d running, %d failed, %d cancelled", sum.Completed+sum.Skipped, sum.Total,
			sum.Completed, sum.Skipped, sum.Running, sum.Failed, sum.Cancelled)
	}
	return details(s.out, "Run", run.RunID, "Workflow", run.WorkflowName+" "+run.WorkflowVersion, "Status", string(run.Status), "Error", failed,
		"Trigger", string(run.TriggerType), "Base", run.BaseRunID, "Change", change, "Steps", steps, "Input", plain(compactJSON(run.TriggerPayload)),
		"Case", plain(run.CaseID), "By", plain(run.CreatedBy), "Created", moment(run.CreatedAt), "Completed", maybeMoment(run.CompletedAt), "Took", took)
}

type runsSteps struct {
	oneRun
	Status string `help:"Only steps that stand so: pending, running, skipped, completed, failed or cancelled." placeholder:"STATUS"`
}

// Run lists the steps of a run.
func (c runsSteps) Run(ctx context.Context, s streams) error {
	call := client.Call{Path: client.RunPath(c.ID, "steps"), Query: query("status", c.Status)}
	return c.fetch(ctx, s, call, func(answer json.RawMessage) error {
		var found struct{ Steps []client.RunStep }
		if err := json.Unmarshal(answer, &found); err != nil {
			return err
		}
		rows := [][]string{{"STEP", "SKILL", "STATUS", "TIME", "WHY"}}
		for _, step := range found.Steps {
			rows = append(rows, []string{step.StepID, step.Skill, statusWord(step), stepTime(step), whyStep(step)})
		}
		return table(s.out, rows)
	})
}

type runsOutput struct {
	oneRun
	Step string `arg:"" help:"Id of the step."`
}

// Run prints the data of a step alone, so that it can be piped on; as JSON, with
// every attempt.
func (c runsOutput) Run(ctx context.Context, s streams) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	found, err := server.RunStepOutput(ctx, c.ID, c.Step)
	switch {
	case err != nil:
		return err
	case c.json():
		return printJSON(s.out, found)
	case found.Step.Error != nil:
		return &rondo.Error{Code: rondo.Code(found.Step.Error.Code), Message: fmt.Sprintf("%s %s: %s", c.Step, found.Step.Status, plain(found.Step.Error.Message)), Hint: "-o json shows every attempt"}
	case !found.Step.Status.Done():
		return &rondo.Error{Code: rondo.CodeWrongState, Message: fmt.Sprintf("%s is %s: it gave nothing yet", c.Step, found.Step.Status), Hint: "rondo runs watch " + c.ID}
	case len(found.Step.Data) == 0:
		return nil
	}
	return printJSON(s.out, found.Step.Data)
}

type runsExplain struct{ oneRun }

// Run says why.
func (c runsExplain) Run(ctx context.Context, s streams) error {
	return readOne(ctx, s, c.oneRun, "explain", func(e client.RunExplanation) error { return printExplanation(s, e) })
}

type runsAnalysis struct{ oneRun }

// Run says what was saved.
func (c runsAnalysis) Run(ctx context.Context, s streams) error {
	return readOne(ctx, s, c.oneRun, "cache-analysis", func(a client.RunCacheAnalysis) error {
		rows := [][]string{{"STEP", "HIT", "WHY", "TOOK", "SAVED", "COST SAVED"}}
		for _, step := range a.Steps {
			rows = append(rows, []string{
				step.StepID, yesNo(step.CacheHit), orDash(plain(reasonText(step.Reason))), elapsed(time.Duration(step.DurationMs) * time.Millisecond),
				elapsed(time.Duration(step.TimeSavedMs) * time.Millisecond), fmt.Sprintf("%.4g", step.CostSaved),
			})
		}
		if err := table(s.out, rows); err != nil {
			return err
		}
		_, err := fmt.Fprintf(s.out, "\n%d of %s reused%s\n", a.CacheHits, count(a.TotalSteps, "step"), savedWords(a))
		return err
	})
}

type runsCancel struct{ oneRun }

// Run cancels a run.
func (c runsCancel) Run(ctx context.Context, s streams) error { return c.post(ctx, s, "cancel", nil) }

type runsRetry struct{ oneRun }

// Run goes on with a failed run.
func (c runsRetry) Run(ctx context.Context, s streams) error { return c.post(ctx, s, "retry", nil) }

// post asks for something to be done with the run and says what became of it.
func (c oneRun) post(ctx context.Context, s streams, part string, body any) error {
	call := client.Call{Method: http.MethodPost, Path: client.RunPath(c.ID, part), Body: body}
	return asked(c.fetch(ctx, s, call, func(answer json.RawMessage) error {
		var accepted client.RunAccepted
		if err := json.Unmarshal(answer, &accepted); err != nil {
			return err
		}
		_, err := fmt.Fprintf(s.out, "%s: %s\n", accepted.RunID, accepted.Status)
		return err
	}))
}
