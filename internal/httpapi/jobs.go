package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// Jobs is what the edge needs to act on many instances. Jobs of other
// organisations are CodeNotFound.
type Jobs interface {
	// Bulk makes a job and returns when it is durable. given is the filter as the
	// caller wrote it.
	Bulk(ctx context.Context, p rondo.Principal, filter store.InstanceFilter, given json.RawMessage, a rondo.Action) (rondo.Job, error)
	// PreviewBulk says what Bulk would be about, and does nothing.
	PreviewBulk(ctx context.Context, p rondo.Principal, filter store.InstanceFilter, a rondo.Action) (rondo.BulkPreview, error)
	Job(ctx context.Context, p rondo.Principal, id rondo.ID) (rondo.Job, error)
	// JobList lists newest first.
	JobList(ctx context.Context, p rondo.Principal, page store.Page) ([]rondo.Job, error)
	// JobResults lists by instance id; Page.After is one.
	JobResults(ctx context.Context, p rondo.Principal, id rondo.ID, page store.Page) ([]rondo.JobResult, error)
}

type (
	jobOut     struct{ Body job }
	jobsOut    struct{ Body page[job] }
	resultsOut struct{ Body page[jobResult] }
	bulkOut    struct {
		Status int
		Body   any
	}
)

// job is a bulk job on the wire.
type job struct {
	ID         string       `json:"id" format:"uuid"`
	OrgID      string       `json:"org_id"`
	Action     string       `json:"action"`
	Params     anyJSON      `json:"params" doc:"The parameters of the action"`
	Filter     anyJSON      `json:"filter" doc:"The filter as it was given"`
	Status     string       `json:"status" enum:"running,completed"`
	Total      int          `json:"total" doc:"Instances that the filter named when the job was made"`
	Pending    int          `json:"pending" doc:"Instances without a result yet"`
	Applied    int          `json:"applied" doc:"Instances that the action was done to"`
	Refused    int          `json:"refused" doc:"Instances whose state did not allow it"`
	Failed     int          `json:"failed" doc:"Instances that could not be acted on"`
	CreatedBy  string       `json:"created_by"`
	CreatedAt  instant      `json:"created_at"`
	FinishedAt maybeInstant `json:"finished_at"`
}

// jobResult is what a job did to one instance.
type jobResult struct {
	InstanceID string  `json:"instance_id" format:"uuid"`
	Outcome    string  `json:"outcome" enum:"applied,refused,failed"`
	Detail     *string `json:"detail" doc:"Why it was refused or failed, else null"`
	At         instant `json:"at"`
}

// bulkAccepted answers a job that was made.
type bulkAccepted struct {
	JobID string `json:"job_id" format:"uuid"`
	Count int    `json:"count" doc:"Instances that the job is about"`
}

// bulkPreview answers a dry run.
type bulkPreview struct {
	Count     int            `json:"count" doc:"Instances that the filter names now"`
	Sample    []Instance     `json:"sample" nullable:"false" doc:"The newest of them, up to 10"`
	Migration maybeMigration `json:"migration" doc:"Of migrate only: what would become of each instance; else null"`
}

// maybeMigration is null when there is none.
type maybeMigration struct{ told *migrationPreview }

// MarshalJSON writes what is told, or null.
func (m maybeMigration) MarshalJSON() ([]byte, error) { return json.Marshal(m.told) }

// Schema documents both.
func (maybeMigration) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{r.Schema(reflect.TypeFor[migrationPreview](), true, ""), {Type: "null"}}}
}

type migrationPreview struct {
	Verdicts migrationVerdicts   `json:"verdicts" doc:"How many instances got each verdict"`
	Reasons  []migrationReason   `json:"reasons" nullable:"false" doc:"Why instances do not move, the most frequent first"`
	Items    []migrationForecast `json:"items" nullable:"false" doc:"The verdict on each instance, newest first, at most 1000"`
}

type migrationVerdicts struct {
	Moves        int `json:"moves" doc:"They move by themselves or by the step map"`
	NeedsMapping int `json:"needs_mapping" doc:"They need a (better) step map"`
	Cannot       int `json:"cannot" doc:"No step map helps"`
}

type migrationReason struct {
	Reason string `json:"reason"`
	Count  int    `json:"count"`
}

