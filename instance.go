package rondo

import (
	"encoding/json"
	"time"
)

// Mode says who calls the modules of a case.
type Mode string

// The two modes of a case.
const (
	ModeActive       Mode = "active"        // Rondo emits requests and awaits their outcomes
	ModeClientDriven Mode = "client_driven" // a client calls the modules, Rondo watches
)

// Status is where an instance stands.
type Status string

// The states of an instance. Completed and cancelled are terminal: nothing
// changes such an instance again.
const (
	StatusRunning   Status = "running"
	StatusHalted    Status = "halted"
	StatusCompleted Status = "completed"
	StatusCancelled Status = "cancelled"
)

// Terminal reports whether an instance in this state is final.
func (s Status) Terminal() bool { return s == StatusCompleted || s == StatusCancelled }

// Context is what a case knows: case_id, org_id, product_id, patient_id, case,
// and one member per step output. Members are raw JSON so that a step which
// touches one does not pay for decoding the rest.
type Context map[string]json.RawMessage

// CaseKey names one unit of business work of one tenant. It is what the engine
// locks, shards and serialises by.
type CaseKey struct {
	OrgID  string
	CaseID string
}

// Instance is one case going through one frozen definition. The fields up to
// Version are the record that users see; Machine is the state that only the
// case machine (internal/flow) reads and writes.
type Instance struct {
	ID               ID
	OrgID            string
	CaseID           string
	ProductID        string
	DefinitionID     ID
	SnapshotHash     string // hex SHA-256 of the canonical snapshot that drives it
	Mode             Mode
	Status           Status
	HaltReason       string
	HaltNote         string
	HaltStepID       string
	CancelledBy      string
	CancelledReason  string
	DeadlineExceeded bool
	SupersedesID     ID
	SupersededByID   ID
	StartedAt        time.Time
	DeadlineAt       time.Time
	CompletedAt      time.Time // zero until terminal
	Context          Context
	Version          int64 // rises by one with every commit that changes the instance; 1 when created

	Machine Machine

	// WakeAt is when a poller must look at the instance next: never later than
	// the earliest due time in Machine or the deadline, possibly earlier. It is
	// a hint, not a decision: whoever wakes asks the machine what is due. Zero
	// when nothing can become due (the instance is terminal, or halted past its
	// deadline with no service level left to announce).
	WakeAt time.Time
}

// Key returns the case that the instance belongs to.
func (i *Instance) Key() CaseKey { return CaseKey{OrgID: i.OrgID, CaseID: i.CaseID} }

// Machine is the part of an instance that is in flight. It is stored as one
// JSON document.
type Machine struct {
	Live     []Attempt           `json:"live,omitempty"`     // one per live token, in order of entry
	Steps    map[string]StepLife `json:"steps,omitempty"`    // what each step has used up so far
	Finished int                 `json:"finished,omitempty"` // step rows written so far: the Seq of the newest
	Consumed map[string]string   `json:"consumed,omitempty"` // client-driven: correlation id → step that consumed it
	Taken    []string            `json:"taken,omitempty"`    // client-driven: event types that a step has consumed
	Forks    []Fork              `json:"forks,omitempty"`    // parallel steps in flight, outer before inner
	SLA      Clock               `json:"sla,omitzero"`       // what is still to be said about the whole case
}

// Clock holds the times of a service level that have not come yet. A time that
// has come is cleared, so each is announced once. Service levels count wall
// time: they go on while a case is halted.
type Clock struct {
	WarnAt   time.Time `json:"warn_at,omitzero"`
	BreachAt time.Time `json:"breach_at,omitzero"`
}

// StepLife is what one step has used up over the life of its instance.
type StepLife struct {
	Attempts int `json:"attempts"`          // attempts ever started: the number of the newest
	Retries  int `json:"retries,omitempty"` // automatic retries spent
	Ended    int `json:"ended,omitempty"`   // Seq of its newest finished row
	Output   int `json:"output,omitempty"`  // Seq of the row whose output is in the context
	// SLA is what is left of the clock of an attempt that ended without leaving the
	// step: the next attempt goes on with it. Nil = the next one enters anew.
	SLA *Clock `json:"sla,omitempty"`
}

