package rondo

import (
	"encoding/json"
	"time"
)

// DefinitionKind is the face of Rondo that a definition is for.
type DefinitionKind string

// The three kinds of definition.
const (
	KindCase         DefinitionKind = "case"
	KindConversation DefinitionKind = "conversation"
	KindRun          DefinitionKind = "run"
)

// DefinitionStatus is the life of a definition: draft → active → archived.
type DefinitionStatus string

// The states of a definition. Only a draft can change.
const (
	DefinitionDraft    DefinitionStatus = "draft"
	DefinitionActive   DefinitionStatus = "active"
	DefinitionArchived DefinitionStatus = "archived"
)

// Definition is one version of a workflow. Name, DefaultMode and
// WorkflowTimeout derive from Body on every save: Body is authoritative.
type Definition struct {
	ID              ID
	OrgID           string // "" = shipped template
	ProductID       string // "" = every product of the org
	Kind            DefinitionKind
	Name            string
	Version         int    // assigned by the store: rises per (org, product) for cases, per (org, name) for the other kinds
	Semver          string // kind run: the version that its author wrote; "" otherwise
	IsTemplate      bool
	Status          DefinitionStatus
	DefaultMode     Mode
	Body            json.RawMessage
	WorkflowTimeout time.Duration
	SnapshotHash    string // set when published: the frozen copy that drives instances
	Revision        int64  // rises with every change of the row; the ETag
	CreatedBy       string
	CreatedAt       time.Time
	UpdatedAt       time.Time
	PublishedAt     time.Time // zero until published
}

// DefinitionRevision records one change of a definition.
type DefinitionRevision struct {
	ID           ID
	DefinitionID ID
	OrgID        string
	ChangedBy    string
	Diff         json.RawMessage // {"before", "after", "patch"}
	Reason       string
	CreatedAt    time.Time
}

// ReasonCode is a word an organisation uses to say why work stopped. An org's
// row shadows the system row of the same scope and code.
type ReasonCode struct {
	ID                  ID
	OrgID               string // "" = system default
	Scope               string // halt, step_failure, human_decline
	Code                string
	Label               string
	Description         string
	RequiresNote        bool
	ApplicableStepKinds []string
	Active              bool
}

// StepKind is one published version of a step contract. Built-in kinds have no
// org and are not stored.
type StepKind struct {
	OrgID     string
	Name      string
	Version   int
	Contract  json.RawMessage
	Status    string // active, archived
	CreatedBy string
	CreatedAt time.Time
}
