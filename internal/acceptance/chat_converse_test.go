package acceptance

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/agent/scripted"
	"github.com/rondo-engine/rondo/engine"
	"github.com/rondo-engine/rondo/engine/chat"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/app"
	"github.com/rondo-engine/rondo/store"
)

// talkative is an engine with conversations beside it, as the server wires them.
type talkative struct {
	t      *testing.T
	engine *engine.Engine
	chat   *chat.Service
	who    rondo.Principal
	ids    *rondo.IDs
}

func newTalkative(t *testing.T, p pair) *talkative {
	t.Helper()
	g := newGround(t, p)
	database := g.openStore(t)
	if g.memory == nil {
		t.Cleanup(func() { _ = database.Close() })
	}
	events := g.openBus(t)
	if events != nil {
		t.Cleanup(func() { _ = events.Close() })
	}
	e, err := engine.New(engine.Config{Store: database, Bus: events})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Stop(context.Background()) })

	kept, err := app.StoredConversations(database)
	if p.redis {
		opened, failed := app.OpenRedisConversations(t.Context(), g.redisURL, false)
		if failed == nil {
			t.Cleanup(func() { _ = opened.Close() })
		}
		kept, err = opened, failed
	}
	if err != nil {
		t.Fatal(err)
	}
	script, err := scripted.Demo()
	if err != nil {
		t.Fatal(err)
	}
	service, err := chat.New(chat.Config{
		Store: kept, Definitions: e.Conversations(), Relay: e.Relay(), Poll: glance, Log: slog.New(slog.DiscardHandler),
		Agents: map[string]agent.Agent{"scripted": scripted.New(script)}, DefaultAgent: "scripted",
	})
	if err != nil {
		t.Fatal(err)
	}
	service.Start()
	worker := e.ConversationWorker(service)
	if err := worker.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = worker.Stop()
		_ = service.Stop(context.Background())
	})
	return &talkative{
		t: t, engine: e, chat: service, ids: rondo.NewIDs(time.Now),
		who: rondo.Principal{Tenant: "acme", User: "ann", Scopes: []string{rondo.ScopeAdmin}},
	}
}

// publish makes a case definition the active one.
func (k *talkative) publish(source string) {
	k.t.Helper()
	draft, err := k.engine.CreateDefinition(k.t.Context(), k.who, rondo.NewDefinition{Source: []byte(source)})
	if err != nil {
		k.t.Fatal(err)
	}
	if _, err := k.engine.PublishDefinition(k.t.Context(), k.who, draft.ID, "test"); err != nil {
		k.t.Fatal(err)
	}
}

// begin starts a case about a user.
func (k *talkative) begin(caseID, user string) {
	k.t.Helper()
	payload, err := json.Marshal(map[string]any{"metadata": map[string]string{"user": user}})
	if err != nil {
		k.t.Fatal(err)
	}
	created := event.Envelope{
		EventID: k.ids.New(), Type: event.TypeCaseCreated, SchemaVersion: event.SchemaVersion, OccurredAt: time.Now(),
		CorrelationID: caseID, CaseID: caseID, OrgID: k.who.Tenant, ProductID: "support", Payload: payload,
	}
	if _, err := k.engine.PublishEvent(k.t.Context(), k.who, created.Encode()); err != nil {
		k.t.Fatal(err)
	}
}

// caller is a user as the chat API knows them.
func (k *talkative) caller(user string) chat.Caller {
	return chat.Caller{Principal: rondo.Principal{Tenant: k.who.Tenant, User: user}}
}

// offered waits for the conversation that a case opens for a user.
func (k *talkative) offered(user string) rondo.Conversation {
	k.t.Helper()
	var found []rondo.Conversation
	k.await("a conversation for "+user, func() bool {
		var err error
		if found, err = k.chat.List(k.t.Context(), k.caller(user), store.ConversationPage{}); err != nil {
			k.t.Fatal(err)
		}
		return len(found) > 0
	})
	if len(found) != 1 {
		k.t.Fatalf("%s has %d conversations, want one", user, len(found))
	}
	return found[0]
}

// instance waits until a case has come to rest and returns it.
func (k *talkative) instance(caseID string) *rondo.Instance {
	k.t.Helper()
	var i *rondo.Instance
	k.await("the end of case "+caseID, func() bool {
		found, err := k.engine.Instances(k.t.Context(), k.who, store.InstanceFilter{OrgID: k.who.Tenant, CaseID: caseID}, store.Page{Limit: 1})
		if err != nil || len(found) == 0 {
			return false
		}
		i = found[0]
		return i.Status != rondo.StatusRunning
	})
	return i
}

func (k *talkative) await(what string, holds func() bool) {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(k.t.Context(), patience)
	defer cancel()
	if !poll(ctx, holds) {
		k.t.Fatalf("%s did not come in %v", what, patience)
	}
}

