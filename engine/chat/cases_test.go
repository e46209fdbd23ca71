package chat_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine/chat"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/memory"
)

func opened(deadline time.Time) chat.OpenRequest {
	return chat.OpenRequest{
		ID: "0b5a9c3e-44a5-4f0e-9d55-1f1c8fb2a111", TenantID: "acme", UserID: "alice", Title: "About your trip",
		Case: rondo.CaseLink{OrgID: "acme", CaseID: "case-1", CorrelationID: "corr-1", RequestID: "req-1", DeadlineAt: deadline, CompletedType: "converse.completed"},
	}
}

func (k *kit) open(req chat.OpenRequest) string {
	k.t.Helper()
	id, err := k.Open(k.t.Context(), req)
	if err != nil || id != req.ID {
		k.t.Fatalf("opened %q: %v", id, err)
	}
	return id
}

func TestACaseHearsHowItsConversationEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t, memory.Open(memory.Options{}), nil)
		k.cfg.Relay = k.relay
		k.restart()
		id := k.open(opened(time.Now().Add(72 * time.Hour)))
		k.open(opened(time.Now().Add(72 * time.Hour))) // again: nothing happens
		if found := k.stored(id); found.State.Version != 1 || len(found.State.Timers) != 2 || string(found.Record.Metadata) != `{"title":"About your trip"}` || found.Expires.Before(time.Now().Add(72*time.Hour)) {
			t.Errorf("opened %+v", found)
		}
		if k.agent.starts > 0 {
			t.Error("the agent was asked before the user said anything")
		}
		k.agent.says(text("sure?", `{"action":"confirm","data":{"city":"Rome"}}`))
		k.send(id, "hi")
		if session := k.agent.lastSession(); k.agent.starts != 1 || session.AgentSession != "agent-session" || session.UserToken != "alice's token" {
			t.Errorf("%d starts, session %+v", k.agent.starts, session)
		}
		if said := k.stored(id).History; len(said) != 3 || said[0].Text != "hello" {
			t.Errorf("history %+v, want greeting, user, answer", said)
		}
		k.agent.says(text("bye", `{"action":"complete"}`))
		k.send(id, "yes")
		if pending := k.store.lastTurn().State.Pending; len(pending) != 1 {
			t.Errorf("pending in the commit: %+v, want the completion", pending)
		}
		if err := k.Stop(t.Context()); err != nil { // waits for the relay
			t.Fatal(err)
		}
		events := k.relay.all()
		if len(events) != 1 {
			t.Fatalf("events %+v, want one", events)
		}
		e := events[0]
		if e.Type != "converse.completed" || e.CaseID != "case-1" || e.CorrelationID != "corr-1" || e.CausationID != "req-1" || e.EventID != chat.EventID(id, 2, 0) || k.relay.orgs[0] != "acme" {
			t.Errorf("event %+v", e)
		}
		if got, want := string(e.Payload), `{"conversationId":"`+id+`","outcome":"completed","step":"done","collectedData":{"city":"Rome"}}`; got != want {
			t.Errorf("payload %s, want %s", got, want)
		}
		found := k.stored(id)
		if len(found.State.Pending) > 0 || found.State.TurnCount != 2 {
			t.Errorf("state after the relay %+v", found.State)
		}
		if last := found.Turns[len(found.Turns)-1]; len(last.Raised) != 1 || last.Raised[0].EventID != e.EventID {
			t.Errorf("the record keeps %+v", last.Raised)
		}
	})
}

func TestAConversationNobodyTakesPartInIsAbandonedAtTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t, memory.Open(memory.Options{}), func(c *chat.Config) { c.TTL = 5 * time.Minute })
		k.cfg.Relay = k.relay
		k.restart()
		k.relay.close(true)
		k.Start()
		deadline := time.Now().Add(30 * time.Minute)
		id := k.open(opened(deadline))
		time.Sleep(time.Until(deadline) + 2*time.Second)
		found := k.stored(id)
		if found.Record.Status != rondo.ConversationAbandoned || len(found.State.Timers) > 0 || len(found.State.Pending) != 1 {
			t.Errorf("after the deadline: %+v %+v", found.Record, found.State)
		}
		if last := found.Turns[len(found.Turns)-1]; last.Kind != rondo.TurnByEnd || last.Input.TimerID == "" {
			t.Errorf("record %+v", last)
		}
		// What the case did not take is given again until it is.
		k.relay.close(false)
		time.Sleep(10 * time.Second)
		if events := k.relay.all(); len(events) != 1 || events[0].Type != "converse.completed" {
			t.Errorf("events %+v", events)
		}
		if pending := k.stored(id).State.Pending; len(pending) > 0 {
			t.Errorf("still pending: %+v", pending)
		}
		k.refused(rondo.CodeWorkflowCompleted, chat.Request{Kind: chat.KindSend, ConversationID: id, Text: "hi"})
		if err := k.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestOpenRefusesAnIdOfSomethingElse(t *testing.T) {
	onEveryStore(t, func(t *testing.T, driver store.Conversations) {
		k := newKit(t, driver, nil)
		k.open(opened(time.Time{}))
		another := opened(time.Time{})
		another.Case.CorrelationID = "corr-2"
		if _, err := k.Open(t.Context(), another); rondo.CodeOf(err) != rondo.CodeConflict {
			t.Errorf("another step: %v, want a conflict", err)
		}
		another = opened(time.Time{})
		another.UserID = "bob"
		if _, err := k.Open(t.Context(), another); rondo.CodeOf(err) != rondo.CodeConflict {
			t.Errorf("another user: %v, want a conflict", err)
		}
		if _, err := k.Open(t.Context(), chat.OpenRequest{ID: "x"}); rondo.CodeOf(err) != rondo.CodeInvalid {
			t.Errorf("half a request: %v", err)
		}
		// Without a deadline it is kept while the case waits.
		if expires := k.stored(opened(time.Time{}).ID).Expires; expires.Before(k.now().Add(365 * 24 * time.Hour)) {
			t.Errorf("it expires at %v", expires)
		}
	})
}

