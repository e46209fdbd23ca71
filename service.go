package rondo

// This file holds the parameters and answers that the edges and the engine
// exchange: what a caller asks for and what it is told.

// Receipt says what became of one event that was published to Rondo. It is
// given only after the commit that made the event durable.
type Receipt struct {
	EventID   ID
	Outcome   Outcome
	Duplicate bool   // the event was known already; Outcome is the first one's
	Error     string // why it was unmatched or rejected; "" otherwise
}

// ActionName is what a person can do to an instance. It is the spelling of rows,
// events and metrics.
type ActionName string

// The actions on an instance.
const (
	ActionHalt   ActionName = "halt"
	ActionResume ActionName = "resume"
	ActionCancel ActionName = "cancel"
)

// Action is one intervention as it is asked for.
type Action struct {
	Name       ActionName
	Reason     string // why; resume and cancel
	ReasonCode string // halt: a usable reason code of scope halt
	Note       string // halt: free text; "" = none
}

// NewDefinition asks for a draft. Exactly one of Source and TemplateID is given.
type NewDefinition struct {
	Kind       DefinitionKind // "" = case
	ProductID  string         // "" = every product of the org
	Source     []byte         // JSON, JSON with comments and trailing commas, or YAML
	TemplateID ID             // zero = none
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
