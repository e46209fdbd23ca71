package embedded_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/bus/embedded"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/memory"
)

// watchedLog counts reads and lets tests act between them.
type watchedLog struct {
	mortalLog
	reads  atomic.Int64
	onRead func()
	taken  atomic.Int64 // positions stored by the bus itself
}

func (l *watchedLog) LogRead(ctx context.Context, streams []string, after int64, limit int) ([]rondo.Outgoing, error) {
	rows, err := l.mortalLog.LogRead(ctx, streams, after, limit)
	if l.reads.Add(1) == 1 && l.onRead != nil {
		l.onRead()
	}
	return rows, err
}

func (l *watchedLog) LogAck(ctx context.Context, states []store.GroupState) error {
	l.taken.Add(int64(len(states)))
	return l.mortalLog.LogAck(ctx, states)
}

type world struct {
	t     *testing.T
	store *memory.Store
	log   *watchedLog
	bus   *embedded.Bus
}

// inBubble runs a test with one bus in fake time.
func inBubble(t *testing.T, opts embedded.Options, test func(w *world)) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.Open(memory.Options{Embedded: true})
		w := &world{t: t, store: s, log: &watchedLog{mortalLog: mortalLog{Log: s}}}
		w.bus = newBus(s, w.log, opts)
		defer w.bus.Close()
		test(w)
	})
}

func (w *world) subscribe(b *embedded.Bus, streams ...string) bus.Consumer {
	w.t.Helper()
	c, err := b.Subscribe(w.t.Context(), bus.Subscription{Group: "g", Streams: streams})
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// publish sends numbered messages through a bus.
func (w *world) publish(b *embedded.Bus, from, to int) {
	w.t.Helper()
	var messages []bus.Message
	for n := from; n < to; n++ {
		messages = append(messages, bus.Message{Stream: "a", Envelope: fmt.Append(nil, n)})
	}
	if err := b.Publish(w.t.Context(), messages); err != nil {
		w.t.Fatal(err)
	}
}

// fetch collects what comes until nothing has come for a second.
func (w *world) fetch(c bus.Consumer, limit int) []bus.Delivery {
	w.t.Helper()
	var all []bus.Delivery
	for len(all) < limit {
		ctx, cancel := context.WithTimeout(w.t.Context(), time.Second)
		got, err := c.Fetch(ctx, limit-len(all))
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			break
		}
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, got...)
	}
	return all
}

func (w *world) want(got []bus.Delivery, from, to int) {
	w.t.Helper()
	var have, want []string
	for _, d := range got {
		have = append(have, string(d.Envelope))
	}
	for n := from; n < to; n++ {
		want = append(want, fmt.Sprint(n))
	}
	if diff := cmp.Diff(want, have); diff != "" {
		w.t.Fatalf("deliveries (-want +got):\n%s", diff)
	}
}

func (w *world) ack(c bus.Consumer, deliveries []bus.Delivery) {
	w.t.Helper()
	if err := c.Ack(w.t.Context(), deliveries); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) cursor() int64 {
	w.t.Helper()
	states, err := w.store.LogGroup(w.t.Context(), "g")
	if err != nil || len(states) != 1 {
		w.t.Fatalf("positions %v, %v", states, err)
	}
	return states[0].Cursor
}

func TestCommittedEntriesAreDeliveredWithoutReading(t *testing.T) {
	inBubble(t, embedded.Options{}, func(w *world) {
		c := w.subscribe(w.bus, "a")
		w.publish(w.bus, 0, 1)
		w.ack(c, w.fetch(c, 1))
		before := w.log.reads.Load()
		for n := range 100 {
			w.publish(w.bus, 1+10*n, 11+10*n)
			got := w.fetch(c, 10)
			w.want(got, 1+10*n, 11+10*n)
			w.ack(c, got)
		}
		if reads := w.log.reads.Load() - before; reads != 0 {
			t.Errorf("%d reads of the database for entries that were in memory", reads)
		}
	})
}

