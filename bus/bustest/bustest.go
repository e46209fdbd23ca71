// Package bustest is the one conformance suite of package bus: every driver
// passes the same cases on its real storage. A driver's test describes how to
// open it with a Harness and calls Run.
//
// The suite never sleeps for a fixed time: it fetches until what it expects is
// there, with a generous bound. Drivers that live in one process run their cases
// in a testing/synctest bubble, where waiting costs nothing.
//
// It imports the root package, bus and the standard library.
package bustest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
)

// Harness is a driver under test.
type Harness struct {
	// Open returns empty storage that ends with the test.
	Open func(t *testing.T) Storage
	// Wrap runs one case, for example in a synctest bubble. Default: it calls test.
	Wrap func(t *testing.T, test func(t *testing.T))
	// AckWait for cases that wait for redelivery. Default 300 ms.
	AckWait time.Duration
	// Stress is how many entries the crash case publishes. Default 10,000.
	Stress int
}

// Storage is what outlives processes.
type Storage interface {
	// Process opens the bus as another process would. It is closed with the test.
	Process(t *testing.T) Process
	// Stored counts the entries of a stream that are still there.
	Stored(t *testing.T, stream string) int
}

// Loser is storage that can lose everything while processes are connected.
type Loser interface {
	Lose(t *testing.T)
}

// Process is one process on the bus.
type Process struct {
	bus.Bus
	// Trim removes entries created before the time, as the driver promises.
	Trim func(ctx context.Context, before time.Time) (int64, error)
	// Kill makes the process unable to do anything more, as kill -9 would. Close
	// must still end its goroutines.
	Kill func()
}

// Run checks a driver.
func Run(t *testing.T, h Harness) {
	if h.Wrap == nil {
		h.Wrap = func(t *testing.T, test func(t *testing.T)) { test(t) }
	}
	if h.AckWait == 0 {
		h.AckWait = 300 * time.Millisecond
	}
	if h.Stress == 0 {
		h.Stress = 10_000
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h.Wrap(t, func(t *testing.T) {
				c.test(t, &suite{Harness: h, storage: h.Open(t)})
			})
		})
	}
}

var cases = []struct {
	name string
	test func(t *testing.T, s *suite)
}{
	{"a group that joins late gets what was published before", lateGroup},
	{"consumers of a group share its entries", sharedGroup},
	{"consumers of a group in two processes get each entry once", sharedAcrossProcesses},
	{"every group gets every entry", everyGroup},
	{"consumers of a group may want different streams", differentStreams},
	{"a stream can be added to a group later", addedStream},
	{"first deliveries of a stream come in publish order", orderPerStream},
	{"fetch returns what is there together, up to its limit", batchFetch},
	{"fetch ends with its context", fetchEnds},
	{"fetch of a closed consumer fails", fetchAfterClose},
	{"a waiting fetch gets what is published meanwhile", fetchWakes},
	{"content and relayed flag arrive as sent", contentKept},
	{"big envelopes arrive", bigEnvelopes},
	{"an unacked entry comes again to another consumer with a higher attempt", redelivery},
	{"an acked entry does not come again", ackedStays},
	{"ack is idempotent", ackTwice},
	{"a closed consumer's unacked entries go to others", closeHandsOver},
	{"positions survive a restart", restart},
	{"a killed process is replaced and loses nothing", killedProcess},
	{"trimming drops what is old and acked", trimDropsAcked},
	{"trimming keeps what a group has not acked", trimKeepsUnacked},
	{"trimming keeps what is young", trimKeepsYoung},
	{"lag tells how far every group is behind", lagTells},
	{"a retired group holds back no trimming and starts over", retiredGroup},
	{"a group that is read or unknown cannot be retired", notRetired},
	{"streams and groups that vanish are created again", lossHeals},
	{"a subscription without group or streams is refused", badSubscription},
	{"a usable bus passes its check", checkPasses},
	{"nothing is lost when consumers crash at random", stress},
}

// patience bounds every wait for something that must happen.
const patience = 30 * time.Second

