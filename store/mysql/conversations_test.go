package mysql_test

import (
	"testing"
	"time"

	"github.com/rondo-engine/rondo/internal/testenv"
	"github.com/rondo-engine/rondo/store/mysql"
	"github.com/rondo-engine/rondo/store/storetest"
)

// One database serves all tests, emptied for each: making one takes longer than
// most of them.
func TestConversations(t *testing.T) {
	url := testenv.MySQL(t)
	s := openURL(t, url, mysql.Options{})
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	storetest.Conversations(t, func(t *testing.T) storetest.ConversationHarness {
		for _, table := range []string{"conversations", "conversation_messages", "conversation_turns", "conversation_cards", "conversation_keys"} {
			execute(t, url, "DELETE FROM "+table)
		}
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
func conversationRows(t *testing.T, address string) (rows int) {
	t.Helper()
	err := connect(t, address).QueryRowContext(t.Context(), "SELECT (SELECT COUNT(*) FROM conversations) + (SELECT COUNT(*) FROM conversation_messages) + "+
		"(SELECT COUNT(*) FROM conversation_turns) + (SELECT COUNT(*) FROM conversation_cards) + (SELECT COUNT(*) FROM conversation_keys)").Scan(&rows)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func BenchmarkConversations(b *testing.B) {
	s := openURL(b, testenv.MySQL(b), mysql.Options{})
	if err := s.Migrate(b.Context()); err != nil {
		b.Fatal(err)
	}
	storetest.BenchmarkConversations(b, s)
}
