package chat_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/engine/chat"
	"github.com/rondo-engine/rondo/store"
)

func TestAStartStoresTheGreetingInOneWrite(t *testing.T) {
	onEveryStore(t, func(t *testing.T, driver store.Conversations) {
		k := newKit(t, driver, nil)
		var started chat.Started
		k.into(&started)(k.Do(t.Context(), alice, chat.Request{Kind: chat.KindStart, RequestID: "r1"}))
		if got, want := k.store.seen(), []string{"agent", "Create"}; !slices.Equal(got, want) {
			t.Errorf("calls %v, want %v", got, want)
		}
		if started.WorkflowState.Step != "asking" || started.WorkflowState.TurnCount != 0 || started.WorkflowState.Status != rondo.WorkflowActive {
			t.Errorf("initial state %+v", started.WorkflowState)
		}
		found := k.stored(started.ConversationID)
		if len(found.History) != 1 || found.History[0].Text != "hello" || found.History[0].Role != rondo.RoleAssistant {
			t.Errorf("history %+v, want the greeting", found.History)
		}
		if found.Record.AgentSession != "agent-session" || found.Record.Definition.ID != "trip" {
			t.Errorf("record %+v", found.Record)
		}
		if len(found.Turns) != 1 || found.Turns[0].Number != 0 || found.Turns[0].Kind != rondo.TurnByStart || found.Turns[0].RequestID != "r1" {
			t.Errorf("turns %+v, want the start's record as number 0", found.Turns)
		}
		if got := k.agent.lastSession(); got.UserToken != "alice's token" || got.UserID != "alice" || got.TenantID != "acme" {
			t.Errorf("session %+v", got)
		}
	})
}

func TestAnUnknownDefinitionStartsNothing(t *testing.T) {
	onEveryStore(t, func(t *testing.T, driver store.Conversations) {
		k := newKit(t, driver, nil)
		k.refused(rondo.CodeNotFound, chat.Request{Kind: chat.KindStart, Definition: "none"})
		if calls := k.store.seen(); len(calls) > 0 {
			t.Errorf("calls %v, want none", calls)
		}
	})
}

func TestATurnAcquiresLoadsAsksAndCommitsInThisOrder(t *testing.T) {
	onEveryStore(t, func(t *testing.T, driver store.Conversations) {
		k := newKit(t, driver, nil)
		id := k.start()
		k.store.seen()
		k.send(id, "hi")
		if got, want := k.store.seen(), []string{"Acquire", "Load", "agent", "Commit"}; !slices.Equal(got, want) {
			t.Errorf("calls %v, want %v", got, want)
		}
		k.into(&struct{}{})(k.Do(t.Context(), alice, chat.Request{Kind: chat.KindSend, ConversationID: id, Text: "hi", Key: "k", Route: "r", Fingerprint: "f"}))
		if got, want := k.store.seen(), []string{"BeginKey", "Acquire", "Load", "agent", "Commit"}; !slices.Equal(got, want) {
			t.Errorf("calls with a key %v, want %v", got, want)
		}
	})
}

func TestATurnIsAnsweredStoredAndRecordedAlike(t *testing.T) {
	onEveryStore(t, func(t *testing.T, driver store.Conversations) {
		k := newKit(t, driver, nil)
		id := k.start()
		k.agent.says(text("<b>name & topic</b> please", `{"action":"ask","prompt":"name?","data":{"city":"Rome","price":12.50},"confidence":0.9}`))
		a, err := k.Do(t.Context(), alice, chat.Request{Kind: chat.KindSend, ConversationID: id, Text: "to Rome", RequestID: "r7", Key: "k", Route: "r", Fingerprint: "f"})
		if err != nil {
			t.Fatal(err)
		}
		var r rondo.WorkflowResponse
		if err := json.Unmarshal(a.Body, &r); err != nil {
			t.Fatal(err)
		}
		if r.ConversationID != id || r.TurnMeta.TurnNumber != 1 || r.WorkflowState.TurnCount != 1 || !r.TurnMeta.StateChanged || len(r.Messages) != 1 {
			t.Errorf("response %+v", r)
		}
		if got := string(r.WorkflowState.CollectedData["price"]); got != "12.50" {
			t.Errorf("price %s, want it as it was written", got)
		}
		if r.WorkflowState.UserID != "alice" || r.WorkflowState.TenantID != "acme" {
			t.Errorf("state is of %s at %s", r.WorkflowState.UserID, r.WorkflowState.TenantID)
		}
		record, err := k.Turn(t.Context(), alice, id, 1)
		if err != nil {
			t.Fatal(err)
		}
		if string(record.Response) != string(a.Body) {
			t.Errorf("the record has another response:\n%s\n%s", record.Response, a.Body)
		}
		if record.Kind != rondo.TurnByText || record.Input.Text != "to Rome" || record.RequestID != "r7" || record.Definition.ID != "trip" || record.From != "asking" || record.To != "asking" || len(record.Reply) == 0 {
			t.Errorf("record %+v", record)
		}
		again, err := k.Do(t.Context(), alice, chat.Request{Kind: chat.KindSend, ConversationID: id, Text: "to Rome", Key: "k", Route: "r", Fingerprint: "f"})
		if err != nil || !again.Replayed || string(again.Body) != string(a.Body) || again.Status != a.Status {
			t.Errorf("under the same key: %v %v, want the same bytes", again, err)
		}
		found := k.stored(id)
		var said []string
		for _, m := range found.History {
			said = append(said, m.Role+": "+m.Text)
		}
		if want := []string{"assistant: hello", "user: to Rome", "assistant: <b>name & topic</b> please"}; !slices.Equal(said, want) {
			t.Errorf("history %q, want %q", said, want)
		}
		if found.State.Version != 2 || found.State.TurnNumber != 1 {
			t.Errorf("version %d, turn %d, want 2 and 1", found.State.Version, found.State.TurnNumber)
		}
	})
}

