package chat_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/engine/chat"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/memory"
)

func TestACallerThatGoesAwayDoesNotStopTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t, memory.Open(memory.Options{}), nil)
		id := k.start()
		k.agent.does(thinks(5 * time.Second))
		ctx, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		var number int
		a, err := k.Do(ctx, alice, chat.Request{Kind: chat.KindSend, ConversationID: id, Text: "hi", Stream: func(e chat.StreamEvent) {
			if e.Started != nil {
				number = *e.Started
			}
		}})
		if err != nil || ctx.Err() == nil {
			t.Fatalf("%v, caller's context %v", err, ctx.Err())
		}
		record, err := k.Turn(t.Context(), alice, id, number)
		if err != nil || string(record.Response) != string(a.Body) {
			t.Errorf("turn %d: %s %v, want the answer", number, record.Response, err)
		}
	})
}

func TestEveryInteractionPushesTheExpiryBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t, memory.Open(memory.Options{}), nil)
		id := k.start()
		expires := k.stored(id).Expires
		pushed := func(what string) {
			t.Helper()
			now := k.stored(id).Expires
			if !now.After(expires) {
				t.Errorf("%s left the expiry at %v", what, now)
			}
			expires = now
			time.Sleep(time.Hour)
		}
		time.Sleep(time.Hour)
		k.send(id, "hi")
		pushed("a turn")
		k.agent.does(func(context.Context, agent.Session, rondo.Activity) ([]agent.Chunk, error) {
			return nil, &agent.Error{Message: "broken"}
		})
		k.refused(rondo.CodeAgentFailed, chat.Request{Kind: chat.KindSend, ConversationID: id, Text: "hi"})
		pushed("a turn that failed")
		time.Sleep(24 * time.Hour)
		k.refused(rondo.CodeConversationNotFound, chat.Request{Kind: chat.KindSend, ConversationID: id, Text: "hi"})
	})
}

func TestStopWaitsForTurnsAndRefusesNewOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t, memory.Open(memory.Options{}), nil)
		k.Start()
		id := k.start()
		k.agent.does(thinks(5 * time.Second))
		done := make(chan error, 1)
		go func() {
			_, err := k.Do(t.Context(), alice, chat.Request{Kind: chat.KindSend, ConversationID: id, Text: "hi"})
			done <- err
		}()
		synctest.Wait()
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := k.Stop(short); err == nil {
			t.Error("Stop did not wait for the turn")
		}
		k.refused(rondo.CodeUnavailable, chat.Request{Kind: chat.KindStart})
		if err := k.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		default:
			t.Error("Stop returned before the turn did")
		}
	})
}

func TestMoreTurnsThanAllowedAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t, memory.Open(memory.Options{}), func(c *chat.Config) { c.MaxInFlight = 2 })
		ids := []string{k.start(), k.start(), k.start()}
		k.agent.does(thinks(time.Second))
		var turns sync.WaitGroup
		for _, id := range ids[:2] {
			turns.Go(func() { k.send(id, "hi") })
		}
		synctest.Wait()
		err := k.refusal(alice, rondo.CodeOverloaded, chat.Request{Kind: chat.KindSend, ConversationID: ids[2], Text: "hi"})
		if chat.RetryAfter(err) <= 0 {
			t.Error("nothing says when to try again")
		}
		turns.Wait()
		k.send(ids[2], "hi")
	})
}

func TestAStreamTellsOfTheTurnAndItsPieces(t *testing.T) {
	onEveryStore(t, func(t *testing.T, driver store.Conversations) {
		k := newKit(t, driver, nil)
		id := k.start()
		pieces := []agent.Chunk{{Delta: &agent.Delta{ID: "m", Text: "we"}}, {Delta: &agent.Delta{ID: "m", Text: "ll"}}, text("well", "")}
		k.agent.says(pieces...)
		k.agent.greeting = append(k.agent.greeting, agent.Chunk{Delta: &agent.Delta{ID: "g", Text: "greeting"}})
		for _, req := range []chat.Request{
			{Kind: chat.KindSend, ConversationID: id, Text: "hi"},
			{Kind: chat.KindOrchestrate, Text: "hi"},
		} {
			var told []string
			shownBy := map[string]bool{}
			req.Stream = func(e chat.StreamEvent) {
				if e.Started != nil {
					told = append(told, "started")
				}
				if e.Delta != nil {
					told = append(told, e.Delta.Text)
					shownBy[e.Delta.ID] = true
				}
			}
			var answer rondo.WorkflowResponse
			k.into(&answer)(k.Do(t.Context(), alice, req))
			if last := answer.Messages[len(answer.Messages)-1]; len(shownBy) != 1 || !shownBy[last.ID] {
				t.Errorf("%s: the pieces have the ids %v, the message %s", req.Kind, shownBy, last.ID)
			}
			if want := []string{"started", "we", "ll"}; !slices.Equal(told, want) {
				t.Errorf("%s told %v, want %v", req.Kind, told, want)
			}
		}
		k.refused(rondo.CodeConversationNotFound, chat.Request{Kind: chat.KindSend, ConversationID: "unknown", Text: "hi", Stream: func(chat.StreamEvent) {
			t.Error("a turn that was not admitted has begun")
		}})
	})
}
