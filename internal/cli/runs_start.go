package cli

import (
	"context"
	"fmt"

	"github.com/rondo-engine/rondo/client"
)

type runsStart struct {
	remote
	Name    string   `arg:"" help:"Name of a published workflow: rondo workflows list."`
	Version string   `help:"Version. Default: the highest active one." placeholder:"VERSION"`
	Input   []string `sep:"none" help:"Member of the input: name=value, name=@FILE, or @FILE for a whole object. Repeatable." placeholder:"NAME=VALUE"`
	runModes
	Watch bool `help:"Show the run until it has ended, and fail when it does."`
}

// Run starts a run of a workflow by its name.
func (c runsStart) Run(ctx context.Context, s streams) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	workflow, err := server.Workflow(ctx, c.Name, c.Version)
	if err != nil {
		return err
	}
	input, err := readInputs("--input", c.Input, readInputSchema(workflow.InputSchema))
	if err != nil {
		return usageError{err}
	}
	mode, steps, policy := c.options()
	accepted, err := server.StartRun(ctx, client.RunRequest{
		WorkflowName: c.Name, WorkflowVersion: c.Version, TriggerPayload: input, Mode: mode, StepModes: steps, FailurePolicy: policy,
	})
	switch {
	case err != nil:
		return asked(err)
	case c.Watch:
		_, _ = fmt.Fprintln(s.err, "Run", accepted.RunID)
		return runsWatch{oneRun{remote: c.remote, ID: accepted.RunID}}.Run(ctx, s)
	case c.json():
		return printJSON(s.out, accepted)
	}
	_, err = fmt.Fprintf(s.out, "%s: %s\n", accepted.RunID, accepted.Status)
	return err
}
