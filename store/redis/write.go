package redis

import (
	"context"
	"crypto/rand"
	"strconv"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// The modes of writeScript.
const (
	modeCreate = "create"
	modeCommit = "commit"
	modeOlder  = "older"
)

// Create implements store.Conversations. A new conversation is not leased.
func (s *Store) Create(ctx context.Context, w *store.ConversationWrite) error {
	const op = "create conversation"
	if w.Conversation.ExternalID == "" {
		return &rondo.Error{Code: rondo.CodeInvalid, Op: op, Message: "a conversation needs an id", Hint: "set externalId"}
	}
	return s.write(ctx, op, modeCreate, w.Conversation.ExternalID, w)
}

// Commit implements store.Conversations. The lease names the conversation: records of
// earlier versions may have another externalId.
func (s *Store) Commit(ctx context.Context, w *store.ConversationWrite) error {
	const op = "commit conversation"
	if w.Lease.ID == "" || w.Lease.Token == "" {
		return lost(op)
	}
	return s.write(ctx, op, modeCommit, w.Lease.ID, w)
}

// write runs writeScript, with the indexes around it when they are elsewhere.
func (s *Store) write(ctx context.Context, op, mode, id string, w *store.ConversationWrite) error {
	c := s.names.conversation(id)
	p, err := s.prepare(op, c, w)
	if err != nil {
		return err
	}
	if s.names.cluster {
		if err := s.before(ctx, op, p); err != nil {
			return err
		}
	}
	word, err := s.send(ctx, op, p, mode, nil)
	if err == nil && word == "older" {
		var history [][]byte
		if history, err = s.older(ctx, op, c, w); err != nil {
			return err
		}
		word, err = s.send(ctx, op, p, modeOlder, history)
	}
	if err != nil {
		return err
	}
	switch word {
	case "ok", "held":
		if s.names.cluster {
			s.after(ctx, p, mode, word == "held")
		}
		return nil
	case "lost":
		return lost(op)
	case "conflict":
		return conflict(op)
	case "taken":
		return taken(op)
	case "missing":
		return unknown(op)
	case "corrupt":
		return corrupt(op, "a key of the conversation holds another kind of value", nil)
	default:
		return unexpected(op, word)
	}
}

// prepared is a write as the script takes it.
type prepared struct {
	c         conversation
	w         *store.ConversationWrite
	keys      []string
	user      string
	pointer   string // "" without a key
	points    string
	left      int64
	attention string
	fixed     []any    // arguments 2 to 24
	messages  [][]byte // and what follows them
	cards     []any
}

func (s *Store) prepare(op string, c conversation, w *store.ConversationWrite) (*prepared, error) {
	p := &prepared{c: c, w: w, left: life(w.At, w.ExpiresAt), user: s.names.user(w.Conversation.TenantID, w.Conversation.UserID)}
	record := w.Conversation
	record.CreatedAt, record.UpdatedAt = record.CreatedAt.UTC().Truncate(time.Microsecond), record.UpdatedAt.UTC().Truncate(time.Microsecond)
	conv, err := encode(op, "conversation", &record)
	if err != nil {
		return nil, err
	}
	state, err := encode(op, "state", &w.State)
	if err != nil {
		return nil, err
	}
	var number string
	var turn []byte
	if w.Turn != nil {
		number = strconv.Itoa(w.Turn.Number)
		if turn, err = encodeTurn(op, w.Turn); err != nil {
			return nil, err
		}
	}
	for i := range w.Messages {
		text, err := encode(op, "message", &w.Messages[i])
		if err != nil {
			return nil, err
		}
		p.messages = append(p.messages, text)
	}
	for i := range w.Cards {
		text, err := encode(op, "card", &w.Cards[i])
		if err != nil {
			return nil, err
		}
		p.cards = append(p.cards, w.Cards[i].ID, text)
	}
	if !w.Attention.IsZero() {
		p.attention = score(w.Attention)
	}
	p.keys = []string{c.lock, c.conv, c.wf, c.meta, c.hist, c.turns, c.cards, c.keysIndex, c.keysIndex}
	if !s.names.cluster {
		p.keys = append(p.keys, p.user, timers)
	}
	key := &store.KeyResult{}
	var keyLife int64
	if w.Key != nil {
		key, keyLife = w.Key, life(w.At, w.Key.ExpiresAt)
		if key.Token == "" {
			return nil, lost(op)
		}
		p.pointer, p.points = s.names.pointer(key.Key), pointer{Conversation: c.id, Token: key.Token}.text()
		p.keys[8] = c.key(key.Key)
		if !s.names.cluster {
			p.keys = append(p.keys, p.pointer)
		}
	}
	p.fixed = []any{
		rand.Text(), w.Lease.Token, w.Previous, w.State.Version, w.At.UnixMicro(),
		w.ExpiresAt.UnixMicro(), p.left, record.TenantID, record.UserID, conv, state,
		number, turn,
		key.Token, key.Fingerprint, key.Status, []byte(key.Body), key.ExpiresAt.UnixMicro(), keyLife, p.points,
		c.id, score(record.UpdatedAt), p.attention,
	}
	return p, nil
}

// send runs the script; history comes before the write's own messages.
func (s *Store) send(ctx context.Context, op string, p *prepared, mode string, history [][]byte) (string, error) {
	args := make([]any, 0, 2+len(p.fixed)+len(history)+len(p.messages)+len(p.cards))
	args = append(append(append(args, mode), p.fixed...), len(history)+len(p.messages))
	for _, text := range history {
		args = append(args, text)
	}
	for _, text := range p.messages {
		args = append(args, text)
	}
	args = append(args, p.cards...)
	answer, maybe, err := s.run(ctx, writeScript, p.keys, args...)
	switch {
	case err != nil && maybe:
		return "", ambiguous(op, err)
	case err != nil:
		return "", failed(op, err)
	}
	word, _ := answer.(string)
	return word, nil
}

// older reads what a record of an earlier version has in it: its history goes to
// the list, and its version is compared here, under the lease.
func (s *Store) older(ctx context.Context, op string, c conversation, w *store.ConversationWrite) ([][]byte, error) {
	pipe := s.client.Pipeline()
	documents := pipe.MGet(ctx, c.conv, c.wf)
	moved := pipe.Exists(ctx, c.hist)
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, failed(op, err)
	}
	record, _ := documents.Val()[0].(string)
	state, _ := documents.Val()[1].(string)
	var embedded olderHistory
	var stored rondo.ConversationState
	if err := decode(op, "conversation", record, &embedded); err != nil {
		return nil, err
	}
	if err := decode(op, "state", state, &stored); err != nil {
		return nil, err
	}
	if stored.Version != w.Previous {
		return nil, conflict(op)
	}
	if moved.Val() > 0 {
		return nil, nil
	}
	history := make([][]byte, len(embedded.History))
	for i, text := range embedded.History {
		history[i] = text
	}
	return history, nil
}

