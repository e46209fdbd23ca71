package client

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"github.com/rondo-engine/rondo"
)

// ConversationsPath is the path of the list of conversations.
const ConversationsPath = "/api/chat/conversations"

// ConversationPath is the path of a conversation, or of a part of it such as
// "turns".
func ConversationPath(id, part string) string { return pathOf(ConversationsPath, id, part) }

// ChatStarted is a conversation that was opened.
type ChatStarted struct {
	ConversationID string                    `json:"conversationId"`
	WorkflowState  rondo.WorkflowState       `json:"workflowState"`
	Messages       []rondo.NormalizedMessage `json:"messages"` // the greeting
}

// ChatTurn is the answer to a turn. ExtractedPayload is of Orchestrate alone.
type ChatTurn struct {
	rondo.WorkflowResponse
	ExtractedPayload *rondo.ExtractedPayload `json:"extractedPayload"`
	// Replayed says that the answer was given before, under the same idempotency
	// key or for the same card.
	Replayed bool `json:"-"`
}

// CardAction submits a card.
type CardAction struct {
	ConversationID string          `json:"conversationId"`
	CardID         string          `json:"cardId"`
	UserSummary    string          `json:"userSummary"` // what the history says that the user did
	SubmitData     json.RawMessage `json:"submitData"`  // an object whose member action is the type of the action
}

// ChatQuery is what Orchestrate takes. Without a ConversationID it opens one.
type ChatQuery struct {
	Query           string                 `json:"query"`
	ConversationID  string                 `json:"conversationId,omitempty"`
	WorkflowContext *rondo.WorkflowContext `json:"workflowContext,omitempty"`
}

// ChatOption changes how a turn is made.
type ChatOption func(*chatCall)

type chatCall struct {
	key    string
	stream func(ChatEvent)
}

// WithKey makes a call repeatable: the same key with the same body is answered
// with the first answer and does nothing more.
func WithKey(key string) ChatOption { return func(c *chatCall) { c.key = key } }

// WithStream is told what happens while the turn is made. The answer of the call
// is the same as without.
func WithStream(tell func(ChatEvent)) ChatOption { return func(c *chatCall) { c.stream = tell } }

// ChatEvent is one thing that happens while a turn is made; exactly one member is
// set.
type ChatEvent struct {
	Started *ChatTurnStarted
	Delta   *ChatDelta
}

// ChatTurnStarted says that a turn was admitted. From then on it goes on even if
// the caller goes away: read it by its number.
type ChatTurnStarted struct {
	TurnNumber int `json:"turnNumber"`
}

// ChatDelta is a piece of a message on its way.
type ChatDelta struct {
	ID   string `json:"id"` // the same for all pieces of a message
	Text string `json:"text"`
}

// StartChat opens a conversation with a definition, "" being the server's own.
func (c *Client) StartChat(ctx context.Context, definition string, options ...ChatOption) (ChatStarted, error) {
	var body any
	if definition != "" {
		body = map[string]string{"definition": definition}
	}
	var out ChatStarted
	_, err := c.Do(ctx, chatPost("start", body, options), &out)
	return out, err
}

// SendChat says something in a conversation.
func (c *Client) SendChat(ctx context.Context, id, text string, options ...ChatOption) (ChatTurn, error) {
	return c.turn(ctx, "send", map[string]string{"conversationId": id, "text": text}, options)
}

// SubmitCard submits a card of a conversation.
func (c *Client) SubmitCard(ctx context.Context, action CardAction, options ...ChatOption) (ChatTurn, error) {
	return c.turn(ctx, "card-action", action, options)
}

// Orchestrate says something, in a new conversation unless one is named.
func (c *Client) Orchestrate(ctx context.Context, query ChatQuery, options ...ChatOption) (ChatTurn, error) {
	return c.turn(ctx, "orchestrate", query, options)
}

func chatPost(route string, body any, options []ChatOption) Call {
	call := Call{Method: http.MethodPost, Path: "/api/chat/" + route, Body: body, Global: true}
	if key := chatOptions(options).key; key != "" {
		call.Header = http.Header{"Idempotency-Key": {key}}
	}
	return call
}

func chatOptions(options []ChatOption) chatCall {
	var out chatCall
	for _, option := range options {
		option(&out)
	}
	return out
}

// turn makes a turn, streamed when someone listens.
func (c *Client) turn(ctx context.Context, route string, body any, options []ChatOption) (ChatTurn, error) {
	call := chatPost(route, body, options)
	if tell := chatOptions(options).stream; tell != nil {
		return c.streamTurn(ctx, call, tell)
	}
	var out ChatTurn
	answer, err := c.Do(ctx, call, &out)
	out.Replayed = answer.Header.Get("Idempotent-Replayed") == "true"
	return out, err
}