func TestThreeTurnsAccumulateAndEachQueryTellsWhatIsKnown(t *testing.T) {
	onEveryStore(t, func(t *testing.T, driver store.Conversations) {
		k := newKit(t, driver, nil)
		id := k.start()
		for i, data := range []string{`{"a":1}`, `{"b":2}`, `{"a":3}`} {
			k.agent.says(text("ok", `{"action":"ask","data":`+data+`}`))
			r := k.send(id, "next")
			if r.WorkflowState.TurnCount != i+1 {
				t.Errorf("turnCount %d, want %d", r.WorkflowState.TurnCount, i+1)
			}
		}
		k.agent.says(text("ok", ""))
		k.send(id, "$& and {} here")
		want := "[CONTEXT]\nPhase: asking\nCollected data: {\"a\":3,\"b\":2}\nTurn number: 3\n[/CONTEXT]\n\n$& and {} here"
		if got := k.agent.last().Text; got != want {
			t.Errorf("query %q, want %q", got, want)
		}
	})
}

func TestWhatTheAgentSaysNeverFailsATurn(t *testing.T) {
	onEveryStore(t, func(t *testing.T, driver store.Conversations) {
		k := newKit(t, driver, nil)
		id := k.start()
		for i, c := range []struct{ value, kind string }{
			{"", rondo.TurnPassthrough},
			{`{"action":"dance"}`, rondo.TurnParseError},
			{`{"action":"ask","confidence":7}`, rondo.TurnParseError},
			{`{"action":"ask"}`, rondo.TurnStructured},
		} {
			k.agent.says(text("so", c.value))
			r := k.send(id, "hi")
			if r.ParsedTurn.Kind != c.kind || r.WorkflowState.TurnCount != i+1 {
				t.Errorf("%s: kind %s, turnCount %d; want %s, %d", c.value, r.ParsedTurn.Kind, r.WorkflowState.TurnCount, c.kind, i+1)
			}
		}
	})
}

func TestNobodyElseFindsAConversation(t *testing.T) {
	onEveryStore(t, func(t *testing.T, driver store.Conversations) {
		k := newKit(t, driver, nil)
		id := k.start()
		k.send(id, "hi")
		before := k.stored(id)
		for _, who := range []chat.Caller{bob, mallory} {
			for _, kind := range []string{chat.KindSend, chat.KindOrchestrate, chat.KindEnd, chat.KindCard} {
				k.refusedFor(who, rondo.CodeConversationNotFound, chat.Request{Kind: kind, ConversationID: id, Text: "hi", CardID: "c", SubmitData: json.RawMessage(`{"action":"Action.Submit"}`)})
			}
			_, viewErr := k.Conversation(t.Context(), who, id, 0, 0)
			_, turnsErr := k.Turns(t.Context(), who, id, -1, 10)
			_, turnErr := k.Turn(t.Context(), who, id, 1)
			_, replayErr := k.Replay(t.Context(), who, id, newShelf(t)["trip"])
			for _, err := range []error{k.Delete(t.Context(), who, id), viewErr, turnsErr, turnErr, replayErr} {
				if rondo.CodeOf(err) != rondo.CodeConversationNotFound {
					t.Errorf("%s: %v, want not found", who.Tenant, err)
				}
			}
			if mine, err := k.List(t.Context(), who, store.ConversationPage{}); err != nil || len(mine) > 0 {
				t.Errorf("list of %s/%s: %v %v, want nothing", who.Tenant, who.User, mine, err)
			}
		}
		if after := k.stored(id); after.State.Version != before.State.Version || len(after.History) != len(before.History) {
			t.Errorf("a stranger changed it: %+v", after.State)
		}
		k.refused(rondo.CodeConversationNotFound, chat.Request{Kind: chat.KindSend, ConversationID: "7b0cf5a2-6f1d-4c56-8f5a-52a3b1c0d9ee", Text: "hi"})
		if k.agent.sent() != 1 {
			t.Errorf("the agent was asked %d times, want once", k.agent.sent())
		}
		k.send(id, "the lease is free")
	})
}