// Delete implements store.Conversations.
func (s *Store) Delete(ctx context.Context, owner store.Owner, lease store.Lease) error {
	const op = "delete conversation"
	if owner.ID == "" {
		return unknown(op)
	}
	c := s.names.conversation(owner.ID)
	finished, err := s.client.ZRange(ctx, c.keysIndex, 0, -1).Result()
	if err != nil {
		return failed(op, err)
	}
	more := append([]string{c.wf, c.hist, c.turns, c.cards, c.keysIndex}, finished...)
	keys := append([]string{c.lock, c.conv, c.meta}, more...)
	user := s.names.user(owner.TenantID, owner.UserID)
	if !s.names.cluster {
		keys = append(keys, user, timers)
	}
	token := lease.Token
	if lease.ID != owner.ID {
		token = "" // the lease of another conversation
	}
	// There is no time of the caller: what has not gone by the clock of Redis is there.
	answer, maybe, err := s.run(ctx, deleteScript, keys, token, 0, owner.TenantID, owner.UserID, len(more), c.id)
	switch {
	case err != nil && maybe:
		return ambiguous(op, err)
	case err != nil:
		return failed(op, err)
	case answer == "missing" && maybe:
		answer = "ok" // it went by a try whose answer was lost
	}
	switch answer {
	case "ok":
		if s.names.cluster {
			s.forget(ctx, user, c.id)
		}
		s.unpoint(ctx, c, finished)
		return nil
	case "missing":
		return unknown(op)
	case "corrupt":
		return corrupt(op, "the stored conversation cannot be read", nil)
	default:
		return lost(op)
	}
}
