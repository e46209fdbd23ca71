package httpapi

import (
	"encoding/json"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine/runs"
)

// The answers of the run API. Members that do not apply are left out; what every
// run and step has once it is far enough is null until then.
type (
	runView struct {
		RunID           string             `json:"runId" format:"uuid"`
		TenantID        string             `json:"tenantId"`
		WorkflowName    string             `json:"workflowName"`
		WorkflowVersion string             `json:"workflowVersion"`
		DefinitionHash  string             `json:"definitionHash" doc:"Names the definition as it was when the run began"`
		TriggerType     string             `json:"triggerType" enum:"initial,update"`
		TriggerPayload  *anyJSON           `json:"triggerPayload,omitempty" doc:"Left out in lists and streams"`
		BaseRunID       string             `json:"baseRunId,omitempty" format:"uuid" doc:"Of update runs"`
		Change          *changeView        `json:"change,omitempty" doc:"Of update runs"`
		Options         rondo.RunOptions   `json:"options"`
		Status          string             `json:"status" enum:"queued,running,completed,failed,cancelled"`
		Error           *rondo.RunError    `json:"error,omitempty"`
		StepsSummary    *runs.StepsSummary `json:"stepsSummary,omitempty" doc:"Left out in streams"`
		CorrelationID   string             `json:"correlationId,omitempty"`
		CreatedBy       string             `json:"createdBy,omitempty"`
		CreatedAt       instant            `json:"createdAt"`
		StartedAt       maybeInstant       `json:"startedAt"`
		CompletedAt     maybeInstant       `json:"completedAt"`
		DurationMs      *int64             `json:"durationMs" doc:"From start to end; null until it has ended"`
		CaseID          string             `json:"caseId,omitempty" doc:"The case that started it"`
		ProductID       string             `json:"productId,omitempty"`
		Seq             int64              `json:"seq" doc:"Rises with every change; streams resume by it"`
	}
	changeView struct {
		Type    string   `json:"type"`
		Payload *anyJSON `json:"payload,omitempty" doc:"Left out in lists and streams"`
	}
	runStepView struct {
		StepID        string           `json:"stepId"`
		Skill         string           `json:"skill"`
		Status        string           `json:"status" enum:"pending,running,skipped,completed,failed,cancelled"`
		Attempt       int              `json:"attempt" doc:"From 1; 0 = nothing was attempted"`
		InputHash     *string          `json:"inputHash" doc:"SHA-256 of the canonical input; null = none yet, or it has no canonical form"`
		CacheHit      bool             `json:"cacheHit"`
		Reason        maybeReason      `json:"reason" doc:"Why it ran or was reused; null until that is known"`
		StartedAt     maybeInstant     `json:"startedAt"`
		CompletedAt   *instant         `json:"completedAt,omitempty"`
		DurationMs    *int64           `json:"durationMs" doc:"Null until the attempt has ended"`
		ArtifactIDs   []string         `json:"artifactIds" nullable:"false"`
		Error         *rondo.StepError `json:"error,omitempty"`
		RetryAt       *instant         `json:"retryAt,omitempty" doc:"Of a failed attempt that another follows"`
		CacheKey      string           `json:"cacheKey,omitempty"`
		OutputHash    string           `json:"outputHash,omitempty"`
		SourceRunID   string           `json:"sourceRunId,omitempty" format:"uuid" doc:"The run that computed what was reused"`
		StaleInput    bool             `json:"staleInput,omitempty" doc:"Linked from the base although its input would differ now"`
		Deterministic *bool            `json:"deterministic,omitempty" doc:"What the mode verify found"`
		Data          *anyJSON         `json:"data,omitempty" doc:"Only where one step is read"`
		Debug         *anyJSON         `json:"debug,omitempty" doc:"Only where one step is read"`
	}
	runStepsView struct {
		RunID string        `json:"runId" format:"uuid"`
		Steps []runStepView `json:"steps" nullable:"false"`
	}
	stepOutputView struct {
		RunID    string        `json:"runId" format:"uuid"`
		Step     runStepView   `json:"step" doc:"The last attempt"`
		Attempts []runStepView `json:"attempts" nullable:"false" doc:"Every attempt, oldest first; empty while the step is pending"`
	}
	artifactView struct {
		ID          string   `json:"id" format:"uuid"`
		RunID       string   `json:"runId" format:"uuid" doc:"The run that made it"`
		StepID      string   `json:"stepId"`
		Skill       string   `json:"skill"`
		Type        string   `json:"type" doc:"Media type"`
		URI         string   `json:"uri"`
		ContentHash string   `json:"contentHash,omitempty" doc:"SHA-256 of the bytes"`
		Size        int64    `json:"size" doc:"Bytes; -1 = they are not stored here, see uri"`
		Filename    string   `json:"filename,omitempty"`
		Metadata    *anyJSON `json:"metadata,omitempty"`
		CreatedAt   instant  `json:"createdAt"`
	}
	workflowView struct {
		Name                  string              `json:"name"`
		Version               string              `json:"version"`
		DefinitionHash        string              `json:"definitionHash"`
		InputSchema           *anyJSON            `json:"inputSchema,omitempty" doc:"JSON Schema of the trigger payload; left out in lists"`
		Steps                 []runs.WorkflowStep `json:"steps" nullable:"false"`
		ChangeRequestMappings map[string][]string `json:"changeRequestMappings" doc:"Change type → seed steps; * alone is every step"`
	}
	cacheEntryView struct {
		Key         string   `json:"key"`
		Workflow    string   `json:"workflow"`
		StepID      string   `json:"stepId"`
		Class       string   `json:"class" enum:"llm,template,deterministic"`
		InputHash   string   `json:"inputHash"`
		OutputHash  string   `json:"outputHash"`
		Manifest    anyJSON  `json:"manifest" doc:"What went into the key: each component's digest and a short preview"`
		ArtifactIDs []string `json:"artifactIds" nullable:"false"`
		RunID       string   `json:"runId" format:"uuid" doc:"The run that made it"`
		CreatedAt   instant  `json:"createdAt"`
		LastUsedAt  instant  `json:"lastUsedAt"`
		ExpiresAt   *instant `json:"expiresAt,omitempty" doc:"Left out = never"`
		DurationMs  int64    `json:"durationMs" doc:"What computing it took"`
		Cost        float64  `json:"cost"`
		Tainted     string   `json:"tainted,omitempty" doc:"Why it is bad"`
	}
	cacheStatsView struct {
		Entries int64 `json:"entries"`
		Bytes   int64 `json:"bytes" doc:"Of data and manifests"`
	}
	cacheRemoved struct {
		Removed int `json:"removed" doc:"Entries that were forgotten"`
	}
)