func TestAFailingAgentLeavesNothingBehindAndReleases(t *testing.T) {
	onEveryStore(t, func(t *testing.T, driver store.Conversations) {
		k := newKit(t, driver, nil)
		id := k.start()
		before := k.stored(id)
		k.agent.does(func(context.Context, agent.Session, rondo.Activity) ([]agent.Chunk, error) {
			return []agent.Chunk{{Session: "other"}, text("half an ans", `{"data":{"x":1}}`)}, &agent.Error{Provider: "puppet", Kind: agent.KindUnreachable, Message: "cut off"}
		})
		k.store.seen()
		k.refused(rondo.CodeAgentFailed, chat.Request{Kind: chat.KindSend, ConversationID: id, Text: "hi", Key: "k", Route: "r", Fingerprint: "f"})
		if got, want := k.store.seen(), []string{"BeginKey", "Acquire", "Load", "agent", "Release", "DropKey"}; !slices.Equal(got, want) {
			t.Errorf("calls %v, want %v", got, want)
		}
		if after := k.stored(id); after.State.Version != before.State.Version || len(after.History) != 1 || len(after.Turns) != 1 || after.Record.AgentSession != "agent-session" {
			t.Errorf("something was written: %+v", after)
		}
		k.agent.says(text("back", ""))
		k.into(&struct{}{})(k.Do(t.Context(), alice, chat.Request{Kind: chat.KindSend, ConversationID: id, Text: "hi", Key: "k", Route: "r", Fingerprint: "f"}))
	})
}

func TestAFailingAgentStartsNothing(t *testing.T) {
	onEveryStore(t, func(t *testing.T, driver store.Conversations) {
		k := newKit(t, driver, func(c *chat.Config) { c.DefaultAgent = "nobody" })
		err := k.refusal(alice, rondo.CodeUnavailable, chat.Request{Kind: chat.KindStart})
		if !strings.Contains(err.Error(), "nobody") {
			t.Errorf("error %q does not name the agent", err)
		}
		if list, err := k.List(t.Context(), alice, store.ConversationPage{}); err != nil || len(list) > 0 {
			t.Errorf("stored %v %v, want nothing", list, err)
		}
		if info := k.Info(); info != (agent.Info{}) {
			t.Errorf("info %+v, want none", info)
		}
	})
}

func TestADownStoreIsNotTheAgentsFault(t *testing.T) {
	onEveryStore(t, func(t *testing.T, driver store.Conversations) {
		k := newKit(t, driver, nil)
		id := k.start()
		k.store.hook(func(string, func() error) error { return errors.New("connection refused") })
		k.refused(rondo.CodeUnavailable, chat.Request{Kind: chat.KindSend, ConversationID: id, Text: "hi"})
		k.refused(rondo.CodeUnavailable, chat.Request{Kind: chat.KindStart})
		if k.agent.sent() > 0 {
			t.Error("the agent was asked although the lease could not be had")
		}
	})
}

func TestARestartResumesAtTheSameStateAndAgentSession(t *testing.T) {
	onEveryStore(t, func(t *testing.T, driver store.Conversations) {
		k := newKit(t, driver, nil)
		id := k.start()
		k.agent.says(text("sure?", `{"action":"confirm","data":{"city":"Rome"}}`))
		if r := k.send(id, "book"); r.WorkflowState.Step != "confirming" {
			t.Fatalf("step %s, want confirming", r.WorkflowState.Step)
		}
		k.restart()
		k.agent.says(text("done", `{"action":"complete"}`))
		r := k.send(id, "yes")
		if r.WorkflowState.Step != "done" || r.WorkflowState.Status != rondo.WorkflowCompleted || r.Progress.PercentComplete != 100 {
			t.Errorf("state %+v, progress %+v", r.WorkflowState, r.Progress)
		}
		if got := k.agent.lastSession().AgentSession; got != "agent-session" {
			t.Errorf("agent session %q after the restart", got)
		}
		k.refused(rondo.CodeWorkflowCompleted, chat.Request{Kind: chat.KindSend, ConversationID: id, Text: "more"})
		k.refused(rondo.CodeWorkflowCompleted, chat.Request{Kind: chat.KindEnd, ConversationID: id})
		if found := k.stored(id); found.Record.Status != rondo.ConversationCompleted || len(found.State.Timers) > 0 {
			t.Errorf("record %+v, timers %v", found.Record, found.State.Timers)
		}
	})
}

