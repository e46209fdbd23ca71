package redis

import (
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/testenv"
	"github.com/rondo-engine/rondo/store"
)

// startClaim is a claim of one key of a request that creates a conversation: every
// try of it brings another id.
func startClaim(token, conversation string) store.KeyClaim {
	return store.KeyClaim{
		Key:   store.ConversationKey{TenantID: "acme", UserID: "alice", Route: "POST /api/chat/start", Key: "k"},
		Token: token, Fingerprint: "f", ConversationID: conversation, At: began, Lease: 30 * time.Second,
	}
}

func begin(t *testing.T, s *Store, claim store.KeyClaim) store.KeyState {
	t.Helper()
	state, err := s.BeginKey(t.Context(), claim)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func finish(claim store.KeyClaim) *store.KeyResult {
	return &store.KeyResult{Key: claim.Key, Token: claim.Token, Fingerprint: "f", Status: 200, Body: []byte(`{"n":  1}`), ExpiresAt: began.Add(time.Hour)}
}

func TestAKeyLeadsToTheConversationThatWasCreatedFirst(t *testing.T) {
	keyOfAnotherConversation(t, open(t, testenv.Redis(t), Options{}))
}

func keyOfAnotherConversation(t *testing.T, s *Store) {
	t.Helper()
	one, two := startClaim("t-1", "one"), startClaim("t-2", "two")
	if state := begin(t, s, one); !state.Ours {
		t.Fatalf("the first claim: %+v", state)
	}
	if state := begin(t, s, two); state.Ours || state.RetryAfter <= 0 {
		t.Fatalf("the second while the first runs: %+v, want it running", state)
	}
	create(t, s, "one", func(w *store.ConversationWrite) { w.Key = finish(one) })
	state := begin(t, s, two)
	if state.Result == nil || string(state.Result.Body) != `{"n":  1}` {
		t.Fatalf("the second after the first: %+v, want its answer", state)
	}
	other := startClaim("t-3", "three")
	other.Fingerprint = "another"
	if _, err := s.BeginKey(t.Context(), other); rondo.CodeOf(err) != rondo.CodeKeyReused {
		t.Errorf("another body: %v", err)
	}
	for _, id := range []string{"two", "three"} {
		if n := s.client.Exists(t.Context(), s.names.conversation(id).key(one.Key)).Val(); n != 0 {
			t.Errorf("a claim in conversation %s was left behind", id)
		}
	}
}

func TestErasingAConversationLeavesNoPointerToIt(t *testing.T) {
	pointersOfAnErasedConversation(t, open(t, testenv.Redis(t), Options{}))
}

func pointersOfAnErasedConversation(t *testing.T, s *Store) {
	t.Helper()
	own, moved := startClaim("t-1", "a"), startClaim("t-2", "a")
	moved.Key.Key = "m:{%}"
	begin(t, s, own)
	begin(t, s, moved)
	create(t, s, "a", func(w *store.ConversationWrite) { w.Key = finish(own) })
	turn(t, s, "a", func(w *store.ConversationWrite) { w.Key = finish(moved) })
	// The second key is about another conversation by now.
	elsewhere := pointer{Conversation: "b", Token: "t-3"}.text()
	set(t, s, s.names.pointer(moved.Key), elsewhere)

	if err := s.Delete(t.Context(), store.Owner{TenantID: "acme", UserID: "alice", ID: "a"}, acquire(t, s, "a")); err != nil {
		t.Fatal(err)
	}
	if n := s.client.Exists(t.Context(), s.names.pointer(own.Key)).Val(); n != 0 {
		t.Error("a key still points to the erased conversation")
	}
	if got := s.client.Get(t.Context(), s.names.pointer(moved.Key)).Val(); got != elsewhere {
		t.Errorf("the pointer to another conversation is %q, want %q", got, elsewhere)
	}
}

func TestACreationWhoseKeyWasTakenOverForAnotherConversationIsRefused(t *testing.T) {
	s := open(t, testenv.Redis(t), Options{})
	one, two := startClaim("t-1", "one"), startClaim("t-2", "two")
	begin(t, s, one)
	age(t, s, 31*time.Second)
	if state := begin(t, s, two); !state.Ours {
		t.Fatalf("a claim that ran out is not taken over: %+v", state)
	}
	w := first("one")
	w.Key = finish(one)
	if err := s.Create(t.Context(), w); rondo.CodeOf(err) != rondo.CodeLeaseLost {
		t.Errorf("the late one: %v, want the lease lost", err)
	}
	create(t, s, "two", func(w *store.ConversationWrite) { w.Key = finish(two) })
	if state := begin(t, s, startClaim("t-3", "three")); state.Result == nil {
		t.Errorf("the key of the second has no answer: %+v", state)
	}
}

// A process that stood still between claim and pointer must not come to own a key
// that another has by then.
func TestAPointerWithoutItsClaimIsNoClaim(t *testing.T) {
	s := open(t, testenv.Redis(t), Options{})
	one, two := startClaim("t-1", "one"), startClaim("t-2", "two")
	if _, err := s.point(t.Context(), "test", s.names.pointer(one.Key), pointer{Conversation: "one", Token: "t-1"}.text(), "", 1000); err != nil {
		t.Fatal(err)
	}
	if state := begin(t, s, two); !state.Ours {
		t.Fatalf("a pointer to nothing keeps the key: %+v", state)
	}
	w := first("one")
	w.Key = finish(one)
	if err := s.Create(t.Context(), w); rondo.CodeOf(err) != rondo.CodeLeaseLost {
		t.Errorf("without a claim: %v, want the lease lost", err)
	}
}

func TestAPointerThatCannotBeReadIsReplaced(t *testing.T) {
	s := open(t, testenv.Redis(t), Options{})
	claim := startClaim("t-1", "one")
	set(t, s, s.names.pointer(claim.Key), `{"status":200,"body":"of an earlier version"}`)
	if state := begin(t, s, claim); !state.Ours {
		t.Errorf("got %+v, want the claim", state)
	}
}

func TestKeysOfOneConversationDoNotPileUp(t *testing.T) {
	s := open(t, testenv.Redis(t), Options{})
	create(t, s, "a", nil)
	for i := range 5 {
		claim := startClaim("t", "a")
		claim.Key.Key = string(rune('a' + i))
		claim.At = began.Add(time.Duration(i) * time.Hour)
		begin(t, s, claim)
		turn(t, s, "a", func(w *store.ConversationWrite) {
			w.At = claim.At
			w.Key = finish(claim)
			w.Key.ExpiresAt = claim.At.Add(time.Hour)
		})
	}
	if n := s.client.ZCard(t.Context(), s.names.conversation("a").keysIndex).Val(); n != 1 {
		t.Errorf("%d finished keys are remembered, want the one that has not ended", n)
	}
}
