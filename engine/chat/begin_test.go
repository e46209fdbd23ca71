package chat_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/engine/chat"
	"github.com/rondo-engine/rondo/store"
)

func TestOrchestrateWithoutAnIdStartsAndTakesTheFirstTurnInOneWrite(t *testing.T) {
	onEveryStore(t, func(t *testing.T, driver store.Conversations) {
		k := newKit(t, driver, nil)
		k.agent.says(text("Rome?", `{"action":"ask","data":{"city":"Rome"}}`))
		a, err := k.Do(t.Context(), alice, chat.Request{Kind: chat.KindOrchestrate, Text: "a trip"})
		if err != nil {
			t.Fatal(err)
		}
		var r struct {
			rondo.WorkflowResponse
			ExtractedPayload *rondo.ExtractedPayload `json:"extractedPayload"`
		}
		if err := json.Unmarshal(a.Body, &r); err != nil {
			t.Fatal(err)
		}
		if got, want := k.store.seen(), []string{"agent", "agent", "Create"}; !slices.Equal(got, want) {
			t.Errorf("calls %v, want %v", got, want)
		}
		if r.TurnMeta.TurnNumber != 1 || r.WorkflowState.TurnCount != 1 || r.ExtractedPayload == nil || r.ExtractedPayload.Confidence != rondo.ConfidenceHigh {
			t.Errorf("response %s", a.Body)
		}
		if got := k.agent.lastSession().AgentSession; got != "agent-session" {
			t.Errorf("the first turn went to the agent session %q", got)
		}
		found := k.stored(r.ConversationID)
		if len(found.History) != 3 || found.State.TurnNumber != 1 || found.State.Version != 1 || len(found.Turns) != 1 {
			t.Errorf("stored %+v", found)
		}

		k.agent.says(text("no data", ""))
		a, err = k.Do(t.Context(), alice, chat.Request{Kind: chat.KindOrchestrate, ConversationID: r.ConversationID, Text: "more", Context: &rondo.WorkflowContext{
			Step: "quote", Constraints: []string{"cheap", "fast"}, CollectedData: map[string]json.RawMessage{"n": json.RawMessage("1")},
		}})
		if err != nil || !bytes.HasSuffix(a.Body, []byte(`,"extractedPayload":null}`)) {
			t.Errorf("answer %s %v, want extractedPayload null at its end", a.Body, err)
		}
		if got, want := k.agent.last().Text, "[WORKFLOW_CONTEXT]\nstep: quote\nconstraints: cheap | fast\ndata: {\"n\":1}\n[/WORKFLOW_CONTEXT]\n\nmore"; got != want {
			t.Errorf("query %q, want %q", got, want)
		}
	})
}

func TestOrchestrateThatFailsLeavesNoConversation(t *testing.T) {
	onEveryStore(t, func(t *testing.T, driver store.Conversations) {
		k := newKit(t, driver, nil)
		k.agent.does(func(context.Context, agent.Session, rondo.Activity) ([]agent.Chunk, error) {
			return nil, &agent.Error{Provider: "puppet", Kind: agent.KindRefused, Status: 500, Message: "broken"}
		})
		k.refused(rondo.CodeAgentFailed, chat.Request{Kind: chat.KindOrchestrate, Text: "a trip"})
		if list, err := k.List(t.Context(), alice, store.ConversationPage{}); err != nil || len(list) > 0 {
			t.Errorf("stored %v %v, want nothing", list, err)
		}
	})
}

func TestInitialiseModeTreatsUnknownAndForeignIdsAlike(t *testing.T) {
	onEveryStore(t, func(t *testing.T, driver store.Conversations) {
		k := newKit(t, driver, func(c *chat.Config) { c.Unknown = chat.UnknownInitialise })
		const id = "any:string"
		k.agent.says(text("hi", `{"action":"ask","data":{"who":"alice"}}`))
		r := k.send(id, "hello")
		if r.ConversationID != id || r.WorkflowState.TurnCount != 1 {
			t.Errorf("%+v, want a first turn under the client's own id", r)
		}
		sum := sha256.Sum256([]byte(`["acme","alice","any:string"]`))
		if found := k.stored(hex.EncodeToString(sum[:])); found.State.TurnCount != 1 || found.Record.AgentSession != "agent-session" {
			t.Errorf("stored %+v", found)
		}
		if r = k.send(id, "again"); r.WorkflowState.TurnCount != 2 {
			t.Errorf("turnCount %d, want 2", r.WorkflowState.TurnCount)
		}
		if view, err := k.Conversation(t.Context(), alice, id, 0, 0); err != nil || view.State.TurnCount != 2 {
			t.Errorf("view %+v %v", view.State, err)
		}

		k.agent.says(text("hi", ""))
		var foreign rondo.WorkflowResponse
		k.into(&foreign)(k.Do(t.Context(), bob, chat.Request{Kind: chat.KindSend, ConversationID: id, Text: "hello"}))
		if foreign.WorkflowState.TurnCount != 1 || len(foreign.WorkflowState.CollectedData) > 0 {
			t.Errorf("bob sees %+v", foreign.WorkflowState)
		}
		k.refused(rondo.CodeCardRefused, submit("never seen", "c", `{"action":"Action.Submit"}`))

		// Ids that a start gave are used as they are.
		started := k.start()
		k.send(started, "hi")
		if k.stored(started).State.TurnCount != 1 {
			t.Error("a known id was initialised")
		}
	})
}
