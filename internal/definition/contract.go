package definition

import (
	"encoding/json"

	"github.com/rondo-engine/rondo/internal/cond"
)

// Behaviour is what the engine does for a step; a kind is a contract over one.
type Behaviour string

// The behaviours the engine knows. Only request builds its payload from
// selectors. An emit step publishes {event_name, payload} from its params
// event_name and payload_template; a final step publishes {final_diagnoses,
// context_snapshot, definition_id} and minds its param include_diagnoses; a
// halt step stops with its params reason_code and note.
const (
	BehaviourRequest   Behaviour = "request"        // emit requested, await completed or failed
	BehaviourCondition Behaviour = "condition"      // evaluate, follow on_true or on_false
	BehaviourEmit      Behaviour = "emit"           // emit and go on at once
	BehaviourFinal     Behaviour = "final"          // emit the final event, then TERMINAL
	BehaviourHalt      Behaviour = "halt"           // stop with a reason code
	BehaviourDelay     Behaviour = "delay"          // wait for a time
	BehaviourWait      Behaviour = "wait_for_event" // wait for any inbound event of the case
	BehaviourManual    Behaviour = "manual"         // wait for a person
	BehaviourParallel  Behaviour = "parallel"       // run branches side by side until enough have joined
)

// The outcomes that belong to behaviours rather than to one contract.
const (
	OnComplete = "on_complete"
	OnTrue     = "on_true"
	OnFalse    = "on_false"
	OnFailure  = "on_failure" // a request failed and no retry is left
	OnTimeout  = "on_timeout" // an attempt timed out
	OnEvent    = "on_event"   // the awaited event came
)

// Contract says what a kind is, in data. It is compiled once per snapshot and
// immutable.
type Contract struct {
	Behaviour       Behaviour
	ParamsSchema    *Schema                    // what a step may give; nil = no params
	Defaults        map[string]json.RawMessage // params of a step that does not give them
	Requested       string                     // event type to publish; "" = none
	Completed       string                     // event type that answers it; "" = none
	Failed          string                     // event type that says it failed; "" = none
	Cancelled       string                     // event type that says it was called off, a failure like any other; "" = none
	Request         map[string]Selector        // payload member → where it comes from; behaviour request only
	OutputSchema    *Schema                    // nil = any object
	Outcomes        []OutcomeRule              // behaviour request: first match wins; none = contract_violation
	Mandatory       []string                   // outcomes that transitions must name, in order
	Optional        []string                   // outcomes that transitions may name, in order
	FailureHaltCode string                     // behaviour request: never empty
	ClientModule    string
	ClientEndpoint  string

	raw json.RawMessage // as written, compact
}

// JSON is the contract as it was written. The caller must not change it.
func (c *Contract) JSON() json.RawMessage { return c.raw }

// Answers lists the event types that end an attempt, the completed one first.
func (c *Contract) Answers() []string {
	var types []string
	for _, eventType := range [...]string{c.Completed, c.Failed, c.Cancelled} {
		if eventType != "" {
			types = append(types, eventType)
		}
	}
	return types
}

// AnsweredBy reports whether events of a type end an attempt.
func (c *Contract) AnsweredBy(eventType string) bool {
	return eventType != "" && (eventType == c.Completed || c.FailedBy(eventType))
}

// FailedBy reports whether events of a type say that an attempt failed.
func (c *Contract) FailedBy(eventType string) bool {
	return eventType != "" && eventType != c.Completed && (eventType == c.Failed || eventType == c.Cancelled)
}

// OutcomeRule maps an output to an outcome. When has the single root `output`;
// nil always matches.
type OutcomeRule struct {
	When    *cond.Expr
	Outcome string
}

// Selector says where one member of a request payload comes from. Exactly one
// of the fields before Required is set. A selector that finds nothing (an
// absent optional param, a missing context path) drops its member; if it is
// Required, the step fails with contract_violation instead. A merge skips what
// is not there and finds nothing only if no part was found; a pick finds
// nothing if its source is not there.
type Selector struct {
	Param           string          `json:"param,omitempty"`
	Context         string          `json:"context,omitempty"` // dotted path
	Const           json.RawMessage `json:"const,omitempty"`
	Merge           []Selector      `json:"merge,omitempty"` // objects, shallow, later wins
	Pick            *Pick           `json:"pick,omitempty"`
	Images          bool            `json:"images,omitempty"`           // the case's images, narrowed to the ids an image check let pass
	ContextSnapshot bool            `json:"context_snapshot,omitempty"` // the whole context
	Template        string          `json:"template,omitempty"`         // a param whose {{path}} texts are filled from the context; null = nothing
	Timeout         bool            `json:"timeout,omitempty"`          // the step's timeout in seconds; nothing when it has none

	Required bool `json:"required,omitempty"`
}

// Pick keeps the named keys of an object.
type Pick struct {
	From Selector `json:"from"`
	Keys []string `json:"keys"`
}
