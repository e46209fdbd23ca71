package bustest

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/rondo-engine/rondo/bus"
)

// stress publishes from several goroutines while consumers crash: some close
// with entries in hand, some are forgotten, some forget to ack a part.
func stress(t *testing.T, s *suite) {
	streams := []string{"a", "b", "c"}
	processes := []Process{s.process(t), s.process(t)}
	for _, p := range processes { // groups exist on all streams before anything is acked
		s.subscribe(t, p, "observer", streams...)
	}
	const publishers, consumers = 4, 4
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	handled := newTally(s.Stress / publishers * publishers)

	var running sync.WaitGroup
	for i := range publishers {
		running.Go(func() { publishShare(ctx, t, processes[i%2], streams, i, s.Stress/publishers) })
	}
	for i := range consumers {
		running.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), 7))
			for ctx.Err() == nil && !handled.complete() {
				crashyConsumer(ctx, t, s, processes[i%2], streams, random, handled)
			}
		})
	}
	select {
	case <-handled.done:
	case <-ctx.Done():
	}
	cancel()
	running.Wait()
	if missing := handled.missing(); len(missing) > 0 {
		t.Fatalf("%d of %d entries were never handled, for example %v", len(missing), s.Stress, missing[:min(5, len(missing))])
	}
}

// publishShare publishes n entries in batches of random size.
func publishShare(ctx context.Context, t *testing.T, p bus.Publisher, streams []string, share, n int) {
	random := rand.New(rand.NewPCG(uint64(share), 1))
	for next := 0; next < n; {
		var batch []bus.Message
		for range min(1+random.IntN(50), n-next) {
			m := message("", share*n+next)
			m.Stream = streams[random.IntN(len(streams))]
			batch = append(batch, m)
			next++
		}
		if err := p.Publish(ctx, batch); err != nil {
			t.Errorf("publish: %v", err)
			return
		}
	}
}

// crashyConsumer works until it crashes.
func crashyConsumer(ctx context.Context, t *testing.T, s *suite, p bus.Bus, streams []string, random *rand.Rand, handled *tally) {
	c, err := p.Subscribe(ctx, bus.Subscription{Group: "workers", Streams: streams, AckWait: s.AckWait})
	if err != nil {
		if ctx.Err() == nil {
			t.Errorf("subscribe: %v", err)
		}
		return
	}
	closed := false
	defer func() {
		if !closed { // forgotten: what it holds comes again by AckWait
			t.Cleanup(func() { _ = c.Close() })
		}
	}()
	for {
		deliveries, err := c.Fetch(ctx, 1+random.IntN(64))
		if err != nil {
			if ctx.Err() == nil {
				t.Errorf("fetch: %v", err)
			}
			return
		}
		switch random.IntN(60) {
		case 0: // dies without a word
			return
		case 1: // leaves in order, with work in hand
			closed = true
			if err := c.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
			return
		case 2: // forgets half
			deliveries = deliveries[:len(deliveries)/2]
		}
		handled.add(deliveries)
		if err := c.Ack(ctx, deliveries); err != nil && ctx.Err() == nil {
			t.Errorf("ack: %v", err)
			return
		}
	}
}

// tally knows which entries were handled.
type tally struct {
	done chan struct{}
	mu   sync.Mutex
	want int
	seen map[string]bool
}

func newTally(want int) *tally {
	return &tally{done: make(chan struct{}), want: want, seen: make(map[string]bool, want)}
}

func (l *tally) add(deliveries []bus.Delivery) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := len(l.seen)
	for _, d := range deliveries {
		l.seen[string(d.Envelope)] = true
	}
	if before < l.want && len(l.seen) >= l.want {
		close(l.done)
	}
}

func (l *tally) complete() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

func (l *tally) missing() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for n := range l.want {
		if !l.seen[nameOf("", n)] {
			out = append(out, nameOf("", n))
		}
	}
	return out
}
