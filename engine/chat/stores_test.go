package chat_test

import (
	"path/filepath"
	"testing"

	"github.com/rondo-engine/rondo/internal/testenv"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/memory"
	"github.com/rondo-engine/rondo/store/redis"
	"github.com/rondo-engine/rondo/store/sqlite"
)

// onEveryStore runs a test on each kind of store.
func onEveryStore(t *testing.T, test func(t *testing.T, driver store.Conversations)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) { test(t, memory.Open(memory.Options{})) })
	t.Run("sqlite", func(t *testing.T) { test(t, openSQLite(t)) })
	t.Run("redis", func(t *testing.T) { test(t, openRedis(t)) })
}

func openSQLite(t testing.TB) store.Conversations {
	t.Helper()
	s, err := sqlite.Open(filepath.Join(t.TempDir(), "chat.db"), sqlite.Options{Synchronous: sqlite.Normal})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func openRedis(t testing.TB) store.Conversations {
	t.Helper()
	s, err := redis.Open(testenv.Redis(t), redis.Options{AllowEviction: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
