package chat_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/engine/chat"
	"github.com/rondo-engine/rondo/store"
)

func keyed(id, key, fingerprint string) chat.Request {
	return chat.Request{Kind: chat.KindSend, ConversationID: id, Text: "hi", Key: key, Route: "POST /api/chat/send", Fingerprint: fingerprint}
}

func TestAKeyHasOneEffectAndOneAgentCall(t *testing.T) {
	onEveryStore(t, func(t *testing.T, driver store.Conversations) {
		k := newKit(t, driver, nil)
		id := k.start()
		first, err := k.Do(t.Context(), alice, keyed(id, "k", "f"))
		if err != nil {
			t.Fatal(err)
		}
		k.restart()
		again, err := k.Do(t.Context(), alice, keyed(id, "k", "f"))
		if err != nil || !again.Replayed || string(again.Body) != string(first.Body) {
			t.Errorf("%+v %v, want the first answer", again, err)
		}
		if k.agent.sent() != 1 || k.stored(id).State.TurnCount != 1 {
			t.Errorf("%d agent calls, %d turns, want one", k.agent.sent(), k.stored(id).State.TurnCount)
		}
		k.refused(rondo.CodeKeyReused, keyed(id, "k", "another body"))
		if k.counts.turns != 3 { // the start, the turn and the refusal; a repetition is none
			t.Errorf("%d turns were counted, want 3", k.counts.turns)
		}
	})
}

func TestAStartUnderAKeyMakesOneConversation(t *testing.T) {
	onEveryStore(t, func(t *testing.T, driver store.Conversations) {
		k := newKit(t, driver, nil)
		req := chat.Request{Kind: chat.KindStart, Key: "k", Route: "POST /api/chat/start", Fingerprint: "f"}
		var first, again chat.Started
		k.into(&first)(k.Do(t.Context(), alice, req))
		k.into(&again)(k.Do(t.Context(), alice, req))
		if first.ConversationID != again.ConversationID || k.agent.starts != 1 {
			t.Errorf("%s and %s with %d agent calls, want the same with one", first.ConversationID, again.ConversationID, k.agent.starts)
		}
		if list, err := k.List(t.Context(), alice, store.ConversationPage{}); err != nil || len(list) != 1 {
			t.Errorf("%d conversations, want one (%v)", len(list), err)
		}
	})
}

func TestTwoUsersAndTwoRoutesNeverShareAKey(t *testing.T) {
	onEveryStore(t, func(t *testing.T, driver store.Conversations) {
		k := newKit(t, driver, nil)
		seen := map[string]bool{}
		for _, who := range []chat.Caller{alice, bob, mallory} {
			for _, route := range []string{"r1", "r2"} {
				a, err := k.Do(t.Context(), who, chat.Request{Kind: chat.KindStart, Key: "k", Route: route, Fingerprint: "f"})
				if err != nil || a.Replayed {
					t.Fatalf("%+v: replayed %v, %v", who, a.Replayed, err)
				}
				var started chat.Started
				if err := json.Unmarshal(a.Body, &started); err != nil {
					t.Fatal(err)
				}
				seen[started.ConversationID] = true
			}
		}
		if len(seen) != 6 {
			t.Errorf("%d conversations, want 6", len(seen))
		}
	})
}

func TestARunningKeyIsRefusedUntilItsRequestEnds(t *testing.T) {
	onEveryStore(t, func(t *testing.T, driver store.Conversations) {
		k := newKit(t, driver, nil)
		id, other := k.start(), k.start()
		asked, answer := make(chan struct{}), make(chan struct{})
		k.agent.does(func(context.Context, agent.Session, rondo.Activity) ([]agent.Chunk, error) {
			close(asked)
			<-answer
			return []agent.Chunk{text("well", "")}, nil
		})
		done := make(chan error, 1)
		go func() {
			_, err := k.Do(t.Context(), alice, keyed(id, "k", "f"))
			done <- err
		}()
		<-asked
		err := k.refusal(alice, rondo.CodeKeyInProgress, keyed(id, "k", "f"))
		if chat.RetryAfter(err) <= 0 {
			t.Errorf("nothing says when to try again: %v", err)
		}
		busy := k.refusal(alice, rondo.CodeConversationBusy, keyed(id, "another", "f"))
		if chat.RetryAfter(busy) <= 0 {
			t.Errorf("nothing says when to try again: %v", busy)
		}
		close(answer)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		// A busy answer does not block its key.
		k.agent.says(text("well", ""))
		k.into(&struct{}{})(k.Do(t.Context(), alice, keyed(id, "another", "f")))
		k.into(&struct{}{})(k.Do(t.Context(), alice, keyed(other, "third", "f")))
		if k.counts.contended != 1 {
			t.Errorf("%d contentions were counted, want 1", k.counts.contended)
		}
	})
}
