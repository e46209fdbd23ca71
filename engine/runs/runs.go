// Package runs is the run service: it takes triggers in, drives runs step by step,
// keeps their results, and says why.
//
// A run is driven by the process that owns it. The loop of a shard gathers what
// happened to all its runs (triggers, finished attempts, due retries, signals),
// decides with package plan, commits everything in one transaction, and only then
// starts skills and answers callers: the end of one step and the start of the next
// share a commit, and so do a hundred parallel steps.
package runs

import (
	"encoding/json"
	"time"

	"github.com/rondo-engine/rondo"
)

// Request asks for a run, or for the plan of one.
type Request struct {
	WorkflowName    string
	WorkflowVersion string          // "" = the highest active one
	TriggerPayload  json.RawMessage // nil = {}
	Options         rondo.RunOptions
	CorrelationID   string // "" = the run's id
	// Document is a definition that nobody registered, for a plan alone: it stands for
	// the workflow, whose name may be left out.
	Document json.RawMessage

	// Of a run that a case step starts.
	ID        rondo.ID // zero = a new one; the same one twice is one run
	Case      *rondo.CaseLink
	ProductID string
}

// UpdateRequest asks for an update run, or for the plan of one.
type UpdateRequest struct {
	BaseRunID  rondo.ID
	Change     rondo.ChangeRequest
	Definition string // "pinned" (default) or "latest"
	// WorkflowVersion is which version stands for the latest; "" = the highest active
	// one. Not with a pinned definition.
	WorkflowVersion string
	// Document is the latest definition, though nobody registered it, for a plan alone.
	Document json.RawMessage
	IfLatest bool
	Options  rondo.RunOptions // with ChangedSteps, Force, Strict
}

// Plan is what a run would do.
type Plan struct {
	WorkflowName    string      `json:"workflowName"`
	WorkflowVersion string      `json:"workflowVersion"`
	TriggerType     string      `json:"triggerType"`
	BaseRunID       string      `json:"baseRunId,omitempty"`
	Seeds           []string    `json:"seeds,omitempty"`
	Candidates      []string    `json:"candidates,omitempty"`
	Steps           []PlanStep  `json:"steps"`
	Summary         PlanSummary `json:"summary"`
}

// What a plan says of a step.
const (
	WouldRun     = "would_run"
	WouldReuse   = "reuse"
	UnknownUntil = "unknown_until"
	WouldFail    = "would_fail"    // without being computed: Error says why
	NeverReached = "never_reached" // steps in Until would fail, or not be reached either
)

// PlanStep is what a run would do with one step.
type PlanStep struct {
	StepID      string       `json:"stepId"`
	Skill       string       `json:"skill"`
	Decision    string       `json:"decision"`
	Until       []string     `json:"until,omitempty"` // steps whose output decides
	Reason      rondo.Reason `json:"reason"`          // none while Until decides
	StaleInput  bool         `json:"staleInput,omitempty"`
	EstimatedMs *int64       `json:"estimatedMs,omitempty"` // nil = no history
	Cost        *float64     `json:"estimatedCost,omitempty"`
	// Error is that of a step that would fail.
	Error *rondo.StepError `json:"error,omitempty"`
}

// PlanSummary adds a plan up.
type PlanSummary struct {
	WouldRun      int     `json:"wouldRun"`
	Reuse         int     `json:"reuse"`
	Unknown       int     `json:"unknown"`
	Fails         int     `json:"fails"`
	NeverReached  int     `json:"neverReached"`
	EstimatedMs   int64   `json:"estimatedMs"` // along the critical path, unknown steps running
	EstimatedCost float64 `json:"estimatedCost"`
}

// Explanation says why every step of a run did what it did.
type Explanation struct {
	RunID string        `json:"runId"`
	Steps []StepExplain `json:"steps"`
}

