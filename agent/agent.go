// Package agent is the port to the AI agents that conversations are held with.
// Drivers are copilot (Microsoft Copilot Studio, direct to engine), openai (any
// OpenAI-compatible model), scripted (rules in a file, for demos and tests) and
// echo; package agenttest holds the one conformance suite for all.
//
// # Guarantees every driver gives
//
//  1. One Agent serves every user and conversation at once; what it must know of a
//     conversation comes in with each call, so a restart or another replica goes on
//     where this one stopped.
//  2. A call is made once. A driver never sends a request again and never
//     reconnects by itself: whether an agent has acted on a request that broke is
//     not known.
//  3. The answer is bounded in time (the context's deadline), in the size of one
//     activity and in their number. What exceeds a bound is an *Error, never a cut
//     text that looks whole.
//  4. Every error is an *Error or the context's own error. Its text never has
//     tokens or what users said.
//
// It imports the root package only.
package agent

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"time"

	"github.com/rondo-engine/rondo"
)

// Agent holds conversations.
type Agent interface {
	// Info says who answers.
	Info() Info
	// Start opens a conversation and yields the greeting, if there is one.
	Start(ctx context.Context, session Session) iter.Seq2[Chunk, error]
	// Send gives one message of the user and yields the answer. The sequence ends
	// after the last chunk, or with one error.
	Send(ctx context.Context, session Session, message rondo.Activity) iter.Seq2[Chunk, error]
}

// Info is what an agent says of itself; health shows it.
type Info struct {
	Provider string // copilot, openai, scripted, echo
	Model    string
}

// Session is one conversation as the agent must know it.
type Session struct {
	ConversationID string // Rondo's
	AgentSession   string // the agent's own, "" before it is known
	TenantID       string
	UserID         string
	UserToken      string // the bearer token of the caller, for agents that act on behalf of users; "" = none
	Locale         string
	// History is what was said before, oldest first, without the message that is
	// being sent; only agents that ask for it by the Historian interface get it.
	History []rondo.NormalizedMessage
	// Instructions and OutputSchema come from the definition's agent binding.
	Instructions string
	OutputSchema json.RawMessage // nil = the structured output of Rondo itself
	Binding      json.RawMessage // the definition's agent member as it was written; nil = none
}

// Historian is an agent that keeps no conversation of its own and must be told
// what was said before.
type Historian interface {
	// Remembers is how many messages of the history it wants, newest ones.
	Remembers() int
}

// Chunk is one part of an answer; exactly one of its members is set.
type Chunk struct {
	Activity *rondo.Activity // whole
	Delta    *Delta          // a piece of a text that a later activity will have whole
	Session  string          // what the agent calls this conversation, as soon as it says so
}

// Delta is a piece of text on its way.
type Delta struct {
	ID   string // of the message; the same for all of its pieces
	Text string
}

// Error is what went wrong between Rondo and an agent.
type Error struct {
	Provider   string
	Status     int // of HTTP; 0 = none
	Kind       ErrorKind
	RetryAfter time.Duration // what the agent asked for; 0 = nothing
	Message    string
	Err        error
}

// ErrorKind tells failures apart.
type ErrorKind string

// The kinds of failure.
const (
	KindRefused     ErrorKind = "refused"     // the agent answered with an error
	KindUnreachable ErrorKind = "unreachable" // no connection, or it broke
	KindMalformed   ErrorKind = "malformed"   // an answer that is not the format
	KindTooLarge    ErrorKind = "too_large"   // over a bound
	KindToken       ErrorKind = "token"       // no token for this user could be had
	KindOpen        ErrorKind = "open"        // the circuit breaker is open: not called at all
)

// Error reads "provider: message: cause".
func (e *Error) Error() string {
	text := e.Provider + ": " + e.Message
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf is the kind of failure of err, "" when it is not an agent's.
func KindOf(err error) ErrorKind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return ""
}
