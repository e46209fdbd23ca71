package httpapi_test

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine/runs"
	"github.com/rondo-engine/rondo/internal/httpapi"
	"github.com/rondo-engine/rondo/store"
)

var (
	runID      = id(0x51)
	artifactID = id(0x52)
	baseID     = id(0x53)
	cacheKey   = strings.Repeat("ab", 32)
	inputHash  = strings.Repeat("cd", 32)
)

const (
	runPath = "/runs/01000000-0000-7000-8000-000000000051"
	// page is what the known artifact holds.
	page = "<script>alert(1)</script>"
)

// runner is a run service that knows one run of acme, answers what it is told and
// remembers what it was asked.
type runner struct {
	engine *fake // notes the caller, and fails when told to

	request   runs.Request
	update    runs.UpdateRequest
	filter    store.RunFilter
	page      store.Page
	status    rondo.RunStepStatus
	step      string
	named     [2]string
	cache     store.CacheFilter
	cachePage store.CachePage
	taint     runs.TaintRequest
	after     int64

	run       *rondo.Run // instead of knownRun
	listed    []runs.RunView
	entries   []rondo.CacheEntry
	artifacts []rondo.Artifact
	content   func() io.Reader
	openError error
	events    []runs.Event
	watch     func(ctx context.Context, tell func(runs.Event) error) error // after events
}

var _ httpapi.RunService = (*runner)(nil)

func newRunner(engine *fake) *runner {
	return &runner{engine: engine, artifacts: []rondo.Artifact{knownArtifact()}, content: func() io.Reader { return strings.NewReader(page) }}
}

func knownRun() *rondo.Run {
	return &rondo.Run{
		ID: runID, TenantID: "acme", WorkflowName: "campaign.build", WorkflowVersion: "1.2.0", DefinitionHash: "abc", TriggerType: rondo.TriggerUpdate,
		TriggerPayload: json.RawMessage(`{"brief":{"title":"Sale","n":1.50}}`), BaseRunID: baseID,
		Change:  &rondo.ChangeRequest{Type: "audio.update", Payload: json.RawMessage(`{"music":"calm"}`)},
		Options: rondo.RunOptions{Mode: rondo.CacheUse, ChangedSteps: []string{"mix"}}, Status: rondo.RunFailed,
		Error: &rondo.RunError{Code: "SKILL_ERROR", Message: "no sound", FailedStepID: "mix"}, TotalSteps: 3, CorrelationID: "corr", CreatedBy: "ann",
		CreatedAt: start, StartedAt: start.Add(time.Second), CompletedAt: start.Add(3500 * time.Millisecond), Seq: 9,
	}
}

func knownStep() rondo.RunStep {
	return rondo.RunStep{
		RunID: runID, StepID: "mix", Attempt: 2, Skill: "audio.mix@2", Status: rondo.RunStepCompleted, InputHash: inputHash, CacheKey: cacheKey,
		Reason: rondo.Reason{Code: rondo.ReasonInputChanged, Detail: "music"}, Data: json.RawMessage(`{"uri":"x","n":1.50}`), OutputHash: "out",
		ArtifactIDs: []rondo.ID{artifactID}, StartedAt: start, CompletedAt: start.Add(1500 * time.Millisecond), Debug: json.RawMessage(`{"calls":1}`), Seq: 7,
	}
}

func knownArtifact() rondo.Artifact {
	return rondo.Artifact{
		ID: artifactID, TenantID: "acme", RunID: runID, StepID: "mix", Skill: "audio.mix@2", Type: "text/html", URI: "file:blob", ContentHash: inputHash,
		Size: 25, Filename: "page.html", Metadata: json.RawMessage(`{"bpm":120}`), CreatedAt: start,
	}
}

func knownEntry(n int) rondo.CacheEntry {
	return rondo.CacheEntry{
		Key: cacheKey, TenantID: "acme", WorkflowName: "campaign.build", StepID: "mix", InputHash: inputHash, OutputHash: "out", Class: "llm",
		Manifest: json.RawMessage(`{"v":1,"components":[]}`), Data: json.RawMessage(`"secret"`), ArtifactIDs: []rondo.ID{artifactID}, RunID: runID,
		CreatedAt: start.Add(-time.Duration(n) * time.Second), LastUsedAt: start, DurationMs: 1500, Cost: 0.25,
	}
}

