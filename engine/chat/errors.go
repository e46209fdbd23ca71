package chat

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/store"
)

// errLost is the cause of a turn's context that ended because its lease, or its
// idempotency key, is another's by now.
var errLost = errors.New("chat: the lease was lost")

// RetryAfter is how long a caller should wait before trying again, 0 when the
// error says nothing about it.
func RetryAfter(err error) time.Duration {
	if busy, ok := errors.AsType[*store.BusyError](err); ok {
		return busy.RetryAfter
	}
	if failed, ok := errors.AsType[*agent.Error](err); ok {
		return failed.RetryAfter
	}
	return 0
}

// storeError says what an error of the store means to a caller. What a driver does
// not name is an outage: a caller can do no more than try again.
func storeError(op string, err error) error {
	if err == nil {
		return nil
	}
	if busy, ok := errors.AsType[*store.BusyError](err); ok {
		return busyError(busy)
	}
	if errors.Is(err, store.ErrLeaseLost) || errors.Is(err, store.ErrConflict) {
		return lostError(op, err)
	}
	if errors.Is(err, store.ErrAmbiguous) {
		return &rondo.Error{Code: rondo.CodeUnavailable, Op: op, Err: err, Message: "the store cannot be reached, and whether it wrote the turn is not known", Hint: "look at the conversation before sending again, or send again with the same idempotency key"}
	}
	switch code := rondo.CodeOf(err); code {
	case rondo.CodeConversationNotFound:
		return notFound()
	case rondo.CodeKeyReused:
		return &rondo.Error{Code: code, Op: op, Err: err, Message: "the idempotency key was used with another body", Hint: "use a new key for a new request"}
	case rondo.CodeStateCorrupt:
		return &rondo.Error{Code: code, Op: op, Err: err, Message: "a stored record of the conversation cannot be read", Hint: "restore it from a backup, or delete the conversation"}
	case rondo.CodeNotFound, rondo.CodeConflict, rondo.CodeInvalid, rondo.CodeTooLarge:
		return rondo.Op(op, err)
	default:
		return &rondo.Error{Code: rondo.CodeUnavailable, Op: op, Err: err, Message: "the store cannot be reached", Hint: "try again; nothing was changed"}
	}
}

func notFound() error {
	return &rondo.Error{Code: rondo.CodeConversationNotFound, Message: "no such conversation", Hint: "start one; conversations expire, and those of others look unknown too"}
}

func busyError(busy *store.BusyError) error {
	return &rondo.Error{Code: rondo.CodeConversationBusy, Message: "another turn of the conversation is under way", Hint: "try again when it has been answered", Err: busy}
}

func lostError(op string, err error) error {
	return &rondo.Error{Code: rondo.CodeLeaseLost, Op: op, Err: err, Message: "another turn took over meanwhile: nothing of this one was written", Hint: "look at the conversation, then send again"}
}

func completedError() error {
	return &rondo.Error{Code: rondo.CodeWorkflowCompleted, Message: "the conversation has ended", Hint: "start another one"}
}

func unknownCard() error {
	return &rondo.Error{Code: rondo.CodeCardRefused, Message: "Unknown card", Hint: "answer a card of this conversation"}
}

// levelOf tells what an operator must see from what callers do wrong.
func levelOf(err error) slog.Level {
	switch rondo.CodeOf(err) {
	case rondo.CodeInternal, rondo.CodeStateCorrupt, rondo.CodeWorkflowLogic:
		return slog.LevelError
	case rondo.CodeUnavailable, rondo.CodeOverloaded, rondo.CodeLeaseLost, rondo.CodeAgentFailed, rondo.CodeAgentTimeout:
		return slog.LevelWarn
	default:
		return slog.LevelInfo
	}
}

// agentError says what an agent's failure means to a caller. work is the turn's
// context, call the one that the agent was given: which of them ended tells a lost
// lease from our own deadline.
func agentError(work, call context.Context, err error) error {
	switch {
	case errors.Is(context.Cause(work), errLost):
		return lostError("asking the agent", err)
	case call.Err() != nil:
		return &rondo.Error{Code: rondo.CodeAgentTimeout, Op: "asking the agent", Err: err, Message: "the agent did not answer in time", Hint: "try again; nothing was changed"}
	default:
		return &rondo.Error{Code: rondo.CodeAgentFailed, Op: "asking the agent", Err: err, Message: "the agent failed", Hint: "try again; nothing was changed"}
	}
}
