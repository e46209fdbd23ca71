package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// conversationRow is a conversation with everything about it. Documents are kept
// encoded: what is read is a copy, and a damaged one is found out as in a database.
type conversationRow struct {
	tenant, user  string
	record, state []byte
	version       int64
	token         string // "" = not leased
	leaseUntil    time.Time
	expires       time.Time
	attention     time.Time // zero = never
	updated       time.Time
	messages      [][]byte
	turns         map[int]turnRow
	cards         map[string]rondo.Card
}

// turnRow is a turn record; its response is kept apart, as the bytes that it is.
type turnRow struct {
	record   []byte
	response json.RawMessage
}

func (row *conversationRow) ownedBy(o store.Owner) bool {
	return row.tenant == o.TenantID && row.user == o.UserID
}

// leased reports whether the lease is token's at a time.
func (row *conversationRow) leased(token string, at time.Time) bool {
	return token != "" && row.token == token && row.leaseUntil.After(at)
}

// conversation is what is stored under an id and has not expired; nil = nothing.
func (s *Store) conversation(id string, at time.Time) *conversationRow {
	row := s.conversations[id]
	if row == nil || !row.expires.After(at) {
		return nil
	}
	return row
}

// Create implements store.Conversations.
func (s *Store) Create(_ context.Context, w *store.ConversationWrite) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := w.Conversation.ExternalID
	if s.conversation(id, w.At) != nil {
		return &rondo.Error{Code: rondo.CodeConflict, Op: "memory: create conversation", Message: "the conversation exists already", Hint: "use another id"}
	}
	if err := s.checkKey("memory: create conversation", w); err != nil {
		return err
	}
	row := &conversationRow{tenant: w.Conversation.TenantID, user: w.Conversation.UserID, turns: map[int]turnRow{}, cards: map[string]rondo.Card{}}
	if err := s.put(row, w); err != nil {
		return err
	}
	s.erase(id)
	s.conversations[id] = row
	s.finishKey(w)
	return nil
}

// Commit implements store.Conversations.
func (s *Store) Commit(_ context.Context, w *store.ConversationWrite) error {
	const op = "memory: commit conversation"
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.conversation(w.Lease.ID, w.At)
	if row == nil || !row.leased(w.Lease.Token, w.At) {
		return leaseLost(op)
	}
	if row.version != w.Previous {
		return &rondo.Error{
			Code: rondo.CodeConflict, Op: op, Message: "the conversation changed meanwhile",
			Hint: "load it again and decide anew", Err: store.ErrConflict,
		}
	}
	if err := s.checkKey(op, w); err != nil {
		return err
	}
	if err := s.put(row, w); err != nil {
		return err
	}
	s.finishKey(w)
	return nil
}

// put encodes everything first, so that what cannot be encoded changes nothing.
func (s *Store) put(row *conversationRow, w *store.ConversationWrite) error {
	conversation := w.Conversation
	conversation.CreatedAt, conversation.UpdatedAt = stored(conversation.CreatedAt), stored(conversation.UpdatedAt)
	record, err := encode(conversation)
	if err != nil {
		return err
	}
	state, err := encode(w.State)
	if err != nil {
		return err
	}
	var turn turnRow
	if w.Turn != nil {
		bare := *w.Turn
		bare.Response = nil
		if turn.record, err = encode(bare); err != nil {
			return err
		}
		turn.response = w.Turn.Response
	}
	messages := make([][]byte, len(w.Messages))
	for i := range w.Messages {
		if messages[i], err = encode(w.Messages[i]); err != nil {
			return err
		}
	}
	row.record, row.state, row.version, row.updated = record, state, w.State.Version, conversation.UpdatedAt
	row.token, row.leaseUntil = "", time.Time{}
	row.attention = storedOrZero(w.Attention)
	row.pushBack(w.ExpiresAt)
	row.messages = append(row.messages, messages...)
	if w.Turn != nil {
		row.turns[w.Turn.Number] = turn
	}
	for _, card := range w.Cards {
		row.cards[card.ID] = card
	}
	return nil
}

