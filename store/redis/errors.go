package redis

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// failed translates an error of the client.
func failed(op string, err error) error {
	if err == nil {
		return nil
	}
	if refused, ok := errors.AsType[redis.Error](err); ok {
		return refusal(op, refused)
	}
	return &rondo.Error{
		Code: rondo.CodeUnavailable, Op: op, Message: "Redis cannot be reached",
		Hint: "check that Redis runs and that its URL is right", Err: err,
	}
}

// refusal translates what the server said instead of doing it.
func refusal(op string, err redis.Error) error {
	word, _, _ := strings.Cut(err.Error(), " ")
	switch word {
	case "WRONGTYPE":
		return corrupt(op, "a key of the conversation holds another kind of value", err)
	case "LOADING", "READONLY", "CLUSTERDOWN", "MASTERDOWN", "TRYAGAIN", "BUSY", "OOM", "MISCONF", "NOREPLICAS", "NOAUTH", "WRONGPASS", "NOPERM", "MOVED", "ASK":
		return &rondo.Error{
			Code: rondo.CodeUnavailable, Op: op, Message: "Redis does not accept commands now",
			Hint: "see the log of Redis: it loads, is full, is a replica, or refuses this user", Err: err,
		}
	}
	return &rondo.Error{Code: rondo.CodeInternal, Op: op, Message: "Redis refused the command", Err: err}
}

// ambiguous says that a write may have happened.
func ambiguous(op string, cause error) error {
	return &rondo.Error{
		Code: rondo.CodeUnavailable, Op: op, Message: "the outcome of the commit is unknown",
		Hint: "load again: what was committed is there", Err: fmt.Errorf("%w: %w", store.ErrAmbiguous, cause),
	}
}

// neverSent reports whether an error happened before a command left.
func neverSent(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial" || errors.Is(err, redis.ErrClosed) || errors.Is(err, redis.ErrPoolTimeout)
}

func unknown(op string) error {
	return &rondo.Error{
		Code: rondo.CodeConversationNotFound, Op: op, Message: "no such conversation",
		Hint: "it may have expired: start a new one",
	}
}

func lost(op string) error {
	return &rondo.Error{
		Code: rondo.CodeLeaseLost, Op: op, Message: "the lease is another's by now, or ran out",
		Hint: "load again and decide anew", Err: store.ErrLeaseLost,
	}
}

func conflict(op string) error {
	return &rondo.Error{
		Code: rondo.CodeConflict, Op: op, Message: "the conversation changed meanwhile",
		Hint: "load again and decide anew", Err: store.ErrConflict,
	}
}

func taken(op string) error {
	return &rondo.Error{Code: rondo.CodeConflict, Op: op, Message: "a conversation with this id exists", Hint: "choose another id"}
}

func reused(op string) error {
	return &rondo.Error{
		Code: rondo.CodeKeyReused, Op: op, Message: "the idempotency key belongs to a request with another body",
		Hint: "use a new key for a new request",
	}
}

func corrupt(op, what string, cause error) error {
	return &rondo.Error{
		Code: rondo.CodeStateCorrupt, Op: op, Message: what,
		Hint: "restore the record or delete the conversation; it is not started anew by itself", Err: cause,
	}
}

// unexpected says that a script answered something that it never does.
func unexpected(op, word string) error {
	return &rondo.Error{Code: rondo.CodeInternal, Op: op, Message: "unexpected answer " + word}
}
