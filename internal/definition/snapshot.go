// Package definition reads workflow definitions: parsing (JSON, JSON with
// comments, YAML), every rule that holds at publish time, and the frozen,
// compiled snapshot that drives instances.
//
// It is pure: no I/O, clock or randomness. What it needs from outside (the
// reason codes and step kinds an organisation can use) comes in as arguments.
package definition

import (
	"encoding/json"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/cond"
)

// Behaviour is what the engine does for a step; a kind is a contract over one.
type Behaviour string

// The behaviours the engine knows.
const (
	BehaviourRequest   Behaviour = "request"   // emit requested, await completed or failed
	BehaviourCondition Behaviour = "condition" // evaluate, follow on_true or on_false
	BehaviourEmit      Behaviour = "emit"      // emit and go on at once
	BehaviourFinal     Behaviour = "final"     // emit the final event, then TERMINAL
	BehaviourHalt      Behaviour = "halt"      // stop with a reason code
)

// Reserved transition targets.
const (
	Terminal = "TERMINAL" // success
	Join     = "JOIN"     // end of a parallel branch
)

// Contract says what a kind is, in data. Contracts are compiled once per
// snapshot.
type Contract struct {
	Behaviour       Behaviour
	ParamsSchema    json.RawMessage
	Requested       string // event types; "" = none
	Completed       string
	Failed          string
	Request         map[string]Selector // payload member → where it comes from
	OutputSchema    *Schema             // nil = any object
	Outcomes        []OutcomeRule       // first match wins; none = contract_violation
	Mandatory       []string            // outcomes that transitions must name
	Optional        []string            // outcomes that transitions may name
	FailureHaltCode string
	ClientModule    string
	ClientEndpoint  string
}

// OutcomeRule maps an output to an outcome. When has the root `output`; nil
// always matches.
type OutcomeRule struct {
	When    *cond.Expr
	Outcome string
}

// Selector says where one member of a request payload comes from. Exactly one
// field is set.
type Selector struct {
	Param    string          `json:"param,omitempty"`
	Context  string          `json:"context,omitempty"` // dotted path
	Const    json.RawMessage `json:"const,omitempty"`
	Merge    []Selector      `json:"merge,omitempty"` // objects, shallow, later wins
	Pick     *Pick           `json:"pick,omitempty"`
	Images   bool            `json:"images,omitempty"`           // the images given to AI, as cases.md section 3 says
	Context_ bool            `json:"context_snapshot,omitempty"` // the whole context
}

// Pick keeps the named keys of an object.
type Pick struct {
	From Selector `json:"from"`
	Keys []string `json:"keys"`
}

// Step is one compiled step of a snapshot.
type Step struct {
	ID             string
	Kind           string
	Contract       *Contract
	Params         map[string]json.RawMessage
	Expr           *cond.Expr // condition only
	Transitions    map[string]string
	Timeout        time.Duration // 0 = none
	MaxRetries     int
	Backoff        string // exponential, linear, fixed
	RetryBase      time.Duration
	RetryCap       time.Duration
	RetryJitter    bool
	RetryOnTimeout bool
}

// Snapshot is a frozen definition with the resolved contract of every kind it
// uses, compiled. It is immutable and safe for concurrent use; instances refer
// to it by Hash.
type Snapshot struct {
	Hash            string // hex SHA-256 of the canonical form
	Name            string
	DefaultMode     rondo.Mode
	WorkflowTimeout time.Duration
	Start           string
	Steps           map[string]*Step
	Order           []string // every step, topologically, on_true before on_false
}
