package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/client"
)

// casesCommand is what people ask about cases and do to them.
type casesCommand struct {
	List          casesList     `cmd:"" help:"List cases, newest first."`
	Get           casesGet      `cmd:"" help:"Show one case."`
	Why           casesWhy      `cmd:"" help:"Say what a case waits for, what happens next and who can help."`
	Timeline      casesTimeline `cmd:"" help:"Tell what happened to a case, oldest first."`
	Steps         casesSteps    `cmd:"" help:"List the attempts of a case."`
	Events        casesEvents   `cmd:"" help:"List the events that came in for a case."`
	NextStep      casesNextStep `cmd:"" help:"Tell a client what to do next."`
	Interventions casesActions  `cmd:"" help:"List what people did to a case."`
	Follow        casesFollow   `cmd:"" help:"Tell what happens to a case as it happens, until it ends."`
	Halt          casesHalt     `cmd:"" help:"Halt a running case."`
	Resume        casesResume   `cmd:"" help:"Resume a halted case."`
	Cancel        casesCancel   `cmd:"" help:"Cancel a case for good."`
	RetryStep     casesRetry    `cmd:"" help:"Try the step again that a case halted at."`
	SkipStep      casesSkip     `cmd:"" help:"Go past a step with an outcome of your choice."`
	CompleteStep  casesComplete `cmd:"" help:"Complete a manual step."`
	SetMode       casesSetMode  `cmd:"" help:"Change who calls the modules."`
	Supersede     casesReplace  `cmd:"" help:"Cancel a case and start it anew on the active definition."`
	Migrate       casesMigrate  `cmd:"" help:"Go on with another version of the definition."`
	Bulk          casesBulk     `cmd:"" help:"Do an action to every case that filters name, in the background."`
}

// oneCase names a case in a command.
type oneCase struct {
	remote
	Case string `arg:"" help:"Id of the case, or of its instance."`
}

// instance finds the newest instance of the case. What is no case id is taken
// for the id of an instance.
func (c oneCase) instance(ctx context.Context) (*client.Client, string, error) {
	server, err := c.client()
	if err != nil {
		return nil, "", err
	}
	page, err := server.Instances(ctx, query("case_id", c.Case, "limit", "1"))
	if err != nil {
		return nil, "", err
	}
	if len(page.Items) > 0 {
		return server, page.Items[0].ID, nil
	}
	if !isID(c.Case) {
		return nil, "", &rondo.Error{Code: rondo.CodeNotFound, Message: "no such case", Hint: "rondo cases list shows the cases of your organisation"}
	}
	return server, c.Case, nil
}

// read gets a part of the case and prints it: with show, or as JSON.
func (c oneCase) read(ctx context.Context, s streams, part string, show func(json.RawMessage) error) error {
	server, id, err := c.instance(ctx)
	if err != nil {
		return err
	}
	return c.fetchWith(ctx, s, server, client.Call{Path: client.InstancePath(id, part)}, show)
}

// readList prints a list of the case in columns, whole.
func readList[T any](ctx context.Context, s streams, c oneCase, part string, heading []string, row func(T) []string) error {
	server, id, err := c.instance(ctx)
	if err != nil {
		return err
	}
	return fetchAll(ctx, s, c.remote, server, client.InstancePath(id, part), heading, row)
}

type casesGet struct{ oneCase }

// Run shows a case.
func (c casesGet) Run(ctx context.Context, s streams) error {
	server, id, err := c.instance(ctx)
	if err != nil {
		return err
	}
	return c.fetchWith(ctx, s, server, client.Call{Path: client.InstancePath(id, "")}, func(answer json.RawMessage) error {
		return printInstance(ctx, s, server, answer)
	})
}

// printInstance shows where a case stands.
func printInstance(ctx context.Context, s streams, server *client.Client, answer json.RawMessage) error {
	var i client.Instance
	if err := json.Unmarshal(answer, &i); err != nil {
		return err
	}
	of := i.DefinitionID
	if d, err := server.Definition(ctx, i.DefinitionID); err == nil { // not everybody may read definitions
		of = fmt.Sprintf("%s, version %s  (%s)", d.Name, versionText(d), d.ID)
	}
	status := string(i.Status)
	if i.HaltReason != nil {
		status += ": " + *i.HaltReason + " at " + orDash(text(i.HaltStepID))
	}
	if i.CancelledBy != nil {
		status += " by " + *i.CancelledBy
	}
	deadline := moment(i.DeadlineAt)
	if i.DeadlineExceeded {
		deadline += ", which is past"
	}
	err := details(s.out,
		"Case", i.CaseID, "Instance", i.ID, "Status", status, "Note", text(i.HaltNote), "Cancelled for", text(i.CancelledReason),
		"Product", i.ProductID, "Definition", of,
		"Mode", string(i.Mode), "Started", moment(i.StartedAt), "Deadline", deadline, "Ended", maybeMoment(i.CompletedAt),
		"Replaces", text(i.SupersedesID), "Replaced by", text(i.SupersededByID),
		"Knows", strings.Join(slices.Sorted(maps.Keys(i.Context)), ", "))
	if err != nil || len(i.CurrentSteps) == 0 {
		return err
	}
	_, _ = fmt.Fprintln(s.out)
	rows := [][]string{{"STEP", "KIND", "STATUS", "ATTEMPT", "SINCE", "TIMES OUT"}}
	for _, step := range i.CurrentSteps {
		rows = append(rows, []string{step.StepID, step.Kind, string(step.Status), fmt.Sprint(step.Attempt), ago(step.StartedAt), maybeMoment(step.TimeoutAt)})
	}
	return table(s.out, rows)
}

