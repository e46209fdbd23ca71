package chat

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// claim is an idempotency key that is ours while its request runs.
type claim struct {
	key         store.ConversationKey
	token       string
	fingerprint string
}

// claimKey claims the request's key before any effect. It returns the answer that
// was given under it before, or a claim; neither when the request has no key.
func (s *Service) claimKey(ctx context.Context, caller Caller, req *Request, conversationID string) (*claim, *Answer, error) {
	if req.Key == "" {
		return nil, nil, nil
	}
	c := &claim{
		key:         store.ConversationKey{TenantID: caller.Tenant, UserID: caller.User, Route: req.Route, Key: req.Key},
		token:       s.cfg.NewID(),
		fingerprint: req.Fingerprint,
	}
	var state store.KeyState
	err := s.within(ctx, func(ctx context.Context) (err error) {
		state, err = s.store.BeginKey(ctx, store.KeyClaim{
			Key: c.key, Token: c.token, Fingerprint: c.fingerprint,
			ConversationID: conversationID, At: s.now(), Lease: s.cfg.KeyLease,
		})
		return err
	})
	switch {
	case err != nil:
		return nil, nil, storeError("claiming the idempotency key", err)
	case state.Result != nil:
		return nil, &Answer{Status: state.Result.Status, Body: state.Result.Body, Replayed: true}, nil
	case !state.Ours:
		return nil, nil, &rondo.Error{
			Code: rondo.CodeKeyInProgress, Message: "a request with this idempotency key is running",
			Hint: "try again when it has been answered", Err: &store.BusyError{RetryAfter: state.RetryAfter},
		}
	}
	return c, nil, nil
}

// drop forgets a claim that came to nothing, so that the key is free at once.
func (s *Service) drop(ctx context.Context, c *claim) {
	err := s.within(ctx, func(ctx context.Context) error { return s.store.DropKey(ctx, c.key, c.token) })
	if err != nil {
		s.log.Warn("an idempotency key was not given back and runs out by itself", "error", err)
	}
}

// result is what a commit writes under the key; nil when there is none.
func (c *claim) result(body json.RawMessage, expires time.Time) *store.KeyResult {
	if c == nil {
		return nil
	}
	return &store.KeyResult{Key: c.key, Token: c.token, Fingerprint: c.fingerprint, Status: http.StatusOK, Body: body, ExpiresAt: expires}
}