func TestEntriesOfAnotherProcessAreFoundWhileCatchingUp(t *testing.T) {
	inBubble(t, embedded.Options{}, func(w *world) {
		other := newBus(w.store, w.store, embedded.Options{})
		defer other.Close()
		w.publish(other, 0, 1)
		w.log.onRead = func() { // the read has the first entry; now come one of ours and one of theirs
			w.publish(w.bus, 1, 2)
			w.publish(other, 2, 3)
			time.Sleep(100 * time.Millisecond) // until the head was polled
		}
		w.want(w.fetch(w.subscribe(w.bus, "a"), 10), 0, 3)
	})
}

func TestALapsedLeaseStopsDelivery(t *testing.T) {
	inBubble(t, embedded.Options{LeaseTTL: 5 * time.Second}, func(w *world) {
		cut := w.subscribe(w.bus, "a")
		w.publish(w.bus, 0, 2)
		w.want(w.fetch(cut, 2), 0, 2)
		w.log.dead.Store(true) // no renewal from now on

		other := newBus(w.store, w.store, embedded.Options{})
		defer other.Close()
		heir := w.subscribe(other, "a")
		if got := w.fetch(heir, 1); len(got) != 0 {
			t.Fatalf("the second process got %d entries while the first one's lease lasted", len(got))
		}
		time.Sleep(5 * time.Second)
		w.want(w.fetch(heir, 2), 0, 2)

		// The first process still commits, and must not deliver what it commits.
		w.publish(w.bus, 2, 4)
		if got := w.fetch(cut, 1); len(got) != 0 {
			t.Fatalf("the first process delivered %s after its lease had lapsed", got[0].Envelope)
		}
		got := w.fetch(heir, 2)
		w.want(got, 2, 4)
		w.ack(heir, got)
		w.log.dead.Store(false)
		time.Sleep(time.Second)
		w.publish(w.bus, 4, 5)
		w.want(w.fetch(heir, 1), 4, 5)
		if got := w.fetch(cut, 1); len(got) != 0 {
			t.Fatalf("the first process delivered %s without a lease", got[0].Envelope)
		}
	})
}

func TestAStaleProcessCannotMoveThePosition(t *testing.T) {
	inBubble(t, embedded.Options{LeaseTTL: 5 * time.Second}, func(w *world) {
		stale := w.subscribe(w.bus, "a")
		w.publish(w.bus, 0, 3)
		got := w.fetch(stale, 3)
		w.log.dead.Store(true)
		other := newBus(w.store, w.store, embedded.Options{})
		defer other.Close()
		heir := w.subscribe(other, "a")
		time.Sleep(6 * time.Second)
		w.want(w.fetch(heir, 3), 0, 3)
		w.ack(stale, got)
		time.Sleep(time.Second)
		if err := w.store.LogAck(t.Context(), w.bus.TakeAcks()); err != nil {
			t.Fatal(err)
		}
		if cursor := w.cursor(); cursor != 0 {
			t.Errorf("the position is %d, want 0: nobody with a lease has acked", cursor)
		}
	})
}

func TestAGracefulCloseHandsOverAtOnce(t *testing.T) {
	inBubble(t, embedded.Options{LeaseTTL: time.Hour}, func(w *world) {
		leaving := w.subscribe(w.bus, "a")
		w.publish(w.bus, 0, 3)
		w.ack(leaving, w.fetch(leaving, 3)[:1])
		other := newBus(w.store, w.store, embedded.Options{})
		defer other.Close()
		heir := w.subscribe(other, "a")
		if err := leaving.Close(); err != nil {
			t.Fatal(err)
		}
		w.want(w.fetch(heir, 2), 1, 3)
		if again := w.subscribe(w.bus, "a"); len(w.fetch(again, 1)) != 0 {
			t.Error("the old process got entries while the new one holds the lease")
		}
	})
}

