package rondo

import (
	"encoding/json"
	"time"
)

// The nouns of runs: a run executes a DAG of steps, keeps every step's output,
// and says of every step why it ran or was reused.

// RunStatus is where a run stands.
type RunStatus string

// The statuses of a run. The last three are final, except that a failed run can
// be retried.
const (
	RunQueued    RunStatus = "queued"
	RunRunning   RunStatus = "running"
	RunCompleted RunStatus = "completed"
	RunFailed    RunStatus = "failed"
	RunCancelled RunStatus = "cancelled"
)

// Ended reports whether nothing of the run is under way any more.
func (s RunStatus) Ended() bool {
	return s == RunCompleted || s == RunFailed || s == RunCancelled
}

// TriggerType says whether a run stands alone or redoes part of another.
type TriggerType string

// The trigger types. An initial run has no base, an update run has one.
const (
	TriggerInitial TriggerType = "initial"
	TriggerUpdate  TriggerType = "update"
)

// CacheMode says how a run or a step uses the cache.
type CacheMode string

// The modes. Every mode but bypass and only writes what it computed.
const (
	CacheUse     CacheMode = "use"     // look up, compute on a miss
	CacheRefresh CacheMode = "refresh" // no lookup
	CacheBypass  CacheMode = "bypass"  // neither look up nor write
	CacheOnly    CacheMode = "only"    // a miss fails the step with CACHE_ONLY_MISS
	CacheVerify  CacheMode = "verify"  // compute always and compare with the entry
)

// FailurePolicy says what becomes of independent branches when a step fails.
type FailurePolicy string

// The failure policies. Dependants of a failed step are never attempted.
const (
	FailureContinue FailurePolicy = "continue"  // they finish
	FailureFast     FailurePolicy = "fail_fast" // they are cancelled
)

// ChangeRequest is what an update run is asked for.
type ChangeRequest struct {
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload,omitempty"` // an object; nil = none
}

// RunOptions are the choices of a run that its steps obey.
type RunOptions struct {
	Mode          CacheMode            `json:"mode,omitempty"`          // "" = use
	StepModes     map[string]CacheMode `json:"stepModes,omitempty"`     // by step id; overrides Mode
	FailurePolicy FailurePolicy        `json:"failurePolicy,omitempty"` // "" = continue
	ChangedSteps  []string             `json:"changedSteps,omitempty"`  // update: seeds beside those of the change type
	Force         bool                 `json:"force,omitempty"`         // update: seeds run without lookup
	Strict        bool                 `json:"strict,omitempty"`        // update: a step whose input differs from the base's is a candidate
}

// Run is one execution of a workflow.
type Run struct {
	ID              ID
	TenantID        string
	WorkflowName    string
	WorkflowVersion string // semver
	DefinitionHash  string // names the frozen definition: store.Definitions.Snapshot has it
	TriggerType     TriggerType
	TriggerPayload  json.RawMessage // an object
	BaseRunID       ID              // zero = none
	Change          *ChangeRequest
	Options         RunOptions
	Status          RunStatus
	Error           *RunError
	TotalSteps      int
	CorrelationID   string
	CreatedBy       string
	CreatedAt       time.Time
	StartedAt       time.Time // zero until the first step was looked at
	CompletedAt     time.Time // zero until it ended
	Case            *CaseLink // the case step that waits for it; nil = none
	ProductID       string    // of that case
	// Seq rises with every change of the run or of one of its steps; a step row
	// has the Seq of its last change. Streams resume by it.
	Seq int64
}

// RunError says why a run failed.
type RunError struct {
	Code         string `json:"code"`
	Message      string `json:"message"`
	FailedStepID string `json:"failedStepId,omitempty"`
}

// The error codes of runs, as clients see them.
const (
	CodeWorkflowNotFound    Code = "WORKFLOW_NOT_FOUND"
	CodeInputSelector       Code = "INPUT_SELECTOR_ERROR"
	CodeSkillError          Code = "SKILL_ERROR"
	CodeSkillTimeout        Code = "SKILL_TIMEOUT"
	CodeMaxRetries          Code = "MAX_RETRIES_EXCEEDED"
	CodeBaseRunNotCompleted Code = "BASE_RUN_NOT_COMPLETED"
	CodeStaleBaseRun        Code = "STALE_BASE_RUN"
	CodeCacheOnlyMiss       Code = "CACHE_ONLY_MISS"
	CodeRunLeaseLost        Code = "LEASE_LOST" // of an attempt: the process that worked on it stopped
	CodeRunCancelled        Code = "CANCELLED"
	CodeRunInternal         Code = "INTERNAL"
)

// RunStepStatus is where a step of a run stands.
type RunStepStatus string

// The statuses of a step.
const (
	RunStepPending   RunStepStatus = "pending"
	RunStepRunning   RunStepStatus = "running"
	RunStepSkipped   RunStepStatus = "skipped" // reused: from the base or the cache
	RunStepCompleted RunStepStatus = "completed"
	RunStepFailed    RunStepStatus = "failed"
	RunStepCancelled RunStepStatus = "cancelled"
)