// suite is one case's environment.
type suite struct {
	Harness
	storage Storage
}

func (s *suite) process(t *testing.T) Process {
	t.Helper()
	p := s.storage.Process(t)
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Logf("close process: %v", err)
		}
	})
	return p
}

// subscribe joins with an AckWait that no case outlasts, however slow the
// machine is.
func (s *suite) subscribe(t *testing.T, p Process, group string, streams ...string) bus.Consumer {
	t.Helper()
	return subscribe(t, p, bus.Subscription{Group: group, Streams: streams, AckWait: 10 * patience})
}

// impatient joins with the short AckWait.
func (s *suite) impatient(t *testing.T, p Process, group string, streams ...string) bus.Consumer {
	t.Helper()
	return subscribe(t, p, bus.Subscription{Group: group, Streams: streams, AckWait: s.AckWait})
}

func subscribe(t *testing.T, p Process, sub bus.Subscription) bus.Consumer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := p.Subscribe(ctx, sub)
	if err != nil {
		t.Fatalf("subscribe %s to %v: %v", sub.Group, sub.Streams, err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Logf("close consumer: %v", err)
		}
	})
	return c
}

// message n of a stream; its envelope names it.
func message(stream string, n int) bus.Message {
	var id rondo.ID
	id[0], id[12], id[13], id[14], id[15] = 1, byte(n>>24), byte(n>>16), byte(n>>8), byte(n)
	return bus.Message{Stream: stream, EventID: id, Envelope: fmt.Appendf(nil, `{"name":"%s/%d"}`, stream, n)}
}

func nameOf(stream string, n int) string { return fmt.Sprintf(`{"name":"%s/%d"}`, stream, n) }

// publish sends messages from to to-1 of a stream.
func publish(t *testing.T, p bus.Publisher, stream string, from, to int) {
	t.Helper()
	var messages []bus.Message
	for n := from; n < to; n++ {
		messages = append(messages, message(stream, n))
	}
	if err := p.Publish(t.Context(), messages); err != nil {
		t.Fatalf("publish %s %d to %d: %v", stream, from, to, err)
	}
}

// fetch returns the next batch, which must come.
func fetch(t *testing.T, c bus.Consumer, limit int) []bus.Delivery {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	got, err := c.Fetch(ctx, limit)
	if err != nil {
		t.Fatalf("fetch: %v", err)
	}
	if len(got) < 1 || len(got) > limit {
		t.Fatalf("fetch returned %d deliveries, want 1 to %d", len(got), limit)
	}
	return got
}

// fetchN fetches until n deliveries are there, and acks none.
func fetchN(t *testing.T, c bus.Consumer, n int) []bus.Delivery {
	t.Helper()
	var all []bus.Delivery
	for len(all) < n {
		all = append(all, fetch(t, c, n-len(all))...)
	}
	return all
}

// drain fetches and acks n deliveries.
func drain(t *testing.T, c bus.Consumer, n int) []bus.Delivery {
	t.Helper()
	all := fetchN(t, c, n)
	ack(t, c, all)
	return all
}

func ack(t *testing.T, c bus.Consumer, deliveries []bus.Delivery) {
	t.Helper()
	if err := c.Ack(t.Context(), deliveries); err != nil {
		t.Fatalf("ack: %v", err)
	}
}

// nothing checks that no entry comes for a while.
func nothing(t *testing.T, c bus.Consumer, wait time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	if got, err := c.Fetch(ctx, 100); err == nil {
		t.Fatalf("unexpected %d deliveries, first %s %s attempt %d: %s", len(got), got[0].Stream, got[0].EntryID, got[0].Attempt, got[0].Envelope)
	}
}

func names(deliveries []bus.Delivery) []string {
	out := make([]string, len(deliveries))
	for i, d := range deliveries {
		out[i] = string(d.Envelope)
	}
	return out
}

// eventually polls a condition within the patience.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !condition(); {
		if time.Now().After(deadline) {
			t.Fatalf("after %v still not: %s", patience, what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
