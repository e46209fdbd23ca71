package redis

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/testenv"
	"github.com/rondo-engine/rondo/store"
)

func TestAWriteWhoseAnswerIsLostHappensOnce(t *testing.T) {
	for _, lostOnes := range []struct {
		name    string
		times   int
		deliver bool
	}{
		{"the answer", 1, true},
		{"the command", 1, false},
	} {
		t.Run(lostOnes.name, func(t *testing.T) {
			target := testenv.Redis(t)
			s, p := through(t, target)
			create(t, s, "warm", nil) // the server knows the scripts from here on
			turn(t, s, "warm", nil)

			p.lose(writeScript, lostOnes.times, lostOnes.deliver)
			create(t, s, "a", nil)
			p.lose(acquireScript, lostOnes.times, lostOnes.deliver)
			lease := acquire(t, s, "a")
			w := next(t, s, lease)
			p.lose(writeScript, lostOnes.times, lostOnes.deliver)
			if err := s.Commit(t.Context(), w); err != nil {
				t.Fatalf("commit: %v", err)
			}
			messages, _, err := s.History(t.Context(), "a", began, 0, 100)
			if err != nil || len(messages) != 2 {
				t.Errorf("%d messages, %v; want 2", len(messages), err)
			}
			lease = acquire(t, s, "a")
			p.lose(deleteScript, lostOnes.times, lostOnes.deliver)
			if err := s.Delete(t.Context(), store.Owner{TenantID: "acme", UserID: "alice", ID: "a"}, lease); err != nil {
				t.Errorf("delete: %v", err)
			}
		})
	}
}

func TestAWriteThatIsNeverAnsweredIsAmbiguous(t *testing.T) {
	target := testenv.Redis(t)
	s, p := through(t, target)
	create(t, s, "a", nil)
	turn(t, s, "a", nil)
	w := next(t, s, acquire(t, s, "a"))
	p.lose(writeScript, 2, true)
	err := s.Commit(t.Context(), w)
	if !errors.Is(err, store.ErrAmbiguous) || rondo.CodeOf(err) != rondo.CodeUnavailable {
		t.Fatalf("commit: %v, want an ambiguous one", err)
	}
	stored, err := open(t, target, Options{}).Load(t.Context(), "a", began)
	if err != nil || stored.State.Version != w.State.Version {
		t.Errorf("what was committed is not there: %+v, %v", stored, err)
	}
}

func TestAWriteThatTheServerNeverGotIsNotThere(t *testing.T) {
	target := testenv.Redis(t)
	s, p := through(t, target)
	create(t, s, "a", nil)
	w := next(t, s, acquire(t, s, "a"))
	p.lose(writeScript, 2, false)
	err := s.Commit(t.Context(), w)
	if rondo.CodeOf(err) != rondo.CodeUnavailable {
		t.Fatalf("commit: %v, want unavailable", err)
	}
	stored, err := s.Load(t.Context(), "a", began)
	if err != nil || stored.State.Version != 1 {
		t.Fatalf("after the loss: %+v, %v; want version 1", stored, err)
	}
	if err := s.Commit(t.Context(), w); err != nil {
		t.Errorf("the same commit afterwards: %v", err)
	}
}

func TestAServerThatIsAwayIsUnavailableAndNothingIsAmbiguous(t *testing.T) {
	server := testenv.StartRedis(t, testenv.RedisOptions{AppendOnly: true})
	s := open(t, server.URL(), Options{})
	create(t, s, "a", nil)
	lease := acquire(t, s, "a")
	w := next(t, s, lease)
	server.Kill()
	// Connections that were open when it died may fail in another way first.
	_ = s.client.Ping(t.Context()).Err()
	for name, call := range everyCall(s, w) {
		err := call(t.Context())
		if rondo.CodeOf(err) != rondo.CodeUnavailable {
			t.Errorf("%s: %v, want unavailable", name, err)
		}
		if errors.Is(err, store.ErrAmbiguous) {
			t.Errorf("%s: %v, but nothing was sent", name, err)
		}
	}
	server.Restart()
	if err := s.Commit(t.Context(), w); err != nil {
		t.Errorf("commit when it is back, lease and all: %v", err)
	}
}