func (r *runner) find(p rondo.Principal, which rondo.ID) (*rondo.Run, error) {
	if err := r.engine.begin(p); err != nil {
		return nil, err
	}
	if which != runID || p.Tenant != "acme" {
		return nil, &rondo.Error{Code: rondo.CodeNotFound, Message: "careless words about " + which.String()}
	}
	if r.run != nil {
		return r.run, nil
	}
	return knownRun(), nil
}

func (r *runner) Trigger(_ context.Context, p rondo.Principal, request runs.Request) (*rondo.Run, error) {
	r.request = request
	return &rondo.Run{ID: runID, Status: rondo.RunQueued}, r.engine.begin(p)
}

func (r *runner) Update(_ context.Context, p rondo.Principal, request runs.UpdateRequest) (*rondo.Run, error) {
	r.update = request
	return r.find(p, request.BaseRunID)
}

func (r *runner) Cancel(_ context.Context, p rondo.Principal, which rondo.ID) (*rondo.Run, error) {
	return r.find(p, which)
}

func (r *runner) Retry(_ context.Context, p rondo.Principal, which rondo.ID) (*rondo.Run, error) {
	return r.find(p, which)
}

func (r *runner) Run(_ context.Context, p rondo.Principal, which rondo.ID) (runs.RunView, error) {
	run, err := r.find(p, which)
	if err != nil {
		return runs.RunView{}, err
	}
	return runs.RunView{Run: *run, Summary: runs.StepsSummary{Total: 3, Completed: 1, Skipped: 1, Failed: 1}}, nil
}

func (r *runner) Runs(_ context.Context, p rondo.Principal, filter store.RunFilter, page store.Page) ([]runs.RunView, error) {
	r.filter, r.page = filter, page
	return r.listed, r.engine.begin(p)
}

func (r *runner) Steps(_ context.Context, p rondo.Principal, which rondo.ID, status rondo.RunStepStatus) ([]rondo.RunStep, error) {
	r.status = status
	_, err := r.find(p, which)
	return []rondo.RunStep{knownStep(), {RunID: runID, StepID: "bundle", Skill: "bundle@1", Status: rondo.RunStepPending}}, err
}

func (r *runner) StepOutput(_ context.Context, p rondo.Principal, which rondo.ID, step string) (runs.StepOutput, error) {
	r.step = step
	if _, err := r.find(p, which); err != nil {
		return runs.StepOutput{}, err
	}
	if step != "mix" {
		return runs.StepOutput{}, rondo.NotFound("row")
	}
	first := knownStep()
	first.Attempt, first.Status, first.Data, first.RetryAt = 1, rondo.RunStepFailed, nil, start.Add(3*time.Second)
	first.Error = &rondo.StepError{Code: "SKILL_TIMEOUT", Message: "too slow", Retryable: true}
	return runs.StepOutput{Step: knownStep(), Attempts: []rondo.RunStep{first, knownStep()}}, nil
}

func (r *runner) RunArtifacts(_ context.Context, p rondo.Principal, which rondo.ID, step string) ([]rondo.Artifact, error) {
	r.step = step
	_, err := r.find(p, which)
	return r.artifacts, err
}

func (r *runner) OpenArtifact(_ context.Context, p rondo.Principal, which rondo.ID) (io.ReadCloser, rondo.Artifact, error) {
	if err := r.engine.begin(p); err != nil {
		return nil, rondo.Artifact{}, err
	}
	if which != artifactID || p.Tenant != "acme" {
		return nil, rondo.Artifact{}, rondo.NotFound("row " + which.String())
	}
	return io.NopCloser(r.content()), r.artifacts[0], r.openError
}

func (r *runner) Watch(ctx context.Context, p rondo.Principal, which rondo.ID, after int64, tell func(runs.Event) error) error {
	r.after = after
	if _, err := r.find(p, which); err != nil {
		return err
	}
	for _, e := range r.events {
		if err := tell(e); err != nil {
			return err
		}
	}
	if r.watch != nil {
		return r.watch(ctx, tell)
	}
	return nil
}

