// Package chat is the turn service: it stands between a chat page and an AI agent
// and makes every turn commit whole or not at all.
//
// # One turn
//
// Validate, claim the idempotency key, take the lease (which checks the owner),
// load, ask the agent while the lease and the key are renewed, decide with
// internal/turn, commit once, fenced by token and version. Whatever fails before
// the commit leaves nothing behind but a log line and a metric. A caller who goes
// away does not stop a turn.
//
// A background loop fires durable timers, relays events that turns raised for
// cases until they are confirmed, and removes what has expired.
//
// # Numbers
//
// Every commit of a turn, a timer or an end has a record with the next number. A
// start has number 0, so that turns count from 1; one that is committed together
// with its first turn has no record of its own. turnMeta.turnNumber is the number
// of the record: the turnCount, unless a timer has moved the conversation.
//
// # Timers and relays
//
// They take the same lease as a turn. A turn of the same process waits for them,
// one on another replica may be told that the conversation is busy. Events are
// given to cases without the lease, with an EventID that does not change, and struck
// off under it: a case may be given an event twice, and never misses one.
//
// It imports the root package, the ports store and agent, internal/turn and
// internal/canon.
package chat

import (
	"context"
	"encoding/json"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/internal/turn"
)

// Caller is who asks. Token is the bearer token as it came, for agents that act on
// behalf of users.
type Caller struct {
	rondo.Principal
	Token string
}

// Request is one call that changes something. Which members count depends on
// Kind.
type Request struct {
	Kind string // KindStart … KindEnd

	ConversationID string                 // "" for start and for an orchestrate that starts
	Definition     string                 // start: name of the definition; "" = the configured default
	Text           string                 // send and orchestrate
	Context        *rondo.WorkflowContext // orchestrate: the older block is sent instead of the preamble
	CardID         string
	UserSummary    string
	SubmitData     json.RawMessage
	Outcome        string // end: completed or abandoned; "" = abandoned
	Reason         string

	// Key is the caller's idempotency key, "" = none; Route is its scope (method,
	// path and query) and Fingerprint the SHA-256 of the canonical body in hex.
	Key, Route, Fingerprint string

	RequestID string
	// Stream is told what happens on the way, before Do returns, from one goroutine
	// at a time; nil = nobody listens.
	Stream func(StreamEvent)
}

// The kinds of request.
const (
	KindStart       = "start"
	KindSend        = "send"
	KindCard        = "card-action"
	KindOrchestrate = "orchestrate"
	KindEnd         = "end"
)

// StreamEvent is one thing that happens while a turn is under way: exactly one
// member is set. The end of a turn is what Do returns.
type StreamEvent struct {
	Started *int         // number of the turn: it was admitted
	Delta   *agent.Delta // a piece of the answer
}

// Answer is what the caller is told: the same bytes under the same key.
type Answer struct {
	Status   int
	Body     json.RawMessage
	Replayed bool // it was given before, under the same key
}

// Definitions finds what drives conversations.
type Definitions interface {
	// Named returns the active definition of a name for new conversations of an
	// organisation, its own or a shipped one, or CodeNotFound.
	Named(ctx context.Context, org, name string) (*turn.Definition, rondo.DefinitionRef, error)
	// Frozen returns the definition that a conversation was started with.
	Frozen(ctx context.Context, org string, ref rondo.DefinitionRef) (*turn.Definition, error)
}

// Relay gives an event that a turn raised to the case it is for. It returns nil
// once the event is durable there; giving it again changes nothing.
type Relay interface {
	Raise(ctx context.Context, org string, e rondo.RaisedEvent) error
}

// Observer is told what happened, for metrics.
type Observer interface {
	// Turn was committed, or failed with an error.
	Turn(kind string, agent, total time.Duration, err error)
	// Contended: a lease was held by another. Lost: one was lost under a turn.
	Contended()
	Lost()
	// Fired: a timer moved a conversation, and how late that was.
	Fired(late time.Duration)
}