const conversing = `
name: Conversing
start_step: talk
steps:
  talk:
    kind: converse
    timeout_seconds: %TIMEOUT%
    params: {definition: %DEFINITION%, user: "{{case.metadata.user}}", title: Your question}
    transitions: {on_complete: done, on_abandoned: left, on_timeout: late, on_failure: refused}
  # Each way has a reason that the step alone would not halt with.
  left: {kind: halt, params: {reason_code: manual_halt, note: abandoned}}
  late: {kind: halt, params: {reason_code: human_review_failed}}
  refused: {kind: halt, params: {reason_code: ai_review_failed}}
  done: {kind: emit_final, transitions: {on_complete: TERMINAL}}
`

// TestACaseTalksToAPersonAndGoesOnByWhatWasSaid walks a whole conversation that a
// case asked for, on every kind of ground.
func TestACaseTalksToAPersonAndGoesOnByWhatWasSaid(t *testing.T) {
	t.Parallel()
	for _, p := range []pair{{store: "memory"}, {store: "sqlite"}, {store: "postgres", redis: true}} {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			k := newTalkative(t, p)
			k.publish(replaced(conversing, "%TIMEOUT%", "3600", "%DEFINITION%", "default"))
			k.begin("c-1", "zoe")
			k.begin("c-2", "yan")
			offered := k.offered("zoe")
			if offered.Case == nil || offered.Case.CaseID != "c-1" || string(offered.Metadata) != `{"title":"Your question"}` {
				t.Errorf("the conversation is %+v, want it tied to its case and titled", offered)
			}
			for _, text := range []string{"hello", "Zoe", "Billing", "yes"} {
				if _, err := k.chat.Do(t.Context(), k.caller("zoe"), chat.Request{Kind: chat.KindSend, ConversationID: offered.ExternalID, Text: text}); err != nil {
					t.Fatalf("say %q: %v", text, err)
				}
			}
			completed := k.instance("c-1")
			var output struct {
				ConversationID string                     `json:"conversationId"`
				Outcome        string                     `json:"outcome"`
				Step           string                     `json:"step"`
				CollectedData  map[string]json.RawMessage `json:"collectedData"`
			}
			if err := json.Unmarshal(completed.Context["talk"], &output); err != nil {
				t.Fatal(err)
			}
			if completed.Status != rondo.StatusCompleted || output.ConversationID != offered.ExternalID || output.Outcome != "completed" ||
				output.Step != "complete" || string(output.CollectedData["name"]) != `"Zoe"` || string(output.CollectedData["topic"]) != `"Billing"` {
				t.Errorf("the case is %s with %s, want it completed with what Zoe said", completed.Status, completed.Context["talk"])
			}

			other := k.offered("yan")
			if _, err := k.chat.Do(t.Context(), k.caller("yan"), chat.Request{Kind: chat.KindEnd, ConversationID: other.ExternalID, Reason: "no time"}); err != nil {
				t.Fatal(err)
			}
			if left := k.instance("c-2"); left.HaltReason != "manual_halt" {
				t.Errorf("the case whose conversation was abandoned halted for %q, want manual_halt", left.HaltReason)
			}
		})
	}
}

// TestAConversationEndsWithTheStepThatWaitsForIt lets the step's time run out.
func TestAConversationEndsWithTheStepThatWaitsForIt(t *testing.T) {
	t.Parallel()
	k := newTalkative(t, pair{store: "memory"})
	k.publish(replaced(conversing, "%TIMEOUT%", "1", "%DEFINITION%", "default"))
	k.begin("c-1", "zoe")
	id := k.offered("zoe").ExternalID
	if late := k.instance("c-1"); late.HaltReason != "human_review_failed" {
		t.Errorf("the case halted for %q, want human_review_failed: the way of on_timeout", late.HaltReason)
	}
	k.await("the end of the conversation", func() bool {
		view, err := k.chat.Conversation(t.Context(), k.caller("zoe"), id, 0, 0)
		return err == nil && view.Conversation.Status == rondo.ConversationAbandoned
	})
}

// TestACaseHearsThatNobodyCanBeTalkedTo asks for a definition that is not there.
func TestACaseHearsThatNobodyCanBeTalkedTo(t *testing.T) {
	t.Parallel()
	k := newTalkative(t, pair{store: "memory"})
	k.publish(replaced(conversing, "%TIMEOUT%", "3600", "%DEFINITION%", "nowhere"))
	k.begin("c-1", "zoe")
	if refused := k.instance("c-1"); refused.HaltReason != "ai_review_failed" {
		t.Errorf("the case halted for %q, want ai_review_failed: the way of on_failure", refused.HaltReason)
	}
}

// replaced fills places of a text: pairs of what stands there and what goes there.
func replaced(text string, pairs ...string) string {
	return strings.NewReplacer(pairs...).Replace(text)
}
