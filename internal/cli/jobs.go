package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

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
