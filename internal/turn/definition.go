package turn

import (
	"encoding/json"
	"time"
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
