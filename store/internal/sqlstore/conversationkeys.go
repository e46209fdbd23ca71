package sqlstore

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// keyID is the primary key of an idempotency key: a digest of its parts, each with
// its length before it, so that no two scopes meet and no part is too long.
func keyID(key store.ConversationKey) []byte {
	var text []byte
	for _, part := range []string{key.TenantID, key.UserID, key.Route, key.Key} {
		text = binary.BigEndian.AppendUint64(text, uint64(len(part)))
		text = append(text, part...)
	}
	sum := sha256.Sum256(text)
	return sum[:]
}

// keyRow is a stored key: a claim that runs while status is 0, then its result. It
// ends at expires, either way, and is as if it were not there then.
type keyRow struct {
	token, fingerprint string
	status             int
	body               []byte
	expires            int64
}

func (s session) key(ctx context.Context, id []byte) (*keyRow, error) {
	found, err := list(ctx, s, func(values []any) (*keyRow, error) {
		r := reader{values: values}
		row := &keyRow{token: r.text(), fingerprint: r.text(), status: int(r.int()), body: r.bytes(), expires: r.int()}
		return row, wrapRead("key", r.err)
	}, "SELECT token, fingerprint, status, body, expires_at FROM conversation_keys WHERE id = ?", id)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}

// BeginKey implements store.Conversations. A key is nearly always new, and then one
// statement claims it; else one takes over what has ended, else a look says who
// has it.
func (c *Cold) BeginKey(ctx context.Context, claim store.KeyClaim) (store.KeyState, error) {
	const op = "claim key"
	id, at := keyID(claim.Key), claim.At.UnixMicro()
	until := claim.At.Add(claim.Lease).UnixMicro()
	var state store.KeyState
	err := c.alone(ctx, op, func(ctx context.Context, s session) error {
		for range looks {
			state = store.KeyState{Ours: true}
			n, err := s.exec(ctx, "INSERT INTO conversation_keys (id, conversation_id, token, fingerprint, status, body, expires_at) "+
				"VALUES (?, ?, ?, ?, 0, NULL, ?) "+s.d.ignore("id"), id, claim.ConversationID, claim.Token, claim.Fingerprint, until)
			if err != nil || n == 1 {
				return err
			}
			n, err = s.exec(ctx, "UPDATE conversation_keys SET conversation_id = ?, token = ?, fingerprint = ?, status = 0, body = NULL, expires_at = ? "+
				"WHERE id = ? AND expires_at <= ?", claim.ConversationID, claim.Token, claim.Fingerprint, until, id, at)
			if err != nil || n == 1 {
				return err
			}
			row, err := s.key(ctx, id)
			if err != nil {
				return err
			}
			if row != nil && row.expires > at {
				state, err = c.met(op, row, claim)
				return err
			}
		}
		state = store.KeyState{RetryAfter: time.Millisecond} // it changes hands faster than we can look
		return nil
	})
	if err != nil {
		return store.KeyState{}, err
	}
	return state, nil
}

// met is what a claim found under its key.
func (c *Cold) met(op string, row *keyRow, claim store.KeyClaim) (store.KeyState, error) {
	switch {
	case row.fingerprint != claim.Fingerprint:
		return store.KeyState{}, &rondo.Error{
			Code: rondo.CodeKeyReused, Op: c.dialect.Name + ": " + op, Message: "the idempotency key belongs to a request with another body",
			Hint: "use a new key for a new request",
		}
	case row.status == 0:
		return store.KeyState{RetryAfter: time.Duration(row.expires-claim.At.UnixMicro()) * time.Microsecond}, nil
	default:
		return store.KeyState{Result: &store.KeyResult{
			Key: claim.Key, Token: row.token, Fingerprint: row.fingerprint, Status: row.status, Body: row.body, ExpiresAt: time.UnixMicro(row.expires).UTC(),
		}}, nil
	}
}

// RenewKey implements store.Conversations. A look follows a statement that changed
// nothing: MariaDB does not count a row that is as it should be.
func (c *Cold) RenewKey(ctx context.Context, key store.ConversationKey, token string, at time.Time, d time.Duration) error {
	const op = "renew key"
	id := keyID(key)
	return c.alone(ctx, op, func(ctx context.Context, s session) error {
		n, err := s.exec(ctx, "UPDATE conversation_keys SET expires_at = ? WHERE id = ? AND token = ? AND status = 0 AND expires_at > ?",
			at.Add(d).UnixMicro(), id, token, at.UnixMicro())
		if err != nil || n == 1 {
			return err
		}
		row, err := s.key(ctx, id)
		if err == nil && (row == nil || row.token != token || row.status != 0 || row.expires <= at.UnixMicro()) {
			err = c.leaseLost(op)
		}
		return err
	})
}

// DropKey implements store.Conversations.
func (c *Cold) DropKey(ctx context.Context, key store.ConversationKey, token string) error {
	return c.alone(ctx, "drop key", func(ctx context.Context, s session) error {
		_, err := s.exec(ctx, "DELETE FROM conversation_keys WHERE id = ? AND token = ? AND status = 0", keyID(key), token)
		return err
	})
}

// finishKey stores the answer of a write under its key; false when the claim is
// not the write's any more.
func (s session) finishKey(ctx context.Context, w *store.ConversationWrite) (bool, error) {
	n, err := s.exec(ctx, "UPDATE conversation_keys SET conversation_id = ?, status = ?, body = ?, expires_at = ? "+
		"WHERE id = ? AND token = ? AND status = 0 AND expires_at > ?",
		w.Conversation.ExternalID, int64(w.Key.Status), []byte(w.Key.Body), w.Key.ExpiresAt.UnixMicro(), keyID(w.Key.Key), w.Key.Token, w.At.UnixMicro())
	return n == 1, err
}

// sweepKeys removes keys that have ended.
func (c *Cold) sweepKeys(ctx context.Context, at time.Time, limit int) (int, error) {
	const op = "remove expired keys"
	ids, err := list(ctx, c.reader(), func(values []any) (any, error) {
		r := reader{values: values}
		id := r.bytes()
		return id, wrapRead("key", r.err)
	}, "SELECT id FROM conversation_keys WHERE expires_at <= ? ORDER BY expires_at LIMIT ?", at.UnixMicro(), int64(limit))
	if err != nil || len(ids) == 0 {
		return 0, c.wrap(op, err)
	}
	removed := 0
	err = c.alone(ctx, op, func(ctx context.Context, s session) error {
		n, err := s.exec(ctx, "DELETE FROM conversation_keys WHERE id IN ("+Marks(len(ids))+") AND expires_at <= ?", append(ids, at.UnixMicro())...)
		removed = int(n)
		return err
	})
	return removed, err
}
