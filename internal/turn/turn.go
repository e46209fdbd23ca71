// Package turn is the pure part of a conversation's turn: it turns an agent's
// activities into messages, finds and judges structured data in them, merges it
// into what was collected, moves the statechart, and says what must be stored and
// answered. Everything comes in as an argument, time and ids too.
//
// # Guarantees
//
//  1. Nothing here does I/O, reads a clock or panics, whatever an agent answers.
//  2. What comes in is never changed, and what comes out shares nothing with it.
//  3. A state that is written as JSON and read again goes on as if it had never
//     been written. Values keep the form they were written in.
//  4. An answer never fails a turn. Only the definition's own rules can
//     (CodeWorkflowLogic), or a stored snapshot that does not fit
//     (CodeStateCorrupt).
//
// # The status of a workflow
//
// A machine that is done has completed the workflow. Before that, the deepest
// active state with meta.status (active, completed or error) sets it; of parallel
// regions the first in written order that says something counts. Where no state
// says anything, the workflow is active. An agent that ends the conversation
// completes the workflow (completedSuccessfully) or makes it an error (any other
// code) for that turn. An error accepts further turns, completed does not.
//
// # What an answer means to the machine
//
// Data is merged first. Then HANDOFF is sent if the agent handed over and the
// machine does something then; else, unless the answer's confidence is below
// minConfidence, the event of the first signal rule that holds; else NO_SIGNAL, if
// an active state names it (a wildcard does not ask for it).
//
// A change that confirm_on_change holds back counts when a later turn says the same
// value again; saying the old value takes it back.
//
// The members step, collectedData, turnCount and lastRecommendation of the
// machine's context are the workflow's: an assign to collectedData changes what was
// collected, an assign to one of the others is forgotten with the turn.
//
// It imports the root package, internal/cond, internal/canon and internal/chart,
// and the libraries of JSON and JSON Schema.
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
	Messages []rondo.NormalizedMessage `json:"messages,omitempty"`
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