type (
	casesWhy      struct{ oneCase }
	casesTimeline struct{ oneCase }
	casesNextStep struct{ oneCase }
	casesSteps    struct{ oneCase }
	casesActions  struct{ oneCase }
)

type casesEvents struct {
	oneCase
	paged
}

// Run explains a case.
func (c casesWhy) Run(ctx context.Context, s streams) error {
	return c.read(ctx, s, "why", func(answer json.RawMessage) error {
		var why struct {
			Summary string `json:"summary"`
			Next    []said `json:"next"`
			Actions []struct {
				Action string  `json:"action"`
				StepID *string `json:"step_id"`
			} `json:"actions"`
		}
		if err := json.Unmarshal(answer, &why); err != nil {
			return err
		}
		_, _ = fmt.Fprintln(s.out, why.Summary)
		for _, next := range why.Next {
			_, _ = fmt.Fprintf(s.out, "  %s  %s\n", moment(next.At), next.Text)
		}
		var actions []string
		steps := map[string][]string{} // of each action
		for _, a := range why.Actions {
			name := strings.ReplaceAll(a.Action, "_", "-")
			if !slices.Contains(actions, name) {
				actions = append(actions, name)
			}
			if a.StepID != nil {
				steps[name] = append(steps[name], *a.StepID)
			}
		}
		for i, name := range actions {
			if of := steps[name]; len(of) > 0 {
				actions[i] += " (" + strings.Join(of, ", ") + ")"
			}
		}
		_, err := fmt.Fprintf(s.out, "You can: %s\n", orDash(strings.Join(actions, ", ")))
		return err
	})
}

// said is a line of a timeline.
type said struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}

// Run tells what happened.
func (c casesTimeline) Run(ctx context.Context, s streams) error {
	return c.read(ctx, s, "timeline", func(answer json.RawMessage) error {
		return printItems(s, answer, []string{"AT", "WHAT"}, func(i said) []string { return []string{moment(i.At), i.Text} })
	})
}

// Run tells what to do next.
func (c casesNextStep) Run(ctx context.Context, s streams) error {
	return c.read(ctx, s, "next-step", nil)
}

// Run lists the attempts.
func (c casesSteps) Run(ctx context.Context, s streams) error {
	type step struct {
		StepID    string     `json:"step_id"`
		Kind      string     `json:"step_kind"`
		Attempt   int        `json:"attempt"`
		Status    string     `json:"status"`
		Started   *time.Time `json:"started_at"`
		Completed *time.Time `json:"completed_at"`
		Error     struct {
			Code string `json:"code"`
		} `json:"error"`
	}
	return readList(ctx, s, c.oneCase, "steps", []string{"STEP", "KIND", "ATTEMPT", "STATUS", "STARTED", "ENDED", "ERROR"}, func(i step) []string {
		return []string{i.StepID, i.Kind, fmt.Sprint(i.Attempt), i.Status, maybeMoment(i.Started), maybeMoment(i.Completed), orDash(i.Error.Code)}
	})
}

// Run lists the ledger of a case.
func (c casesEvents) Run(ctx context.Context, s streams) error {
	server, id, err := c.instance(ctx)
	if err != nil {
		return err
	}
	return c.fetchWith(ctx, s, server, client.Call{Path: client.InstancePath(id, "events"), Query: c.query()}, func(answer json.RawMessage) error {
		return printItems(s, answer, caseEventHeading, caseEventRow)
	})
}

// Run lists interventions.
func (c casesActions) Run(ctx context.Context, s streams) error {
	type intervention struct {
		Action  string    `json:"action"`
		By      string    `json:"performed_by"`
		Reason  *string   `json:"reason"`
		Created time.Time `json:"created_at"`
	}
	return readList(ctx, s, c.oneCase, "interventions", []string{"AT", "ACTION", "BY", "REASON"}, func(i intervention) []string {
		return []string{moment(i.Created), i.Action, i.By, orDash(text(i.Reason))}
	})
}
