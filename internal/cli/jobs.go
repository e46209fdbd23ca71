package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/client"
)

// jobsCommand is about what is done to many cases.
type jobsCommand struct {
	List    jobsList    `cmd:"" help:"List bulk jobs, newest first."`
	Get     jobsGet     `cmd:"" help:"Say how far a bulk job is."`
	Watch   jobsWatch   `cmd:"" help:"Say how far a bulk job is, until it is done."`
	Results jobsResults `cmd:"" help:"List what a bulk job did to each case."`
}

const jobsPath = "/jobs"

func jobPath(id string) string { return jobsPath + "/" + url.PathEscape(id) }

// job is one as the API shows it.
type job struct {
	ID       string          `json:"id"`
	Action   string          `json:"action"`
	Filter   json.RawMessage `json:"filter"`
	Status   string          `json:"status"`
	Total    int             `json:"total"`
	Pending  int             `json:"pending"`
	Applied  int             `json:"applied"`
	Refused  int             `json:"refused"`
	Failed   int             `json:"failed"`
	By       string          `json:"created_by"`
	Created  time.Time       `json:"created_at"`
	Finished *time.Time      `json:"finished_at"`
}

// progress says in a line how far a job is.
func (j job) progress() string {
	return fmt.Sprintf("%s: %d of %s done: %d applied, %d refused, %d failed",
		j.Status, j.Total-j.Pending, count(j.Total, "case"), j.Applied, j.Refused, j.Failed)
}

type jobsList struct {
	remote
	paged
}

// Run lists jobs.
func (c jobsList) Run(ctx context.Context, s streams) error {
	heading := []string{"ID", "ACTION", "STATUS", "CASES", "PENDING", "APPLIED", "REFUSED", "FAILED", "CREATED", "BY"}
	return fetchList(ctx, s, c.remote, client.Call{Path: jobsPath, Query: c.query()}, heading, func(j job) []string {
		return []string{
			j.ID, commandName(j.Action), j.Status, fmt.Sprint(j.Total), fmt.Sprint(j.Pending), fmt.Sprint(j.Applied), fmt.Sprint(j.Refused),
			fmt.Sprint(j.Failed), moment(j.Created), j.By,
		}
	})
}

// commandName is an action as commands are called.
func commandName(action string) string { return strings.ReplaceAll(action, "_", "-") }

type oneJob struct {
	remote
	ID string `arg:"" help:"Id of the job."`
}

type jobsGet struct{ oneJob }

// Run shows a job.
func (c jobsGet) Run(ctx context.Context, s streams) error {
	return c.fetch(ctx, s, client.Call{Path: jobPath(c.ID)}, func(answer json.RawMessage) error {
		var j job
		if err := json.Unmarshal(answer, &j); err != nil {
			return err
		}
		return details(s.out, "Job", j.ID, "Action", commandName(j.Action), "Filter", string(j.Filter), "Progress", j.progress(),
			"Created", moment(j.Created)+" by "+j.By, "Finished", maybeMoment(j.Finished))
	})
}

type jobsWatch struct{ oneJob }

// pollEvery is how often a job that is watched is asked for.
const pollEvery = 500 * time.Millisecond

// Run tells of progress, a line each time there is some.
func (c jobsWatch) Run(ctx context.Context, s streams) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	told := ""
	for {
		var j job
		var answer json.RawMessage
		if _, err := server.Do(ctx, client.Call{Path: jobPath(c.ID)}, &answer); err != nil {
			return err
		}
		if err := json.Unmarshal(answer, &j); err != nil {
			return err
		}
		if now := j.progress(); now != told && !c.json() {
			_, _ = fmt.Fprintln(s.out, now)
			told = now
		}
		if j.Status != "running" {
			if c.json() {
				return printJSON(s.out, answer)
			}
			if j.Refused+j.Failed > 0 {
				_, _ = fmt.Fprintf(s.err, "rondo: to see why: rondo jobs results %s\n", c.ID)
			}
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pollEvery):
		}
	}
}

type jobsResults struct {
	oneJob
	paged
}

