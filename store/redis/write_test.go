package redis

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

const day = 24 * time.Hour

// first is the write that creates a conversation of alice.
func first(id string) *store.ConversationWrite {
	return &store.ConversationWrite{
		Conversation: rondo.Conversation{
			ExternalID: id, TenantID: "acme", UserID: "alice", Status: rondo.ConversationActive,
			Definition: rondo.DefinitionRef{ID: "default"}, AgentSession: "s-1", CreatedAt: began, UpdatedAt: began,
		},
		State: rondo.ConversationState{
			WorkflowState: rondo.WorkflowState{Step: "initial", CollectedData: map[string]json.RawMessage{}, Status: rondo.WorkflowActive},
			Version:       1, TurnNumber: 1,
		},
		At: began, ExpiresAt: began.Add(day),
		Messages: []rondo.NormalizedMessage{{ID: "m", Role: rondo.RoleAssistant, Kind: rondo.MessageText, Text: "hi"}},
		Turn:     &rondo.TurnRecord{Number: 1, Kind: rondo.TurnByStart, At: began, Response: json.RawMessage(`{"a": 1}`)},
		Cards:    []rondo.Card{{ID: "card", Issued: 1}},
	}
}

func create(t testing.TB, s *Store, id string, edit func(*store.ConversationWrite)) {
	t.Helper()
	w := first(id)
	if edit != nil {
		edit(w)
	}
	if err := s.Create(t.Context(), w); err != nil {
		t.Fatal(err)
	}
}

var tokens int // of tests that run one after the other

func acquire(t testing.TB, s *Store, id string) store.Lease {
	t.Helper()
	tokens++
	a := store.AcquireConversation{
		Owner: store.Owner{TenantID: "acme", UserID: "alice", ID: id}, Token: "token-" + time.Duration(tokens).String(),
		At: began, Lease: 10 * time.Second, ExpiresAt: began.Add(day),
	}
	if err := s.Acquire(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	return store.Lease{ID: id, Token: a.Token}
}

// next is the write that follows what is stored.
func next(t testing.TB, s *Store, lease store.Lease) *store.ConversationWrite {
	t.Helper()
	stored, err := s.Load(t.Context(), lease.ID, began)
	if err != nil {
		t.Fatal(err)
	}
	w := &store.ConversationWrite{
		Conversation: stored.Conversation, State: stored.State, Previous: stored.State.Version, Lease: lease, At: began, ExpiresAt: began.Add(day),
		Messages: []rondo.NormalizedMessage{{ID: "m", Role: rondo.RoleUser, Kind: rondo.MessageText, Text: "go on"}},
	}
	w.State.Version++
	w.State.TurnNumber++
	w.Turn = &rondo.TurnRecord{Number: w.State.TurnNumber, Kind: rondo.TurnByText, At: began}
	return w
}

func turn(t testing.TB, s *Store, id string, edit func(*store.ConversationWrite)) {
	t.Helper()
	w := next(t, s, acquire(t, s, id))
	if edit != nil {
		edit(w)
	}
	if err := s.Commit(t.Context(), w); err != nil {
		t.Fatal(err)
	}
}
