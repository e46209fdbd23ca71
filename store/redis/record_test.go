package redis

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/testenv"
	"github.com/rondo-engine/rondo/store"
)

const olderState = `{"step":"gather_info","collectedData":{"name":"Alice"},"turnCount":2,"status":"active"}`

func TestAnOlderRecordKeepsItsHistoryUntilTheFirstCommitMovesIt(t *testing.T) {
	s := open(t, testenv.Redis(t), Options{})
	c := s.names.conversation("old")
	set(t, s, c.wf, olderState)
	set(t, s, c.conv, olderRecord(t, "old", "acme", "alice"))

	page := func(before, limit int) []string {
		t.Helper()
		messages, first, err := s.History(t.Context(), "old", began, before, limit)
		if err != nil {
			t.Fatal(err)
		}
		got := []string{strconv.Itoa(first)}
		for _, m := range messages {
			got = append(got, m.Text)
		}
		return got
	}
	check := func(when string, got []string, want ...string) {
		t.Helper()
		if len(got) != len(want) {
			t.Fatalf("%s: %q, want %q", when, got, want)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("%s: %q, want %q", when, got, want)
			}
		}
	}
	check("all", page(0, 10), "1", "hello", "hi")
	check("the newest", page(0, 1), "2", "hi")
	check("before it", page(2, 5), "1", "hello")
	check("before the first", page(1, 5), "0")

	lease := acquire(t, s, "old")
	w := next(t, s, lease)
	w.Previous = 5
	if err := s.Commit(t.Context(), w); !errors.Is(err, store.ErrConflict) {
		t.Fatalf("a commit to another version: %v, want a conflict", err)
	}
	w.Previous = 0
	if err := s.Commit(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	check("after the commit", page(0, 10), "1", "hello", "hi", "go on")
	turn(t, s, "old", nil)
	check("after another", page(0, 10), "1", "hello", "hi", "go on", "go on")
	if n := s.client.LLen(t.Context(), c.hist).Val(); n != 4 {
		t.Errorf("the list has %d messages, want all 4", n)
	}
	if got := s.client.HGet(t.Context(), c.meta, "version").Val(); got != "2" {
		t.Errorf("the version is %q, want 2", got)
	}
}

func TestAnOlderRecordBelongsToItsOwnerAlone(t *testing.T) {
	s := open(t, testenv.Redis(t), Options{})
	c := s.names.conversation("old")
	set(t, s, c.wf, olderState)
	for name, record := range map[string]string{
		"another's":        olderRecord(t, "old", "acme", "bob"),
		"nobody's":         `{"externalId":"old"}`,
		"with null owners": `{"externalId":"old","tenantId":null,"userId":null}`,
	} {
		set(t, s, c.conv, record)
		for _, owner := range []store.Owner{{TenantID: "acme", UserID: "alice", ID: "old"}, {ID: "old"}} {
			a := store.AcquireConversation{Owner: owner, Token: "t", At: began, Lease: time.Second}
			if err := s.Acquire(t.Context(), a); rondo.CodeOf(err) != rondo.CodeConversationNotFound {
				t.Errorf("%s, acquired by %q: %v, want it unknown", name, owner.UserID, err)
			}
		}
	}
	if n := s.client.Exists(t.Context(), c.lock).Val(); n != 0 {
		t.Error("the lease was touched")
	}
}

func TestAnOlderRecordWithAnotherExternalIDCommits(t *testing.T) {
	s := open(t, testenv.Redis(t), Options{})
	c := s.names.conversation("old")
	set(t, s, c.wf, olderState)
	set(t, s, c.conv, olderRecord(t, "of-the-agent", "acme", "alice"))
	turn(t, s, "old", nil)
	stored, err := s.Load(t.Context(), "old", began)
	if err != nil || stored.State.Version != 1 || stored.Conversation.ExternalID != "of-the-agent" {
		t.Errorf("after the commit: %+v, %v", stored, err)
	}
}

