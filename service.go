package rondo

import (
	"encoding/json"
	"time"
)

// This file holds the parameters and answers that the edges and the engine
// exchange: what a caller asks for and what it is told.

// Receipt says what became of one event that was published to Rondo. It is
// given only after the commit that made the event durable.
type Receipt struct {
	EventID   ID
	Outcome   Outcome
	Duplicate bool   // the event was known already; Outcome is the first one's, Verdict and Error are empty
	Verdict   string // as EventRecord.Verdict
	Error     string // as EventRecord.Error
}

// Delivery is what came back for an event that a step emitted. It is noted in the
// ledger and changes nothing.
type Delivery struct {
	EventID    ID
	ReceivedAt time.Time
	DeliveryID string          // "" = the answer names none
	Payload    json.RawMessage // of the answer
}

// ActionName is what a person can do to an instance. It is the spelling of rows,
// events and metrics.
type ActionName string

// The actions on an instance.
const (
	ActionHalt         ActionName = "halt"
	ActionResume       ActionName = "resume"
	ActionCancel       ActionName = "cancel"
	ActionRetryStep    ActionName = "retry_step"
	ActionSetMode      ActionName = "set_mode"
	ActionSupersede    ActionName = "supersede"
	ActionSkipStep     ActionName = "skip_step"
	ActionCompleteStep ActionName = "complete_step"
	ActionMigrate      ActionName = "migrate"
)

// Action is one intervention as it is asked for. Fields that an action does not
// know stay zero.
type Action struct {
	Name          ActionName
	Reason        string            // why; every action but halt and complete_step
	ReasonCode    string            // halt: a usable reason code of scope halt
	Note          string            // halt, complete_step: free text; "" = none
	StepID        string            // retry_step ("" = where the case halted), skip_step, complete_step
	InputOverride json.RawMessage   // retry_step: members that replace those of the request; nil = none
	Outcome       string            // skip_step, complete_step: the transition to follow
	Output        json.RawMessage   // skip_step, complete_step: an object; nil = none
	Mode          Mode              // set_mode; supersede ("" = as the old one)
	ToDefinition  ID                // migrate: zero = the newest active one of the case's product
	StepMap       map[string]string // migrate: live step → step of the target; steps of the same name map by themselves
}

// JobStatus is where a bulk job stands.
type JobStatus string

// The states of a job.
const (
	JobRunning   JobStatus = "running"
	JobCompleted JobStatus = "completed"
)

// Job is one action on many instances, in the background. The instances are
// those that the filter named when the job was made; each gets exactly one
// JobResult, written in the transaction that acts on it, so that the counts are
// exact whatever happens in between.
type Job struct {
	ID         ID
	OrgID      string
	Action     ActionName
	Params     json.RawMessage // the action's parameters as they were given
	Filter     json.RawMessage // as it was given
	Status     JobStatus
	Total      int
	Applied    int
	Refused    int // their state did not allow it
	Failed     int // they could not be acted on
	CreatedBy  string
	CreatedAt  time.Time
	FinishedAt time.Time // zero while running
}

// JobItem is one instance of a job that has no result yet.
type JobItem struct {
	InstanceID ID
	Key        CaseKey
}

// What became of one instance of a job.
const (
	JobApplied = "applied"
	JobRefused = "refused"
	JobFailed  = "failed"
)

// JobResult is what a job did to one instance. There is at most one per (job,
// instance).
type JobResult struct {
	JobID      ID
	OrgID      string
	InstanceID ID
	Outcome    string // one of the words above
	Detail     string // why it was refused or failed
	At         time.Time
}

// RetentionPolicy says how long an organisation keeps finished cases.
type RetentionPolicy struct {
	OrgID        string        // "" = every organisation without one of its own
	KeepFinished time.Duration // 0 = for ever
	Reason       string        // why; "" = none given
	UpdatedBy    string
	UpdatedAt    time.Time
}

// NewDefinition asks for a draft. Exactly one of Source and TemplateID is given.
type NewDefinition struct {
	Kind       DefinitionKind // "" = case
	ProductID  string         // "" = every product of the org
	Source     []byte         // JSON, JSON with comments and trailing commas, or YAML
	TemplateID ID             // zero = none
	Template   bool           // make a template, of every organisation; only an admin may
	Reason     string         // kept in the first revision; "" = none
}

// ValidationReport says whether a definition could be published as it is.
type ValidationReport struct {
	Valid    bool
	Errors   []FieldError // what forbids publishing, all of it
	Warnings []FieldError // what is probably not meant
}

// Component is the state of one thing that Rondo needs in order to work.
type Component struct {
	Name string // database, bus, migrations, …
	Err  error  // nil = usable; shown to operators by its kind only, never by its text
	Lag  int64  // entries waiting, for components that queue; 0 otherwise
}

// Answer is what a caller was told under an idempotency key. Status is 0 while
// the request is being worked on.
type Answer struct {
	OrgID     string
	Key       string
	Request   string          // digest of who asked for what: the same key for another request is refused
	Status    int             // of the answer; 0 = none yet
	Header    json.RawMessage // an object of the headers that belong to the answer
	Body      []byte
	CreatedAt time.Time
}