// runPage is one page of a list of the run API.
type runPage[T any] struct {
	Items      []T     `json:"items" nullable:"false"`
	NextCursor *string `json:"nextCursor" doc:"Cursor of the next page; null on the last"`
}

// maybeReason is null when there is none.
type maybeReason rondo.Reason

// MarshalJSON writes the reason or null.
func (r maybeReason) MarshalJSON() ([]byte, error) {
	if r.Code == "" {
		return []byte("null"), nil
	}
	return json.Marshal(rondo.Reason(r))
}

// Schema documents both.
func (maybeReason) Schema(r huma.Registry) *huma.Schema {
	return orNothing[rondo.Reason]{}.Schema(r)
}

// The answers that tell reasons: as the service makes them, with null for a reason
// that there is none of.
type (
	planView struct {
		runs.Plan
		Steps []planStepView `json:"steps" nullable:"false"`
	}
	planStepView struct {
		runs.PlanStep
		Reason maybeReason `json:"reason" doc:"Null while that is not known"`
	}
	explanationView struct {
		runs.Explanation
		Steps []stepExplainView `json:"steps" nullable:"false"`
	}
	stepExplainView struct {
		runs.StepExplain
		Reason maybeReason `json:"reason" doc:"Null until that is known"`
	}
	cacheAnalysisView struct {
		runs.CacheAnalysis
		Steps []cacheAnalysisStepView `json:"steps" nullable:"false"`
	}
	cacheAnalysisStepView struct {
		runs.CacheAnalysisStep
		Reason maybeReason `json:"reason" doc:"Null until that is known"`
	}
)

func viewRunPlan(found runs.Plan) planView {
	return planView{found, append([]planStepView{}, viewed(found.Steps, func(s runs.PlanStep) planStepView { return planStepView{s, maybeReason(s.Reason)} })...)}
}

func viewExplanation(found runs.Explanation) explanationView {
	return explanationView{found, append([]stepExplainView{}, viewed(found.Steps, func(s runs.StepExplain) stepExplainView {
		return stepExplainView{s, maybeReason(s.Reason)}
	})...)}
}

func viewCacheAnalysis(found runs.CacheAnalysis) cacheAnalysisView {
	return cacheAnalysisView{found, append([]cacheAnalysisStepView{}, viewed(found.Steps, func(s runs.CacheAnalysisStep) cacheAnalysisStepView {
		return cacheAnalysisStepView{s, maybeReason(s.Reason)}
	})...)}
}