func (c *Client) streamTurn(ctx context.Context, call Call, tell func(ChatEvent)) (ChatTurn, error) {
	var out ChatTurn
	var failed error
	ended := false
	header, err := c.stream(ctx, call, "", func(e StreamEvent) error {
		switch e.Name {
		case "turn.started":
			var started ChatTurnStarted
			if err := json.Unmarshal(e.Data, &started); err != nil {
				return err
			}
			tell(ChatEvent{Started: &started})
		case "message.delta":
			var delta ChatDelta
			if err := json.Unmarshal(e.Data, &delta); err != nil {
				return err
			}
			tell(ChatEvent{Delta: &delta})
		case "turn.completed":
			ended = true
			if err := json.Unmarshal(e.Data, &out); err != nil {
				return err
			}
			return ErrStop
		case "turn.failed":
			told, ok := readProblem(call.op(), e.Data)
			if !ok {
				return errors.New("a problem that cannot be read")
			}
			failed, ended = told, true
			return ErrStop
		}
		return nil
	})
	if failed != nil {
		return out, failed
	}
	if err == nil && !ended {
		err = &rondo.Error{
			Code: rondo.CodeUnavailable, Op: call.op(), Message: "the connection ended before the turn did",
			Hint: "the turn goes on: read the conversation to see what came of it",
		}
	}
	out.Replayed = header.Get("Idempotent-Replayed") == "true"
	return out, err
}

// EndedChat is what ending a conversation comes to.
type EndedChat struct {
	ConversationID string                   `json:"conversationId"`
	Status         rondo.ConversationStatus `json:"status"`
	WorkflowState  rondo.WorkflowState      `json:"workflowState"`
}

// EndChat ends a conversation as completed or abandoned ("" = abandoned).
func (c *Client) EndChat(ctx context.Context, id string, outcome rondo.ConversationStatus, reason string) (EndedChat, error) {
	body := map[string]string{}
	if outcome != "" {
		body["outcome"] = string(outcome)
	}
	if reason != "" {
		body["reason"] = reason
	}
	var out EndedChat
	_, err := c.Do(ctx, Call{Method: http.MethodPost, Path: ConversationPath(id, "end"), Body: body, Global: true}, &out)
	return out, err
}

// DeleteChat erases a conversation.
func (c *Client) DeleteChat(ctx context.Context, id string) error {
	_, err := c.Do(ctx, Call{Method: http.MethodDelete, Path: ConversationPath(id, ""), Global: true}, nil)
	return err
}

// ConversationDetail is a conversation with a page of its history.
type ConversationDetail struct {
	rondo.Conversation
	History       []rondo.NormalizedMessage `json:"history"`    // the newest ones, oldest first
	NextCursor    *string                   `json:"nextCursor"` // of the messages before; nil = none
	WorkflowState rondo.WorkflowState       `json:"workflowState"`
	Timers        []rondo.ConversationTimer `json:"timers"`
}

// Chat reads a conversation. The query may have limit and cursor, of its history.
func (c *Client) Chat(ctx context.Context, id string, query url.Values) (ConversationDetail, error) {
	var out ConversationDetail
	_, err := c.Do(ctx, Call{Path: ConversationPath(id, ""), Query: query, Global: true}, &out)
	return out, err
}

// ChatPage is one page of a list of the chat API.
type ChatPage[T any] struct {
	Items      []T     `json:"items"`
	NextCursor *string `json:"nextCursor"` // nil on the last page
}

// Chats goes through the caller's conversations, newest first.
func (c *Client) Chats(ctx context.Context) iter.Seq2[rondo.Conversation, error] {
	return eachChat[rondo.Conversation](ctx, c, ConversationsPath)
}

// ChatTurns goes through the decision records of a conversation, oldest first.
func (c *Client) ChatTurns(ctx context.Context, id string) iter.Seq2[rondo.TurnRecord, error] {
	return eachChat[rondo.TurnRecord](ctx, c, ConversationPath(id, "turns"))
}

// ChatTurnResponse is what a turn was answered with, byte for byte.
func (c *Client) ChatTurnResponse(ctx context.Context, id string, number int) ([]byte, error) {
	var out []byte
	_, err := c.Do(ctx, Call{Path: ConversationPath(id, "turns/"+strconv.Itoa(number)), Global: true}, &out)
	return out, err
}

// ReplayThrough names the definition that recorded turns are taken through:
// exactly one member.
type ReplayThrough struct {
	DefinitionID string          `json:"definitionId,omitempty"`
	Definition   string          `json:"definition,omitempty"` // name
	Body         json.RawMessage `json:"body,omitempty"`
}

// ReplayChat takes the recorded turns of a conversation through another
// definition, without the agent, and returns the difference as it came.
func (c *Client) ReplayChat(ctx context.Context, id string, through ReplayThrough) (json.RawMessage, error) {
	var out json.RawMessage
	_, err := c.Do(ctx, Call{Method: http.MethodPost, Path: ConversationPath(id, "replay"), Body: through, Global: true}, &out)
	return out, err
}

func eachChat[T any](ctx context.Context, c *Client, path string) iter.Seq2[T, error] {
	return eachPage(Call{Path: path, Global: true}, func(call Call) ([]T, *string, error) {
		var page ChatPage[T]
		_, err := c.Do(ctx, call, &page)
		return page.Items, page.NextCursor, err
	})
}
