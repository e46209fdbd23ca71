package httpapi

import (
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine/runs"
	"github.com/rondo-engine/rondo/store"
)

// RunService is what the edge needs of the run service. Runs, artifacts and
// entries of other tenants are CodeNotFound, like those that do not exist.
type RunService interface {
	RunControl
	RunReading
	RunReasons
	RunCache
	// Workflows lists the active ones, by name and then from the highest version.
	Workflows(ctx context.Context, p rondo.Principal) ([]runs.WorkflowView, error)
	// Workflow finds one, the highest active one when version is "", or
	// CodeWorkflowNotFound.
	Workflow(ctx context.Context, p rondo.Principal, name, version string) (runs.WorkflowView, error)
}

var _ RunService = (*runs.Service)(nil)

// RunControl is whatever changes runs. It returns when the change is durable.
type RunControl interface {
	Trigger(ctx context.Context, p rondo.Principal, request runs.Request) (*rondo.Run, error)
	Update(ctx context.Context, p rondo.Principal, request runs.UpdateRequest) (*rondo.Run, error)
	Cancel(ctx context.Context, p rondo.Principal, id rondo.ID) (*rondo.Run, error)
	Retry(ctx context.Context, p rondo.Principal, id rondo.ID) (*rondo.Run, error)
}

// RunReading shows runs.
type RunReading interface {
	Run(ctx context.Context, p rondo.Principal, id rondo.ID) (runs.RunView, error)
	// Runs lists newest first.
	Runs(ctx context.Context, p rondo.Principal, filter store.RunFilter, page store.Page) ([]runs.RunView, error)
	// Steps returns the last attempt of each step in the order of the file, without
	// data; status "" is all.
	Steps(ctx context.Context, p rondo.Principal, id rondo.ID, status rondo.RunStepStatus) ([]rondo.RunStep, error)
	// StepOutput returns a step with data.
	StepOutput(ctx context.Context, p rondo.Principal, id rondo.ID, step string) (runs.StepOutput, error)
	RunArtifacts(ctx context.Context, p rondo.Principal, id rondo.ID, step string) ([]rondo.Artifact, error)
	// OpenArtifact returns a reader that ends with CodeStateCorrupt when the bytes
	// are not those of the artifact's hash. An artifact that is known, but whose
	// bytes are not here, comes with CodeNotFound.
	OpenArtifact(ctx context.Context, p rondo.Principal, id rondo.ID) (io.ReadCloser, rondo.Artifact, error)
	// Watch tells every change whose Seq is above after, by Seq, until the run has
	// ended, tell fails or ctx ends.
	Watch(ctx context.Context, p rondo.Principal, id rondo.ID, after int64, tell func(runs.Event) error) error
}

// RunReasons says what a run would do and why one did what it did.
type RunReasons interface {
	Plan(ctx context.Context, p rondo.Principal, request runs.Request) (runs.Plan, error)
	PlanUpdate(ctx context.Context, p rondo.Principal, request runs.UpdateRequest) (runs.Plan, error)
	Explain(ctx context.Context, p rondo.Principal, id rondo.ID) (runs.Explanation, error)
	CacheAnalysis(ctx context.Context, p rondo.Principal, id rondo.ID) (runs.CacheAnalysis, error)
}

// RunCache shows and mends the step cache.
type RunCache interface {
	// Cache lists newest first.
	Cache(ctx context.Context, p rondo.Principal, filter store.CacheFilter, page store.CachePage) ([]rondo.CacheEntry, error)
	CacheStats(ctx context.Context, p rondo.Principal, filter store.CacheFilter) (store.CacheStats, error)
	InvalidateCache(ctx context.Context, p rondo.Principal, filter store.CacheFilter) (int, error)
	Taint(ctx context.Context, p rondo.Principal, request runs.TaintRequest) (runs.Tainted, error)
}

// runCall is what a request to the run API says in its path beside {id}.
type runCall struct {
	step     string
	artifact rondo.ID
	key      string // of the cache
}

// maxWorkflowName is how long the name of a workflow may be.
const maxWorkflowName = 200

// readRunPath reads the path of a request to the run API. What cannot be a name is
// a name that nobody has.
func (c *call) readRunPath(r *http.Request, row Route) error {
	c.run = runCall{step: r.PathValue("stepId"), key: r.PathValue("key")}
	has := func(part string) bool { return strings.Contains(row.Path, part) }
	if has("{name}") && (len(c.name) > maxWorkflowName || !storable(c.name)) {
		return &rondo.Error{Code: rondo.CodeWorkflowNotFound}
	}
	if has("{stepId}") && !identifier(c.run.step) || has("{key}") && !hexDigest(c.run.key) {
		return rondo.NotFound(row.Noun)
	}
	if has("{artifactId}") {
		id, err := rondo.ParseID(r.PathValue("artifactId"))
		if err != nil || id.IsZero() {
			return rondo.NotFound(row.Noun)
		}
		c.run.artifact = id
	}
	return nil
}

// hexDigest reports whether s is a SHA-256 as Rondo writes it.
func hexDigest(s string) bool { return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == "" }

