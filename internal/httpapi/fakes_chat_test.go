package httpapi_test

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/engine/chat"
	"github.com/rondo-engine/rondo/internal/httpapi"
	"github.com/rondo-engine/rondo/internal/turn"
	"github.com/rondo-engine/rondo/store"
)

// chatID is the conversation that the fake knows, of ann of acme.
const chatID = "5f0c9c1e-7a54-4b6e-9d1f-2a8f3c1b7e40"

// talker is a turn service that answers what it is told and remembers what it was
// asked.
type talker struct {
	engine *fake // notes the caller, and fails when told to

	mu      sync.Mutex
	caller  chat.Caller
	request chat.Request
	page    store.ConversationPage
	numbers []int // before or after, and limit
	says    []chat.StreamEvent
	answer  chat.Answer
	listed  []rondo.Conversation
	view    chat.View
	turns   []rondo.TurnRecord
	through *turn.Definition
	during  func(ctx context.Context) // runs inside Do, after what it says
}

var _ httpapi.Chat = (*talker)(nil)

func newTalker(engine *fake) *talker {
	return &talker{engine: engine, answer: chat.Answer{Status: 200, Body: json.RawMessage(`{"turnMeta":{"turnNumber":7},"n":1.50}`)}, turns: []rondo.TurnRecord{{
		Number: 1, Kind: rondo.TurnByText, At: start, Response: json.RawMessage(`{"n": 1.50}`),
	}}}
}

func (t *talker) begin(caller chat.Caller) error {
	t.mu.Lock()
	t.caller = caller
	t.mu.Unlock()
	return t.engine.begin(caller.Principal)
}

func (t *talker) find(caller chat.Caller, id string) error {
	if err := t.begin(caller); err != nil {
		return err
	}
	if id != chatID || caller.Tenant != "acme" || caller.User != "ann" {
		return &rondo.Error{Code: rondo.CodeConversationNotFound, Message: "careless words about " + id}
	}
	return nil
}

func (t *talker) Do(ctx context.Context, caller chat.Caller, r chat.Request) (chat.Answer, error) {
	if err := t.begin(caller); err != nil {
		return chat.Answer{}, err
	}
	t.mu.Lock()
	t.request = r
	t.mu.Unlock()
	if r.ConversationID != "" {
		if err := t.find(caller, r.ConversationID); err != nil {
			return chat.Answer{}, err
		}
	}
	for _, e := range t.says {
		if r.Stream != nil {
			r.Stream(e)
		}
	}
	if t.during != nil {
		t.during(ctx)
	}
	return t.answer, nil
}

func (t *talker) Delete(_ context.Context, caller chat.Caller, id string) error {
	return t.find(caller, id)
}

func (t *talker) List(_ context.Context, caller chat.Caller, page store.ConversationPage) ([]rondo.Conversation, error) {
	t.page = page
	return t.listed, t.begin(caller)
}

func (t *talker) Conversation(_ context.Context, caller chat.Caller, id string, before, limit int) (chat.View, error) {
	t.numbers = []int{before, limit}
	return t.view, t.find(caller, id)
}

func (t *talker) Turns(_ context.Context, caller chat.Caller, id string, after, limit int) ([]rondo.TurnRecord, error) {
	t.numbers = []int{after, limit}
	return t.turns, t.find(caller, id)
}

func (t *talker) Turn(_ context.Context, caller chat.Caller, id string, number int) (rondo.TurnRecord, error) {
	if err := t.find(caller, id); err != nil {
		return rondo.TurnRecord{}, err
	}
	for _, record := range t.turns {
		if record.Number == number {
			return record, nil
		}
	}
	return rondo.TurnRecord{}, rondo.NotFound("row")
}

func (t *talker) Replay(_ context.Context, caller chat.Caller, id string, definition *turn.Definition) (turn.Replayed, error) {
	t.through = definition
	return turn.Replayed{Turns: []turn.ReplayedTurn{}}, t.find(caller, id)
}

func (t *talker) Definition(_ context.Context, caller chat.Caller, name string) (*turn.Definition, rondo.DefinitionRef, error) {
	if err := t.begin(caller); err != nil {
		return nil, rondo.DefinitionRef{}, err
	}
	definition, err := turn.ShippedDefinition(name)
	return definition, rondo.DefinitionRef{ID: name}, err
}

func (t *talker) Info() agent.Info { return agent.Info{Provider: "scripted", Model: "demo"} }

func knownConversation(n int) rondo.Conversation {
	return rondo.Conversation{
		ExternalID: chatID, TenantID: "acme", UserID: "ann", Status: rondo.ConversationActive,
		Definition: rondo.DefinitionRef{ID: "default", Hash: "abc"}, CreatedAt: start, UpdatedAt: start.Add(-time.Duration(n) * time.Second),
	}
}
