package redis

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// Load implements store.Conversations. Nobody else writes while the lease is held,
// so commands one after the other see one state.
func (s *Store) Load(ctx context.Context, id string, at time.Time) (*store.StoredConversation, error) {
	found, err := s.load(ctx, "load conversation", id, at, s.read)
	if err != nil {
		return nil, err
	}
	return found, nil
}

// Conversation implements store.Conversations. Somebody may be writing, so it reads
// in a transaction.
func (s *Store) Conversation(ctx context.Context, owner store.Owner, at time.Time) (*store.StoredConversation, error) {
	const op = "read conversation"
	found, err := s.load(ctx, op, owner.ID, at, s.readTogether)
	if found != nil && (found.Conversation.TenantID != owner.TenantID || found.Conversation.UserID != owner.UserID) {
		return nil, unknown(op) // also when it cannot be read: that is for its owner to know
	}
	if err != nil {
		return nil, err
	}
	return found, nil
}

// readTogether reads in a transaction.
func (s *Store) readTogether(ctx context.Context, commands ...redis.Cmder) error {
	_, err := s.client.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, command := range commands {
			_ = pipe.Process(ctx, command) // each command has its own error
		}
		return nil
	})
	return err
}

// load reads record and state. With an error about what it read it returns the owner
// all the same.
func (s *Store) load(ctx context.Context, op, id string, at time.Time, read func(context.Context, ...redis.Cmder) error) (*store.StoredConversation, error) {
	if id == "" {
		return nil, unknown(op)
	}
	c := s.names.conversation(id)
	free := context.WithoutCancel(ctx) // a command may outlive a caller that has gone
	documents := redis.NewSliceCmd(free, "mget", c.conv, c.wf)
	meta := redis.NewSliceCmd(free, "hmget", c.meta, "expires", "tenant", "user")
	if err := read(ctx, documents, meta); err != nil {
		return nil, failed(op, err)
	}
	record, ok := documents.Val()[0].(string)
	if !ok {
		return nil, unknown(op)
	}
	expires, _ := meta.Val()[0].(string)
	end, err := s.expiry(ctx, c, expires, at)
	if err != nil {
		return nil, failed(op, err)
	}
	if !end.IsZero() && !end.After(at) {
		return nil, unknown(op)
	}
	found := &store.StoredConversation{ExpiresAt: end}
	if found.Conversation, err = decodeConversation(op, id, record); err != nil {
		found.Conversation.TenantID, _ = meta.Val()[1].(string)
		found.Conversation.UserID, _ = meta.Val()[2].(string)
		return found, err
	}
	state, ok := documents.Val()[1].(string)
	if !ok {
		return found, corrupt(op, "the conversation is stored without its state", nil)
	}
	if err := decode(op, "state", state, &found.State); err != nil {
		return found, err
	}
	if found.State.Step == "" {
		return found, corrupt(op, "the stored state has no step", nil)
	}
	return found, nil
}

// expiry is when a conversation ends: what was written, or for an earlier record
// what Redis says; zero = never.
func (s *Store) expiry(ctx context.Context, c conversation, written string, at time.Time) (time.Time, error) {
	if us, err := strconv.ParseInt(written, 10, 64); err == nil {
		return time.UnixMicro(us).UTC(), nil
	}
	left, err := s.client.PTTL(ctx, c.conv).Result()
	if err != nil || left <= 0 {
		return time.Time{}, err
	}
	return at.Add(left), nil
}

// ended reports whether a conversation is not there any more by the caller's clock.
func ended(written string, at time.Time) bool {
	us, err := strconv.ParseInt(written, 10, 64)
	return err == nil && us <= at.UnixMicro()
}

// readMember reads a member that stands for itself, such as a card, with the expiry
// of its conversation: "" when either is gone.
func (s *Store) readMember(ctx context.Context, op string, c conversation, hash, member string, at time.Time) (string, error) {
	free := context.WithoutCancel(ctx)
	text, expires := redis.NewStringCmd(free, "hget", hash, member), redis.NewStringCmd(free, "hget", c.meta, "expires")
	if err := s.read(ctx, text, expires); err != nil {
		return "", failed(op, err)
	}
	if ended(expires.Val(), at) {
		return "", nil
	}
	return text.Val(), nil
}

// Card implements store.Conversations.
func (s *Store) Card(ctx context.Context, id string, at time.Time, cardID string) (*rondo.Card, error) {
	const op = "read card"
	c := s.names.conversation(id)
	text, err := s.readMember(ctx, op, c, c.cards, cardID, at)
	if err != nil || text == "" {
		return nil, err
	}
	var card rondo.Card
	if err := decode(op, "card", text, &card); err != nil {
		return nil, err
	}
	return &card, nil
}