func TestTakingTheLeaseOfAnOlderRecordPushesItsExpiryBack(t *testing.T) {
	s := open(t, testenv.Redis(t), Options{})
	c := s.names.conversation("old")
	set(t, s, c.wf, olderState)
	set(t, s, c.conv, olderRecord(t, "old", "acme", "alice"))
	age(t, s, 23*time.Hour)
	acquire(t, s, "old")
	for key, left := range allKeys(t, s) {
		if key != c.lock && left < 23*time.Hour {
			t.Errorf("%s lives for %s, want a day again", key, left)
		}
	}
	// One that was written without an end gets one.
	if err := s.client.Persist(t.Context(), c.conv).Err(); err != nil {
		t.Fatal(err)
	}
	if err := s.Release(t.Context(), store.Lease{ID: "old", Token: s.client.Get(t.Context(), c.lock).Val()}); err != nil {
		t.Fatal(err)
	}
	acquire(t, s, "old")
	if left := s.client.PTTL(t.Context(), c.conv).Val(); left <= 0 {
		t.Errorf("the record lives for %s, want a day", left)
	}
}

func TestWhatCannotBeReadIsCorruptAndNotMissing(t *testing.T) {
	const secret = "4111-1111"
	damages := []struct {
		name   string
		damage func(*testing.T, *Store, conversation)
	}{
		{"the state is cut off", func(t *testing.T, s *Store, c conversation) { set(t, s, c.wf, `{"step":"`+secret) }},
		{"the state is null", func(t *testing.T, s *Store, c conversation) { set(t, s, c.wf, `null`) }},
		{"the state is a list", func(t *testing.T, s *Store, c conversation) { set(t, s, c.wf, `["`+secret+`"]`) }},
		{"the state has a member of another type", func(t *testing.T, s *Store, c conversation) { set(t, s, c.wf, `{"step":{"`+secret+`":1}}`) }},
		{"the state is empty", func(t *testing.T, s *Store, c conversation) { set(t, s, c.wf, `{}`) }},
		{"the state has no step", func(t *testing.T, s *Store, c conversation) {
			set(t, s, c.wf, `{"step":"","lastRecommendation":"`+secret+`"}`)
		}},
		{"the state is gone", func(t *testing.T, s *Store, c conversation) { s.client.Del(t.Context(), c.wf) }},
		{"the record is cut off", func(t *testing.T, s *Store, c conversation) { set(t, s, c.conv, `{"externalId":"`+secret) }},
	}
	for _, d := range damages {
		t.Run(d.name, func(t *testing.T) {
			s := open(t, testenv.Redis(t), Options{})
			create(t, s, "a", nil)
			d.damage(t, s, s.names.conversation("a"))
			acquire(t, s, "a")
			_, errLoad := s.Load(t.Context(), "a", began)
			_, errRead := s.Conversation(t.Context(), store.Owner{TenantID: "acme", UserID: "alice", ID: "a"}, began)
			for _, err := range []error{errLoad, errRead} {
				if rondo.CodeOf(err) != rondo.CodeStateCorrupt {
					t.Errorf("got %v, want it corrupt", err)
				} else if strings.Contains(err.Error(), secret) {
					t.Errorf("the error quotes what is stored: %v", err)
				}
			}
			_, err := s.Conversation(t.Context(), store.Owner{TenantID: "acme", UserID: "bob", ID: "a"}, began)
			if rondo.CodeOf(err) != rondo.CodeConversationNotFound {
				t.Errorf("a stranger learns %v, want nothing", err)
			}
		})
	}
}

func TestACommitOntoKeysOfAnotherKindWritesNothing(t *testing.T) {
	s := open(t, testenv.Redis(t), Options{})
	c := s.names.conversation("a")
	for _, key := range []string{c.hist, c.turns, c.cards, c.keysIndex, timers, s.names.user("acme", "alice")} {
		create(t, s, "a", nil)
		lease := acquire(t, s, "a")
		w := next(t, s, lease)
		set(t, s, key, "not what it should be")
		w.Cards = first("a").Cards
		if key == c.keysIndex {
			claim := startClaim("t", "a")
			begin(t, s, claim)
			w.Key = finish(claim)
		}
		if err := s.Commit(t.Context(), w); rondo.CodeOf(err) != rondo.CodeStateCorrupt {
			t.Errorf("%s is a string: %v, want it corrupt", key, err)
		}
		if got := s.client.HGet(t.Context(), c.meta, "version").Val(); got != "1" {
			t.Errorf("%s is a string: the version is %q, want 1 still", key, got)
		}
		if err := s.client.FlushDB(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
}
