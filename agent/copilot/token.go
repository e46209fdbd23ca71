package copilot

import (
	"context"
	"errors"

	"github.com/rondo-engine/rondo/agent"
)

// TokenSource gives the token that a call for a user is made with. It is safe for
// concurrent use. Its errors are *agent.Error with KindToken, or the context's own.
type TokenSource interface {
	Token(ctx context.Context, session agent.Session) (string, error)
}

// forgetter is a source that remembers tokens: one that the agent refused is
// forgotten.
type forgetter interface {
	Forget(session agent.Session)
}

// StaticToken is one token for everyone, for trials: all users are the same person
// to the agent.
type StaticToken string

// Token returns the token.
func (s StaticToken) Token(context.Context, agent.Session) (string, error) {
	if s == "" {
		return "", tokenFailure("no token is configured", 0, nil)
	}
	return string(s), nil
}

func tokenFailure(message string, status int, cause error) *agent.Error {
	return &agent.Error{Provider: provider, Kind: agent.KindToken, Status: status, Message: message, Err: cause}
}

// tokenError holds sources of others to the port's promise about errors.
func tokenError(ctx context.Context, err error) error {
	if over := ctx.Err(); over != nil {
		return over
	}
	if known, ok := errors.AsType[*agent.Error](err); ok {
		return known
	}
	return tokenFailure("no token could be had for this user", 0, nil)
}
