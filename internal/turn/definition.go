package turn

import (
	"encoding/json"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/rondo-engine/rondo/internal/chart"
	"github.com/rondo-engine/rondo/internal/cond"
)

// Definition is a conversation definition, compiled. It is immutable and safe for
// concurrent use.
type Definition struct {
	Name         string
	Steps        []string
	Agent        Binding
	Busy         Busy
	AgentTimeout time.Duration   // 0 = not said
	OutputSchema json.RawMessage // as written; nil = Rondo's own

	machine       *chart.Machine
	config        json.RawMessage            // of the machine
	context       map[string]json.RawMessage // of the machine's own, as it begins
	states        *state
	signals       []signal
	merge         policies
	minConfidence string
	schema        *jsonschema.Schema
	template      string // "" = Rondo's own
}

// signal is a rule that makes an event of an answer.
type signal struct {
	when  *cond.Expr
	event string
}

// Binding says which agent a definition wants.
type Binding struct {
	Provider     string // "" = the configured one
	Instructions string
	Raw          json.RawMessage // the whole member as it was written; nil = none
}

// Busy says what a turn does that meets another one.
type Busy struct {
	Wait time.Duration // how long it waits before it is refused; 0 = refused at once
}