// Run lists the results of a job.
func (c jobsResults) Run(ctx context.Context, s streams) error {
	type result struct {
		InstanceID string    `json:"instance_id"`
		Outcome    string    `json:"outcome"`
		Detail     *string   `json:"detail"`
		At         time.Time `json:"at"`
	}
	call := client.Call{Path: jobPath(c.ID) + "/results", Query: c.query()}
	return fetchList(ctx, s, c.remote, call, []string{"INSTANCE", "OUTCOME", "AT", "DETAIL"}, func(r result) []string {
		return []string{r.InstanceID, r.Outcome, moment(r.At), orDash(text(r.Detail))}
	})
}

type casesBulk struct {
	remote
	Action string `arg:"" enum:"halt,resume,cancel,retry-step,set-mode,supersede,skip-step,migrate" help:"halt, resume, cancel, retry-step, set-mode, supersede, skip-step or migrate."`
	caseFilter
	Reason string `help:"Why." placeholder:"TEXT"`
	Params object `help:"What else the action takes, by its names in the API." placeholder:"JSON"`
	DryRun bool   `help:"Say which cases it is about and change nothing."`
}

// Validate refuses a job about everything.
func (c casesBulk) Validate() error {
	return firstWrong(rule{len(query(c.pairs()...)) > 0, "give at least one filter: a job is never about everything"})
}

// Run makes a job, or says what it would be about.
func (c casesBulk) Run(ctx context.Context, s streams) error {
	params := map[string]json.RawMessage{}
	if c.Params != "" {
		if err := json.Unmarshal([]byte(c.Params), &params); err != nil {
			return err
		}
	}
	if c.Reason != "" {
		reason, err := json.Marshal(c.Reason)
		if err != nil {
			return err
		}
		params["reason"] = reason
	}
	filter := map[string]string{}
	for name, values := range query(c.pairs()...) {
		filter[name] = values[0]
	}
	call := client.Call{Method: http.MethodPost, Path: client.InstancesPath + "/bulk", Body: map[string]any{
		"filter": filter, "action": strings.ReplaceAll(c.Action, "-", "_"), "params": params, "dry_run": c.DryRun,
	}}
	return c.fetch(ctx, s, call, func(answer json.RawMessage) error {
		if c.DryRun {
			return c.preview(s, answer)
		}
		var made struct {
			JobID string `json:"job_id"`
			Count int    `json:"count"`
		}
		if err := json.Unmarshal(answer, &made); err != nil {
			return err
		}
		_, err := fmt.Fprintf(s.out, "job %s: %s %s\nTo see how far it is: rondo jobs watch %s\n", made.JobID, c.Action, count(made.Count, "case"), made.JobID)
		return err
	})
}

// preview shows what a job would be about.
func (c casesBulk) preview(s streams, answer json.RawMessage) error {
	var found struct {
		Count     int               `json:"count"`
		Sample    []client.Instance `json:"sample"`
		Migration *struct {
			Verdicts map[rondo.MigrationVerdict]int `json:"verdicts"`
			Reasons  []struct {
				Reason string `json:"reason"`
				Count  int    `json:"count"`
			} `json:"reasons"`
		} `json:"migration"`
	}
	if err := json.Unmarshal(answer, &found); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(s.out, "would %s %s", c.Action, count(found.Count, "case"))
	if m := found.Migration; m != nil {
		_, _ = fmt.Fprintf(s.out, ": %d move, %d need a mapping, %d cannot", m.Verdicts[rondo.MigrationMoves], m.Verdicts[rondo.MigrationNeedsMapping], m.Verdicts[rondo.MigrationCannot])
	}
	_, _ = fmt.Fprintln(s.out)
	if m := found.Migration; m != nil {
		for _, r := range m.Reasons {
			_, _ = fmt.Fprintf(s.out, "  %d: %s\n", r.Count, r.Reason)
		}
	}
	if len(found.Sample) == 0 {
		return nil
	}
	if found.Count > len(found.Sample) {
		_, _ = fmt.Fprintf(s.out, "\nThe newest %d:\n", len(found.Sample))
	} else {
		_, _ = fmt.Fprintln(s.out)
	}
	rows := [][]string{instanceHeading}
	for _, i := range found.Sample {
		rows = append(rows, instanceRow(i))
	}
	return table(s.out, rows)
}
