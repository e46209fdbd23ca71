package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/client"
)

type runsArtifacts struct {
	oneRun
	Step string `help:"Only those of this step." placeholder:"STEP"`
	Out  string `help:"Copy them into this folder." type:"path" placeholder:"DIR"`
}

// Run lists artifacts, and copies them when a folder is named.
func (c runsArtifacts) Run(ctx context.Context, s streams) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	found := []rondo.Artifact{}
	for artifact, err := range server.RunArtifacts(ctx, c.ID, c.Step) {
		if err != nil {
			return err
		}
		found = append(found, artifact)
	}
	if c.json() {
		err = printList(s.out, found)
	} else {
		err = printArtifacts(s, found, "")
	}
	if err != nil || c.Out == "" {
		return err
	}
	copied, err := copyArtifacts(ctx, server, found, c.Out)
	for _, path := range copied {
		_, _ = fmt.Fprintln(s.err, "copied to", path)
	}
	return err
}

type runsWatch struct{ oneRun }

// Run shows a run until it has ended; with JSON, every change is a line. It fails
// when the run did. Interrupting ends the watching, not the run.
func (c runsWatch) Run(ctx context.Context, s streams) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	progress := newProgress(s.err, isTerminal(s.err) && !c.json())
	run, err := server.Run(ctx, c.ID)
	if err != nil {
		return err
	}
	progress.expect(run)
	watching, done := context.WithCancel(ctx)
	drawn := make(chan struct{})
	go func() {
		defer close(drawn)
		progress.draw(watching, func() (client.RunCacheAnalysis, error) { return server.RunCacheAnalysis(watching, c.ID) })
	}()
	tell := progress.tell
	if c.json() {
		tell = func(e client.RunEvent) error {
			line, err := json.Marshal(e)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(s.out, string(line))
			return err
		}
	}
	err = watchPatiently(watching, func(after int64, tell func(client.RunEvent) error) error {
		return server.WatchRun(watching, c.ID, after, tell)
	}, c.ID, tell, progress.note)
	done()
	<-drawn
	progress.clear()
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the user watches no longer
	}
	if err != nil {
		return err
	}
	if run, err = server.Run(ctx, c.ID); err != nil {
		return err
	}
	if !c.json() {
		analysis, err := server.RunCacheAnalysis(ctx, c.ID)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintln(s.out, runLine(run, analysis))
	}
	return outcome(run, true, false)
}

type runsUpdate struct {
	oneRun
	Change      string   `help:"Type of change, of those that the workflow names." placeholder:"TYPE"`
	ChangeInput []string `sep:"none" help:"What changes in the input: name=value, name=@FILE, or @FILE for a whole object. Repeatable." placeholder:"NAME=VALUE"`
	ChangedStep []string `help:"Step to look at again, beside those of the change. Repeatable." placeholder:"STEP"`
	Definition  string   `enum:"pinned,latest" default:"pinned" help:"Which definition: pinned, that of the run, or latest."`
	IfLatest    bool     `help:"Refuse when the run was updated since."`
	Force       bool     `help:"Run the steps that the change begins with, whatever the cache has."`
	Strict      bool     `help:"Look at every step again whose input is not what it was."`
	runModes
	Plan bool `help:"Say what would run and why, and run nothing."`
}

// Validate refuses what no run can be asked for.
func (c runsUpdate) Validate() error {
	return firstWrong(rule{c.Change != "" || len(c.ChangeInput) == 0, "--change-input needs --change, the type of change"})
}

// Run asks for an update run, or for its plan.
func (c runsUpdate) Run(ctx context.Context, s streams) error {
	payload, err := readInputs("--change-input", c.ChangeInput, nil)
	if err != nil {
		return usageError{err}
	}
	mode, steps, policy := c.runModes.options()
	update := client.RunUpdate{
		ChangedSteps: c.ChangedStep, Force: c.Force, Strict: c.Strict, Definition: c.Definition, IfLatest: c.IfLatest,
		Mode: mode, StepModes: steps, FailurePolicy: policy,
	}
	if c.Change != "" {
		update.ChangeRequest = &rondo.ChangeRequest{Type: c.Change, Payload: payload}
	}
	if !c.Plan {
		return c.post(ctx, s, "update", update)
	}
	server, err := c.client()
	if err != nil {
		return err
	}
	planned, err := server.PlanRunUpdate(ctx, c.ID, update)
	if err != nil {
		return asked(err)
	}
	return printAs(s, c.Output, planned, func() error { return printPlan(s, planned, false) })
}
