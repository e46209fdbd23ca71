package chat_test

import (
	"testing"

	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/memory"
)

// onEveryStore runs a test on each kind of store.
func onEveryStore(t *testing.T, test func(t *testing.T, driver store.Conversations)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) { test(t, memory.Open(memory.Options{})) })
}
