package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// LoadConversation is the query of Load, which every turn asks: a driver may keep
// it prepared.
const LoadConversation = storedConversation + "WHERE id = ? AND expires_at > ?"

const storedConversation = "SELECT expires_at, record, state FROM conversations "

func readStoredConversation(values []any) (*store.StoredConversation, error) {
	r := reader{values: values}
	found := &store.StoredConversation{ExpiresAt: r.time()}
	record, state := r.bytes(), r.bytes()
	if r.err != nil {
		return nil, wrapRead("conversation", r.err)
	}
	if err := decodeStored(record, &found.Conversation, "record"); err != nil {
		return nil, err
	}
	if err := decodeStored(state, &found.State, "state"); err != nil {
		return nil, err
	}
	if found.State.Step == "" {
		return nil, corrupt("state", errors.New("it has no step"))
	}
	return found, nil
}

// decodeStored reads a document of a conversation.
func decodeStored(text []byte, into any, what string) error {
	if err := json.Unmarshal(text, into); err != nil {
		return corrupt(what, err)
	}
	return nil
}

func corrupt(what string, cause error) error {
	return &rondo.Error{
		Code: rondo.CodeStateCorrupt, Op: "read conversation", Message: fmt.Sprintf("the stored %s cannot be read", what),
		Hint: "delete the conversation, or restore it from a backup", Err: cause,
	}
}

// Load implements store.Conversations.
func (c *Cold) Load(ctx context.Context, id string, at time.Time) (*store.StoredConversation, error) {
	return c.readConversation(ctx, "load conversation", LoadConversation, id, at.UnixMicro())
}

// Conversation implements store.Conversations.
func (c *Cold) Conversation(ctx context.Context, owner store.Owner, at time.Time) (*store.StoredConversation, error) {
	const op = "read conversation"
	if !storable(owner.ID) {
		return nil, c.noConversation(op)
	}
	return c.readConversation(ctx, op, storedConversation+"WHERE id = ? AND expires_at > ? AND tenant_id = ? AND user_id = ?", owner.ID, at.UnixMicro(), owner.TenantID, owner.UserID)
}

func (c *Cold) readConversation(ctx context.Context, op, query string, args ...any) (*store.StoredConversation, error) {
	found, err := list(ctx, c.reader(), readStoredConversation, query, args...)
	if err != nil {
		return nil, c.wrap(op, err)
	}
	if len(found) == 0 {
		return nil, c.noConversation(op)
	}
	return found[0], nil
}

// ConversationList implements store.Conversations.
func (c *Cold) ConversationList(ctx context.Context, tenant, user string, at time.Time, page store.ConversationPage) ([]rondo.Conversation, error) {
	query := "SELECT record FROM conversations WHERE tenant_id = ? AND user_id = ? AND expires_at > ?"
	args := []any{tenant, user, at.UnixMicro()}
	if !page.Before.IsZero() {
		before := page.Before.UnixMicro()
		query += " AND updated_at <= ? AND (updated_at < ? OR id < ?)"
		args = append(args, before, before, page.BeforeID)
	}
	found, err := list(ctx, c.reader(), func(values []any) (conversation rondo.Conversation, err error) {
		r := reader{values: values}
		record := r.bytes()
		if r.err != nil {
			return conversation, wrapRead("conversation", r.err)
		}
		return conversation, decodeStored(record, &conversation, "record")
	}, query+" ORDER BY updated_at DESC, id DESC LIMIT ?", append(args, rowLimit(page.Limit))...)
	return found, c.wrap("list conversations", err)
}

// rowLimit is a limit of which 0 asks for all.
func rowLimit(limit int) int64 {
	if limit <= 0 {
		return math.MaxInt32
	}
	return int64(limit)
}

// unexpired ends a condition on what belongs to a conversation.
const unexpired = " AND EXISTS (SELECT 1 FROM conversations c WHERE c.id = ? AND c.expires_at > ?)"

// History implements store.Conversations.
func (c *Cold) History(ctx context.Context, id string, at time.Time, before, limit int) ([]rondo.NormalizedMessage, int, error) {
	if before <= 0 {
		before = math.MaxInt32
	}
	first := 0
	messages, err := list(ctx, c.reader(), func(values []any) (message rondo.NormalizedMessage, err error) {
		r := reader{values: values}
		number, body := r.int(), r.bytes()
		if r.err != nil {
			return message, wrapRead("message", r.err)
		}
		first = int(number)
		return message, decodeStored(body, &message, "message")
	}, "SELECT number, body FROM conversation_messages WHERE conversation_id = ? AND number < ?"+unexpired+" ORDER BY number DESC LIMIT ?",
		id, int64(before), id, at.UnixMicro(), rowLimit(limit))
	if err != nil {
		return nil, 0, c.wrap("read history", err)
	}
	slices.Reverse(messages)
	return messages, first, nil
}

func readTurn(values []any) (turn rondo.TurnRecord, err error) {
	r := reader{values: values}
	record, response := r.bytes(), r.bytes()
	if r.err != nil {
		return turn, wrapRead("turn", r.err)
	}
	err = decodeStored(record, &turn, "turn")
	turn.Response = response
	return turn, err
}

// Turns implements store.Conversations.
func (c *Cold) Turns(ctx context.Context, id string, at time.Time, after, limit int) ([]rondo.TurnRecord, error) {
	turns, err := list(ctx, c.reader(), readTurn,
		"SELECT record, response FROM conversation_turns WHERE conversation_id = ? AND number > ?"+unexpired+" ORDER BY number LIMIT ?",
		id, int64(after), id, at.UnixMicro(), rowLimit(limit))
	return turns, c.wrap("list turns", err)
}

// Turn implements store.Conversations.
func (c *Cold) Turn(ctx context.Context, id string, at time.Time, number int) (rondo.TurnRecord, error) {
	turns, err := list(ctx, c.reader(), readTurn,
		"SELECT record, response FROM conversation_turns WHERE conversation_id = ? AND number = ?"+unexpired, id, int64(number), id, at.UnixMicro())
	if err == nil && len(turns) == 0 {
		err = rondo.Op(c.dialect.Name+": read turn", rondo.NotFound("turn"))
	}
	if err != nil {
		return rondo.TurnRecord{}, c.wrap("read turn", err)
	}
	return turns[0], nil
}

// Card implements store.Conversations.
func (c *Cold) Card(ctx context.Context, id string, at time.Time, cardID string) (*rondo.Card, error) {
	if !storable(cardID) {
		return nil, nil
	}
	cards, err := list(ctx, c.reader(), func(values []any) (*rondo.Card, error) {
		r := reader{values: values}
		card := &rondo.Card{ID: r.text(), Issued: int(r.int()), Digest: r.text(), Turn: int(r.int())}
		return card, wrapRead("card", r.err)
	}, "SELECT card_id, issued, digest, turn FROM conversation_cards WHERE conversation_id = ? AND card_id = ?"+unexpired, id, cardID, id, at.UnixMicro())
	if err != nil || len(cards) == 0 {
		return nil, c.wrap("read card", err)
	}
	return cards[0], nil
}
