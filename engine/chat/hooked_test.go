package chat_test

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// hooked is a store whose every call goes through around, which sees its name and
// decides whether, when and with what error it happens. It also keeps the names.
type hooked struct {
	store.Conversations
	mu     sync.Mutex
	around func(name string, call func() error) error
	calls  []string
	writes []*store.ConversationWrite
	token  string // of the last lease that was asked for
}

func (h *hooked) through(name string, call func() error) error {
	h.mu.Lock()
	h.calls = append(h.calls, name)
	around := h.around
	h.mu.Unlock()
	if around == nil {
		return call()
	}
	return around(name, call)
}

// seen returns the names of the calls since the last time.
func (h *hooked) seen() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	calls := h.calls
	h.calls = nil
	return calls
}

func (h *hooked) note(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, name)
}

func (h *hooked) hook(around func(name string, call func() error) error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.around = around
}

// lastTurn is the last write that had a turn record.
func (h *hooked) lastTurn() *store.ConversationWrite {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range slices.Backward(h.writes) {
		if w.Turn != nil {
			return w
		}
	}
	return nil
}

func (h *hooked) keep(w *store.ConversationWrite) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.writes = append(slices.Clip(h.writes), w)
}

func (h *hooked) Create(ctx context.Context, w *store.ConversationWrite) error {
	h.keep(w)
	return h.through("Create", func() error { return h.Conversations.Create(ctx, w) })
}

func (h *hooked) lastToken() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.token
}

func (h *hooked) Acquire(ctx context.Context, a store.AcquireConversation) error {
	h.mu.Lock()
	h.token = a.Token
	h.mu.Unlock()
	return h.through("Acquire", func() error { return h.Conversations.Acquire(ctx, a) })
}

func (h *hooked) Load(ctx context.Context, id string, at time.Time) (found *store.StoredConversation, err error) {
	err = h.through("Load", func() (err error) {
		found, err = h.Conversations.Load(ctx, id, at)
		return err
	})
	return found, err
}

func (h *hooked) Renew(ctx context.Context, lease store.Lease, at time.Time, d time.Duration) error {
	return h.through("Renew", func() error { return h.Conversations.Renew(ctx, lease, at, d) })
}

func (h *hooked) Release(ctx context.Context, lease store.Lease) error {
	return h.through("Release", func() error { return h.Conversations.Release(ctx, lease) })
}

func (h *hooked) Commit(ctx context.Context, w *store.ConversationWrite) error {
	h.keep(w)
	return h.through("Commit", func() error { return h.Conversations.Commit(ctx, w) })
}

func (h *hooked) Delete(ctx context.Context, owner store.Owner, lease store.Lease) error {
	return h.through("Delete", func() error { return h.Conversations.Delete(ctx, owner, lease) })
}

func (h *hooked) Conversation(ctx context.Context, owner store.Owner, at time.Time) (found *store.StoredConversation, err error) {
	err = h.through("Conversation", func() (err error) {
		found, err = h.Conversations.Conversation(ctx, owner, at)
		return err
	})
	return found, err
}

func (h *hooked) History(ctx context.Context, id string, at time.Time, before, limit int) (said []rondo.NormalizedMessage, first int, err error) {
	err = h.through("History", func() (err error) {
		said, first, err = h.Conversations.History(ctx, id, at, before, limit)
		return err
	})
	return said, first, err
}

func (h *hooked) Turn(ctx context.Context, id string, at time.Time, number int) (found rondo.TurnRecord, err error) {
	err = h.through("Turn", func() (err error) {
		found, err = h.Conversations.Turn(ctx, id, at, number)
		return err
	})
	return found, err
}

func (h *hooked) Card(ctx context.Context, id string, at time.Time, cardID string) (found *rondo.Card, err error) {
	err = h.through("Card", func() (err error) {
		found, err = h.Conversations.Card(ctx, id, at, cardID)
		return err
	})
	return found, err
}

func (h *hooked) DueConversations(ctx context.Context, at time.Time, limit int) (due []string, err error) {
	err = h.through("DueConversations", func() (err error) {
		due, err = h.Conversations.DueConversations(ctx, at, limit)
		return err
	})
	return due, err
}

func (h *hooked) PutOff(ctx context.Context, id string, until time.Time) error {
	return h.through("PutOff", func() error { return h.Conversations.PutOff(ctx, id, until) })
}

func (h *hooked) BeginKey(ctx context.Context, claim store.KeyClaim) (state store.KeyState, err error) {
	err = h.through("BeginKey", func() (err error) {
		state, err = h.Conversations.BeginKey(ctx, claim)
		return err
	})
	return state, err
}

func (h *hooked) RenewKey(ctx context.Context, key store.ConversationKey, token string, at time.Time, d time.Duration) error {
	return h.through("RenewKey", func() error { return h.Conversations.RenewKey(ctx, key, token, at, d) })
}

func (h *hooked) DropKey(ctx context.Context, key store.ConversationKey, token string) error {
	return h.through("DropKey", func() error { return h.Conversations.DropKey(ctx, key, token) })
}
