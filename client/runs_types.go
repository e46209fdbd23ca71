package client

import (
	"encoding/json"
	"time"

	"github.com/rondo-engine/rondo"
)

// RunRequest asks for a run, or for the plan of one.
type RunRequest struct {
	WorkflowName    string                     `json:"workflowName"`
	WorkflowVersion string                     `json:"workflowVersion,omitempty"` // "" = the highest active one
	TriggerPayload  json.RawMessage            `json:"triggerPayload,omitempty"`  // an object; nil = {}
	Mode            rondo.CacheMode            `json:"mode,omitempty"`
	StepModes       map[string]rondo.CacheMode `json:"stepModes,omitempty"`
	FailurePolicy   rondo.FailurePolicy        `json:"failurePolicy,omitempty"`
}

// RunUpdate asks for an update run, or for the plan of one.
type RunUpdate struct {
	ChangeRequest   *rondo.ChangeRequest       `json:"changeRequest,omitempty"` // nil = ChangedSteps, or the latest definition, say what changed
	ChangedSteps    []string                   `json:"changedSteps,omitempty"`
	Force           bool                       `json:"force,omitempty"`
	Definition      string                     `json:"definition,omitempty"`      // pinned (default) or latest
	WorkflowVersion string                     `json:"workflowVersion,omitempty"` // of the latest definition; "" = the highest active one
	IfLatest        bool                       `json:"ifLatest,omitempty"`
	Strict          bool                       `json:"strict,omitempty"`
	Mode            rondo.CacheMode            `json:"mode,omitempty"`
	StepModes       map[string]rondo.CacheMode `json:"stepModes,omitempty"`
	FailurePolicy   rondo.FailurePolicy        `json:"failurePolicy,omitempty"`
}

// RunAccepted is the answer to whatever starts or ends a run.
type RunAccepted struct {
	RunID   string          `json:"runId"`
	Status  rondo.RunStatus `json:"status"`
	Message string          `json:"message"`
	// Replayed says that the answer was given before, under the same idempotency key.
	Replayed bool `json:"-"`
}

// Run is a run as the API shows it. Lists leave out the payloads.
type Run struct {
	RunID           string               `json:"runId"`
	TenantID        string               `json:"tenantId"`
	WorkflowName    string               `json:"workflowName"`
	WorkflowVersion string               `json:"workflowVersion"`
	DefinitionHash  string               `json:"definitionHash"`
	TriggerType     rondo.TriggerType    `json:"triggerType"`
	TriggerPayload  json.RawMessage      `json:"triggerPayload,omitempty"`
	BaseRunID       string               `json:"baseRunId,omitempty"`
	Change          *rondo.ChangeRequest `json:"change,omitempty"`
	Options         rondo.RunOptions     `json:"options"`
	Status          rondo.RunStatus      `json:"status"`
	Error           *rondo.RunError      `json:"error,omitempty"`
	StepsSummary    *StepsSummary        `json:"stepsSummary,omitempty"` // nil in streams
	CorrelationID   string               `json:"correlationId,omitempty"`
	CreatedBy       string               `json:"createdBy,omitempty"`
	CreatedAt       time.Time            `json:"createdAt"`
	StartedAt       *time.Time           `json:"startedAt"`
	CompletedAt     *time.Time           `json:"completedAt"`
	DurationMs      *int64               `json:"durationMs"`
	CaseID          string               `json:"caseId,omitempty"`
	ProductID       string               `json:"productId,omitempty"`
	Seq             int64                `json:"seq"`
}

// StepsSummary counts the steps of a run by status.
type StepsSummary struct {
	Total     int `json:"total"`
	Pending   int `json:"pending"`
	Running   int `json:"running"`
	Completed int `json:"completed"`
	Skipped   int `json:"skipped"`
	Failed    int `json:"failed"`
	Cancelled int `json:"cancelled"`
}