// Done reports whether what depends on the step may run.
func (s RunStepStatus) Done() bool { return s == RunStepCompleted || s == RunStepSkipped }

// RunStep is one attempt of a step. A pending step has no row: what the
// definition has and the rows do not is pending.
type RunStep struct {
	RunID       ID
	StepID      string
	Attempt     int // from 1; 0 = nothing was attempted (reused, cancelled before it ran)
	Skill       string
	Status      RunStepStatus
	InputHash   string // hex SHA-256 of the canonical input; "" = it could not be resolved or canonicalised
	CacheKey    string // hex; "" = uncacheable
	Manifest    json.RawMessage
	Reason      Reason
	CacheHit    bool
	Data        json.RawMessage // of a step that is done; nil = none
	OutputHash  string          // digest of data and artifacts
	ArtifactIDs []ID
	Error       *StepError
	RetryAt     time.Time // of a failed attempt that is followed by another
	Correlation ID        // of the attempt: what a remote worker answers with
	StartedAt   time.Time
	CompletedAt time.Time
	Debug       json.RawMessage // {timings_ms, calls, tokens, cost}; nil = none
	// SourceRunID is the run that computed what a skipped step reuses.
	SourceRunID ID
	// StaleInput: linked from the base although its input would differ now.
	StaleInput bool
	// Deterministic is what verify found: nil = not asked.
	Deterministic *bool
	Seq           int64
}

// StepError says why an attempt failed.
type StepError struct {
	Code      string `json:"code"`
	Message   string `json:"message"`
	Retryable bool   `json:"retryable"`
}

// Reason says why a step ran or was reused: a code and what it is about.
type Reason struct {
	Code   ReasonWord `json:"code"`
	Detail string     `json:"detail,omitempty"` // a member name, a path, a cause
}

// String is code, or code(detail).
func (r Reason) String() string {
	if r.Detail == "" {
		return string(r.Code)
	}
	return string(r.Code) + "(" + r.Detail + ")"
}

// MarshalJSON writes no reason as null.
func (r Reason) MarshalJSON() ([]byte, error) {
	if r.Code == "" {
		return []byte("null"), nil
	}
	type plain Reason
	return json.Marshal(plain(r))
}

// ReasonWord is the code of a Reason.
type ReasonWord string

// Why a step ran.
const (
	ReasonFirstRun        ReasonWord = "first_run"
	ReasonInputChanged    ReasonWord = "input_changed"
	ReasonSkillChanged    ReasonWord = "skill_changed"
	ReasonConfigChanged   ReasonWord = "config_changed"
	ReasonPromptChanged   ReasonWord = "prompt_changed"
	ReasonSaltRotated     ReasonWord = "salt_rotated"
	ReasonExpired         ReasonWord = "expired"
	ReasonEvicted         ReasonWord = "evicted"
	ReasonArtifactMissing ReasonWord = "artifact_missing"
	ReasonForced          ReasonWord = "forced"
	ReasonUncacheable     ReasonWord = "uncacheable"
	ReasonRefresh         ReasonWord = "refresh"
)

// Why a step was reused.
const (
	ReasonBase      ReasonWord = "base"
	ReasonCacheHot  ReasonWord = "cache_hot"
	ReasonCacheCold ReasonWord = "cache_cold"
	ReasonCutoff    ReasonWord = "cutoff"
	ReasonInflight  ReasonWord = "inflight"
)

// Artifact is a file that a step made. Its bytes are in the blob store under
// ContentHash; one with a uri of its own that Rondo did not store has Size −1.
type Artifact struct {
	ID          ID              `json:"id"`
	TenantID    string          `json:"-"`
	RunID       ID              `json:"runId"` // that made it
	StepID      string          `json:"stepId"`
	Skill       string          `json:"skill"`
	Type        string          `json:"type"`                  // MIME
	URI         string          `json:"uri"`                   // blob:HASH, or the skill's own
	ContentHash string          `json:"contentHash,omitempty"` // hex SHA-256
	Size        int64           `json:"size"`
	Filename    string          `json:"filename,omitempty"`
	Metadata    json.RawMessage `json:"metadata,omitempty"`
	CreatedAt   time.Time       `json:"createdAt"`
}

// CacheEntry is a result that can be used again.
type CacheEntry struct {
	Key          string // hex
	TenantID     string
	WorkflowName string
	StepID       string
	InputHash    string
	Manifest     json.RawMessage
	Data         json.RawMessage
	ArtifactIDs  []ID
	OutputHash   string
	RunID        ID // producer
	Class        string
	CreatedAt    time.Time
	LastUsedAt   time.Time
	ExpiresAt    time.Time // zero = never
	DurationMs   int64     // what computing it took
	Cost         float64
	Tainted      string // why it is bad; "" = it is good
}

// The scopes of the run API.
const (
	ScopeRunsRead  = "runs:read"
	ScopeRunsWrite = "runs:write"
	ScopeRunsAdmin = "runs:admin" // cache and taint
)
