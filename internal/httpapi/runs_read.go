package httpapi

import (
	"context"
	"net/url"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine/runs"
	"github.com/rondo-engine/rondo/store"
)

// The lists of the run API, as cursors name them.
const (
	listRuns      byte = 'R'
	listArtifacts byte = 'A'
	listWorkflows byte = 'W'
	listCache     byte = 'K'
)

type (
	runOut        struct{ Body runView }
	runsOut       struct{ Body runPage[runView] }
	runStepsOut   struct{ Body runStepsView }
	stepOutputOut struct{ Body stepOutputView }
	artifactsOut  struct{ Body runPage[artifactView] }
	explainOut    struct{ Body explanationView }
	analysisOut   struct{ Body cacheAnalysisView }
	workflowOut   struct{ Body workflowView }
	workflowsOut  struct{ Body runPage[workflowView] }
)

func (a *API) registerRunReading(r *registrar) {
	handleRun(a, r, "list-runs", nil, a.listRuns)
	handleRun(a, r, "get-run", nil, a.getRun)
	handleRun(a, r, "get-run-steps", nil, a.listRunSteps)
	handleRun(a, r, "get-run-step", nil, a.getRunStep)
	handleRun(a, r, "list-run-artifacts", nil, a.listRunArtifacts)
	handleRun(a, r, "explain-run", nil, a.explainRun)
	handleRun(a, r, "analyse-run-cache", nil, a.analyseRunCache)
	handleRun(a, r, "list-workflows", nil, a.listWorkflows)
	handleRun(a, r, "get-workflow", nil, a.getWorkflow)
	a.registerRunContent(r)
	a.registerRunStream(r)
}

func (a *API) listRuns(ctx context.Context, service RunService, c *call) (*runsOut, error) {
	pg, err := queryPage(c.query, listRuns)
	if err != nil {
		return nil, notOfThisChatList()
	}
	found, err := service.Runs(ctx, c.principal, store.RunFilter{
		TenantID: c.principal.Tenant, Workflow: c.query.Get("workflow"), Status: rondo.RunStatus(c.query.Get("status")),
		Trigger: rondo.TriggerType(c.query.Get("trigger")), Base: queryID(c.query, "base"),
	}, pg)
	if err != nil {
		return nil, err
	}
	id := func(r runs.RunView) rondo.ID { return r.ID }
	return &runsOut{Body: runPage[runView](paged(found, pg.Limit, listRuns, id, viewListedRun))}, nil
}

func (a *API) getRun(ctx context.Context, service RunService, c *call) (*runOut, error) {
	found, err := service.Run(ctx, c.principal, c.id)
	if err != nil {
		return nil, err
	}
	return &runOut{Body: viewWholeRun(found)}, nil
}

func (a *API) listRunSteps(ctx context.Context, service RunService, c *call) (*runStepsOut, error) {
	steps, err := service.Steps(ctx, c.principal, c.id, rondo.RunStepStatus(c.query.Get("status")))
	if err != nil {
		return nil, err
	}
	out := &runStepsOut{Body: runStepsView{RunID: c.id.String(), Steps: make([]runStepView, len(steps))}}
	for i := range steps {
		out.Body.Steps[i] = viewRunStep(&steps[i])
	}
	return out, nil
}

func (a *API) getRunStep(ctx context.Context, service RunService, c *call) (*stepOutputOut, error) {
	found, err := service.StepOutput(ctx, c.principal, c.id, c.run.step)
	if err != nil {
		return nil, err
	}
	out := &stepOutputOut{Body: stepOutputView{RunID: c.id.String(), Step: viewWholeStep(&found.Step), Attempts: make([]runStepView, len(found.Attempts))}}
	for i := range found.Attempts {
		out.Body.Attempts[i] = viewWholeStep(&found.Attempts[i])
	}
	return out, nil
}

func (a *API) listRunArtifacts(ctx context.Context, service RunService, c *call) (*artifactsOut, error) {
	found, err := service.RunArtifacts(ctx, c.principal, c.id, c.query.Get("stepId"))
	if err != nil {
		return nil, err
	}
	body, err := runPageOf(c.query, listArtifacts, viewed(found, viewArtifact), func(v artifactView) string { return v.ID })
	return &artifactsOut{Body: body}, err
}

func (a *API) explainRun(ctx context.Context, service RunService, c *call) (*explainOut, error) {
	found, err := service.Explain(ctx, c.principal, c.id)
	return &explainOut{Body: viewExplanation(found)}, err
}

func (a *API) analyseRunCache(ctx context.Context, service RunService, c *call) (*analysisOut, error) {
	found, err := service.CacheAnalysis(ctx, c.principal, c.id)
	return &analysisOut{Body: viewCacheAnalysis(found)}, err
}

func (a *API) listWorkflows(ctx context.Context, service RunService, c *call) (*workflowsOut, error) {
	found, err := service.Workflows(ctx, c.principal)
	if err != nil {
		return nil, err
	}
	body, err := runPageOf(c.query, listWorkflows, viewed(found, viewWorkflow), func(w workflowView) string { return w.Name + "@" + w.Version })
	return &workflowsOut{Body: body}, err
}

func (a *API) getWorkflow(ctx context.Context, service RunService, c *call) (*workflowOut, error) {
	found, err := service.Workflow(ctx, c.principal, c.name, c.query.Get("version"))
	if err != nil {
		return nil, err
	}
	out := &workflowOut{Body: viewWorkflow(found)}
	out.Body.InputSchema = givenJSON(found.InputSchema)
	return out, nil
}

// runPageOf is pageOf for lists of the run API.
func runPageOf[T any](q url.Values, list byte, items []T, key func(T) string) (runPage[T], error) {
	found, err := pageOf(q, list, items, key)
	if err != nil {
		return runPage[T]{}, notOfThisChatList()
	}
	return runPage[T](found), nil
}
