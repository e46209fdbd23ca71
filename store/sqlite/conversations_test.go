package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/rondo-engine/rondo/store/sqlite"
	"github.com/rondo-engine/rondo/store/storetest"
)

func TestConversations(t *testing.T) {
	storetest.Conversations(t, func(t *testing.T) storetest.ConversationHarness {
		path := filepath.Join(t.TempDir(), "rondo.db")
		s := openFile(t, path, sqlite.Options{Synchronous: sqlite.Normal})
		if err := s.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		// behind is the file without the store.
		behind := func(do func(*sql.DB) error) {
			t.Helper()
			db, err := sql.Open("sqlite", path)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if err := do(db); err != nil {
				t.Fatal(err)
			}
		}
		return storetest.ConversationHarness{
			Store: s, Now: func() time.Time { return time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC) },
			Left: func() (left int) {
				behind(func(db *sql.DB) error {
					return db.QueryRowContext(t.Context(), "SELECT (SELECT COUNT(*) FROM conversations) + (SELECT COUNT(*) FROM conversation_messages) + "+
						"(SELECT COUNT(*) FROM conversation_turns) + (SELECT COUNT(*) FROM conversation_cards) + (SELECT COUNT(*) FROM conversation_keys)").Scan(&left)
				})
				return left
			},
			Corrupt: func(id string) {
				behind(func(db *sql.DB) error {
					_, err := db.ExecContext(t.Context(), "UPDATE conversations SET state = CAST('{\"step\":' AS BLOB) WHERE id = ?", id)
					return err
				})
			},
		}
	})
}

func BenchmarkConversations(b *testing.B) {
	for _, level := range []sqlite.Synchronous{sqlite.Full, sqlite.Normal} {
		b.Run(string(level), func(b *testing.B) {
			s := openFile(b, filepath.Join(b.TempDir(), "rondo.db"), sqlite.Options{Synchronous: level})
			if err := s.Migrate(b.Context()); err != nil {
				b.Fatal(err)
			}
			storetest.BenchmarkConversations(b, s)
		})
	}
}