// RunStep is an attempt of a step as the API shows it.
type RunStep struct {
	StepID        string              `json:"stepId"`
	Skill         string              `json:"skill"`
	Status        rondo.RunStepStatus `json:"status"`
	Attempt       int                 `json:"attempt"`
	InputHash     *string             `json:"inputHash"`
	CacheHit      bool                `json:"cacheHit"`
	Reason        *rondo.Reason       `json:"reason"`
	StartedAt     *time.Time          `json:"startedAt"`
	CompletedAt   *time.Time          `json:"completedAt,omitempty"`
	DurationMs    *int64              `json:"durationMs"`
	ArtifactIDs   []string            `json:"artifactIds"`
	Error         *rondo.StepError    `json:"error,omitempty"`
	RetryAt       *time.Time          `json:"retryAt,omitempty"`
	CacheKey      string              `json:"cacheKey,omitempty"`
	OutputHash    string              `json:"outputHash,omitempty"`
	SourceRunID   string              `json:"sourceRunId,omitempty"`
	StaleInput    bool                `json:"staleInput,omitempty"`
	Deterministic *bool               `json:"deterministic,omitempty"`
	Data          json.RawMessage     `json:"data,omitempty"`  // of RunStepOutput alone
	Debug         json.RawMessage     `json:"debug,omitempty"` // of RunStepOutput alone
}

// RunStepOutput is one step with every attempt, oldest first.
type RunStepOutput struct {
	RunID    string    `json:"runId"`
	Step     RunStep   `json:"step"` // the last attempt
	Attempts []RunStep `json:"attempts"`
}

// RunPlan is what a run would do.
type RunPlan struct {
	WorkflowName    string        `json:"workflowName"`
	WorkflowVersion string        `json:"workflowVersion"`
	TriggerType     string        `json:"triggerType"`
	BaseRunID       string        `json:"baseRunId,omitempty"`
	Seeds           []string      `json:"seeds,omitempty"`
	Candidates      []string      `json:"candidates,omitempty"`
	Steps           []RunPlanStep `json:"steps"`
	Summary         struct {
		WouldRun      int     `json:"wouldRun"`
		Reuse         int     `json:"reuse"`
		Unknown       int     `json:"unknown"`
		Fails         int     `json:"fails"`
		NeverReached  int     `json:"neverReached"`
		EstimatedMs   int64   `json:"estimatedMs"`
		EstimatedCost float64 `json:"estimatedCost"`
	} `json:"summary"`
}

// RunPlanStep is what a run would do with one step: would_run, reuse, unknown_until
// the steps named, would_fail, or never_reached for the steps named.
type RunPlanStep struct {
	StepID        string           `json:"stepId"`
	Skill         string           `json:"skill"`
	Decision      string           `json:"decision"`
	Until         []string         `json:"until,omitempty"`
	Reason        *rondo.Reason    `json:"reason"` // nil = none is known
	StaleInput    bool             `json:"staleInput,omitempty"`
	EstimatedMs   *int64           `json:"estimatedMs,omitempty"`
	EstimatedCost *float64         `json:"estimatedCost,omitempty"`
	Error         *rondo.StepError `json:"error,omitempty"` // of a step that would fail
}

// RunExplanation says why every step of a run did what it did.
type RunExplanation struct {
	RunID string            `json:"runId"`
	Steps []RunStepExplains `json:"steps"`
}

// RunStepExplains is why one step did what it did.
type RunStepExplains struct {
	StepID        string              `json:"stepId"`
	Status        rondo.RunStepStatus `json:"status"`
	Reason        *rondo.Reason       `json:"reason"` // nil = none is known
	Text          string              `json:"text"`
	StaleInput    bool                `json:"staleInput,omitempty"`
	Deterministic *bool               `json:"deterministic,omitempty"`
	CacheKey      string              `json:"cacheKey,omitempty"`
	SourceRunID   string              `json:"sourceRunId,omitempty"`
	ComparedWith  string              `json:"comparedWith,omitempty"`
	Changed       []struct {
		Component string `json:"component"`
		Before    string `json:"before,omitempty"`
		After     string `json:"after,omitempty"`
	} `json:"changed,omitempty"`
}

