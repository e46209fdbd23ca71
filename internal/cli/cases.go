package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
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
	Halt          casesHalt     `cmd:"" help:"Halt a running case."`
	Resume        casesResume   `cmd:"" help:"Resume a halted case."`
	Cancel        casesCancel   `cmd:"" help:"Cancel a case for good."`
	RetryStep     casesRetry    `cmd:"" help:"Try the step again that a case halted at."`
	SkipStep      casesSkip     `cmd:"" help:"Go past a step with an outcome of your choice."`
	CompleteStep  casesComplete `cmd:"" help:"Complete a manual step."`
	SetMode       casesSetMode  `cmd:"" help:"Change who calls the modules."`
	Supersede     casesReplace  `cmd:"" help:"Cancel a case and start it anew on the active definition."`
	Migrate       casesMigrate  `cmd:"" help:"Go on with another version of the definition."`
}

type casesList struct {
	remote
	Status     string `help:"running, halted, completed or cancelled only." placeholder:"STATUS"`
	Product    string `help:"Of this product only." placeholder:"ID"`
	Definition string `help:"Of this definition only." placeholder:"ID"`
	Mode       string `help:"active or client_driven only." placeholder:"MODE"`
	Reason     string `help:"Halted for this reason code only." placeholder:"CODE"`
	Step       string `help:"With this step in flight only." placeholder:"STEP"`
	Tag        string `help:"With this tag only." placeholder:"TAG"`
	Where      string `help:"Tests of searchable values, such as 'ai_review.confidence<0.7'." placeholder:"TESTS"`
	Limit      int    `help:"How many at most." default:"50"`
}

// Validate refuses what no page can hold.
func (c casesList) Validate() error {
	return firstWrong(rule{c.Limit >= 1 && c.Limit <= 200, "--limit must be 1 to 200"})
}

// Run lists one page of cases.
func (c casesList) Run(ctx context.Context, s streams) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	query := url.Values{"limit": {fmt.Sprint(c.Limit)}}
	for name, value := range map[string]string{
		"status": c.Status, "product_id": c.Product, "definition_id": c.Definition, "mode": c.Mode,
		"reason_code": c.Reason, "step_id": c.Step, "tag": c.Tag, "where": c.Where,
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	page, err := server.Instances(ctx, query)
	if err != nil {
		return err
	}
	if c.json() {
		page.Items = nonNil(page.Items)
		return printJSON(s.out, page)
	}
	if err := printInstances(s, page.Items); err != nil {
		return err
	}
	if page.NextCursor != nil {
		_, _ = fmt.Fprintf(s.err, "rondo: there are more; narrow the list, or raise --limit\n")
	}
	return nil
}

func printInstances(s streams, items []client.Instance) error {
	rows := [][]string{{"CASE", "INSTANCE", "PRODUCT", "STATUS", "AT", "REASON", "STARTED"}}
	for _, i := range items {
		var at []string
		for _, step := range i.CurrentSteps {
			at = append(at, step.StepID)
		}
		if len(at) == 0 && i.HaltStepID != nil {
			at = []string{*i.HaltStepID}
		}
		rows = append(rows, []string{i.CaseID, i.ID, orDash(i.ProductID), string(i.Status), orDash(strings.Join(at, ", ")), orDash(text(i.HaltReason)), moment(i.StartedAt)})
	}
	return table(s.out, rows)
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
	page, err := server.Instances(ctx, url.Values{"case_id": {c.Case}, "limit": {"1"}})
	if err != nil {
		return nil, "", err
	}
	if len(page.Items) > 0 {
		return server, page.Items[0].ID, nil
	}
	if _, err := rondo.ParseID(c.Case); err != nil {
		return nil, "", &rondo.Error{Code: rondo.CodeNotFound, Message: "no such case", Hint: "rondo cases list shows the cases of your organisation"}
	}
	return server, c.Case, nil
}

// read gets a part of the case and prints it: as a table when show can, else as
// JSON.
func (c oneCase) read(ctx context.Context, s streams, part string, show func(json.RawMessage) error) error {
	server, id, err := c.instance(ctx)
	if err != nil {
		return err
	}
	var answer json.RawMessage
	if _, err := server.Do(ctx, client.Call{Path: client.InstancePath(id, part)}, &answer); err != nil {
		return err
	}
	if c.json() || show == nil {
		return printJSON(s.out, answer)
	}
	return show(answer)
}

type casesGet struct{ oneCase }