// StepExplain is why one step did what it did.
type StepExplain struct {
	StepID        string       `json:"stepId"`
	Status        string       `json:"status"`
	Reason        rondo.Reason `json:"reason"` // none while it is pending
	Text          string       `json:"text"`   // the reason as a sentence
	StaleInput    bool         `json:"staleInput,omitempty"`
	Deterministic *bool        `json:"deterministic,omitempty"`
	CacheKey      string       `json:"cacheKey,omitempty"`
	SourceRunID   string       `json:"sourceRunId,omitempty"`
	ComparedWith  string       `json:"comparedWith,omitempty"` // run whose manifest it was compared with
	// Changed are components of the key; of a step that verify found to differ, parts
	// of its output.
	Changed []Difference `json:"changed,omitempty"`
}

// Difference is one component of a key, or part of an output, that is not as it was.
type Difference struct {
	Component string `json:"component"`
	Before    string `json:"before,omitempty"` // preview
	After     string `json:"after,omitempty"`
}

// CacheAnalysis says what the cache was good for in a run.
type CacheAnalysis struct {
	TotalSteps  int                 `json:"totalSteps"`
	CacheHits   int                 `json:"cacheHits"`
	CacheMisses int                 `json:"cacheMisses"`
	Steps       []CacheAnalysisStep `json:"steps"`
	TimeSavedMs int64               `json:"timeSavedMs"`
	CostSaved   float64             `json:"costSaved"`
}

// CacheAnalysisStep is one step of a CacheAnalysis.
type CacheAnalysisStep struct {
	StepID      string       `json:"stepId"`
	CacheHit    bool         `json:"cacheHit"`
	Reason      rondo.Reason `json:"reason"`
	CacheKey    string       `json:"cacheKey,omitempty"`
	DurationMs  int64        `json:"durationMs"`
	TimeSavedMs int64        `json:"timeSavedMs"`
	CostSaved   float64      `json:"costSaved"`
}

// TaintRequest asks to mark an entry bad.
type TaintRequest struct {
	Key     string
	Why     string
	Rebuild bool
	// OutputHash is the result that is meant; "" = whatever the entry has. An entry that
	// has another one by now stays as it is: what used the result is listed and rebuilt.
	OutputHash string
}

// Tainted says what a bad entry touched.
type Tainted struct {
	Key        string `json:"key"`
	Workflow   string `json:"workflow"`
	StepID     string `json:"stepId"`
	OutputHash string `json:"outputHash"` // of the bad result
	// Recomputed: the entry had another result already and was not marked.
	Recomputed bool `json:"recomputed,omitempty"`

	Runs      []TaintedRun `json:"runs"`
	Artifacts []string     `json:"artifacts"`          // ids, of the step and of what came after it in those runs
	Rebuilds  []string     `json:"rebuilds,omitempty"` // ids of update runs that were started
	// Error is why some run could not be rebuilt. Asking again starts what is missing.
	Error string `json:"error,omitempty"`
}

// Why a run that used a bad entry is not rebuilt.
const (
	NotRebuiltReplaced  = "replaced" // by a completed update run
	NotRebuiltRunning   = "running"  // or queued: it goes on with what it has
	NotRebuiltFailed    = "failed"   // retrying it keeps what it has
	NotRebuiltCancelled = "cancelled"
	NotRebuiltError     = "error" // Tainted.Error
)

// TaintedRun is a run that used a bad entry.
type TaintedRun struct {
	RunID   string   `json:"runId"`
	Status  string   `json:"status"`
	StepIDs []string `json:"stepIds"` // the step and what came after it
	// RebuiltBy is the update run that redoes it, started now or before.
	RebuiltBy  string `json:"rebuiltBy,omitempty"`
	NotRebuilt string `json:"notRebuilt,omitempty"` // why it is not; "" = it is, or nobody asked
}

// Event is one change of a run as streams tell it.
type Event struct {
	Seq  int64
	Run  *rondo.Run     // nil = it did not change
	Step *rondo.RunStep // without data
	More bool           // another event of this Seq follows: it is no place to go on from
	At   time.Time
}
