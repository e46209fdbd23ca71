package chat_test

import (
	"strings"
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine/chat"
	"github.com/rondo-engine/rondo/internal/turn"
	"github.com/rondo-engine/rondo/store"
)

func TestAnEndedConversationTakesNoTurns(t *testing.T) {
	onEveryStore(t, func(t *testing.T, driver store.Conversations) {
		for outcome, want := range map[string]struct {
			status   rondo.ConversationStatus
			workflow rondo.WorkflowStatus
		}{
			"":          {rondo.ConversationAbandoned, rondo.WorkflowActive},
			"abandoned": {rondo.ConversationAbandoned, rondo.WorkflowActive},
			"completed": {rondo.ConversationCompleted, rondo.WorkflowCompleted},
		} {
			k := newKit(t, driver, nil)
			id := k.start()
			k.send(id, "hi")
			asked := k.agent.sent()
			var ended chat.Ended
			k.into(&ended)(k.Do(t.Context(), alice, chat.Request{Kind: chat.KindEnd, ConversationID: id, Outcome: outcome, Reason: "enough", RequestID: "r"}))
			if ended.Status != want.status || ended.WorkflowState.Status != want.workflow || ended.ConversationID != id {
				t.Errorf("%q: %+v, want %+v", outcome, ended, want)
			}
			found := k.stored(id)
			if found.Record.Reason != "enough" || found.Record.Status != want.status || found.State.TurnCount != 1 || len(found.State.Timers) > 0 {
				t.Errorf("%q: stored %+v", outcome, found)
			}
			if last := found.Turns[len(found.Turns)-1]; last.Kind != rondo.TurnByEnd || last.Number != 2 || last.RequestID != "r" {
				t.Errorf("%q: last record %+v", outcome, last)
			}
			for _, kind := range []string{chat.KindSend, chat.KindOrchestrate, chat.KindEnd} {
				k.refused(rondo.CodeWorkflowCompleted, chat.Request{Kind: kind, ConversationID: id, Text: "hi"})
			}
			if k.agent.sent() != asked {
				t.Errorf("%q: the agent was asked", outcome)
			}
		}
	})
}

func TestADeletedConversationIsGone(t *testing.T) {
	onEveryStore(t, func(t *testing.T, driver store.Conversations) {
		k := newKit(t, driver, nil)
		id, kept := k.start(), k.start()
		k.send(id, "hi")
		if err := k.Delete(t.Context(), alice, id); err != nil {
			t.Fatal(err)
		}
		k.refused(rondo.CodeConversationNotFound, chat.Request{Kind: chat.KindSend, ConversationID: id, Text: "hi"})
		if err := k.Delete(t.Context(), alice, id); rondo.CodeOf(err) != rondo.CodeConversationNotFound {
			t.Errorf("deleting again: %v", err)
		}
		list, err := k.List(t.Context(), alice, store.ConversationPage{})
		if err != nil || len(list) != 1 || list[0].ExternalID != kept {
			t.Errorf("list %+v %v, want %s alone", list, err, kept)
		}
	})
}

func TestAConversationIsShownWithItsNewestMessagesAndOpenTimers(t *testing.T) {
	onEveryStore(t, func(t *testing.T, driver store.Conversations) {
		k := newKit(t, driver, nil)
		id := k.start()
		for range 3 {
			k.send(id, "hi")
		}
		view, err := k.Conversation(t.Context(), alice, id, 0, 2)
		if err != nil || len(view.History) != 2 || view.First != 6 || view.State.TurnCount != 3 || len(view.Timers) != 1 {
			t.Errorf("view %+v %v", view, err)
		}
		view, err = k.Conversation(t.Context(), alice, id, view.First, 10)
		if err != nil || len(view.History) != 5 || view.First != 1 || view.History[0].Text != "hello" {
			t.Errorf("page before %+v %v", view, err)
		}
		turns, err := k.Turns(t.Context(), alice, id, 1, 1)
		if err != nil || len(turns) != 1 || turns[0].Number != 2 {
			t.Errorf("turns %+v %v", turns, err)
		}
		if _, err := k.Turn(t.Context(), alice, id, 9); rondo.CodeOf(err) != rondo.CodeNotFound {
			t.Errorf("turn 9: %v, want not found", err)
		}
	})
}

func TestReplayingThroughTheSameDefinitionMakesNoDifference(t *testing.T) {
	onEveryStore(t, func(t *testing.T, driver store.Conversations) {
		k := newKit(t, driver, nil)
		k.agent.says(text("sure?", `{"action":"confirm","data":{"city":"Rome"}}`))
		started := k.start()
		var orchestrated rondo.WorkflowResponse
		k.into(&orchestrated)(k.Do(t.Context(), alice, chat.Request{Kind: chat.KindOrchestrate, Text: "a trip"}))
		for _, id := range []string{started, orchestrated.ConversationID} {
			k.send(id, "yes")
			sent := k.agent.sent()
			same, err := k.Replay(t.Context(), alice, id, newShelf(t)["patient"])
			if err != nil || same.FirstDifference != nil || len(same.Turns) != k.stored(id).State.TurnCount+1 {
				t.Errorf("replayed %+v %v, want no difference", same, err)
			}
			other, problems := turn.Compile([]byte(strings.Replace(trip, `\"confirm\"`, `\"never\"`, 1)))
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			differs, err := k.Replay(t.Context(), alice, id, other)
			if err != nil || differs.FirstDifference == nil || *differs.FirstDifference != 1 {
				t.Errorf("replayed %+v %v, want a difference from turn 1", differs, err)
			}
			if k.agent.sent() != sent {
				t.Error("the agent was asked")
			}
		}
	})
}
