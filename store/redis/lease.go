package redis

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// Acquire implements store.Conversations.
func (s *Store) Acquire(ctx context.Context, a store.AcquireConversation) error {
	const op = "acquire conversation"
	if a.Owner.ID == "" {
		return unknown(op)
	}
	if a.Token == "" {
		return &rondo.Error{Code: rondo.CodeInternal, Op: op, Message: "a lease needs a token"}
	}
	c := s.names.conversation(a.Owner.ID)
	keys := []string{c.lock, c.conv, c.meta, c.wf, c.hist, c.turns, c.cards}
	indexes := []string{timers}
	system := "1"
	if !a.System {
		system = ""
		indexes = append(indexes, s.names.user(a.Owner.TenantID, a.Owner.UserID))
	}
	if !s.names.cluster {
		keys = append(keys, indexes...)
	}
	var expires string
	var left int64
	if !a.ExpiresAt.IsZero() {
		expires, left = strconv.FormatInt(a.ExpiresAt.UnixMicro(), 10), life(a.At, a.ExpiresAt)
	}
	word, err := s.ask(ctx, op, acquireScript, keys,
		a.Token, lifeOf(a.Lease), a.At.UnixMicro(), expires, left, system, a.Owner.TenantID, a.Owner.UserID)
	if err != nil {
		return err
	}
	switch word, number, _ := strings.Cut(word, " "); word {
	case "ok":
		if s.names.cluster && left > 0 {
			s.prolong(ctx, indexes, left)
		}
		return nil
	case "missing":
		return unknown(op)
	case "corrupt":
		return corrupt(op, "the stored conversation cannot be read", nil)
	case "busy":
		return busy(op, number)
	default:
		return unexpected(op, word)
	}
}

func busy(op, milliseconds string) error {
	left, err := strconv.ParseInt(milliseconds, 10, 64)
	if err != nil || left < 1 {
		left = 1000 // a lease that somebody else set, without an end
	}
	return &rondo.Error{
		Code: rondo.CodeConversationBusy, Op: op, Message: "another turn is under way", Hint: "wait for its answer",
		Err: &store.BusyError{RetryAfter: time.Duration(left) * time.Millisecond},
	}
}

// Renew implements store.Conversations.
func (s *Store) Renew(ctx context.Context, lease store.Lease, _ time.Time, d time.Duration) error {
	const op = "renew lease"
	if lease.ID == "" || lease.Token == "" {
		return lost(op)
	}
	word, err := s.ask(ctx, op, renewScript, []string{s.names.conversation(lease.ID).lock}, lease.Token, lifeOf(d))
	if err == nil && word != "ok" {
		return lost(op)
	}
	return err
}

// Release implements store.Conversations.
func (s *Store) Release(ctx context.Context, lease store.Lease) error {
	if lease.ID == "" || lease.Token == "" {
		return nil
	}
	_, err := s.ask(ctx, "release lease", releaseScript, []string{s.names.conversation(lease.ID).lock}, lease.Token)
	return err
}
