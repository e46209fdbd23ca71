package client

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"github.com/rondo-engine/rondo"
)

// The paths of the run API.
const (
	RunsPath      = "/runs"
	WorkflowsPath = "/workflows"
	CachePath     = "/cache"
)

// RunPath is the path of a run, or of a part of it such as "steps".
func RunPath(id, part string) string { return pathOf(RunsPath, id, part) }

// RunOption changes how a run is asked for.
type RunOption func(*Call)

// WithRunKey makes a call repeatable: the same key with the same body is answered
// with the first answer and does nothing more.
func WithRunKey(key string) RunOption {
	return func(c *Call) { c.Header = http.Header{"Idempotency-Key": {key}} }
}

// StartRun asks for a run; it is durable when the answer comes.
func (c *Client) StartRun(ctx context.Context, request RunRequest, options ...RunOption) (RunAccepted, error) {
	return c.acceptRun(ctx, RunsPath, request, options)
}

// UpdateRun asks for an update run of a completed one.
func (c *Client) UpdateRun(ctx context.Context, base string, update RunUpdate, options ...RunOption) (RunAccepted, error) {
	return c.acceptRun(ctx, RunPath(base, "update"), update, options)
}

// CancelRun ends a run that is queued or running.
func (c *Client) CancelRun(ctx context.Context, id string, options ...RunOption) (RunAccepted, error) {
	return c.acceptRun(ctx, RunPath(id, "cancel"), nil, options)
}

// RetryRun goes on with a failed run from what failed.
func (c *Client) RetryRun(ctx context.Context, id string, options ...RunOption) (RunAccepted, error) {
	return c.acceptRun(ctx, RunPath(id, "retry"), nil, options)
}

func (c *Client) acceptRun(ctx context.Context, path string, body any, options []RunOption) (RunAccepted, error) {
	call := Call{Method: http.MethodPost, Path: path, Body: body}
	for _, option := range options {
		option(&call)
	}
	var out RunAccepted
	answer, err := c.Do(ctx, call, &out)
	out.Replayed = answer.Header.Get("Idempotent-Replayed") == "true"
	return out, err
}

// PlanRun says what a run would do, and does nothing.
func (c *Client) PlanRun(ctx context.Context, request RunRequest) (RunPlan, error) {
	return c.planRun(ctx, request)
}

// PlanDefinition says what a run of a definition would do that need not be
// published; the request's workflow and version are left out.
func (c *Client) PlanDefinition(ctx context.Context, definition json.RawMessage, request RunRequest) (RunPlan, error) {
	request.WorkflowName, request.WorkflowVersion = "", ""
	return c.planRun(ctx, struct {
		RunRequest
		WorkflowName string          `json:"workflowName,omitempty"`
		Definition   json.RawMessage `json:"definition"`
	}{RunRequest: request, Definition: definition})
}

// PlanDefinitionUpdate says what an update run with a definition would do that need
// not be published.
func (c *Client) PlanDefinitionUpdate(ctx context.Context, definition json.RawMessage, base string, update RunUpdate) (RunPlan, error) {
	update.WorkflowVersion = ""
	return c.planRun(ctx, struct {
		BaseRunID string `json:"baseRunId"`
		RunUpdate
		Definition json.RawMessage `json:"definition"`
	}{base, update, definition})
}

// PlanRunUpdate says what an update run would do, and does nothing.
func (c *Client) PlanRunUpdate(ctx context.Context, base string, update RunUpdate) (RunPlan, error) {
	return c.planRun(ctx, struct {
		BaseRunID string `json:"baseRunId"`
		RunUpdate
	}{base, update})
}

func (c *Client) planRun(ctx context.Context, body any) (RunPlan, error) {
	var out RunPlan
	_, err := c.Do(ctx, Call{Method: http.MethodPost, Path: RunsPath + "/plan", Body: body}, &out)
	return out, err
}

// Runs goes through runs, newest first. The query may have workflow, status,
// trigger and base.
func (c *Client) Runs(ctx context.Context, query url.Values) iter.Seq2[Run, error] {
	return eachRun[Run](ctx, c, RunsPath, query)
}

// Run reads one run.
func (c *Client) Run(ctx context.Context, id string) (Run, error) {
	return readRun[Run](ctx, c, RunPath(id, ""), nil)
}

// RunSteps reads the last attempt of every step, in the order of the file; a
// status that is not "" keeps those that have it.
func (c *Client) RunSteps(ctx context.Context, id string, status rondo.RunStepStatus) ([]RunStep, error) {
	query := url.Values{}
	if status != "" {
		query.Set("status", string(status))
	}
	out, err := readRun[struct{ Steps []RunStep }](ctx, c, RunPath(id, "steps"), query)
	return out.Steps, err
}

// RunStepOutput reads every attempt of one step, with data.
func (c *Client) RunStepOutput(ctx context.Context, id, step string) (RunStepOutput, error) {
	return readRun[RunStepOutput](ctx, c, RunPath(id, "steps/"+url.PathEscape(step)), nil)
}

// RunArtifacts goes through what the steps of a run have attached, made or reused;
// a step that is not "" names one.
func (c *Client) RunArtifacts(ctx context.Context, id, step string) iter.Seq2[rondo.Artifact, error] {
	query := url.Values{}
	if step != "" {
		query.Set("stepId", step)
	}
	return eachRun[rondo.Artifact](ctx, c, RunPath(id, "artifacts"), query)
}

