package redis

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rondo-engine/rondo/internal/testenv"
	"github.com/rondo-engine/rondo/store"
)

func listed(t *testing.T, s *Store, at time.Time, page store.ConversationPage) (ids []string, last store.ConversationPage) {
	t.Helper()
	list, err := s.ConversationList(t.Context(), "acme", "alice", at, page)
	if err != nil {
		t.Fatal(err)
	}
	last = page
	for i := range list {
		ids = append(ids, list[i].ExternalID)
		last.Before, last.BeforeID = list[i].UpdatedAt, list[i].ExternalID
	}
	return ids, last
}

// In a cluster a hint may be ahead of its conversation: a commit that was refused
// left it behind. The order is that of the conversations all the same.
func TestAListIsInOrderAlthoughItsIndexIsAheadOfTheTruth(t *testing.T) {
	s := open(t, testenv.Redis(t), Options{})
	const n = 3*listChunk + 7
	var want []string
	for i := range n {
		id := fmt.Sprintf("c-%04d", i)
		create(t, s, id, func(w *store.ConversationWrite) {
			w.Conversation.UpdatedAt = began.Add(time.Duration(i) * 1500 * time.Microsecond)
		})
		want = append(want, id)
	}
	slices.Reverse(want)
	index := s.names.user("acme", "alice")
	for i := 0; i < n; i += 5 {
		ahead := redis.Z{Score: float64(began.Add(time.Hour).UnixMilli()), Member: fmt.Sprintf("c-%04d", i)}
		if err := s.client.ZAdd(t.Context(), index, ahead).Err(); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	page := store.ConversationPage{Limit: 50}
	for {
		ids, next := listed(t, s, began, page)
		if len(ids) == 0 {
			break
		}
		got, page = append(got, ids...), next
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d are listed, not the %d in their order:\n%v", len(got), len(want), got)
	}
}

func TestEntriesOfConversationsThatAreGoneAreDroppedWhenTheyAreOld(t *testing.T) {
	s := open(t, testenv.Redis(t), Options{})
	create(t, s, "a", nil)
	create(t, s, "gone", nil)
	c := s.names.conversation("gone")
	s.client.Del(t.Context(), c.conv, c.wf, c.meta, c.hist, c.turns, c.cards)
	index := s.names.user("acme", "alice")
	for _, step := range []struct {
		at   time.Time
		want int64
	}{
		{began.Add(time.Minute), 2}, // it may be one that is being created
		{began.Add(time.Hour), 1},
	} {
		if ids, _ := listed(t, s, step.at, store.ConversationPage{Limit: 10}); !slices.Equal(ids, []string{"a"}) {
			t.Errorf("listed are %v, want a", ids)
		}
		if n := s.client.ZCard(t.Context(), index).Val(); n != step.want {
			t.Errorf("after %s the index has %d entries, want %d", step.at.Sub(began), n, step.want)
		}
	}
}

func TestAnEntryOfSomeoneElsesConversationIsNotListed(t *testing.T) {
	s := open(t, testenv.Redis(t), Options{})
	create(t, s, "bobs", func(w *store.ConversationWrite) { w.Conversation.UserID = "bob" })
	if err := s.client.ZAdd(t.Context(), s.names.user("acme", "alice"), redis.Z{Score: 1, Member: "bobs"}).Err(); err != nil {
		t.Fatal(err)
	}
	if ids, _ := listed(t, s, began, store.ConversationPage{Limit: 10}); len(ids) != 0 {
		t.Errorf("listed are %v, want none", ids)
	}
}
