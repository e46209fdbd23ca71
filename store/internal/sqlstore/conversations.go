package sqlstore

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

const conversationColumns = "id, tenant_id, user_id, version, messages, lease_token, lease_until, expires_at, sweep_at, attention_at, updated_at, record, state"

// turnDocuments are the documents of a write, encoded before any statement runs.
type turnDocuments struct {
	record, state []byte
	messages      [][]byte
	turn          []byte
}

func encodeTurn(w *store.ConversationWrite) (*turnDocuments, error) {
	d := &turnDocuments{messages: make([][]byte, len(w.Messages))}
	conversation := w.Conversation
	conversation.CreatedAt, conversation.UpdatedAt = Stored(conversation.CreatedAt), Stored(conversation.UpdatedAt)
	var err error
	encode := func(v any) []byte {
		if err != nil {
			return nil
		}
		var b []byte
		b, err = json.Marshal(v)
		return b
	}
	d.record, d.state = encode(conversation), encode(w.State)
	for i := range w.Messages {
		d.messages[i] = encode(&w.Messages[i])
	}
	if w.Turn != nil {
		bare := *w.Turn
		bare.Response = nil // has a column: encoding would change its bytes
		d.turn = encode(&bare)
	}
	if err != nil {
		return nil, &rondo.Error{Code: rondo.CodeInternal, Message: "a document of a conversation cannot be encoded", Err: err}
	}
	return d, nil
}

// Create implements store.Conversations. What is left of an expired conversation
// of the same id goes first.
func (c *Cold) Create(ctx context.Context, w *store.ConversationWrite) error {
	const op = "create conversation"
	documents, err := encodeTurn(w)
	if err != nil {
		return c.wrap(op, err)
	}
	return c.gather(ctx, op, func(ctx context.Context, s session) error {
		created, err := s.insertConversation(ctx, w, documents)
		if err != nil {
			return err
		}
		if !created {
			if err := s.eraseExpired(ctx, w.Conversation.ExternalID, w.At); err != nil {
				return err
			}
			if created, err = s.insertConversation(ctx, w, documents); err != nil {
				return err
			}
		}
		if !created {
			return c.conversationTaken(op)
		}
		return c.addTurn(ctx, s, op, w, documents)
	})
}

func (s session) insertConversation(ctx context.Context, w *store.ConversationWrite, d *turnDocuments) (bool, error) {
	conversation := &w.Conversation
	expires := w.ExpiresAt.UnixMicro()
	n, err := s.exec(ctx, "INSERT INTO conversations ("+conversationColumns+") VALUES ("+Marks(13)+") "+s.d.ignore("id"),
		conversation.ExternalID, conversation.TenantID, conversation.UserID, w.State.Version, int64(len(w.Messages)), "", int64(0),
		expires, expires, Micros(w.Attention), conversation.UpdatedAt.UnixMicro(), d.record, d.state)
	return n == 1, err
}

// eraseExpired removes a conversation that has expired; one that has not stays.
func (s session) eraseExpired(ctx context.Context, id string, at time.Time) error {
	expired := false
	err := s.each(ctx, func(values []any) error {
		r := reader{values: values}
		expired = r.int() <= at.UnixMicro()
		return r.err
	}, "SELECT expires_at FROM conversations WHERE id = ?"+s.d.Lock, id)
	if err != nil || !expired {
		return err
	}
	_, err = s.eraseConversations(ctx, []any{id})
	return err
}

// eraseConversations removes everything about conversations and returns how many
// rows that were. Claims of keys that are still running stay: they have no answer
// yet, and one of them may be about to create the conversation anew.
func (s session) eraseConversations(ctx context.Context, ids []any) (int, error) {
	if len(ids) == 0 {
		return 0, nil
	}
	marks := "(" + Marks(len(ids)) + ")"
	total := 0
	for _, from := range []string{
		"conversations WHERE id IN " + marks,
		"conversation_messages WHERE conversation_id IN " + marks,
		"conversation_turns WHERE conversation_id IN " + marks,
		"conversation_cards WHERE conversation_id IN " + marks,
		"conversation_keys WHERE status <> 0 AND conversation_id IN " + marks,
	} {
		n, err := s.exec(ctx, "DELETE FROM "+from, ids...)
		if err != nil {
			return total, err
		}
		total += int(n)
	}
	return total, nil
}

// Commit implements store.Conversations. The first statement is the fence: it
// changes the row only while the lease is the writer's and the version is the one
// decided upon.
func (c *Cold) Commit(ctx context.Context, w *store.ConversationWrite) error {
	const op = "commit conversation"
	documents, err := encodeTurn(w)
	if err != nil {
		return c.wrap(op, err)
	}
	at, expires := w.At.UnixMicro(), w.ExpiresAt.UnixMicro()
	return c.gather(ctx, op, func(ctx context.Context, s session) error {
		n, err := s.exec(ctx, "UPDATE conversations SET version = ?, messages = messages + ?, lease_token = '', lease_until = 0, "+
			"expires_at = CASE WHEN expires_at < ? THEN ? ELSE expires_at END, attention_at = ?, updated_at = ?, record = ?, state = ? "+
			"WHERE id = ? AND lease_token = ? AND lease_until > ? AND expires_at > ? AND version = ?",
			w.State.Version, int64(len(w.Messages)), expires, expires, Micros(w.Attention), w.Conversation.UpdatedAt.UnixMicro(), documents.record, documents.state,
			w.Lease.ID, w.Lease.Token, at, at, w.Previous)
		if err != nil {
			return err
		}
		if n == 0 {
			return c.refusedCommit(ctx, s, op, w)
		}
		return c.addTurn(ctx, s, op, w, documents)
	})
}

