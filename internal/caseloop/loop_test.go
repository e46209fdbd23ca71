package caseloop

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// stuckStore never commits until it is let go.
type stuckStore struct{ release chan struct{} }

func (s stuckStore) Update(ctx context.Context, _ store.Load, _ store.Decide) (store.Committed, error) {
	select {
	case <-s.release:
	case <-ctx.Done():
	}
	return store.Committed{}, &rondo.Error{Code: rondo.CodeUnavailable}
}

func TestACallerLearnsThatTheEngineIsOverloaded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := stuckStore{release: make(chan struct{})}
		l := NewLoop(&Processor{Store: stuck, Now: time.Now}, LoopOptions{Shards: 1, Batch: 1, Queue: 1})
		l.Start()
		for n := range 2 { // one is being committed, one waits
			if err := l.Submit(t.Context(), input("a", n)); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if r := l.Do(t.Context(), input("a", 9)); rondo.CodeOf(r.Err) != rondo.CodeOverloaded {
			t.Errorf("a full engine answered %v, want overloaded", r.Err)
		}
		close(stuck.release)
		l.Stop(t.Context())
	})
}
