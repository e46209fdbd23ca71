package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/client"
	"github.com/rondo-engine/rondo/internal/app"
)

// runReport is everything about a run that has ended.
type runReport struct {
	Run         client.Run              `json:"run"`
	Steps       []client.RunStep        `json:"steps"`
	Artifacts   []rondo.Artifact        `json:"artifacts"`
	Copied      []string                `json:"copied,omitempty"` // paths that --out wrote
	Analysis    client.RunCacheAnalysis `json:"analysis"`
	Explanation *client.RunExplanation  `json:"explanation,omitempty"`
	Plan        *heldTo                 `json:"plan,omitempty"`

	behind map[string]string // why a step never began
	blobs  string            // address of the artifacts' bytes; "" = not at hand
}

// execute starts the run, shows it until it has ended, and reports.
func (c runCommand) execute(ctx context.Context, s streams, server *client.Client, ask runAsk, source runSource, memory planMemory) error {
	accepted, err := ask.start(ctx, server)
	if err != nil {
		return c.asked(err)
	}
	_, _ = fmt.Fprintln(s.err, "Run", accepted.RunID)
	planned, fileChanged, err := memory.take(source)
	if err != nil {
		return err
	}
	if err := watchRun(ctx, s, server, accepted.RunID); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // interrupting the run does not interrupt its report
	report, err := readReport(ctx, server, accepted.RunID)
	if err != nil {
		return err
	}
	if c.Server == "" {
		report.blobs = c.runSettings.options(c.Data, app.OpenAIOptions{}).Blobs
	}
	report.Plan = hold(planned, fileChanged, report.Steps)
	var uncopied error
	if c.Out != "" {
		report.Copied, uncopied = copyArtifacts(ctx, server, report.Artifacts, c.Out)
	}
	if !c.Explain {
		report.Explanation = nil
	}
	if err := c.print(ctx, s, server, report); err != nil {
		return err
	}
	if err := outcome(report.Run, c.Server != "", c.Output == "table"); err != nil {
		if uncopied != nil {
			_, _ = fmt.Fprintln(s.err, "not all was copied:", plain(uncopied.Error()))
		}
		return err
	}
	return uncopied
}

// print prints the report, or what one step gave alone, so that it can be piped on.
func (c runCommand) print(ctx context.Context, s streams, server *client.Client, report runReport) error {
	if c.OutputOf == "" {
		return printAs(s, c.Output, report, func() error { return printReport(s, report) })
	}
	if err := printReport(streams{out: s.err, err: s.err}, report); err != nil {
		return err
	}
	found, err := server.RunStepOutput(ctx, report.Run.RunID, c.OutputOf)
	if err != nil {
		return err
	}
	if !found.Step.Status.Done() { // the report says why
		return nil
	}
	data := found.Step.Data
	if len(data) == 0 {
		data = json.RawMessage("null")
	}
	return printAs(s, c.Output, data, func() error { return printJSON(s.out, data) })
}

func readReport(ctx context.Context, server *client.Client, id string) (report runReport, err error) {
	if report.Run, err = server.Run(ctx, id); err != nil {
		return report, err
	}
	if report.Steps, err = server.RunSteps(ctx, id, ""); err != nil {
		return report, err
	}
	report.Artifacts = []rondo.Artifact{}
	for artifact, err := range server.RunArtifacts(ctx, id, "") {
		if err != nil {
			return report, err
		}
		report.Artifacts = append(report.Artifacts, artifact)
	}
	if report.Analysis, err = server.RunCacheAnalysis(ctx, id); err != nil {
		return report, err
	}
	explained, err := server.ExplainRun(ctx, id)
	report.Explanation = &explained
	report.behind = map[string]string{}
	for _, step := range explained.Steps {
		if _, why, found := strings.Cut(step.Text, ": "); found && step.Status == rondo.RunStepPending {
			report.behind[step.StepID] = plain(why)
		}
	}
	return report, err
}

