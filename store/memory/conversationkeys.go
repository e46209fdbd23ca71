package memory

import (
	"context"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// keyRow is an idempotency key: a claim that runs while status is 0, then its
// result. It ends at until, either way, and is as if it were not there then.
type keyRow struct {
	token, fingerprint, conversation string
	until                            time.Time
	status                           int
	body                             []byte
}

// BeginKey implements store.Conversations.
func (s *Store) BeginKey(_ context.Context, claim store.KeyClaim) (store.KeyState, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.keys[claim.Key]
	switch {
	case row == nil || !row.until.After(claim.At):
		s.keys[claim.Key] = &keyRow{
			token: claim.Token, fingerprint: claim.Fingerprint, conversation: claim.ConversationID, until: stored(claim.At.Add(claim.Lease)),
		}
		return store.KeyState{Ours: true}, nil
	case row.fingerprint != claim.Fingerprint:
		return store.KeyState{}, &rondo.Error{
			Code: rondo.CodeKeyReused, Op: "memory: claim key", Message: "the idempotency key belongs to a request with another body",
			Hint: "use a new key for a new request",
		}
	case row.status == 0:
		return store.KeyState{RetryAfter: row.until.Sub(claim.At)}, nil
	default:
		return store.KeyState{Result: &store.KeyResult{
			Key: claim.Key, Token: row.token, Fingerprint: row.fingerprint, Status: row.status, Body: row.body, ExpiresAt: row.until,
		}}, nil
	}
}

// running is a claim that is token's and has no result; nil = there is none.
func (s *Store) running(key store.ConversationKey, token string) *keyRow {
	row := s.keys[key]
	if row == nil || row.token != token || row.status != 0 {
		return nil
	}
	return row
}

// RenewKey implements store.Conversations.
func (s *Store) RenewKey(_ context.Context, key store.ConversationKey, token string, at time.Time, d time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.running(key, token)
	if row == nil || !row.until.After(at) {
		return leaseLost("memory: renew key")
	}
	row.until = stored(at.Add(d))
	return nil
}

// DropKey implements store.Conversations.
func (s *Store) DropKey(_ context.Context, key store.ConversationKey, token string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running(key, token) != nil {
		delete(s.keys, key)
	}
	return nil
}

// checkKey asks whether the claim that a write finishes is still its own.
func (s *Store) checkKey(op string, w *store.ConversationWrite) error {
	if w.Key == nil {
		return nil
	}
	if row := s.running(w.Key.Key, w.Key.Token); row == nil || !row.until.After(w.At) {
		return leaseLost(op)
	}
	return nil
}

// finishKey stores the answer under a key that checkKey has seen.
func (s *Store) finishKey(w *store.ConversationWrite) {
	if w.Key == nil {
		return
	}
	row := s.keys[w.Key.Key]
	row.status, row.body, row.until, row.conversation = w.Key.Status, w.Key.Body, stored(w.Key.ExpiresAt), w.Conversation.ExternalID
}
