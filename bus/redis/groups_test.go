package redis

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/internal/testenv"
)

// pendingOf returns the pending count of every consumer of a group.
func pendingOf(t *testing.T, b *Bus, stream, group string) map[string]int64 {
	t.Helper()
	consumers, err := b.client.XInfoConsumers(t.Context(), b.keys.stream(stream), group).Result()
	if err != nil {
		t.Fatal(err)
	}
	pending := map[string]int64{}
	for _, c := range consumers {
		pending[c.Name] = c.Pending
	}
	return pending
}

func TestCloseRemovesOnlyConsumersThatHoldNothing(t *testing.T) {
	b := openForTest(t, testenv.Redis(t), Options{})
	holding, done := subscribe(t, b, "g", "a"), subscribe(t, b, "g", "a")
	publish(t, b, "a", "1", "2", "3")
	ack(t, done, fetchN(t, done, 1))
	fetchN(t, holding, 2)
	for _, c := range []*consumer{done, holding} {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(map[string]int64{holding.name: 2}, pendingOf(t, b, "a", "g")); diff != "" {
		t.Errorf("consumers with pending entries (-want +got):\n%s", diff)
	}
}

func TestForgettingConsumersKeepsThoseWithPendingEntries(t *testing.T) {
	b := openForTest(t, testenv.Redis(t), Options{})
	holding, idle := subscribe(t, b, "g", "a"), subscribe(t, b, "g", "a")
	publish(t, b, "a", "1", "2")
	ack(t, idle, fetchN(t, idle, 1))
	if err := idle.sendAcks(t.Context(), idle.takeAcks()); err != nil {
		t.Fatal(err)
	}
	fetchN(t, holding, 1)
	deadline := time.Now().Add(patience)
	for len(pendingOf(t, b, "a", "g")) > 1 && time.Now().Before(deadline) {
		if err := b.forgetConsumers(t.Context(), b.keys.stream("a"), 0); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(map[string]int64{holding.name: 1}, pendingOf(t, b, "a", "g")); diff != "" {
		t.Errorf("consumers with pending entries (-want +got):\n%s", diff)
	}
}

func TestAttemptsAreCounted(t *testing.T) {
	b := openForTest(t, testenv.Redis(t), Options{})
	publish(t, b, "a", "1")
	for want := 1; want <= 3; want++ {
		c := subscribe(t, b, "g", "a")
		got := fetchN(t, c, 1)
		if got[0].Attempt != want {
			t.Errorf("delivery %d says attempt %d", want, got[0].Attempt)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPendingEntriesThatWereDeletedAreForgotten(t *testing.T) {
	b := openForTest(t, testenv.Redis(t), Options{})
	c := subscribe(t, b, "g", "a")
	publish(t, b, "a", "1", "2")
	got := fetchN(t, c, 2)
	if err := b.client.XDel(t.Context(), b.keys.stream("a"), got[0].EntryID).Err(); err != nil {
		t.Fatal(err)
	}
	again := fetchN(t, c, 1)
	if string(again[0].Envelope) != "2" {
		t.Errorf("got %s again, want 2", again[0].Envelope)
	}
	ack(t, c, again)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if left := pendingOf(t, b, "a", "g"); len(left) != 0 {
		t.Errorf("pending entries are left: %v", left)
	}
}

func TestEntriesThatAreNotOursAreShown(t *testing.T) {
	b := openForTest(t, testenv.Redis(t), Options{})
	if err := b.client.XAdd(t.Context(), &redis.XAddArgs{Stream: b.keys.stream("a"), Values: []string{"x", "1", "y", "z"}}).Err(); err != nil {
		t.Fatal(err)
	}
	got := fetchN(t, subscribe(t, b, "g", "a"), 1)
	if want := `["x","1","y","z"]`; string(got[0].Envelope) != want {
		t.Errorf("got %s, want %s", got[0].Envelope, want)
	}
}

func TestLag(t *testing.T) {
	b := openForTest(t, testenv.Redis(t), Options{Prefix: "mine:"})
	other := openForTest(t, testenv.Redis(t), Options{})
	publish(t, other, "a", "not mine")
	publish(t, b, "b", "nobody reads")
	c := subscribe(t, b, "g", "a")
	publish(t, b, "a", "1", "2", "3", "4")
	ack(t, c, fetchN(t, c, 3)[:1])
	if err := c.sendAcks(t.Context(), c.takeAcks()); err != nil {
		t.Fatal(err)
	}
	var lag map[string][]bus.GroupLag
	want := map[string][]bus.GroupLag{"a": {{Group: "g", Unread: 1, Pending: 2}}}
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		var err error
		if lag, err = b.Lag(t.Context()); err != nil {
			t.Fatal(err)
		}
		if cmp.Equal(want, lag) {
			return
		}
	}
	t.Errorf("lag (-want +got):\n%s", cmp.Diff(want, lag))
}
