package redis

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/internal/testenv"
)

// patience bounds every wait for something that must happen.
const patience = 30 * time.Second

func subscribe(t *testing.T, b *Bus, group string, streams ...string) *consumer {
	t.Helper()
	c, err := b.Subscribe(t.Context(), bus.Subscription{Group: group, Streams: streams, AckWait: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c.(*consumer)
}

func openForTest(t *testing.T, url string, opts Options) *Bus {
	t.Helper()
	b := open(t, url, opts)
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// publish sends one message per text, trying again while the server is away.
func publish(t *testing.T, b *Bus, stream string, texts ...string) {
	t.Helper()
	var messages []bus.Message
	for _, text := range texts {
		messages = append(messages, bus.Message{Stream: stream, Envelope: []byte(text)})
	}
	deadline := time.Now().Add(patience)
	for {
		err := b.Publish(t.Context(), messages)
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func fetchN(t *testing.T, c *consumer, n int) []bus.Delivery {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var all []bus.Delivery
	for len(all) < n {
		got, err := c.Fetch(ctx, n-len(all))
		if err != nil {
			t.Fatalf("fetch after %d of %d: %v", len(all), n, err)
		}
		all = append(all, got...)
	}
	return all
}

func ack(t *testing.T, c *consumer, deliveries []bus.Delivery) {
	t.Helper()
	if err := c.Ack(t.Context(), deliveries); err != nil {
		t.Fatal(err)
	}
}

func texts(deliveries []bus.Delivery) []string {
	var out []string
	for _, d := range deliveries {
		out = append(out, string(d.Envelope))
	}
	slices.Sort(out)
	return out
}

func TestFetchOutlivesAKilledServer(t *testing.T) {
	server := testenv.StartRedis(t, testenv.RedisOptions{AppendOnly: true})
	b := openForTest(t, server.URL(), Options{})
	c := subscribe(t, b, "g", "a")
	publish(t, b, "a", "1", "2", "3", "4")
	first := fetchN(t, c, 2)
	ack(t, c, first[:1])
	seen := map[string]bool{"1": true} // its ack may have died with the server
	server.Kill()
	waiting := make(chan error, 1)
	go func() { // a fetch that begins while the server is away
		got, err := c.Fetch(t.Context(), 1)
		for _, d := range got {
			seen[string(d.Envelope)] = true
		}
		waiting <- errors.Join(err, c.Ack(t.Context(), got))
	}()
	server.Restart()
	publish(t, b, "a", "5")
	if err := <-waiting; err != nil {
		t.Fatalf("fetch across the restart: %v", err)
	}
	for deadline := time.Now().Add(patience); len(seen) < 5 && time.Now().Before(deadline); {
		got := fetchN(t, c, 1)
		ack(t, c, got)
		seen[texts(got)[0]] = true
	}
	if len(seen) != 5 {
		t.Errorf("got %v, want all of 1 to 5", seen)
	}
}

func TestGroupsComeBackWhenTheServerLostEverything(t *testing.T) {
	server := testenv.StartRedis(t, testenv.RedisOptions{})
	var mu sync.Mutex
	lost := map[string]int{}
	b := openForTest(t, server.URL(), Options{OnLost: func(stream string) {
		mu.Lock()
		defer mu.Unlock()
		lost[stream]++
	}})
	one, two := subscribe(t, b, "g", "a", "b"), subscribe(t, b, "g", "a", "b")
	publish(t, b, "a", "1")
	ack(t, one, fetchN(t, one, 1))
	server.Restart()

	publish(t, b, "b", "2") // before anyone can create the group again
	if got := texts(fetchN(t, one, 1)); got[0] != "2" {
		t.Errorf("got %v, want 2", got)
	}
	publish(t, b, "a", "3")
	if got := texts(fetchN(t, two, 1)); got[0] != "3" {
		t.Errorf("got %v, want 3", got)
	}
	mu.Lock()
	defer mu.Unlock()
	if lost["a"] != 1 || lost["b"] != 1 || len(lost) != 2 {
		t.Errorf("told about lost streams %v, want a and b once", lost)
	}
}

func TestFetchOfAFrozenServerEndsWithItsContext(t *testing.T) {
	server := testenv.StartRedis(t, testenv.RedisOptions{})
	b := openForTest(t, server.URL(), Options{})
	c := subscribe(t, b, "g", "a")
	server.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := c.Fetch(ctx, 1)
	server.Resume()
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the context's error", err)
	}
	publish(t, b, "a", "1")
	if got := texts(fetchN(t, c, 1)); got[0] != "1" {
		t.Errorf("got %v, want 1", got)
	}
}

func TestCheck(t *testing.T) {
	evicting := testenv.StartRedis(t, testenv.RedisOptions{Args: []string{"--maxmemory-policy", "allkeys-lru"}})
	b := openForTest(t, evicting.URL(), Options{})
	err := b.Check(t.Context())
	if rondo.CodeOf(err) != rondo.CodeUnavailable || !strings.Contains(err.Error(), "allkeys-lru") {
		t.Errorf("check of an evicting server: %v", err)
	}
	if e, ok := errors.AsType[*rondo.Error](err); !ok || !strings.Contains(e.Hint, "noeviction") {
		t.Errorf("the error does not say what to do: %#v", err)
	}
	if err := openForTest(t, evicting.URL(), Options{AllowEviction: true}).Check(t.Context()); err != nil {
		t.Errorf("check of an evicting server that is allowed to: %v", err)
	}
	evicting.Kill()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := b.Check(ctx); rondo.CodeOf(err) != rondo.CodeUnavailable {
		t.Errorf("check of a dead server: %v", err)
	}
}