// everyCall is the whole port.
func everyCall(s *Store, w *store.ConversationWrite) map[string]func(context.Context) error {
	owner := store.Owner{TenantID: "acme", UserID: "alice", ID: "a"}
	claim := startClaim("t", "a")
	return map[string]func(context.Context) error{
		"check":  s.Check,
		"create": func(ctx context.Context) error { return s.Create(ctx, first("new")) },
		"acquire": func(ctx context.Context) error {
			return s.Acquire(ctx, store.AcquireConversation{Owner: owner, Token: "x", At: began, Lease: time.Second})
		},
		"load":    func(ctx context.Context) error { _, err := s.Load(ctx, "a", began); return err },
		"renew":   func(ctx context.Context) error { return s.Renew(ctx, w.Lease, began, time.Second) },
		"release": func(ctx context.Context) error { return s.Release(ctx, w.Lease) },
		"commit":  func(ctx context.Context) error { return s.Commit(ctx, w) },
		"delete":  func(ctx context.Context) error { return s.Delete(ctx, owner, w.Lease) },
		"read":    func(ctx context.Context) error { _, err := s.Conversation(ctx, owner, began); return err },
		"list": func(ctx context.Context) error {
			_, err := s.ConversationList(ctx, "acme", "alice", began, store.ConversationPage{Limit: 1})
			return err
		},
		"history": func(ctx context.Context) error { _, _, err := s.History(ctx, "a", began, 0, 1); return err },
		"turns":   func(ctx context.Context) error { _, err := s.Turns(ctx, "a", began, 0, 1); return err },
		"turn":    func(ctx context.Context) error { _, err := s.Turn(ctx, "a", began, 1); return err },
		"card":    func(ctx context.Context) error { _, err := s.Card(ctx, "a", began, "card"); return err },
		"due":     func(ctx context.Context) error { _, err := s.DueConversations(ctx, began, 1); return err },
		"put off": func(ctx context.Context) error { return s.PutOff(ctx, "a", began) },
		"begin":   func(ctx context.Context) error { _, err := s.BeginKey(ctx, claim); return err },
		"extend":  func(ctx context.Context) error { return s.RenewKey(ctx, claim.Key, "t", began, time.Second) },
		"drop":    func(ctx context.Context) error { return s.DropKey(ctx, claim.Key, "t") },
	}
}

func TestACallOfAFrozenServerEndsWithItsContext(t *testing.T) {
	server := testenv.StartRedis(t, testenv.RedisOptions{})
	s := open(t, server.URL(), Options{})
	create(t, s, "a", nil)
	w := next(t, s, acquire(t, s, "a"))
	server.Pause()
	defer server.Resume()
	for name, call := range everyCall(s, w) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		err := call(ctx)
		cancel()
		if rondo.CodeOf(err) != rondo.CodeUnavailable {
			t.Errorf("%s: %v, want unavailable", name, err)
		}
		writes := name == "commit" || name == "create" || name == "delete"
		if errors.Is(err, store.ErrAmbiguous) && !writes {
			t.Errorf("%s is ambiguous: %v", name, err)
		}
	}
}

func TestScriptsComeBackWhenTheServerForgotThem(t *testing.T) {
	s := open(t, testenv.StartRedis(t, testenv.RedisOptions{}).URL(), Options{})
	for range 2 {
		if err := s.client.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		create(t, s, "a", nil)
		turn(t, s, "a", nil)
		if err := s.Delete(t.Context(), store.Owner{TenantID: "acme", UserID: "alice", ID: "a"}, acquire(t, s, "a")); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCheckRefusesAServerThatEvicts(t *testing.T) {
	evicting := testenv.StartRedis(t, testenv.RedisOptions{Args: []string{"--maxmemory-policy", "allkeys-lru"}})
	err := open(t, evicting.URL(), Options{}).Check(t.Context())
	if e, ok := errors.AsType[*rondo.Error](err); !ok || e.Code != rondo.CodeUnavailable || !strings.Contains(e.Hint, "noeviction") {
		t.Errorf("an evicting server: %v", err)
	}
	if err := open(t, evicting.URL(), Options{AllowEviction: true}).Check(t.Context()); err != nil {
		t.Errorf("an evicting server that is allowed to: %v", err)
	}
	if err := open(t, testenv.Redis(t), Options{}).Check(t.Context()); err != nil {
		t.Errorf("a server that keeps everything: %v", err)
	}
}

func TestAURLThatCannotBeReadIsNotQuoted(t *testing.T) {
	for _, raw := range []string{"", "http://host", "redis://user:secret@host/number", "postgres://user:secret@host/db"} {
		_, err := Open(raw, Options{})
		if rondo.CodeOf(err) != rondo.CodeInvalid || strings.Contains(err.Error(), "secret") {
			t.Errorf("open %q: %v", raw, err)
		}
	}
}