func TestATurnRaisesAnEventForACase(t *testing.T) {
	onEveryStore(t, func(t *testing.T, driver store.Conversations) {
		k := newKit(t, driver, nil)
		k.cfg.Relay = k.relay
		k.restart()
		id := k.start()
		k.agent.says(text("sure?", `{"action":"confirm","data":{"case":"case-9"}}`))
		k.send(id, "hi")
		k.agent.says(text("booked", `{"action":"research"}`))
		k.send(id, "yes")
		// The relay of this process may hold it: the next turn waits instead of failing.
		k.agent.says(text("well", ""))
		k.send(id, "and now?")
		if err := k.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		events := k.relay.all()
		if len(events) == 0 || events[0].Type != "trip.booked" || events[0].CaseID != "case-9" || string(events[0].Payload) != `{"case":"case-9"}` || events[0].EventID != chat.EventID(id, 2, 0) {
			t.Errorf("events %+v", events)
		}
		k.restart()
		k.sweep()
		if pending := k.stored(id).State.Pending; len(pending) > 0 {
			t.Errorf("still pending %+v", pending)
		}
		for _, e := range k.relay.all() {
			if e.EventID != events[0].EventID {
				t.Errorf("given under two ids: %s and %s", e.EventID, events[0].EventID)
			}
		}
	})
}

func TestAnEventThatNamesNoCaseFailsTheTurn(t *testing.T) {
	onEveryStore(t, func(t *testing.T, driver store.Conversations) {
		k := newKit(t, driver, nil)
		id := k.start()
		k.agent.says(text("sure?", `{"action":"confirm"}`))
		k.send(id, "hi")
		k.agent.says(text("booked", `{"action":"research"}`))
		k.refused(rondo.CodeWorkflowLogic, chat.Request{Kind: chat.KindSend, ConversationID: id, Text: "yes"})
		if found := k.stored(id); found.State.TurnCount != 1 {
			t.Errorf("something was written: %+v", found.State)
		}
	})
}

func TestWithoutARelayEventsStayPendingAndDoNotKeepTheLoopBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t, memory.Open(memory.Options{}), nil)
		id := k.start()
		k.agent.says(text("sure?", `{"action":"confirm","data":{"case":"case-9"}}`))
		k.send(id, "hi")
		k.agent.says(text("booked", `{"action":"research"}`))
		k.send(id, "yes")
		k.store.seen()
		k.Start()
		time.Sleep(time.Minute)
		if n := count(k.store.seen(), "Acquire"); n != 1 {
			t.Errorf("it was looked at %d times within a minute, want once", n)
		}
		if pending := k.stored(id).State.Pending; len(pending) != 1 {
			t.Errorf("pending %+v", pending)
		}
		if err := k.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestDeletingTellsTheCaseFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t, memory.Open(memory.Options{}), nil)
		k.cfg.Relay = k.relay
		k.restart()
		id := k.open(opened(time.Now().Add(time.Hour)))
		k.relay.close(true)
		err := k.Delete(t.Context(), alice, id)
		if rondo.CodeOf(err) != rondo.CodeUnavailable || chat.RetryAfter(err) <= 0 {
			t.Errorf("%v, want unavailable: the case does not know", err)
		}
		k.relay.close(false)
		if err := k.Delete(t.Context(), alice, id); err != nil {
			t.Fatal(err)
		}
		var payload chat.CompletedPayload
		events := k.relay.all()
		if len(events) != 1 {
			t.Fatalf("events %+v", events)
		}
		if err := json.Unmarshal(events[0].Payload, &payload); err != nil || payload.Outcome != rondo.ConversationAbandoned {
			t.Errorf("payload %s %v", events[0].Payload, err)
		}
		if _, err := k.Conversation(t.Context(), alice, id, 0, 0); rondo.CodeOf(err) != rondo.CodeConversationNotFound {
			t.Errorf("%v, want it gone", err)
		}
	})
}

func TestEventIDsAreVersion5AndDependOnConversationTurnAndIndex(t *testing.T) {
	seen := map[string]bool{}
	for _, conversation := range []string{"0b5a9c3e-44a5-4f0e-9d55-1f1c8fb2a111", "not a uuid", "not another"} {
		for turn := range 3 {
			for index := range 3 {
				id := chat.EventID(conversation, turn, index)
				if parsed, err := rondo.ParseID(id); err != nil || parsed[6]>>4 != 5 || parsed[8]>>6 != 2 {
					t.Errorf("%s is no UUID of version 5", id)
				}
				seen[id] = true
			}
		}
	}
	if len(seen) != 27 {
		t.Errorf("%d different ids, want 27", len(seen))
	}
	// What any other implementation of version 5 makes of the same names.
	if got, want := chat.EventID("6ba7b810-9dad-11d1-80b4-00c04fd430c8", 1, 0), "e79c4edb-7a3a-58d9-90e0-ae1271d68aab"; got != want {
		t.Errorf("id %s, want %s", got, want)
	}
}