// viewRun is a run without its payloads.
func viewRun(run *rondo.Run) runView {
	out := runView{
		RunID: run.ID.String(), TenantID: run.TenantID, WorkflowName: run.WorkflowName, WorkflowVersion: run.WorkflowVersion, DefinitionHash: run.DefinitionHash,
		TriggerType: string(run.TriggerType), BaseRunID: idOrNone(run.BaseRunID), Options: run.Options, Status: string(run.Status), Error: run.Error,
		CorrelationID: run.CorrelationID, CreatedBy: run.CreatedBy, CreatedAt: instant(run.CreatedAt), StartedAt: maybeInstant(run.StartedAt),
		CompletedAt: maybeInstant(run.CompletedAt), DurationMs: between(run.StartedAt, run.CompletedAt), ProductID: run.ProductID, Seq: run.Seq,
	}
	if run.Change != nil {
		out.Change = &changeView{Type: run.Change.Type}
	}
	if run.Case != nil {
		out.CaseID = run.Case.CaseID
	}
	return out
}

func viewListedRun(found runs.RunView) runView {
	out := viewRun(&found.Run)
	out.StepsSummary = &found.Summary
	return out
}

func viewWholeRun(found runs.RunView) runView {
	out := viewListedRun(found)
	out.TriggerPayload = givenJSON(found.TriggerPayload)
	if out.Change != nil {
		out.Change.Payload = givenJSON(found.Change.Payload)
	}
	return out
}

func viewRunStep(step *rondo.RunStep) runStepView {
	out := runStepView{
		StepID: step.StepID, Skill: step.Skill, Status: string(step.Status), Attempt: step.Attempt, InputHash: maybe(step.InputHash), CacheHit: step.CacheHit,
		StartedAt: maybeInstant(step.StartedAt), CompletedAt: instantOrNone(step.CompletedAt), DurationMs: between(step.StartedAt, step.CompletedAt),
		ArtifactIDs: idTexts(step.ArtifactIDs), Error: step.Error, RetryAt: instantOrNone(step.RetryAt), CacheKey: step.CacheKey, OutputHash: step.OutputHash,
		SourceRunID: idOrNone(step.SourceRunID), StaleInput: step.StaleInput, Deterministic: step.Deterministic,
		Reason: maybeReason(step.Reason),
	}
	return out
}

func viewWholeStep(step *rondo.RunStep) runStepView {
	out := viewRunStep(step)
	out.Data, out.Debug = givenJSON(step.Data), givenJSON(step.Debug)
	return out
}

func viewArtifact(artifact rondo.Artifact) artifactView {
	return artifactView{
		ID: artifact.ID.String(), RunID: artifact.RunID.String(), StepID: artifact.StepID, Skill: artifact.Skill, Type: artifact.Type, URI: artifact.URI,
		ContentHash: artifact.ContentHash, Size: artifact.Size, Filename: artifact.Filename, Metadata: givenJSON(artifact.Metadata), CreatedAt: instant(artifact.CreatedAt),
	}
}

func viewWorkflow(found runs.WorkflowView) workflowView {
	out := workflowView{
		Name: found.Name, Version: found.Version, DefinitionHash: found.DefinitionHash, Steps: append([]runs.WorkflowStep{}, found.Steps...),
		ChangeRequestMappings: found.ChangeRequestMappings,
	}
	if out.ChangeRequestMappings == nil {
		out.ChangeRequestMappings = map[string][]string{}
	}
	return out
}

func viewCacheEntry(entry rondo.CacheEntry) cacheEntryView {
	if entry.Class == "" {
		entry.Class = "deterministic"
	}
	return cacheEntryView{
		Key: entry.Key, Workflow: entry.WorkflowName, StepID: entry.StepID, Class: entry.Class, InputHash: entry.InputHash, OutputHash: entry.OutputHash,
		Manifest: anyJSON(entry.Manifest), ArtifactIDs: idTexts(entry.ArtifactIDs), RunID: entry.RunID.String(), CreatedAt: instant(entry.CreatedAt),
		LastUsedAt: instant(entry.LastUsedAt), ExpiresAt: instantOrNone(entry.ExpiresAt), DurationMs: entry.DurationMs, Cost: entry.Cost, Tainted: entry.Tainted,
	}
}

// givenJSON is JSON that is left out when there is none.
func givenJSON(raw json.RawMessage) *anyJSON {
	if len(raw) == 0 {
		return nil
	}
	out := anyJSON(raw)
	return &out
}

func idOrNone(id rondo.ID) string {
	if id.IsZero() {
		return ""
	}
	return id.String()
}

func idTexts(ids []rondo.ID) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = id.String()
	}
	return out
}

func instantOrNone(t time.Time) *instant {
	if t.IsZero() {
		return nil
	}
	out := instant(t)
	return &out
}

// between is how many milliseconds passed; nil unless both times are known.
func between(from, to time.Time) *int64 {
	if from.IsZero() || to.IsZero() {
		return nil
	}
	ms := max(0, to.Sub(from).Milliseconds())
	return &ms
}
