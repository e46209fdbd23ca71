package postgres_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rondo-engine/rondo/internal/testenv"
	"github.com/rondo-engine/rondo/store/postgres"
	"github.com/rondo-engine/rondo/store/storetest"
)

// One database serves all tests, emptied for each: making one takes longer than
// most of them.
func TestConversations(t *testing.T) {
	url := testenv.Postgres(t)
	s := openURL(t, url, postgres.Options{})
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	storetest.Conversations(t, func(t *testing.T) storetest.ConversationHarness {
		execute(t, url, "TRUNCATE conversations, conversation_messages, conversation_turns, conversation_cards, conversation_keys")
		return storetest.ConversationHarness{
			Store: s, Now: func() time.Time { return time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC) },
			Left: func() int { return conversationRows(t, url) },
			Corrupt: func(id string) {
				execute(t, url, "UPDATE conversations SET state = '{\"step\":' WHERE id = '"+id+"'")
			},
		}
	})
}

// conversationRows counts every row about conversations.
func conversationRows(t *testing.T, url string) (rows int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	err = conn.QueryRow(t.Context(), "SELECT (SELECT COUNT(*) FROM conversations) + (SELECT COUNT(*) FROM conversation_messages) + "+
		"(SELECT COUNT(*) FROM conversation_turns) + (SELECT COUNT(*) FROM conversation_cards) + (SELECT COUNT(*) FROM conversation_keys)").Scan(&rows)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func BenchmarkConversations(b *testing.B) {
	s := openURL(b, testenv.Postgres(b), postgres.Options{})
	if err := s.Migrate(b.Context()); err != nil {
		b.Fatal(err)
	}
	storetest.BenchmarkConversations(b, s)
}