// outcome is the error of a run that did not complete. On a server the same run can
// go on; said says that what failed is printed above.
func outcome(run client.Run, onServer, said bool) error {
	switch run.Status {
	case rondo.RunCancelled:
		return &rondo.Error{Code: rondo.CodeWrongState, Message: "the run was cancelled", Hint: "run it again: steps that were finished are reused"}
	case rondo.RunFailed:
		failed := &rondo.Error{Code: rondo.CodeSkillError, Message: "the run failed", Hint: "mend it and run again: steps that were finished are reused"}
		if onServer {
			failed.Hint = "go on from what failed: rondo runs retry " + run.RunID
		}
		if run.Error != nil {
			failed.Code, failed.Message = rondo.Code(run.Error.Code), "the run failed: "+plain(run.Error.Message)
			if run.Error.FailedStepID != "" {
				failed.Message = fmt.Sprintf("the run failed at %s: %s", run.Error.FailedStepID, plain(run.Error.Message))
				if said {
					failed.Message = fmt.Sprintf("the run failed at %s; why is said above", run.Error.FailedStepID)
				}
			}
			if flag := allowing(run.Error.Message); flag != "" && !onServer {
				failed.Hint = "to allow it, add " + flag
			}
			if run.Error.Code == string(rondo.CodeCacheOnlyMiss) {
				failed.Hint = "run it without --mode only, which computes nothing"
			}
		}
		return failed
	case rondo.RunQueued, rondo.RunRunning, rondo.RunCompleted:
	}
	return nil
}

// allowing is the flag that allows what a step was refused; "" = there is none.
func allowing(message string) string {
	if !strings.Contains(message, "operator allow") {
		return ""
	}
	for _, known := range []struct{ word, flag string }{
		{"plain http", "--skill-http"}, {" port ", "--skill-port N"}, {"public", "--skill-private CIDR"}, {"secret", "--skill-secret NAME=HOST"}, {"key", "--skill-secret NAME=HOST"},
	} {
		if strings.Contains(message, known.word) {
			return known.flag
		}
	}
	return ""
}

// watchRun shows a run until it has ended. The first interrupt cancels the run and
// waits for its end, the second leaves at once.
func watchRun(ctx context.Context, s streams, server *client.Client, id string) error {
	interrupts := make(chan os.Signal, 2)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(interrupts)
	watching, leave := context.WithCancel(context.WithoutCancel(ctx))
	defer leave()
	progress := newProgress(s.err, isTerminal(s.err))
	if run, err := server.Run(watching, id); err == nil { // else the bar grows with what is seen
		progress.expect(run)
	}
	var helpers sync.WaitGroup
	var cancelled error
	helpers.Go(func() {
		if ctx.Err() == nil { // it may have come before anything listened
			select {
			case <-interrupts:
			case <-watching.Done():
				return
			}
		}
		progress.note("Cancelling the run. Ctrl-C again leaves at once.")
		if _, err := server.CancelRun(watching, id); err != nil && rondo.CodeOf(err) != rondo.CodeWrongState {
			cancelled = err
			leave()
		}
		select {
		case <-interrupts:
			leave()
		case <-watching.Done():
		}
	})
	helpers.Go(func() { progress.tellWaiting(watching) })
	helpers.Go(func() {
		progress.draw(watching, func() (client.RunCacheAnalysis, error) { return server.RunCacheAnalysis(watching, id) })
	})
	err := watchPatiently(watching, func(after int64, tell func(client.RunEvent) error) error {
		return server.WatchRun(watching, id, after, tell)
	}, id, progress.tell, progress.note)
	left := watching.Err() != nil
	leave()
	helpers.Wait()
	progress.clear()
	switch {
	case cancelled != nil:
		return cancelled
	case left:
		return &rondo.Error{Code: rondo.CodeUnavailable, Message: "left before the run had ended", Hint: "the next process on the same data goes on with it, or cancels it: rondo runs cancel " + id}
	}
	return err
}