// refusedCommit says why the fence did not let a commit through.
func (c *Cold) refusedCommit(ctx context.Context, s session, op string, w *store.ConversationWrite) error {
	row, err := s.leaseOf(ctx, w.Lease.ID)
	if err != nil {
		return err
	}
	if row == nil || !row.heldBy(w.Lease.Token, w.At) || row.expires <= w.At.UnixMicro() {
		return c.leaseLost(op)
	}
	return c.conversationChanged(op)
}

// messagesAtOnce bounds the parameters of one statement.
const messagesAtOnce = 100

// addTurn writes what a turn adds beside the conversation's own row, which has the
// number of its newest message already.
func (c *Cold) addTurn(ctx context.Context, s session, op string, w *store.ConversationWrite, d *turnDocuments) error {
	id := w.Conversation.ExternalID
	if w.Key != nil {
		ours, err := s.finishKey(ctx, w)
		if err != nil {
			return err
		}
		if !ours {
			return c.leaseLost(op)
		}
	}
	for from := 0; from < len(d.messages); from += messagesAtOnce {
		part := d.messages[from:min(from+messagesAtOnce, len(d.messages))]
		args := make([]any, 0, 4*len(part))
		for i, body := range part {
			args = append(args, id, id, int64(len(d.messages)-from-i-1), body)
		}
		const row = "(?, (SELECT messages FROM conversations WHERE id = ?) - ?, ?)"
		if _, err := s.exec(ctx, "INSERT INTO conversation_messages (conversation_id, number, body) VALUES "+repeatRow(row, len(part)), args...); err != nil {
			return err
		}
	}
	if w.Turn != nil {
		if err := s.insert(ctx, "conversation_turns", "conversation_id, number, record, response", id, int64(w.Turn.Number), d.turn, document(w.Turn.Response)); err != nil {
			return err
		}
	}
	return s.putCards(ctx, id, w.Cards)
}

// putCards replaces what is stored under the ids of cards.
func (s session) putCards(ctx context.Context, conversation string, cards []rondo.Card) error {
	if len(cards) == 0 {
		return nil
	}
	ids, rows := []any{conversation}, make([]any, 0, 5*len(cards))
	for i, card := range cards {
		if slices.ContainsFunc(cards[i+1:], func(later rondo.Card) bool { return later.ID == card.ID }) {
			continue
		}
		ids = append(ids, card.ID)
		rows = append(rows, conversation, card.ID, int64(card.Issued), card.Digest, int64(card.Turn))
	}
	if _, err := s.exec(ctx, "DELETE FROM conversation_cards WHERE conversation_id = ? AND card_id IN ("+Marks(len(ids)-1)+")", ids...); err != nil {
		return err
	}
	_, err := s.exec(ctx, "INSERT INTO conversation_cards (conversation_id, card_id, issued, digest, turn) VALUES "+repeatRow("("+Marks(5)+")", len(ids)-1), rows...)
	return err
}

// repeatRow is n times a row of parameters.
func repeatRow(row string, n int) string { return strings.Repeat(row+", ", n-1) + row }

// storable reports whether every database can hold a text; what it cannot hold is
// not there.
func storable(text string) bool { return utf8.ValidString(text) && !strings.Contains(text, "\x00") }

func (c *Cold) noConversation(op string) error {
	return &rondo.Error{
		Code: rondo.CodeConversationNotFound, Op: c.dialect.Name + ": " + op, Message: "no such conversation",
		Hint: "start a new one; conversations of others and expired ones look unknown too",
	}
}

func (c *Cold) conversationTaken(op string) error {
	return &rondo.Error{
		Code: rondo.CodeConflict, Op: c.dialect.Name + ": " + op, Message: "the conversation exists already", Hint: "use another id",
	}
}

func (c *Cold) conversationChanged(op string) error {
	return &rondo.Error{
		Code: rondo.CodeConflict, Op: c.dialect.Name + ": " + op, Message: "the conversation changed meanwhile",
		Hint: "load it again and decide anew", Err: store.ErrConflict,
	}
}

func (c *Cold) leaseLost(op string) error {
	return &rondo.Error{
		Code: rondo.CodeLeaseLost, Op: c.dialect.Name + ": " + op, Message: "the lease is another's by now, or ran out",
		Hint: "load the conversation again and repeat the turn", Err: store.ErrLeaseLost,
	}
}