// ArtifactContent writes the bytes of an artifact to w, however many and for
// however long, and returns their number. The server cuts the connection when
// they are not those of the artifact's hash.
func (c *Client) ArtifactContent(ctx context.Context, id string, w io.Writer) (int64, error) {
	call := Call{Path: pathOf("/artifacts", id, "content")}
	request, err := c.request(ctx, call)
	if err != nil {
		return 0, &rondo.Error{Code: rondo.CodeInvalid, Op: call.op(), Message: "the request cannot be made", Err: err}
	}
	patient := *c.http
	patient.Timeout = 0
	response, err := patient.Do(request)
	if err != nil {
		return 0, c.unreachable(call.op(), err)
	}
	defer func() { _ = response.Body.Close() }() // what was not read does not matter
	if response.StatusCode != http.StatusOK {
		raw, _ := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
		return 0, problemIn(call.op(), response, raw)
	}
	n, err := io.Copy(w, response.Body)
	return n, rondo.Op(call.op(), err)
}

// ExplainRun says why every step did what it did.
func (c *Client) ExplainRun(ctx context.Context, id string) (RunExplanation, error) {
	return readRun[RunExplanation](ctx, c, RunPath(id, "explain"), nil)
}

// RunCacheAnalysis says what the cache was good for.
func (c *Client) RunCacheAnalysis(ctx context.Context, id string) (RunCacheAnalysis, error) {
	return readRun[RunCacheAnalysis](ctx, c, RunPath(id, "cache-analysis"), nil)
}

// WatchRun tells of every change of a run and its steps after a Seq (0 = from the
// beginning) until the run has ended, ctx ends, or tell fails; tell failing with
// ErrStop is no error. It comes again by itself when the connection breaks, at
// once, as long as that leads to something new.
func (c *Client) WatchRun(ctx context.Context, id string, after int64, tell func(RunEvent) error) error {
	for {
		from, ended, enough := after, false, false
		err := c.Stream(ctx, Call{Path: RunPath(id, "stream")}, strconv.FormatInt(after, 10), func(e StreamEvent) error {
			told, err := readRunEvent(e)
			if err != nil || told.Run == nil && told.Step == nil {
				return err // or an event of a later version
			}
			if err := tell(told); err != nil {
				enough = true
				return err
			}
			after = max(after, told.Seq)
			ended = told.Run != nil && told.Run.Status.Ended()
			return nil
		})
		if ended || enough || ctx.Err() != nil {
			return err
		}
		if after > from {
			continue // it broke in between
		}
		if err != nil {
			return err
		}
		run, err := c.Run(ctx, id)
		if err != nil || run.Status.Ended() {
			return err
		}
		return &rondo.Error{
			Code: rondo.CodeUnavailable, Op: "GET " + RunPath(id, "stream"), Message: "the connection ended before the run did",
			Hint: "the run goes on: watch it again",
		}
	}
}

func readRunEvent(e StreamEvent) (RunEvent, error) {
	var out RunEvent
	var into any
	switch e.Name {
	case "run":
		out.Run = &Run{}
		into = out.Run
	case "step":
		out.Step = &RunStep{}
		into = out.Step
	default:
		return out, nil
	}
	if err := json.Unmarshal(e.Data, into); err != nil {
		return out, rondo.Op("read an event of a run", err)
	}
	out.Seq, _ = strconv.ParseInt(e.ID, 10, 64) // an event without an id is no place to go on from
	return out, nil
}

// Workflows goes through what can be run, by name.
func (c *Client) Workflows(ctx context.Context) iter.Seq2[Workflow, error] {
	return eachRun[Workflow](ctx, c, WorkflowsPath, nil)
}

// Workflow reads one; version "" is the highest active one.
func (c *Client) Workflow(ctx context.Context, name, version string) (Workflow, error) {
	query := url.Values{}
	if version != "" {
		query.Set("version", version)
	}
	return readRun[Workflow](ctx, c, pathOf(WorkflowsPath, name, ""), query)
}

// CacheEntries goes through the step cache, newest first. The query may have
// workflow, step, key and olderThan.
func (c *Client) CacheEntries(ctx context.Context, query url.Values) iter.Seq2[CacheEntry, error] {
	return eachRun[CacheEntry](ctx, c, CachePath, query)
}

// CacheStats sums entries; the query is that of CacheEntries.
func (c *Client) CacheStats(ctx context.Context, query url.Values) (CacheStats, error) {
	return readRun[CacheStats](ctx, c, CachePath+"/stats", query)
}

// InvalidateCache removes entries and returns how many. The query is that of
// CacheEntries, or has all=true.
func (c *Client) InvalidateCache(ctx context.Context, query url.Values) (int, error) {
	var out struct{ Removed int }
	_, err := c.Do(ctx, Call{Method: http.MethodDelete, Path: CachePath, Query: query}, &out)
	return out.Removed, err
}

// TaintCache marks an entry bad and says what used it; with rebuild it starts an
// update run for each run that did.
func (c *Client) TaintCache(ctx context.Context, key string, request TaintRequest, options ...RunOption) (Tainted, error) {
	call := Call{Method: http.MethodPost, Path: pathOf(CachePath, key, "taint"), Body: request}
	for _, option := range options {
		option(&call)
	}
	var out Tainted
	_, err := c.Do(ctx, call, &out)
	return out, err
}

func readRun[T any](ctx context.Context, c *Client, path string, query url.Values) (T, error) {
	var out T
	_, err := c.Do(ctx, Call{Path: path, Query: query}, &out)
	return out, err
}

func eachRun[T any](ctx context.Context, c *Client, path string, query url.Values) iter.Seq2[T, error] {
	return eachPage(Call{Path: path, Query: query}, func(call Call) ([]T, *string, error) {
		var page ChatPage[T]
		_, err := c.Do(ctx, call, &page)
		return page.Items, page.NextCursor, err
	})
}
