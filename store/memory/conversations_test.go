package memory_test

import (
	"testing"
	"time"

	"github.com/rondo-engine/rondo/store/memory"
	"github.com/rondo-engine/rondo/store/storetest"
)

func TestConversations(t *testing.T) {
	storetest.Conversations(t, func(*testing.T) storetest.ConversationHarness {
		s := memory.Open(memory.Options{})
		return storetest.ConversationHarness{
			Store: s, Now: func() time.Time { return time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC) },
			Left: s.Left, Corrupt: s.Damage,
		}
	})
}
