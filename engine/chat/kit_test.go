package chat_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/engine/chat"
	"github.com/rondo-engine/rondo/internal/turn"
	"github.com/rondo-engine/rondo/store"
)

// The definitions of the tests. trip asks, confirms and is done; it tells a case
// when it is. patient is the same and waits for a busy conversation.
const (
	trip = `{"name":"trip","steps":["asking","confirming","done"],` + machine + `}`

	patient = `{"name":"patient","steps":["asking","confirming","done"],"busy":{"strategy":"wait","waitMs":2000},` + machine + `}`

	machine = `"machine":{"id":"trip","initial":"asking","states":{
	  "asking":{"on":{"READY":"confirming"},"after":{"60000":"waiting"}},
	  "waiting":{"on":{"READY":"confirming"}},
	  "confirming":{"on":{"BOOKED":{"target":"confirming","actions":{"type":"raiseCaseEvent","eventType":"trip.booked","caseId":{"path":"context.collectedData.case"},"payload":{"path":"context.collectedData"}}},"DONE":"done"}},
	  "done":{"type":"final"}}},
	"signals":[
	  {"when":"turn.nextAction == \"confirm\"","event":"READY"},
	  {"when":"turn.nextAction == \"research\"","event":"BOOKED"},
	  {"when":"turn.nextAction == \"complete\"","event":"DONE"}]`
)

// shelf has the definitions by name, for every organisation.
type shelf map[string]*turn.Definition

func newShelf(t testing.TB) shelf {
	t.Helper()
	s := shelf{}
	for name, body := range map[string]string{"trip": trip, "patient": patient} {
		d, problems := turn.Compile([]byte(body))
		if len(problems) > 0 {
			t.Fatalf("definition %s: %v", name, problems)
		}
		s[name] = d
	}
	return s
}

func (s shelf) Named(_ context.Context, _, name string) (*turn.Definition, rondo.DefinitionRef, error) {
	d, ok := s[name]
	if !ok {
		return nil, rondo.DefinitionRef{}, rondo.NotFound("definition")
	}
	return d, rondo.DefinitionRef{ID: name, Version: 1, Hash: "hash of " + name}, nil
}

func (s shelf) Frozen(_ context.Context, _ string, ref rondo.DefinitionRef) (*turn.Definition, error) {
	d, ok := s[ref.ID]
	if !ok {
		return nil, rondo.NotFound("definition")
	}
	return d, nil
}

// kit is a service on a store, with everything around it in a test's hands.
type kit struct {
	t      testing.TB
	cfg    chat.Config
	store  *hooked
	agent  *puppet
	relay  *letterbox
	counts *counts
	*chat.Service
}

func newKit(t testing.TB, driver store.Conversations, change func(*chat.Config)) *kit {
	t.Helper()
	k := &kit{t: t, store: &hooked{Conversations: driver}, agent: &puppet{}, relay: &letterbox{}, counts: &counts{}}
	k.agent.note = k.store.note
	k.agent.greeting = []agent.Chunk{{Session: "agent-session"}, text("hello", "")}
	k.agent.says(text("well", ""))
	k.cfg = chat.Config{
		Store: k.store, Agents: map[string]agent.Agent{"puppet": k.agent}, DefaultAgent: "puppet",
		Definitions: newShelf(t), DefaultDefinition: "trip", Observer: k.counts,
		Log: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&k.cfg)
	}
	k.restart()
	return k
}

// restart is another process on the same store.
func (k *kit) restart() {
	k.t.Helper()
	s, err := chat.New(k.cfg)
	if err != nil {
		k.t.Fatal(err)
	}
	k.Service = s
}

var (
	alice   = chat.Caller{Principal: rondo.Principal{Tenant: "acme", User: "alice"}, Token: "alice's token"}
	bob     = chat.Caller{Principal: rondo.Principal{Tenant: "acme", User: "bob"}}
	mallory = chat.Caller{Principal: rondo.Principal{Tenant: "evil", User: "alice"}}
)

// start starts a conversation of alice.
func (k *kit) start() string {
	k.t.Helper()
	var started chat.Started
	k.into(&started)(k.Do(k.t.Context(), alice, chat.Request{Kind: chat.KindStart}))
	return started.ConversationID
}

// send makes a turn that must succeed.
func (k *kit) send(id, words string) rondo.WorkflowResponse {
	k.t.Helper()
	var r rondo.WorkflowResponse
	k.into(&r)(k.Do(k.t.Context(), alice, chat.Request{Kind: chat.KindSend, ConversationID: id, Text: words}))
	return r
}

func (k *kit) into(v any) func(chat.Answer, error) {
	k.t.Helper()
	return func(a chat.Answer, err error) {
		k.t.Helper()
		if err != nil {
			k.t.Fatalf("the turn failed: %v", err)
		}
		if a.Status != 200 {
			k.t.Fatalf("status %d, want 200", a.Status)
		}
		if err := json.Unmarshal(a.Body, v); err != nil {
			k.t.Fatalf("answer is not JSON: %v", err)
		}
	}
}

// refused makes a request of alice that must fail with a code.
func (k *kit) refused(want rondo.Code, req chat.Request) {
	k.t.Helper()
	k.refusedFor(alice, want, req)
}

func (k *kit) refusedFor(who chat.Caller, want rondo.Code, req chat.Request) {
	k.t.Helper()
	_ = k.refusal(who, want, req)
}

// refusal is the error of a request that must fail with a code.
func (k *kit) refusal(who chat.Caller, want rondo.Code, req chat.Request) error {
	k.t.Helper()
	_, err := k.Do(k.t.Context(), who, req)
	if got := rondo.CodeOf(err); got != want {
		k.t.Fatalf("%s: code %q, want %q (error: %v)", req.Kind, got, want, err)
	}
	return err
}

// stored is what is stored of a conversation of alice, with its history and turns.
type stored struct {
	State   rondo.ConversationState
	Record  rondo.Conversation
	History []rondo.NormalizedMessage
	Turns   []rondo.TurnRecord
	Expires time.Time
}

func (k *kit) stored(id string) stored {
	k.t.Helper()
	return storedOf(k.t, k.store.Conversations, alice, id, k.now())
}

func (k *kit) now() time.Time {
	if k.cfg.Now != nil {
		return k.cfg.Now()
	}
	return time.Now()
}

func storedOf(t testing.TB, s store.Conversations, who chat.Caller, id string, at time.Time) stored {
	t.Helper()
	found, err := s.Conversation(t.Context(), store.Owner{TenantID: who.Tenant, UserID: who.User, ID: id}, at)
	if err != nil {
		t.Fatalf("reading conversation %s: %v", id, err)
	}
	said, _, err := s.History(t.Context(), id, at, 0, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	turns, err := s.Turns(t.Context(), id, at, -1, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	return stored{State: found.State, Record: found.Conversation, History: said, Turns: turns, Expires: found.ExpiresAt}
}