func TestARecordOfBeforeThereWereDefinitionsGoesOn(t *testing.T) {
	onEveryStore(t, func(t *testing.T, driver store.Conversations) {
		k := newKit(t, driver, nil)
		const id = "0b5a9c3e-44a5-4f0e-9d55-1f1c8fb2a222"
		at := k.now()
		err := driver.Create(t.Context(), &store.ConversationWrite{
			Conversation: rondo.Conversation{ExternalID: id, TenantID: "acme", UserID: "alice", AgentSession: "old", CreatedAt: at, UpdatedAt: at},
			State: rondo.ConversationState{WorkflowState: rondo.WorkflowState{
				Step: "confirming", TurnCount: 2, CollectedData: map[string]json.RawMessage{"city": json.RawMessage(`"Rome"`)},
			}},
			At: at, ExpiresAt: at.Add(time.Hour),
		})
		if err != nil {
			t.Fatal(err)
		}
		k.agent.says(text("bye", `{"action":"complete"}`))
		r := k.send(id, "yes")
		if r.WorkflowState.Step != "done" || r.WorkflowState.TurnCount != 3 || r.TurnMeta.TurnNumber != 3 || string(r.WorkflowState.CollectedData["city"]) != `"Rome"` {
			t.Errorf("%+v %+v", r.WorkflowState, r.TurnMeta)
		}
		if found := k.stored(id); found.Record.Definition.ID != "trip" || found.Record.AgentSession != "old" {
			t.Errorf("record %+v", found.Record)
		}
	})
}

func TestAContextThatIsTooLongIsCutAndTheRecordSaysSo(t *testing.T) {
	onEveryStore(t, func(t *testing.T, driver store.Conversations) {
		k := newKit(t, driver, nil)
		id := k.start()
		k.agent.says(text("ok", `{"action":"ask","data":{"essay":"`+strings.Repeat("x", 3000)+`"}}`))
		k.send(id, "hi")
		k.send(id, "all of this text arrives")
		if query := k.agent.last().Text; len(query) > 2100 || !strings.HasSuffix(query, "\n\nall of this text arrives") || !strings.Contains(query, "essay") {
			t.Errorf("query %q", query)
		}
		if record, err := k.Turn(t.Context(), alice, id, 2); err != nil || record.Truncation != "keys" {
			t.Errorf("truncation %q %v, want keys", record.Truncation, err)
		}
	})
}

func TestADefinitionThatIsGoneIsACorruptConversation(t *testing.T) {
	onEveryStore(t, func(t *testing.T, driver store.Conversations) {
		k := newKit(t, driver, nil)
		id := k.start()
		k.cfg.Definitions = shelf{}
		k.restart()
		k.refused(rondo.CodeStateCorrupt, chat.Request{Kind: chat.KindSend, ConversationID: id, Text: "hi"})
		if err := k.Delete(t.Context(), alice, id); err != nil {
			t.Errorf("it cannot be erased: %v", err)
		}
	})
}

func TestWrongRequestsChangeNothing(t *testing.T) {
	onEveryStore(t, func(t *testing.T, driver store.Conversations) {
		k := newKit(t, driver, func(c *chat.Config) { c.MaxText = 10 })
		id := k.start()
		k.store.seen()
		for _, req := range []chat.Request{
			{Kind: chat.KindSend, ConversationID: id},
			{Kind: chat.KindSend, ConversationID: id, Text: "eleven char"},
			{Kind: chat.KindSend, ConversationID: id, Text: "😀😀😀😀😀😀"},
			{Kind: chat.KindSend, Text: "hi"},
			{Kind: chat.KindSend, ConversationID: strings.Repeat("x", 256), Text: "hi"},
			{Kind: chat.KindOrchestrate},
			{Kind: chat.KindEnd, ConversationID: id, Outcome: "exploded"},
			{Kind: chat.KindCard, ConversationID: id, CardID: "c", SubmitData: json.RawMessage(`[]`)},
			{Kind: "sing"},
		} {
			k.refused(rondo.CodeInvalid, req)
		}
		k.refusedFor(chat.Caller{}, rondo.CodeUnauthorized, chat.Request{Kind: chat.KindStart})
		if calls := k.store.seen(); len(calls) > 0 {
			t.Errorf("calls %v, want none", calls)
		}
		k.send(id, "ten chars!")
		k.send(id, "äöüäöüäöü!")
		k.send(id, "😀😀😀😀😀")
	})
}
