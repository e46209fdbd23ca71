package redis

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/rondo-engine/rondo/internal/testenv"
	"github.com/rondo-engine/rondo/store"
)

func TestEscape(t *testing.T) {
	tests := map[string]string{
		"":                         "",
		"3f0e-AZ_.~":               "3f0e-AZ_.~",
		"a:b":                      "a%3Ab",
		"100%":                     "100%25",
		"{id}":                     "%7Bid%7D",
		"POST /api/chat/send?x=1":  "POST%20/api/chat/send?x=1",
		"new\nline\x7f\x00":        "new%0Aline%7F%00",
		"käse":                     "käse",
		"%3A":                      "%253A",
		"the end is encoded too: ": "the%20end%20is%20encoded%20too%3A%20",
	}
	for text, want := range tests {
		if got := escape(text); got != want {
			t.Errorf("escape(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestEveryKeyHasItsNameAndAnEnd(t *testing.T) {
	checkKeys(t, open(t, testenv.Redis(t), Options{}), "a%3A1")
}

// checkKeys writes everything that there is and looks at the names of the keys.
// allKeys fails when one of them would stay for ever.
func checkKeys(t *testing.T, s *Store, tag string) {
	t.Helper()
	key := store.ConversationKey{TenantID: "acme", UserID: "alice", Route: "POST /api/chat/send", Key: "k:{1}"}
	claim := store.KeyClaim{Key: key, Token: "t-1", Fingerprint: "f", ConversationID: "a:1", At: began, Lease: 30 * time.Second}
	state, err := s.BeginKey(t.Context(), claim)
	if err != nil || !state.Ours {
		t.Fatalf("claim: %+v, %v", state, err)
	}
	scoped := "acme:alice:POST%20/api/chat/send:k%3A%7B1%7D"
	wantKeys(t, "a claim", s, time.Minute, "idem:"+scoped, "key:"+tag+":"+scoped)

	create(t, s, "a:1", func(w *store.ConversationWrite) {
		w.Attention = began.Add(time.Hour)
		w.Key = &store.KeyResult{Key: key, Token: "t-1", Fingerprint: "f", Status: 200, Body: []byte("{}"), ExpiresAt: began.Add(time.Hour)}
	})
	all := []string{
		"wf:" + tag, "conv:" + tag, "hist:" + tag, "turns:" + tag, "cards:" + tag, "meta:" + tag, "timers:conv",
		"user:acme:alice:conversations", "idem:" + scoped, "key:" + tag + ":" + scoped, "keys:" + tag,
	}
	wantKeys(t, "a new conversation", s, day, all...)
	lease := acquire(t, s, "a:1")
	wantKeys(t, "a leased conversation", s, day, append(all, "lock:conv:"+tag)...)
	if got := s.client.Get(t.Context(), "lock:conv:"+tag).Val(); got != lease.Token {
		t.Errorf("the lease is %q, want the token", got)
	}
	if err := s.Commit(t.Context(), next(t, s, lease)); err != nil {
		t.Fatal(err)
	}
	wantKeys(t, "a conversation after a turn without attention", s, day, slices.DeleteFunc(all, func(key string) bool { return key == timers })...)
}

func wantKeys(t *testing.T, what string, s *Store, most time.Duration, want ...string) {
	t.Helper()
	found := allKeys(t, s)
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, want) {
		t.Errorf("%s has the keys\n%q, want\n%q", what, got, want)
	}
	for key, left := range found {
		if left > most {
			t.Errorf("%s: %s lives for %s, longer than %s", what, key, left, most)
		}
	}
}
