package storetest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-engine/rondo/store"
)

// benchmarkTalkers is how many conversations have a turn under way at once.
const benchmarkTalkers = 200

// BenchmarkConversations measures whole turns (acquire, load, commit) of 200
// conversations at once, on an empty store.
func BenchmarkConversations(b *testing.B, s store.Conversations) {
	ctx := b.Context()
	builders := make([]*talk, benchmarkTalkers)
	for i := range builders {
		builders[i] = &talk{Conversations: s, now: time.Now().UTC().Truncate(time.Millisecond)}
		if err := s.Create(ctx, builders[i].first(owner(fmt.Sprint("c-", i)))); err != nil {
			b.Fatal(err)
		}
	}
	var next atomic.Int64
	b.ReportAllocs()
	b.ResetTimer()
	var group sync.WaitGroup
	for i, c := range builders {
		o := owner(fmt.Sprint("c-", i))
		group.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				a := c.ask(o)
				a.Token = fmt.Sprint(a.Token, "-", i)
				if err := s.Acquire(ctx, a); err != nil {
					b.Errorf("acquire: %v", err)
					return
				}
				stored, err := s.Load(ctx, o.ID, c.now)
				if err != nil {
					b.Errorf("load: %v", err)
					return
				}
				if err := s.Commit(ctx, c.next(stored, store.Lease{ID: o.ID, Token: a.Token})); err != nil {
					b.Errorf("commit: %v", err)
					return
				}
			}
		})
	}
	group.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "turns/s")
}
