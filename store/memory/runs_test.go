package memory_test

import (
	"testing"

	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/memory"
	"github.com/rondo-engine/rondo/store/storetest"
)

func TestRuns(t *testing.T) {
	storetest.Runs(t, storetest.Harness{
		Open: func(_ *testing.T, opts storetest.Options) store.Store {
			return memory.Open(memory.Options{Embedded: opts.Embedded})
		},
	})
}
