// Package turn is the pure part of a conversation's turn: it turns an agent's
// activities into messages, finds and judges structured data in them, merges it
// into what was collected, moves the statechart, and says what must be stored and
// answered. Everything comes in as an argument, time and ids too.
//
// It imports the root package, internal/cond, internal/canon and internal/chart,
// and the JSON Schema library.
package turn

import (
	"encoding/json"
	"time"

	"github.com/rondo-engine/rondo"
)

// Reply is an agent's answer, normalised: all that deciding a turn needs of it.
// It is stored in the turn record, so that the turn can be replayed through
// another definition.
type Reply struct {
	Messages []rondo.NormalizedMessage `json:"messages"`
	// Payload is what was found; nil = nothing. Extraction says what else was
	// looked at, winner first.
	Payload    *rondo.ExtractedPayload `json:"payload,omitempty"`
	Extraction []rondo.Candidate       `json:"extraction,omitempty"`
	Suggested  []string                `json:"suggested,omitempty"` // titles of suggested actions
	Citations  []string                `json:"citations,omitempty"` // addresses that schema.org entities refer to
	Handoff    bool                    `json:"handoff,omitempty"`   // raises HANDOFF
	Ended      string                  `json:"ended,omitempty"`     // code of endOfConversation; "" = it goes on
}

// Input is one turn to decide.
type Input struct {
	Before rondo.ConversationState
	Kind   string // rondo.TurnByText or TurnByCard
	Reply  Reply
	Now    time.Time
}

// Outcome is what a turn, a start, a timer or an end comes to. It is a value:
// nothing has happened yet.
type Outcome struct {
	State    rondo.ConversationState  // Version is not raised here
	Status   rondo.ConversationStatus // what the conversation's own status becomes
	Parsed   rondo.ParsedTurn
	Meta     rondo.TurnMeta
	Progress rondo.Progress
	Record   rondo.TurnRecord // without number, input, latency, lease wait, truncation and response
	Effects  []Effect
}

// Effect is an event for a case that the machine raised.
type Effect struct {
	EventType string
	CaseID    string
	Payload   json.RawMessage
}
