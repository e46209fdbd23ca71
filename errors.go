package rondo

import (
	"errors"
	"strings"
)

// Code is a stable, machine-readable word for what went wrong. Clients may
// depend on it; messages may change.
type Code string

// The codes of the core. Edges translate each to a status of their protocol.
const (
	CodeInvalid              Code = "invalid"                // the input does not decode or match
	CodeInvalidDef           Code = "invalid_definition"     // a definition breaks publish rules; Fields lists all of them
	CodeUnauthorized         Code = "unauthorized"           // who is asking is not known
	CodeForbidden            Code = "forbidden"              // known, but not allowed
	CodeNotFound             Code = "not_found"              // unknown, or another tenant's: the two look alike
	CodeWrongState           Code = "wrong_state"            // the thing exists, but its state does not allow this
	CodeConflict             Code = "conflict"               // it changed meanwhile, or clashes with another
	CodePrecondition         Code = "precondition_failed"    // If-Match names an old version
	CodePreconditionRequired Code = "precondition_required"  // If-Match is missing
	CodeKeyReused            Code = "idempotency_key_reused" // the idempotency key belongs to another request
	CodeTooLarge             Code = "too_large"              // over a documented limit
	CodeOverloaded           Code = "overloaded"             // try again later
	CodeUnavailable          Code = "unavailable"            // store or bus cannot be reached
	CodeInternal             Code = "internal"               // a defect in Rondo

	// The codes of conversations.
	CodeConversationNotFound Code = "conversation_not_found" // unknown, expired or foreign
	CodeConversationBusy     Code = "conversation_busy"      // another turn is under way
	CodeLeaseLost            Code = "lease_lost"             // another took over while the agent was thinking: nothing was written
	CodeWorkflowCompleted    Code = "workflow_completed"     // it has ended: no further turns
	CodeKeyInProgress        Code = "idempotency_in_progress"
	CodeCardRefused          Code = "card_refused"           // the action, its URL or the card is not allowed here
	CodeCardSubmitted        Code = "card_already_submitted" // with other data
	CodeStateCorrupt         Code = "state_corrupt"          // a stored record cannot be read
	CodeWorkflowLogic        Code = "workflow_logic"         // a guard or an action of the definition failed
	CodeAgentFailed          Code = "agent_failed"
	CodeAgentTimeout         Code = "agent_timeout"
)

// FieldError is one thing wrong with one place of an input.
type FieldError struct {
	Code    string `json:"code"`
	Pointer string `json:"pointer"` // JSON Pointer (RFC 6901) into the input
	Message string `json:"message"` // says what to do
}

// Error is the one error type of Rondo. Message is for the person who called,
// Hint is the way out, Op names the operation that failed and Err is the cause;
// Op and Err are for logs and never shown to callers of the API.
type Error struct {
	Code    Code
	Message string
	Hint    string
	Op      string
	Fields  []FieldError
	Err     error
}

// Error reads "op: message: cause".
func (e *Error) Error() string {
	var parts []string
	if e.Op != "" {
		parts = append(parts, e.Op)
	}
	if e.Message != "" {
		parts = append(parts, e.Message)
	}
	if e.Err != nil {
		parts = append(parts, e.Err.Error())
	}
	if len(parts) == 0 {
		return string(e.Code)
	}
	return strings.Join(parts, ": ")
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// CodeOf finds the code of the outermost *Error in err's chain; an error of any
// other kind is CodeInternal, and nil has no code.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternal
}

// Errorf-like constructors keep call sites short.

// Invalid says that an input is wrong.
func Invalid(message string) *Error { return &Error{Code: CodeInvalid, Message: message} }

// NotFound says that a noun with that id is not there for this caller.
func NotFound(noun string) *Error {
	return &Error{Code: CodeNotFound, Message: "no such " + noun, Hint: "check the id; ids of other organisations look unknown too"}
}

// WrongState says that the state does not allow the action.
func WrongState(message string) *Error { return &Error{Code: CodeWrongState, Message: message} }

// Op wraps err with the operation that failed, keeping its code.
func Op(op string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Code: CodeOf(err), Op: op, Err: err}
}
