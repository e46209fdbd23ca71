package redis

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rondo-engine/rondo/internal/testenv"
	"github.com/rondo-engine/rondo/store"
)

// trips counts round trips to the server.
type trips struct{ n atomic.Int64 }

func (c *trips) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (c *trips) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.n.Add(1)
		return next(ctx, cmd)
	}
}

func (c *trips) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.n.Add(1)
		return next(ctx, cmds)
	}
}

func TestATurnIsThreeRoundTrips(t *testing.T) {
	s := open(t, testenv.Redis(t), Options{})
	create(t, s, "a", nil)
	turn(t, s, "a", nil) // the server knows the scripts from here on
	var count trips
	s.client.AddHook(&count)
	turn(t, s, "a", func(w *store.ConversationWrite) { w.Attention = began.Add(time.Hour) })
	if n := count.n.Load(); n != 3 {
		t.Errorf("a turn takes %d round trips, want 3", n)
	}
}

// BenchmarkTurn measures what the store does for one turn: acquire, load, commit,
// three round trips. Turns that run at the same time share them, so there are far
// fewer pipelines than three per turn.
func BenchmarkTurn(b *testing.B) {
	const inFlight = 200
	s := open(b, testenv.Redis(b), Options{})
	for i := range inFlight {
		create(b, s, fmt.Sprint("c-", i), nil)
	}
	var count trips
	s.client.AddHook(&count)
	b.ReportAllocs()
	b.ResetTimer()
	var left atomic.Int64
	left.Store(int64(b.N))
	var work sync.WaitGroup
	for i := range inFlight {
		work.Go(func() {
			for left.Add(-1) >= 0 {
				if err := oneTurn(b.Context(), s, fmt.Sprint("c-", i)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	work.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "turns/s")
	b.ReportMetric(float64(count.n.Load())/float64(b.N), "pipelines/turn")
}

func oneTurn(ctx context.Context, s *Store, id string) error {
	owner := store.Owner{TenantID: "acme", UserID: "alice", ID: id}
	lease := store.Lease{ID: id, Token: "token"}
	err := s.Acquire(ctx, store.AcquireConversation{Owner: owner, Token: lease.Token, At: began, Lease: 10 * time.Second, ExpiresAt: began.Add(day)})
	if err != nil {
		return err
	}
	stored, err := s.Load(ctx, id, began)
	if err != nil {
		return err
	}
	w := first(id)
	w.State, w.Previous, w.Lease = stored.State, stored.State.Version, lease
	w.State.Version++
	w.State.TurnNumber++
	w.Turn.Number = w.State.TurnNumber
	w.Attention = began.Add(time.Hour)
	return s.Commit(ctx, w)
}