// Fork is a parallel step whose branches are in flight. Its own attempt is kept
// here and not among the live ones: it waits for its branches, and becomes a
// Step row when they have joined. Attempt.Fork and Attempt.Branch say which
// branch of an outer fork it is in.
type Fork struct {
	Attempt  Attempt           `json:"attempt"`
	Branches map[string]string `json:"branches"` // branch → one of the Branch words
}

// Where a branch of a fork stands.
const (
	BranchLive    = "live"
	BranchDone    = "done"
	BranchSkipped = "skipped"
)

// StepStatus is where one attempt stands.
type StepStatus string

// The states of an attempt. Pending waits out a backoff; the last four are
// terminal and never change.
const (
	StepPending    StepStatus = "pending"
	StepInProgress StepStatus = "in_progress"
	StepCompleted  StepStatus = "completed"
	StepFailed     StepStatus = "failed"
	StepTimedOut   StepStatus = "timed_out"
	StepSkipped    StepStatus = "skipped"
)

// Attempt is one open attempt at a step: a live token. When it ends it becomes
// a Step row and leaves the instance.
type Attempt struct {
	RowID         ID              `json:"row_id"`
	StepID        string          `json:"step_id"`
	Kind          string          `json:"kind"`
	Status        StepStatus      `json:"status"` // pending or in_progress
	Number        int             `json:"number"` // 1-based over the life of the step
	CorrelationID string          `json:"correlation_id"`
	Input         json.RawMessage `json:"input,omitempty"`
	Manual        bool            `json:"manual,omitempty"` // started by an intervention: not counted as an automatic retry

	StartedAt time.Time     `json:"started_at,omitzero"` // when it went in_progress
	DueAt     time.Time     `json:"due_at,omitzero"`     // pending: when it starts; a delay: when it is over
	TimeoutAt time.Time     `json:"timeout_at,omitzero"` // in_progress: when it times out; cleared while halted
	Remaining time.Duration `json:"remaining,omitempty"` // while halted: what was left of DueAt or TimeoutAt

	RequestID ID        `json:"request_id,omitzero"` // event id of the request, the same on every re-send
	ResendAt  time.Time `json:"resend_at,omitzero"`  // when the request is published again if nothing came
	Resends   int       `json:"resends,omitempty"`
	Cause     string    `json:"cause,omitempty"`  // event id that caused the attempt
	Fork      string    `json:"fork,omitempty"`   // parallel step whose branch this token is in
	Branch    string    `json:"branch,omitempty"` // name of that branch
	SLA       Clock     `json:"sla,omitzero"`     // counted from when the step was entered, over all its attempts
}

// Step is the finished record of one attempt. It is written once and never
// changes. Seq numbers the finished rows of an instance 1, 2, 3 … in commit
// order: folding the outputs by Seq gives the context.
type Step struct {
	ID            ID
	OrgID         string
	InstanceID    ID
	StepID        string
	Kind          string
	Status        StepStatus
	Attempt       int
	Seq           int
	StartedAt     time.Time
	CompletedAt   time.Time
	TimeoutAt     time.Time // zero = none
	Input         json.RawMessage
	Output        json.RawMessage // nil = none
	Error         json.RawMessage // nil = none; {"code", "message"?, …}
	CorrelationID string
	Outcome       string // the transition that was followed, "" when none was
}

// Attribute is a searchable value of an instance: what one declared context
// path holds now. Tags of a case (case.metadata.tags) are the values of the path
// TagPath. Writing an attribute replaces everything its path held before.
type Attribute struct {
	OrgID      string
	InstanceID ID
	Path       string
	Values     []AttributeValue // empty = the path holds nothing searchable
}

// TagPath is the attribute path of a case's tags.
const TagPath = "case.metadata.tags"

// MaxAttributeBytes bounds a searchable text; longer ones are not searchable.
const MaxAttributeBytes = 255

// AttributeValue is a scalar: a text as it is, a number or boolean as canonical
// JSON. Number is set beside Text when it is a number, for ordering.
type AttributeValue struct {
	Text     string
	Number   float64
	IsNumber bool
}