func TestAcksRideOnCommitsOrAreFlushed(t *testing.T) {
	inBubble(t, embedded.Options{AckFlush: 50 * time.Millisecond}, func(w *world) {
		c := w.subscribe(w.bus, "a")
		w.publish(w.bus, 0, 10)
		got := w.fetch(c, 10)

		w.ack(c, got[:4])
		if early := w.bus.TakeAcks(); early != nil {
			t.Errorf("acks are given at once: %v", early)
		}
		time.Sleep(30 * time.Millisecond)
		want := []store.GroupState{{Group: "g", Stream: "a", Cursor: 4, Fence: 1}}
		taken := w.bus.TakeAcks()
		if diff := cmp.Diff(want, taken); diff != "" {
			t.Errorf("taken (-want +got):\n%s", diff)
		}
		time.Sleep(time.Second)
		if n := w.log.taken.Load(); n != 0 {
			t.Errorf("%d positions were stored although a commit had taken them", n)
		}

		w.bus.ReturnAcks(taken) // that commit failed
		time.Sleep(60 * time.Millisecond)
		if cursor := w.cursor(); cursor != 4 {
			t.Errorf("the position is %d, want the returned 4 to be flushed", cursor)
		}
		w.ack(c, got[4:])
		time.Sleep(60 * time.Millisecond)
		if cursor := w.cursor(); cursor != 10 {
			t.Errorf("the position is %d, want 10", cursor)
		}
	})
}

func TestOutstandingEntriesAreBounded(t *testing.T) {
	inBubble(t, embedded.Options{MaxOutstanding: 10}, func(w *world) {
		c := w.subscribe(w.bus, "a")
		w.publish(w.bus, 0, 100)
		for from := 0; from < 100; {
			got := w.fetch(c, 100)
			if len(got) > 10 {
				t.Fatalf("%d entries are in flight, want at most 10", len(got))
			}
			w.want(got, from, from+len(got))
			w.ack(c, got)
			from += len(got)
		}
	})
}

func TestPositionsOfIdleStreamsFollowTheLog(t *testing.T) {
	inBubble(t, embedded.Options{}, func(w *world) {
		w.subscribe(w.bus, "idle")
		const many = 5000
		w.publish(w.bus, 0, many) // on another stream
		time.Sleep(10 * time.Second)
		if cursor := w.cursor(); cursor != many {
			t.Errorf("the position is %d, want %d: a restart would look through the whole log", cursor, many)
		}
	})
}

func TestAnOutageOfTheDatabaseIsLoggedOnceAndHeals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.Open(memory.Options{Embedded: true})
		w := &world{t: t, store: s, log: &watchedLog{mortalLog: mortalLog{Log: s}}}
		var text bytes.Buffer
		sink := &relay{cases: s}
		w.bus = embedded.New(w.log, embedded.Options{Sink: sink, Log: slog.New(slog.NewTextHandler(&text, nil))})
		sink.bus = w.bus
		c := w.subscribe(w.bus, "a")
		w.publish(w.bus, 0, 1)
		w.ack(c, w.fetch(c, 1))
		w.log.dead.Store(true)
		time.Sleep(time.Minute)
		w.publish(w.bus, 1, 2)
		w.log.dead.Store(false)
		got := w.fetch(c, 1)
		w.want(got, 1, 2)
		w.ack(c, got)
		time.Sleep(time.Second)
		if err := w.bus.Close(); err != nil {
			t.Fatal(err)
		}
		for what, want := range map[string]int{
			"polling the event log fails": 1, "polling the event log works": 1,
			"storing positions fails": 1, "storing positions works": 1,
			"leasing the group fails": 1, "leasing the group works": 1,
			"msg=": 6,
		} {
			if n := strings.Count(text.String(), what); n != want {
				t.Errorf("%q is logged %d times, want %d:\n%s", what, n, want, text.String())
			}
		}
	})
}

func TestPublishNeedsASink(t *testing.T) {
	b := embedded.New(memory.Open(memory.Options{Embedded: true}), embedded.Options{})
	defer b.Close()
	if err := b.Publish(t.Context(), []bus.Message{{Stream: "a"}}); err == nil {
		t.Error("published to nobody without an error")
	}
}

func TestAClosedBusTakesNoConsumers(t *testing.T) {
	b := embedded.New(memory.Open(memory.Options{Embedded: true}), embedded.Options{})
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := b.Subscribe(t.Context(), bus.Subscription{Group: "g", Streams: []string{"a"}})
	if rondo.CodeOf(err) != rondo.CodeUnavailable {
		t.Errorf("got %v, want code %s", err, rondo.CodeUnavailable)
	}
}