// Run shows a case.
func (c casesGet) Run(ctx context.Context, s streams) error {
	return c.read(ctx, s, "", func(answer json.RawMessage) error { return printInstance(s, answer) })
}

func printInstance(s streams, answer json.RawMessage) error {
	var i client.Instance
	if err := json.Unmarshal(answer, &i); err != nil {
		return err
	}
	return printInstances(s, []client.Instance{i})
}

type (
	casesWhy      struct{ oneCase }
	casesTimeline struct{ oneCase }
	casesNextStep struct{ oneCase }
	casesSteps    struct{ oneCase }
	casesEvents   struct{ oneCase }
	casesActions  struct{ oneCase }
)

// Run explains a case.
func (c casesWhy) Run(ctx context.Context, s streams) error {
	return c.read(ctx, s, "why", func(answer json.RawMessage) error {
		var why struct {
			Summary string `json:"summary"`
			Next    []struct {
				At   time.Time `json:"at"`
				Text string    `json:"text"`
			} `json:"next"`
			Actions []struct {
				Action string `json:"action"`
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
		for _, a := range why.Actions {
			actions = append(actions, strings.ReplaceAll(a.Action, "_", "-"))
		}
		_, err := fmt.Fprintf(s.out, "You can: %s\n", orDash(strings.Join(actions, ", ")))
		return err
	})
}

// Run tells what happened.
func (c casesTimeline) Run(ctx context.Context, s streams) error {
	return c.read(ctx, s, "timeline", func(answer json.RawMessage) error {
		type entry struct {
			At   time.Time `json:"at"`
			Text string    `json:"text"`
		}
		return printItems(s, answer, []string{"AT", "WHAT"}, func(i entry) []string { return []string{moment(i.At), i.Text} })
	})
}

// Run tells what to do next.
func (c casesNextStep) Run(ctx context.Context, s streams) error {
	return c.read(ctx, s, "next-step", nil)
}

// Run lists the attempts.
func (c casesSteps) Run(ctx context.Context, s streams) error {
	return c.read(ctx, s, "steps", func(answer json.RawMessage) error {
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
		return printItems(s, answer, []string{"STEP", "KIND", "ATTEMPT", "STATUS", "STARTED", "ENDED", "ERROR"}, func(i step) []string {
			return []string{i.StepID, i.Kind, fmt.Sprint(i.Attempt), i.Status, maybeMoment(i.Started), maybeMoment(i.Completed), orDash(i.Error.Code)}
		})
	})
}

// Run lists the ledger of a case.
func (c casesEvents) Run(ctx context.Context, s streams) error {
	return c.read(ctx, s, "events", func(answer json.RawMessage) error { return printItems(s, answer, eventHeading, eventRow) })
}

// ledgerRow is an inbound event as lists show it.
type ledgerRow struct {
	EventID  string    `json:"event_id"`
	Type     string    `json:"event_type"`
	Received time.Time `json:"received_at"`
	Outcome  string    `json:"outcome"`
	Verdict  *string   `json:"verdict"`
	Repeats  int       `json:"duplicates"`
	Error    *string   `json:"error"`
}

var eventHeading = []string{"RECEIVED", "TYPE", "OUTCOME", "VERDICT", "REPEATS", "EVENT", "ERROR"}

func eventRow(i ledgerRow) []string {
	return []string{moment(i.Received), i.Type, i.Outcome, orDash(text(i.Verdict)), fmt.Sprint(i.Repeats), i.EventID, orDash(text(i.Error))}
}

// Run lists interventions.
func (c casesActions) Run(ctx context.Context, s streams) error {
	return c.read(ctx, s, "interventions", func(answer json.RawMessage) error {
		type intervention struct {
			Action  string    `json:"action"`
			By      string    `json:"performed_by"`
			Reason  *string   `json:"reason"`
			Created time.Time `json:"created_at"`
		}
		return printItems(s, answer, []string{"AT", "ACTION", "BY", "REASON"}, func(i intervention) []string {
			return []string{moment(i.Created), i.Action, i.By, orDash(text(i.Reason))}
		})
	})
}

// printItems prints the items of a list in columns.
func printItems[T any](s streams, answer json.RawMessage, heading []string, row func(T) []string) error {
	var page client.Page[T]
	if err := json.Unmarshal(answer, &page); err != nil {
		return err
	}
	rows := [][]string{heading}
	for _, item := range page.Items {
		rows = append(rows, row(item))
	}
	return table(s.out, rows)
}