func (row *conversationRow) pushBack(expires time.Time) {
	if expires = stored(expires); expires.After(row.expires) {
		row.expires = expires
	}
}

// Acquire implements store.Conversations.
func (s *Store) Acquire(_ context.Context, a store.AcquireConversation) error {
	const op = "memory: acquire conversation"
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.conversation(a.Owner.ID, a.At)
	if row == nil || !a.System && !row.ownedBy(a.Owner) {
		return noConversation(op)
	}
	if row.token != "" && row.leaseUntil.After(a.At) {
		return &rondo.Error{
			Code: rondo.CodeConversationBusy, Op: op, Message: "another turn is under way",
			Hint: "wait for its answer", Err: &store.BusyError{RetryAfter: row.leaseUntil.Sub(a.At)},
		}
	}
	row.token, row.leaseUntil = a.Token, stored(a.At.Add(a.Lease))
	row.pushBack(a.ExpiresAt)
	return nil
}

// Renew implements store.Conversations.
func (s *Store) Renew(_ context.Context, lease store.Lease, at time.Time, d time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.conversation(lease.ID, at)
	if row == nil || !row.leased(lease.Token, at) {
		return leaseLost("memory: renew lease")
	}
	row.leaseUntil = stored(at.Add(d))
	return nil
}

// Release implements store.Conversations.
func (s *Store) Release(_ context.Context, lease store.Lease) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if row := s.conversations[lease.ID]; row != nil && row.token == lease.Token {
		row.token, row.leaseUntil = "", time.Time{}
	}
	return nil
}

// Delete implements store.Conversations.
func (s *Store) Delete(_ context.Context, o store.Owner, lease store.Lease) error {
	const op = "memory: delete conversation"
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.conversations[o.ID]
	if row == nil || !row.ownedBy(o) {
		return noConversation(op)
	}
	if lease.Token == "" || row.token != lease.Token {
		return leaseLost(op)
	}
	s.erase(o.ID)
	return nil
}

// erase removes a conversation with the answers that are kept under keys, and
// returns how many things that were.
func (s *Store) erase(id string) int {
	n := 0
	if s.conversations[id] != nil {
		n++
		for key, row := range s.keys {
			if row.conversation == id && row.status != 0 {
				delete(s.keys, key)
				n++
			}
		}
	}
	delete(s.conversations, id)
	return n
}

// ExpireConversations implements store.Conversations.
func (s *Store) ExpireConversations(_ context.Context, at time.Time, limit int) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gone, conversations, keys := 0, 0, 0
	for _, id := range sortedKeys(s.conversations) {
		if conversations < limit && s.conversation(id, at) == nil {
			gone += s.erase(id)
			conversations++
		}
	}
	for key, row := range s.keys { // which ones go first does not matter
		if keys < limit && !row.until.After(at) {
			delete(s.keys, key)
			gone++
			keys++
		}
	}
	return gone, nil
}

// encode is how documents are kept.
func encode(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, &rondo.Error{Code: rondo.CodeInternal, Op: "memory: write conversation", Message: "a document cannot be encoded", Err: err}
	}
	return b, nil
}

// decode reads a document.
func decode(document []byte, into any, what string) error {
	if err := json.Unmarshal(document, into); err != nil {
		return corrupt(what, err)
	}
	return nil
}

func corrupt(what string, cause error) error {
	return &rondo.Error{
		Code: rondo.CodeStateCorrupt, Op: "memory: read conversation", Message: fmt.Sprintf("the stored %s cannot be read", what),
		Hint: "delete the conversation or restore it", Err: cause,
	}
}

// storedOrZero keeps the zero time.
func storedOrZero(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return stored(t)
}

func leaseLost(op string) error {
	return &rondo.Error{
		Code: rondo.CodeLeaseLost, Op: op, Message: "the lease is another's by now, or ran out",
		Hint: "load the conversation again and repeat the turn", Err: store.ErrLeaseLost,
	}
}

func noConversation(op string) error {
	return &rondo.Error{
		Code: rondo.CodeConversationNotFound, Op: op, Message: "no such conversation",
		Hint: "start a new one; conversations of others and expired ones look unknown too",
	}
}
