package httpapi

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
	"net/url"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/turn"
	"github.com/rondo-engine/rondo/store"
)

// The lists of the chat API, as cursors name them.
const (
	listConversations byte = 'C'
	listMessages      byte = 'M'
	listTurns         byte = 'T'
)

// chatPage is one page of a list, as clients of the chat API read it.
type chatPage[T any] struct {
	Items      []T     `json:"items" nullable:"false"`
	NextCursor *string `json:"nextCursor" doc:"Cursor of the next page; null on the last"`
}

// conversationAnswer is one conversation as it is written; conversationView
// documents it.
type conversationAnswer struct {
	rondo.Conversation
	History       []rondo.NormalizedMessage `json:"history"`
	NextCursor    *string                   `json:"nextCursor"`
	WorkflowState rondo.WorkflowState       `json:"workflowState"`
	Timers        []rondo.ConversationTimer `json:"timers"`
}

func (a *API) registerConversations(r *registrar) {
	r.exact("list-conversations", nil, chatPage[rondo.Conversation]{}, a.answered(a.listConversations))
	r.exact("get-conversation", nil, conversationView{}, a.answered(a.conversation))
	handle(r, "delete-conversation", nil, a.deleteConversation)
	r.exact("list-turns", nil, chatPage[rondo.TurnRecord]{}, a.answered(a.listTurns))
	r.exact("get-turn", nil, anyJSON{}, a.answered(a.turnResponse))
	r.exact("replay-conversation", chatReplay{}, turn.Replayed{}, a.answered(a.replayConversation))
}

// answered writes what a reader finds as JSON.
func (a *API) answered(find func(ctx context.Context, service Chat, c *call) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := exchangeOf(r.Context())
		service, err := a.chatService()
		var found any
		if err == nil {
			found, err = find(r.Context(), service, &x.call)
		}
		if err != nil {
			a.refuse(w, x, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if raw, stored := found.(json.RawMessage); stored {
			_, _ = w.Write(raw) // a client that is gone asks again
			return
		}
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(found) // as above
	}
}

func (a *API) listConversations(ctx context.Context, service Chat, c *call) (any, error) {
	limit := queryLimit(c.query)
	page := store.ConversationPage{Limit: limit + 1}
	if c.query.Has("cursor") {
		var ok bool
		if page.Before, page.BeforeID, ok = parseConversationCursor(c.query.Get("cursor")); !ok {
			return nil, notOfThisChatList()
		}
	}
	found, err := service.List(ctx, c.chatCaller(), page)
	if err != nil {
		return nil, err
	}
	return chatPaged(found, limit, formatConversationCursor), nil
}

func (a *API) conversation(ctx context.Context, service Chat, c *call) (any, error) {
	before, err := queryNumber(c.query, listMessages)
	if err != nil {
		return nil, err
	}
	found, err := service.Conversation(ctx, c.chatCaller(), c.chat.id, before, queryLimit(c.query))
	if err != nil {
		return nil, err
	}
	out := conversationAnswer{
		Conversation: found.Conversation, WorkflowState: found.State,
		History: append([]rondo.NormalizedMessage{}, found.History...), Timers: append([]rondo.ConversationTimer{}, found.Timers...),
	}
	if found.First > 1 {
		next := formatPlace(listMessages, found.First, "")
		out.NextCursor = &next
	}
	return out, nil
}

func (a *API) deleteConversation(ctx context.Context, c *call) (*struct{}, error) {
	service, err := a.chatService()
	if err != nil {
		return nil, err
	}
	return nil, service.Delete(ctx, c.chatCaller(), c.chat.id)
}

func (a *API) listTurns(ctx context.Context, service Chat, c *call) (any, error) {
	next, err := queryNumber(c.query, listTurns)
	if err != nil {
		return nil, err
	}
	limit := queryLimit(c.query)
	found, err := service.Turns(ctx, c.chatCaller(), c.chat.id, next-1, limit+1) // a start has number 0
	if err != nil {
		return nil, err
	}
	return chatPaged(found, limit, func(last rondo.TurnRecord) string { return formatPlace(listTurns, last.Number+1, "") }), nil
}

// turnResponse finds what a turn was answered with. Turns that nobody asked for,
// such as timers, have no response to read.
func (a *API) turnResponse(ctx context.Context, service Chat, c *call) (any, error) {
	record, err := service.Turn(ctx, c.chatCaller(), c.chat.id, c.chat.number)
	if err == nil && len(record.Response) == 0 {
		err = rondo.NotFound(nounTurn)
	}
	return record.Response, err
}

// chatPaged cuts rows, of which one more was asked for than is shown, to a page.
func chatPaged[T any](rows []T, limit int, cursor func(last T) string) chatPage[T] {
	out := chatPage[T]{Items: append([]T{}, rows[:min(limit, len(rows))]...)}
	if len(rows) > limit {
		next := cursor(rows[limit-1])
		out.NextCursor = &next
	}
	return out
}

// queryNumber reads a cursor that is a number of a message or a turn; 0 = none.
func queryNumber(q url.Values, list byte) (int, error) {
	if !q.Has("cursor") {
		return 0, nil
	}
	number, rest, ok := parsePlace(list, q.Get("cursor"))
	if !ok || rest != "" {
		return 0, notOfThisChatList()
	}
	return number, nil
}

func notOfThisChatList() *rondo.Error {
	return &rondo.Error{
		Code: rondo.CodeInvalid, Message: "the cursor is not of this list", Hint: "take nextCursor of the page before, or leave the cursor out",
		Fields: []rondo.FieldError{{Code: "unknown_cursor", Pointer: "query/cursor", Message: "use nextCursor of the page before"}},
	}
}

// The cursor of the list of conversations holds when the last one shown was
// changed and its id.

func formatConversationCursor(last rondo.Conversation) string {
	raw := binary.BigEndian.AppendUint64([]byte{listConversations}, uint64(last.UpdatedAt.UnixNano()))
	return base64.RawURLEncoding.EncodeToString(append(raw, last.ExternalID...))
}

func parseConversationCursor(s string) (before time.Time, id string, ok bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil || len(raw) < 10 || raw[0] != listConversations {
		return time.Time{}, "", false
	}
	at := binary.BigEndian.Uint64(raw[1:9])
	if id = string(raw[9:]); at > math.MaxInt64 || !chatID(id) {
		return time.Time{}, "", false
	}
	return time.Unix(0, int64(at)).UTC(), id, true
}
