package redis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/internal/testenv"
)

// stored returns the envelopes of a stream in order.
func stored(t *testing.T, b *Bus, stream string) []string {
	t.Helper()
	entries, err := b.client.XRange(t.Context(), b.keys.stream(stream), "-", "+").Result()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Values[fieldEnvelope].(string))
	}
	return out
}

func TestConcurrentPublishersLoseAndMixNothing(t *testing.T) {
	b := openForTest(t, testenv.Redis(t), Options{})
	const callers, calls, size = 16, 30, 3
	var running sync.WaitGroup
	for caller := range callers {
		running.Go(func() {
			for call := range calls {
				var messages []bus.Message
				for n := range size {
					messages = append(messages, bus.Message{Stream: "a", Envelope: fmt.Appendf(nil, "%d/%d", caller, call*size+n)})
				}
				if err := b.Publish(t.Context(), messages); err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	next := map[int]int{}
	for _, text := range stored(t, b, "a") {
		var caller, n int
		if _, err := fmt.Sscanf(text, "%d/%d", &caller, &n); err != nil {
			t.Fatal(err)
		}
		if n != next[caller] {
			t.Fatalf("caller %d: message %d where %d belongs", caller, n, next[caller])
		}
		next[caller]++
	}
	for caller := range callers {
		if next[caller] != calls*size {
			t.Errorf("caller %d: %d messages are stored, want %d", caller, next[caller], calls*size)
		}
	}
}

func TestAPublisherThatGivesUpWhileWaitingSendsNothing(t *testing.T) {
	server := testenv.StartRedis(t, testenv.RedisOptions{})
	b := openForTest(t, server.URL(), Options{})
	publish(t, b, "a", "first")
	server.Pause()
	leading := make(chan error, 1)
	go func() { leading <- b.Publish(t.Context(), []bus.Message{{Stream: "a", Envelope: []byte("second")}}) }()
	for deadline := time.Now().Add(patience); !b.publisher.underWay(); {
		if time.Now().After(deadline) {
			t.Fatal("nobody sends")
		}
		time.Sleep(time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err := b.Publish(ctx, []bus.Message{{Stream: "a", Envelope: []byte("third")}})
	server.Resume()
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the context's error", err)
	}
	if err := <-leading; err != nil {
		t.Fatal(err)
	}
	publish(t, b, "a", "fourth")
	if diff := cmp.Diff([]string{"first", "second", "fourth"}, stored(t, b, "a")); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
}

// underWay reports whether someone has taken what waited and sends it.
func (p *publisher) underWay() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sending && len(p.waiting) == 0
}

func TestPublishersThatGiveUpDoNotStopOthers(t *testing.T) {
	b := openForTest(t, testenv.Redis(t), Options{})
	var running sync.WaitGroup
	for caller := range 16 {
		running.Go(func() {
			random := rand.New(rand.NewPCG(uint64(caller), 3))
			for range 100 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(500))*time.Microsecond)
				_ = b.Publish(ctx, []bus.Message{{Stream: "a", Envelope: []byte("x")}}) // many give up
				cancel()
			}
		})
	}
	running.Wait()
	publish(t, b, "b", "still works")
	if diff := cmp.Diff([]string{"still works"}, stored(t, b, "b")); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
}

func TestPublishToADeadServerFails(t *testing.T) {
	server := testenv.StartRedis(t, testenv.RedisOptions{})
	b := openForTest(t, server.URL(), Options{})
	publish(t, b, "a", "1")
	server.Kill()
	if err := b.Publish(t.Context(), []bus.Message{{Stream: "a", Envelope: []byte("2")}}); rondo.CodeOf(err) != rondo.CodeUnavailable {
		t.Errorf("got %v, want code %s", err, rondo.CodeUnavailable)
	}
	server.Restart()
	publish(t, b, "a", "3")
}

// BenchmarkPublishAlone measures many callers that publish one message each, as
// modules do.
func BenchmarkPublishAlone(b *testing.B) {
	p := open(b, testenv.Redis(b), Options{})
	defer p.Close()
	envelope := make([]byte, 400)
	work := make(chan struct{})
	var callers sync.WaitGroup
	for range 64 {
		callers.Go(func() {
			for range work {
				if err := p.Publish(b.Context(), []bus.Message{{Stream: "a", Envelope: envelope}}); err != nil {
					b.Error(err)
				}
			}
		})
	}
	b.ReportAllocs()
	start := time.Now()
	for b.Loop() {
		work <- struct{}{}
	}
	close(work)
	callers.Wait()
	b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "entries/s")
}