type migrationForecast struct {
	InstanceID string    `json:"instance_id" format:"uuid"`
	CaseID     string    `json:"case_id"`
	Verdict    string    `json:"verdict" enum:"moves,needs_mapping,cannot"`
	Reason     *string   `json:"reason" doc:"Why it does not move; null when it does"`
	Steps      stepNames `json:"steps" doc:"Where each step goes that is in flight"`
	Renamed    stepNames `json:"renamed" doc:"Finished step → what step_map calls it from then on"`
	Warnings   []string  `json:"warnings" nullable:"false" doc:"What of the target would not work out for this case"`
}

func (a *API) registerJobs(r *registrar) {
	handle(r, "act-on-many", bulkBody{}, a.bulk)
	r.answers("act-on-many", http.StatusAccepted, "The job was made", reflect.TypeFor[bulkAccepted]())
	r.answers("act-on-many", http.StatusOK, "A dry run: nothing was done", reflect.TypeFor[bulkPreview]())
	handle(r, "list-jobs", nil, a.listJobs)
	handle(r, "get-job", nil, a.getJob)
	handle(r, "list-job-results", nil, a.listJobResults)
}

// answers documents what a status comes with.
func (r *registrar) answers(id string, status int, description string, form reflect.Type) {
	row, ok := r.row(id)
	if !ok {
		return
	}
	schema := r.huma.OpenAPI().Components.Schemas.Schema(form, true, "")
	r.described(row).Responses[statusText(status)] = &huma.Response{
		Description: description, Content: map[string]*huma.MediaType{"application/json": {Schema: schema}},
	}
}

// bulk answers 202 for a job that was made and 200 for a dry run.
func (a *API) bulk(ctx context.Context, c *call) (*bulkOut, error) {
	request, err := readBulk(c.body, a.cfg.Now())
	if err != nil {
		return nil, err
	}
	if err := c.actForOrg(request.org); err != nil {
		return nil, err
	}
	request.filter.OrgID = c.principal.Tenant
	if request.dryRun {
		preview, err := a.cfg.Jobs.PreviewBulk(ctx, c.principal, request.filter, request.action)
		if err != nil {
			return nil, err
		}
		return &bulkOut{Status: http.StatusOK, Body: viewPreview(preview)}, nil
	}
	made, err := a.cfg.Jobs.Bulk(ctx, c.principal, request.filter, request.given, request.action)
	if err != nil {
		return nil, err
	}
	return &bulkOut{Status: http.StatusAccepted, Body: bulkAccepted{JobID: made.ID.String(), Count: made.Total}}, nil
}

func (a *API) listJobs(ctx context.Context, c *call) (*jobsOut, error) {
	pg, err := queryPage(c.query, listJobs)
	if err != nil {
		return nil, err
	}
	rows, err := a.cfg.Jobs.JobList(ctx, c.principal, pg)
	if err != nil {
		return nil, err
	}
	id := func(j rondo.Job) rondo.ID { return j.ID }
	return &jobsOut{Body: paged(rows, pg.Limit, listJobs, id, viewJob)}, nil
}

func (a *API) getJob(ctx context.Context, c *call) (*jobOut, error) {
	row, err := a.cfg.Jobs.Job(ctx, c.principal, c.id)
	if err != nil {
		return nil, err
	}
	return &jobOut{Body: viewJob(row)}, nil
}

func (a *API) listJobResults(ctx context.Context, c *call) (*resultsOut, error) {
	pg, err := queryPage(c.query, listJobResults)
	if err != nil {
		return nil, err
	}
	rows, err := a.cfg.Jobs.JobResults(ctx, c.principal, c.id, pg)
	if err != nil {
		return nil, err
	}
	id := func(r rondo.JobResult) rondo.ID { return r.InstanceID }
	return &resultsOut{Body: paged(rows, pg.Limit, listJobResults, id, func(r rondo.JobResult) jobResult {
		return jobResult{InstanceID: r.InstanceID.String(), Outcome: r.Outcome, Detail: maybe(r.Detail), At: instant(r.At)}
	})}, nil
}

func viewJob(j rondo.Job) job {
	return job{
		ID: j.ID.String(), OrgID: j.OrgID, Action: string(j.Action), Params: anyJSON(j.Params), Filter: anyJSON(j.Filter),
		Status: string(j.Status), Total: j.Total, Pending: j.Total - j.Applied - j.Refused - j.Failed,
		Applied: j.Applied, Refused: j.Refused, Failed: j.Failed,
		CreatedBy: j.CreatedBy, CreatedAt: instant(j.CreatedAt), FinishedAt: maybeInstant(j.FinishedAt),
	}
}