func (r *runner) plan() runs.Plan {
	ms := int64(1500)
	return runs.Plan{
		WorkflowName: "campaign.build", WorkflowVersion: "1.2.0", TriggerType: "initial", Summary: runs.PlanSummary{WouldRun: 1, EstimatedMs: 1500},
		Steps: []runs.PlanStep{{StepID: "mix", Skill: "audio.mix@2", Decision: runs.WouldRun, Reason: rondo.Reason{Code: rondo.ReasonFirstRun}, EstimatedMs: &ms}},
	}
}

func (r *runner) Plan(_ context.Context, p rondo.Principal, request runs.Request) (runs.Plan, error) {
	r.request = request
	return r.plan(), r.engine.begin(p)
}

func (r *runner) PlanUpdate(_ context.Context, p rondo.Principal, request runs.UpdateRequest) (runs.Plan, error) {
	r.update = request
	return r.plan(), r.engine.begin(p)
}

func (r *runner) Explain(_ context.Context, p rondo.Principal, which rondo.ID) (runs.Explanation, error) {
	_, err := r.find(p, which)
	return runs.Explanation{RunID: runID.String(), Steps: []runs.StepExplain{{
		StepID: "mix", Status: "completed", Reason: rondo.Reason{Code: rondo.ReasonInputChanged, Detail: "music"}, Text: "the input changed",
		Changed: []runs.Difference{{Component: "input.music", Before: "loud", After: "calm"}},
	}}}, err
}

func (r *runner) CacheAnalysis(_ context.Context, p rondo.Principal, which rondo.ID) (runs.CacheAnalysis, error) {
	_, err := r.find(p, which)
	return runs.CacheAnalysis{TotalSteps: 3, CacheHits: 2, CacheMisses: 1, TimeSavedMs: 100, CostSaved: 0.5}, err
}

func (r *runner) Workflows(_ context.Context, p rondo.Principal) ([]runs.WorkflowView, error) {
	older := knownWorkflow()
	older.Version = "1.1.0"
	return []runs.WorkflowView{knownWorkflow(), older}, r.engine.begin(p)
}

func (r *runner) Workflow(_ context.Context, p rondo.Principal, name, version string) (runs.WorkflowView, error) {
	r.named = [2]string{name, version}
	if err := r.engine.begin(p); err != nil {
		return runs.WorkflowView{}, err
	}
	if name == "unknown" {
		return runs.WorkflowView{}, &rondo.Error{Code: rondo.CodeWorkflowNotFound, Message: "no workflow " + name}
	}
	return knownWorkflow(), nil
}

func knownWorkflow() runs.WorkflowView {
	return runs.WorkflowView{
		Name: "campaign.build", Version: "1.2.0", DefinitionHash: "abc", InputSchema: json.RawMessage(`{"type":"object"}`),
		Steps:                 []runs.WorkflowStep{{StepID: "mix", Skill: "audio.mix@2", DependsOn: []string{}, Class: "llm"}},
		ChangeRequestMappings: map[string][]string{"audio.update": {"mix"}, "full_rebuild": {"*"}},
	}
}

func (r *runner) Cache(_ context.Context, p rondo.Principal, filter store.CacheFilter, page store.CachePage) ([]rondo.CacheEntry, error) {
	r.cache, r.cachePage = filter, page
	return r.entries, r.engine.begin(p)
}

func (r *runner) CacheStats(_ context.Context, p rondo.Principal, filter store.CacheFilter) (store.CacheStats, error) {
	r.cache = filter
	return store.CacheStats{Entries: 2, Bytes: 300}, r.engine.begin(p)
}

func (r *runner) InvalidateCache(_ context.Context, p rondo.Principal, filter store.CacheFilter) (int, error) {
	r.cache = filter
	return 2, r.engine.begin(p)
}

func (r *runner) Taint(_ context.Context, p rondo.Principal, request runs.TaintRequest) (runs.Tainted, error) {
	r.taint = request
	key := request.Key
	if err := r.engine.begin(p); err != nil {
		return runs.Tainted{}, err
	}
	if key != cacheKey || p.Tenant != "acme" {
		return runs.Tainted{}, rondo.NotFound("row")
	}
	return runs.Tainted{Key: key, Workflow: "campaign.build", StepID: "mix", OutputHash: "out", Runs: []runs.TaintedRun{{RunID: runID.String(), Status: "completed", StepIDs: []string{"mix"}}}}, nil
}