// RunCacheAnalysis says what the cache was good for in a run.
type RunCacheAnalysis struct {
	TotalSteps  int     `json:"totalSteps"`
	CacheHits   int     `json:"cacheHits"`
	CacheMisses int     `json:"cacheMisses"`
	TimeSavedMs int64   `json:"timeSavedMs"`
	CostSaved   float64 `json:"costSaved"`
	Steps       []struct {
		StepID      string        `json:"stepId"`
		CacheHit    bool          `json:"cacheHit"`
		Reason      *rondo.Reason `json:"reason"`
		CacheKey    string        `json:"cacheKey,omitempty"`
		DurationMs  int64         `json:"durationMs"`
		TimeSavedMs int64         `json:"timeSavedMs"`
		CostSaved   float64       `json:"costSaved"`
	} `json:"steps"`
}

// RunEvent is one change of a run: of itself or of a step.
type RunEvent struct {
	Seq  int64 // where to go on from
	Run  *Run
	Step *RunStep
}

// CacheEntry is a result that can be used again, without its data.
type CacheEntry struct {
	Key         string          `json:"key"`
	Workflow    string          `json:"workflow"`
	StepID      string          `json:"stepId"`
	Class       string          `json:"class"`
	InputHash   string          `json:"inputHash"`
	OutputHash  string          `json:"outputHash"`
	Manifest    json.RawMessage `json:"manifest"`
	ArtifactIDs []string        `json:"artifactIds"`
	RunID       string          `json:"runId"` // that made it
	CreatedAt   time.Time       `json:"createdAt"`
	LastUsedAt  time.Time       `json:"lastUsedAt"`
	ExpiresAt   *time.Time      `json:"expiresAt,omitempty"` // nil = never
	DurationMs  int64           `json:"durationMs"`
	Cost        float64         `json:"cost"`
	Tainted     string          `json:"tainted,omitempty"` // why it is bad
}

// CacheStats sums entries.
type CacheStats struct {
	Entries int64 `json:"entries"`
	Bytes   int64 `json:"bytes"` // of data and manifests
}

// TaintRequest says what is wrong with an entry.
type TaintRequest struct {
	Reason  string `json:"reason"`
	Rebuild bool   `json:"rebuild"`
	// OutputHash is the result that is meant; "" = whatever the entry has. An entry that
	// has another one by now is left as it is.
	OutputHash string `json:"outputHash,omitempty"`
}

// Tainted says what a bad entry touched.
type Tainted struct {
	Key        string `json:"key"`
	Workflow   string `json:"workflow"`
	StepID     string `json:"stepId"`
	OutputHash string `json:"outputHash"`           // of the bad result
	Recomputed bool   `json:"recomputed,omitempty"` // the entry had another result already and was not marked
	Runs       []struct {
		RunID      string   `json:"runId"`
		Status     string   `json:"status"`
		StepIDs    []string `json:"stepIds"`
		RebuiltBy  string   `json:"rebuiltBy,omitempty"`
		NotRebuilt string   `json:"notRebuilt,omitempty"` // why it is not: replaced, running, failed, cancelled or error
	} `json:"runs"`
	Artifacts []string `json:"artifacts"`
	Rebuilds  []string `json:"rebuilds,omitempty"`
	Error     string   `json:"error,omitempty"` // why some run could not be rebuilt
}

// Workflow is what can be run. Lists leave out InputSchema.
type Workflow struct {
	Name                  string              `json:"name"`
	Version               string              `json:"version"`
	DefinitionHash        string              `json:"definitionHash"`
	InputSchema           json.RawMessage     `json:"inputSchema,omitempty"`
	Steps                 []WorkflowStep      `json:"steps"`
	ChangeRequestMappings map[string][]string `json:"changeRequestMappings"` // change type → seed steps
}

// WorkflowStep is one step of a workflow.
type WorkflowStep struct {
	StepID    string   `json:"stepId"`
	Skill     string   `json:"skill"`
	DependsOn []string `json:"dependsOn"`
	Class     string   `json:"class"`
}
