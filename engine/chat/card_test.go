package chat_test

import (
	"encoding/json"
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/engine/chat"
	"github.com/rondo-engine/rondo/store"
)

func submit(id, cardID, data string) chat.Request {
	return chat.Request{Kind: chat.KindCard, ConversationID: id, CardID: cardID, UserSummary: "I chose one", SubmitData: json.RawMessage(data)}
}

// issued makes a turn in which the agent issues a card, and returns its id.
func (k *kit) issued(id string) string {
	k.t.Helper()
	k.agent.says(card())
	for _, m := range k.send(id, "show me").Messages {
		if m.CardID != "" {
			return m.CardID
		}
	}
	k.t.Fatal("no card was issued")
	return ""
}

func TestACardIsAnsweredOnce(t *testing.T) {
	onEveryStore(t, func(t *testing.T, driver store.Conversations) {
		k := newKit(t, driver, nil)
		id := k.start()
		cardID := k.issued(id)
		k.agent.says(text("done", `{"action":"confirm","data":{"size":2}}`))

		first, err := k.Do(t.Context(), alice, submit(id, cardID, `{"action":"Action.Submit","n":1.50}`))
		if err != nil {
			t.Fatal(err)
		}
		message := k.agent.last()
		if message.Text != "" || string(message.Value) != `{"action":"Action.Submit","cardId":"`+cardID+`","n":1.50}` {
			t.Errorf("the agent was told %q with %s", message.Text, message.Value)
		}
		found := k.stored(id)
		if last := found.History[len(found.History)-2]; last.Role != rondo.RoleUser || last.Text != "I chose one" {
			t.Errorf("the user's message is %+v", last)
		}
		if record := found.Turns[2]; record.Kind != rondo.TurnByCard || record.Input.CardID != cardID || len(record.Input.Submit) == 0 {
			t.Errorf("record %+v", record)
		}

		sent := k.agent.sent()
		again, err := k.Do(t.Context(), alice, submit(id, cardID, ` {"n":1.5, "action":"Action.Submit"}`))
		if err != nil || !again.Replayed || string(again.Body) != string(first.Body) {
			t.Errorf("the same data again: %s %v, want the first answer", again.Body, err)
		}
		k.refused(rondo.CodeCardSubmitted, submit(id, cardID, `{"action":"Action.Submit","n":2}`))
		if k.agent.sent() != sent {
			t.Error("the agent was asked again")
		}
		k.send(id, "the lease is free")
	})
}

func TestACardOfTheGreetingAndOneThatEndsTheWorkflowCanBeAnswered(t *testing.T) {
	onEveryStore(t, func(t *testing.T, driver store.Conversations) {
		k := newKit(t, driver, nil)
		k.agent.greeting = []agent.Chunk{card()}
		var started chat.Started
		k.into(&started)(k.Do(t.Context(), alice, chat.Request{Kind: chat.KindStart}))
		id := started.ConversationID
		k.agent.says(text("sure?", `{"action":"confirm"}`))
		k.send(id, "hi")
		k.agent.says(text("bye", `{"action":"complete"}`))
		cardID := started.Messages[len(started.Messages)-1].CardID
		first, err := k.Do(t.Context(), alice, submit(id, cardID, `{"action":"Action.Submit"}`))
		if err != nil {
			t.Fatal(err)
		}
		// It has ended, and yet the same click has the same answer.
		again, err := k.Do(t.Context(), alice, submit(id, cardID, `{"action":"Action.Submit"}`))
		if err != nil || string(again.Body) != string(first.Body) {
			t.Errorf("%s %v, want the first answer", again.Body, err)
		}
		k.refused(rondo.CodeWorkflowCompleted, chat.Request{Kind: chat.KindSend, ConversationID: id, Text: "hi"})
	})
}

func TestCardsAreRefusedBeforeTheAgentIsCalled(t *testing.T) {
	onEveryStore(t, func(t *testing.T, driver store.Conversations) {
		k := newKit(t, driver, func(c *chat.Config) { c.AllowedDomains = []string{"example.com"} })
		id, other := k.start(), k.start()
		cardID := k.issued(id)
		sent := k.agent.sent()
		k.store.seen()
		for _, data := range []string{
			`{}`,
			`{"action":7}`,
			`{"action":"Action.Execute"}`,
			`{"action":"Action.OpenUrl"}`,
			`{"action":"Action.OpenUrl","url":"http://example.com/"}`,
			`{"action":"Action.OpenUrl","url":"https://badexample.com/"}`,
		} {
			k.refused(rondo.CodeCardRefused, submit(id, cardID, data))
		}
		if calls := k.store.seen(); len(calls) > 0 {
			t.Errorf("calls %v, want none", calls)
		}
		k.refused(rondo.CodeCardRefused, submit(id, "a card that nobody issued", `{"action":"Action.Submit"}`))
		k.refused(rondo.CodeCardRefused, submit(other, cardID, `{"action":"Action.Submit"}`))
		if k.agent.sent() != sent {
			t.Error("the agent was asked")
		}
		k.into(&struct{}{})(k.Do(t.Context(), alice, submit(id, cardID, `{"action":"Action.OpenUrl","url":"https://docs.example.com/x"}`)))
	})
}
