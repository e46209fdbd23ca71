package chat_test

import (
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine/chat"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/memory"
)

func TestARecordThatCannotBeIsCorruptAndNeverBegunAnew(t *testing.T) {
	for name, damage := range map[string]func(*store.ConversationWrite){
		"a status of the workflow that nobody knows":     func(w *store.ConversationWrite) { w.State.Status = "paused" },
		"a status of the conversation that nobody knows": func(w *store.ConversationWrite) { w.Conversation.Status = "paused" },
		"fewer turns than none":                          func(w *store.ConversationWrite) { w.State.TurnCount = -1 },
		"a record number below the start's":              func(w *store.ConversationWrite) { w.State.TurnNumber = -1 },
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t, memory.Open(memory.Options{}), nil)
			id := k.start()
			w := *k.store.lastTurn()
			w.Conversation.ExternalID = "0b5a9c3e-44a5-4f0e-9d55-1f1c8fb2a222"
			damage(&w)
			if err := k.store.Conversations.Create(t.Context(), &w); err != nil {
				t.Fatal(err)
			}
			damaged := w.Conversation.ExternalID
			k.refused(rondo.CodeStateCorrupt, chat.Request{Kind: chat.KindSend, ConversationID: damaged, Text: "hi"})
			k.refused(rondo.CodeStateCorrupt, chat.Request{Kind: chat.KindEnd, ConversationID: damaged})
			if k.agent.sent() > 0 {
				t.Error("the agent was asked")
			}
			if _, err := k.Conversation(t.Context(), alice, damaged, 0, 0); rondo.CodeOf(err) != rondo.CodeStateCorrupt {
				t.Errorf("reading it: %v", err)
			}
			if err := k.Delete(t.Context(), alice, damaged); err != nil {
				t.Errorf("its owner cannot erase it: %v", err)
			}
			k.send(id, "hi") // the other one is whole
		})
	}
}
