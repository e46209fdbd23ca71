package httpapi_test

import (
	"context"
	"encoding/json"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/httpapi"
	"github.com/rondo-engine/rondo/store"
)

// jobs is what the fake was asked to do to many, and what it answers.
type jobs struct {
	given   json.RawMessage
	preview rondo.BulkPreview
	bulked  bool
	pending bool // the job is still running
}

var jobID = id(30)

var _ httpapi.Jobs = (*fake)(nil)

func (f *fake) knownJob() rondo.Job {
	job := rondo.Job{
		ID: jobID, OrgID: "acme", Action: rondo.ActionCancel, Params: json.RawMessage(`{"reason":"recall"}`), Filter: json.RawMessage(`{"status":"running"}`),
		Status: rondo.JobCompleted, Total: 9, Applied: 5, Refused: 3, Failed: 1, CreatedBy: "ann", CreatedAt: start, FinishedAt: start.Add(time.Second),
	}
	if f.jobs.pending {
		job.Status, job.Applied, job.FinishedAt = rondo.JobRunning, 1, time.Time{}
	}
	return job
}

func (f *fake) Bulk(_ context.Context, p rondo.Principal, filter store.InstanceFilter, given json.RawMessage, a rondo.Action) (rondo.Job, error) {
	if err := f.begin(p); err != nil {
		return rondo.Job{}, err
	}
	f.filter, f.jobs.given, f.action, f.jobs.bulked = filter, given, a, true
	return f.knownJob(), nil
}

func (f *fake) PreviewBulk(_ context.Context, p rondo.Principal, filter store.InstanceFilter, a rondo.Action) (rondo.BulkPreview, error) {
	if err := f.begin(p); err != nil {
		return rondo.BulkPreview{}, err
	}
	f.filter, f.action = filter, a
	return f.jobs.preview, nil
}

func (f *fake) Job(_ context.Context, p rondo.Principal, which rondo.ID) (rondo.Job, error) {
	if err := f.begin(p); err != nil {
		return rondo.Job{}, err
	}
	if which != jobID || p.Tenant != "acme" {
		return rondo.Job{}, rondo.NotFound("row")
	}
	return f.knownJob(), nil
}

func (f *fake) JobList(_ context.Context, p rondo.Principal, page store.Page) ([]rondo.Job, error) {
	if err := f.begin(p); err != nil {
		return nil, err
	}
	f.page = page
	return []rondo.Job{f.knownJob()}, nil
}

func (f *fake) JobResults(ctx context.Context, p rondo.Principal, which rondo.ID, page store.Page) ([]rondo.JobResult, error) {
	if _, err := f.Job(ctx, p, which); err != nil {
		return nil, err
	}
	f.page = page
	rows := []rondo.JobResult{
		{JobID: jobID, OrgID: "acme", InstanceID: instanceID, Outcome: rondo.JobApplied, At: start},
		{JobID: jobID, OrgID: "acme", InstanceID: id(5), Outcome: rondo.JobRefused, Detail: "the instance is completed", At: start},
	}
	return rows[:min(page.Limit, len(rows))], nil
}
