package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/engine/chat"
	"github.com/rondo-engine/rondo/internal/canon"
	"github.com/rondo-engine/rondo/internal/turn"
	"github.com/rondo-engine/rondo/store"
)

// Chat is what the edge needs of the turn service. Conversations of other
// tenants and users are CodeConversationNotFound, like those that do not exist.
type Chat interface {
	// Do does whatever changes something: start, send, card-action, orchestrate,
	// end. A caller who goes away does not stop a turn.
	Do(ctx context.Context, caller chat.Caller, request chat.Request) (chat.Answer, error)
	Delete(ctx context.Context, caller chat.Caller, id string) error
	// List lists the caller's own, by the time of their last change, newest first.
	List(ctx context.Context, caller chat.Caller, page store.ConversationPage) ([]rondo.Conversation, error)
	// Conversation reads one with the newest limit messages of those numbered below
	// before (0 = all).
	Conversation(ctx context.Context, caller chat.Caller, id string, before, limit int) (chat.View, error)
	// Turns returns records oldest first, those with numbers after the given one; a
	// start has number 0.
	Turns(ctx context.Context, caller chat.Caller, id string, after, limit int) ([]rondo.TurnRecord, error)
	Turn(ctx context.Context, caller chat.Caller, id string, number int) (rondo.TurnRecord, error)
	// Replay takes the recorded turns through a definition, without the agent.
	Replay(ctx context.Context, caller chat.Caller, id string, definition *turn.Definition) (turn.Replayed, error)
	// Definition finds the active definition of a name, the organisation's own or a
	// shipped one, or CodeNotFound.
	Definition(ctx context.Context, caller chat.Caller, name string) (*turn.Definition, rondo.DefinitionRef, error)
	// Info says who answers; health shows it.
	Info() agent.Info
}

var _ Chat = (*chat.Service)(nil)

const (
	chatPath  = "/api/chat"
	maxChatID = 255
)

// isChat reports whether a path belongs to the chat API.
func isChat(path string) bool { return path == chatPath || strings.HasPrefix(path, chatPath+"/") }

// chatCall is what a request to the chat API says outside its body.
type chatCall struct {
	token  string // as it came, for agents that act on behalf of users
	id     string // of the conversation; "" = the path has none
	number int    // of the turn, for paths that have one
	key    string // of idempotency; "" = none
	route  string // what the key is for: method, path and query
}

// readChat reads the headers and the path of a request to the chat API.
func (c *call) readChat(r *http.Request, row Route) error {
	if scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " "); strings.EqualFold(scheme, "Bearer") {
		c.chat.token = strings.TrimLeft(token, " ")
	}
	if strings.Contains(row.Path, "{id}") {
		c.chat.id = r.PathValue("id")
		if !chatID(c.chat.id) { // what cannot be an id is an id that nobody has
			return &rondo.Error{Code: rondo.CodeConversationNotFound}
		}
	}
	if strings.Contains(row.Path, "{number}") {
		number, err := strconv.ParseUint(r.PathValue("number"), 10, 31)
		if err != nil {
			return rondo.NotFound(row.Noun)
		}
		c.chat.number = int(number)
	}
	if !row.Keyed {
		return nil
	}
	c.chat.route = r.Method + " " + r.URL.RequestURI()
	key, err := readKey(r.Header)
	c.chat.key = key
	return err
}

// chatID reports whether s can name a conversation at all.
func chatID(s string) bool { return s != "" && len(s) <= maxChatID && storable(s) }

func (c *call) chatCaller() chat.Caller {
	return chat.Caller{Principal: c.principal, Token: c.chat.token}
}

// fingerprint is what an idempotency key is bound to: the body, however it is
// written. No body counts as an empty one.
func (c *call) fingerprint() (string, error) {
	if c.body == nil {
		return canon.Digest([]byte("{}"))
	}
	return canon.Digest(c.body)
}

// chatService is the turn service, or the error that there is none.
func (a *API) chatService() (Chat, error) {
	if a.cfg.Chat == nil {
		return nil, &rondo.Error{
			Code: rondo.CodeUnavailable, Message: "this server has no agent to hold conversations with",
			Hint: "ask the operator to start it with LLM_PROVIDER",
		}
	}
	return a.cfg.Chat, nil
}

func (a *API) registerChat(r *registrar) {
	a.registerTurns(r)
	a.registerConversations(r)
}

func chatPathParams(row Route) []*huma.Param {
	var out []*huma.Param
	if strings.Contains(row.Path, "{id}") {
		least, most := 1, maxChatID
		out = append(out, &huma.Param{Name: "id", In: "path", Required: true, Description: "Id of the conversation", Schema: &huma.Schema{Type: huma.TypeString, MinLength: &least, MaxLength: &most}})
	}
	if strings.Contains(row.Path, "{number}") {
		least := 0.0
		out = append(out, &huma.Param{Name: "number", In: "path", Required: true, Description: "Number of the turn, from 1; the start is 0", Schema: &huma.Schema{Type: huma.TypeInteger, Minimum: &least}})
	}
	return out
}