func runPathParams(row Route) []*huma.Param {
	text := &huma.Schema{Type: huma.TypeString}
	uuid := &huma.Schema{Type: huma.TypeString, Format: "uuid"}
	noun := row.Noun
	if strings.HasPrefix(row.Path, "/runs/") {
		noun = nounRun
	}
	var out []*huma.Param
	for _, p := range []struct {
		name, told string
		schema     *huma.Schema
	}{
		{"id", "Id of the " + noun, uuid},
		{"stepId", "Id of the step in the workflow", text},
		{"artifactId", "Id of the artifact", uuid},
		{"name", "Name of the workflow", text},
		{"key", "Key of the cache entry, 64 hexadecimal digits", text},
	} {
		if strings.Contains(row.Path, "{"+p.name+"}") {
			out = append(out, &huma.Param{Name: p.name, In: "path", Required: true, Description: p.told, Schema: p.schema})
		}
	}
	return out
}

// runService is the run service, or the error that there is none.
func (a *API) runService() (RunService, error) {
	if a.cfg.Runs == nil {
		return nil, &rondo.Error{
			Code: rondo.CodeUnavailable, Message: "this server does not execute runs",
			Hint: "call a server that was started with a store of runs",
		}
	}
	return a.cfg.Runs, nil
}

// running is a handler of the run API: the service is there.
type running[O any] func(ctx context.Context, service RunService, c *call) (*O, error)

// handleRun registers one.
func handleRun[O any](a *API, r *registrar, id string, body any, handler running[O]) {
	handle(r, id, body, func(ctx context.Context, c *call) (*O, error) {
		service, err := a.runService()
		if err != nil {
			return nil, err
		}
		return handler(ctx, service, c)
	})
}

func (a *API) registerRuns(r *registrar) {
	handleRun(a, r, "start-run", startRunBody{}, a.startRun)
	handleRun(a, r, "update-run", updateRunBody{}, a.updateRun)
	handleRun(a, r, "cancel-run", nil, a.cancelRun)
	handleRun(a, r, "retry-run", nil, a.retryRun)
	handleRun(a, r, "plan-run", planRunBody{}, a.planRun)
	a.registerRunReading(r)
	a.registerCache(r)
}

// runAccepted answers whatever starts or ends a run.
type runAccepted struct {
	RunID   string `json:"runId" format:"uuid"`
	Status  string `json:"status" enum:"queued,running,completed,failed,cancelled"`
	Message string `json:"message" doc:"What to do next"`
}

type runAcceptedOut struct {
	Location string `header:"Location" doc:"Path of the run"`
	Body     runAccepted
}

func accepted(run *rondo.Run, message string) *runAcceptedOut {
	at := "/runs/" + run.ID.String()
	return &runAcceptedOut{Location: at, Body: runAccepted{RunID: run.ID.String(), Status: string(run.Status), Message: message + "; read it at " + at + " or follow it at " + at + "/stream"}}
}

func (a *API) startRun(ctx context.Context, service RunService, c *call) (*runAcceptedOut, error) {
	request, err := readStartRun(c.body)
	if err != nil {
		return nil, err
	}
	run, err := service.Trigger(ctx, c.principal, request)
	if err != nil {
		return nil, inPayload(err, triggerPayload)
	}
	return accepted(run, "the run was accepted"), nil
}

func (a *API) updateRun(ctx context.Context, service RunService, c *call) (*runAcceptedOut, error) {
	request, err := readUpdateRun(c.body)
	if err != nil {
		return nil, err
	}
	request.BaseRunID = c.id
	run, err := service.Update(ctx, c.principal, request)
	if err != nil {
		return nil, inPayload(err, changePayload)
	}
	return accepted(run, "the update run was accepted"), nil
}

func (a *API) cancelRun(ctx context.Context, service RunService, c *call) (*runAcceptedOut, error) {
	run, err := service.Cancel(ctx, c.principal, c.id)
	if err != nil {
		return nil, err
	}
	told := "the run was cancelled"
	if run.Status != rondo.RunCancelled {
		told = "the run will be cancelled as soon as its owner hears of it"
	}
	return accepted(run, told), nil
}

func (a *API) retryRun(ctx context.Context, service RunService, c *call) (*runAcceptedOut, error) {
	run, err := service.Retry(ctx, c.principal, c.id)
	if err != nil {
		return nil, err
	}
	return accepted(run, "the run goes on from what failed"), nil
}

// Where payloads are in bodies.
const (
	triggerPayload = "/triggerPayload"
	changePayload  = "/changeRequest/payload"
)

type runPlanOut struct{ Body planView }

func (a *API) planRun(ctx context.Context, service RunService, c *call) (*runPlanOut, error) {
	update, err := plansUpdate(c.body)
	if err != nil {
		return nil, err
	}
	var plan runs.Plan
	if update {
		var request runs.UpdateRequest
		if request, err = readPlanUpdate(c.body); err != nil {
			return nil, err
		}
		if err = judgeDocument(request.Document); err != nil {
			return nil, err
		}
		plan, err = service.PlanUpdate(ctx, c.principal, request)
		err = inPayload(inDocument(err), changePayload)
	} else {
		var request runs.Request
		if request, err = readPlanStart(c.body); err != nil {
			return nil, err
		}
		if err = judgeDocument(request.Document); err != nil {
			return nil, err
		}
		plan, err = service.Plan(ctx, c.principal, request)
		err = inPayload(inDocument(err), triggerPayload)
	}
	if err != nil {
		return nil, err
	}
	return &runPlanOut{Body: viewRunPlan(plan)}, nil
}
