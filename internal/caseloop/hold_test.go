package caseloop_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/internal/caseloop"
	"github.com/rondo-engine/rondo/store"
)

// capped is a relay bench with a cap of 10 whose wire remembers what it took as
// "stream number", numbered by the bench in the order of the commits.
type capped struct {
	*relayBench
	numbers map[rondo.ID]string
	last    map[string]int
	sent    []string
	cut     bool
}

func newCapped(t *testing.T) *capped {
	b := &capped{relayBench: newRelayBench(t), numbers: map[rondo.ID]string{}, last: map[string]int{}}
	b.restart()
	return b
}

// restart forgets all that was in memory.
func (b *capped) restart() {
	b.relay = caseloop.NewRelay(b, b.store, func() time.Time { return b.now })
	b.relay.Cap = 10
}

func (b *capped) Publish(_ context.Context, messages []bus.Message) error {
	if b.cut {
		return errors.New("cut")
	}
	for _, m := range messages {
		b.sent = append(b.sent, b.numbers[m.EventID])
	}
	return nil
}

// commit stores one event per stream name without releasing it.
func (b *capped) commit(streams ...string) []rondo.Outgoing {
	b.t.Helper()
	events := b.relayBench.commit(streams...)
	for _, e := range events {
		b.last[e.Stream]++
		b.numbers[e.EventID] = fmt.Sprintf("%s%d", e.Stream, b.last[e.Stream])
	}
	return events
}

func (b *capped) release(streams ...string) {
	b.t.Helper()
	b.relay.Release(b.commit(streams...))
}

// flush flushes as often as the relay asks for it.
func (b *capped) flush() {
	b.t.Helper()
	for range 100 {
		if err := b.relay.Flush(b.t.Context()); err != nil {
			b.t.Fatal(err)
		}
		select {
		case <-b.relay.Wake():
		default:
			return
		}
	}
	b.t.Fatal("the relay never came to rest")
}

func (b *capped) wantSent(want ...string) {
	b.t.Helper()
	if diff := cmp.Diff(want, b.sent); diff != "" {
		b.t.Errorf("sent (-want +got):\n%s", diff)
	}
}

func (b *capped) wantHeld(want ...string) {
	b.t.Helper()
	if got := b.relay.Held(); !slices.Equal(got, want) {
		b.t.Errorf("held %v, want %v", got, want)
	}
}

func TestNothingIsSentBeforeTheStreamsAreMeasured(t *testing.T) {
	b := newCapped(t)
	b.release("a")
	b.commit("b")
	b.now = b.now.Add(time.Minute)
	b.flush()
	if n, err := b.relay.Sweep(t.Context()); n != 0 || err != nil {
		t.Errorf("swept %d rows (%v), want none", n, err)
	}
	b.wantSent()
	b.relay.Measured(nil) // it cannot be measured: that must not stop anything
	b.flush()
	b.wantSent("a1")
}

func TestAFullStreamIsHeldAndTheOthersGoOn(t *testing.T) {
	b := newCapped(t)
	b.relay.Measured(map[string]int64{"a": 10, "b": 0})
	b.release("a", "b")
	b.flush()
	b.release("a", "b") // in memory when the stream is found full
	held, _ := b.relay.Measured(map[string]int64{"a": 11, "b": 1})
	if diff := cmp.Diff([]caseloop.Held{{Stream: "a", Length: 11}}, held); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
	if held, freed := b.relay.Measured(map[string]int64{"a": 12, "b": 1}); held != nil || freed != nil {
		t.Errorf("told %v and %v again", held, freed)
	}
	b.release("b", "a", "b")
	b.flush()
	b.wantSent("a1", "b1", "b2", "b3", "b4")
	b.wantHeld("a")
	if n := b.relay.Waiting(); n != 0 {
		t.Errorf("%d events are held in memory", n)
	}
}

func TestAHeldStreamIsSentInOrderWhenItHasRoom(t *testing.T) {
	b := newCapped(t)
	b.relay.Measured(map[string]int64{"a": 11})
	b.release("a", "a", "a", "b", "a", "a")
	b.flush()
	b.relay.Measured(map[string]int64{"a": 10}) // not enough room
	b.flush()
	b.wantSent("b1")

	b.relay.Measured(map[string]int64{"a": 8}) // room for two
	b.flush()
	b.release("a", "b") // must not overtake
	b.flush()
	b.wantSent("b1", "a1", "a2", "b2")
	b.wantHeld("a")

	b.relay.Measured(map[string]int64{"a": 3})
	b.flush()
	b.wantHeld()
	b.release("a")
	b.flush()
	b.wantSent("b1", "a1", "a2", "b2", "a3", "a4", "a5", "a6", "a7")
	if _, freed := b.relay.Measured(map[string]int64{"a": 8}); !slices.Equal(freed, []string{"a"}) {
		t.Errorf("told that %v are free, want a", freed)
	}
	if err := b.relay.FlushSent(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := b.backlog(); n != 0 {
		t.Errorf("%d rows are left in the outbox", n)
	}
}

func TestMeasuringInVainChangesNothing(t *testing.T) {
	b := newCapped(t)
	b.relay.Measured(map[string]int64{"a": 11})
	b.release("a", "b")
	b.relay.Measured(nil)
	b.flush()
	b.wantSent("b1")
	b.wantHeld("a")
}

func TestHeldRowsDoNotHideThoseOfOtherStreams(t *testing.T) {
	b := newCapped(t)
	b.relay.Measured(map[string]int64{"a": 11})
	b.release(slices.Repeat([]string{"a"}, 1200)...)
	b.commit("b") // of a replica that died
	b.now = b.now.Add(time.Minute)
	if n, err := b.relay.Sweep(t.Context()); n != 1 || err != nil {
		t.Errorf("swept %d rows (%v), want 1", n, err)
	}
	b.wantSent("b1")
	b.commit("b") // committed, and not known whether
	b.relay.Doubt()
	b.release("b")
	b.flush()
	b.wantSent("b1", "b2", "b3")
	if n := b.backlog(); n != 1200 {
		t.Errorf("%d rows are in the outbox, want the 1200 that are held", n)
	}
}

func TestAHeldStreamOutlivesARestart(t *testing.T) {
	b := newCapped(t)
	b.relay.Measured(map[string]int64{"a": 11})
	b.release("a", "a")
	b.flush()
	b.restart()
	b.now = b.now.Add(time.Minute)
	b.release("a", "b")
	b.relay.Measured(map[string]int64{"a": 11})
	b.flush()
	if _, err := b.relay.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.wantSent("b1")
	b.relay.Measured(map[string]int64{"a": 0})
	b.flush()
	b.wantSent("b1", "a1", "a2", "a3")
	b.wantHeld()
}

func TestAStreamThatIsFullAgainWhileItIsDrainedStops(t *testing.T) {
	b := newCapped(t)
	b.relay.Measured(map[string]int64{"a": 11})
	b.release(slices.Repeat([]string{"a"}, 4)...)
	b.relay.Measured(map[string]int64{"a": 9})
	b.flush()
	held, _ := b.relay.Measured(map[string]int64{"a": 30}) // by other replicas
	b.flush()
	b.wantSent("a1")
	b.wantHeld("a")
	if held != nil {
		t.Errorf("told %v although it was held all the time", held)
	}
}

func TestAFailedSendOfAHeldStreamIsRepeatedInOrder(t *testing.T) {
	b := newCapped(t)
	b.relay.Measured(map[string]int64{"a": 11})
	b.release("a", "a", "a")
	b.relay.Measured(map[string]int64{"a": 8})
	b.cut = true
	if err := b.relay.Flush(t.Context()); err == nil {
		t.Fatal("a cut wire took events")
	}
	b.release("a", "b")
	b.relay.Measured(map[string]int64{"a": 0})
	b.cut = false
	b.flush()
	b.wantSent("b1", "a1", "a2", "a3", "a4")
	b.wantHeld()
}

// meddling is an outbox in which something happens when it is found empty.
type meddling struct {
	store.Outbox
	onEmpty func()
	fail    bool
}

func (m *meddling) ClaimUnsent(ctx context.Context, now, olderThan time.Time, lease time.Duration, limit int, which store.Streams) ([]rondo.Outgoing, error) {
	if m.fail {
		return nil, errors.New("the store is away")
	}
	rows, err := m.Outbox.ClaimUnsent(ctx, now, olderThan, lease, limit, which)
	if len(rows) == 0 && which.Only && m.onEmpty != nil {
		happens := m.onEmpty
		m.onEmpty = nil
		happens()
	}
	return rows, err
}

func TestWhatIsCommittedWhileAHoldEndsKeepsItsPlace(t *testing.T) {
	for _, c := range []struct {
		name  string
		away  bool // the store, at the last look
		count int  // of events committed meanwhile
	}{
		{name: "few", count: 2},
		{name: "as many as a look takes", count: 10},
		{name: "more than a look takes", count: 15},
		{name: "the store fails", count: 2, away: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newCapped(t)
			outbox := &meddling{Outbox: b.store}
			b.relay.Outbox = outbox
			b.relay.Measured(map[string]int64{"a": 11})
			b.relay.Measured(map[string]int64{"a": 0})
			var want []string
			outbox.onEmpty = func() { // between the look that finds nothing and the last one
				b.release(slices.Repeat([]string{"a"}, c.count)...)
				outbox.fail = c.away
			}
			err := b.relay.Flush(t.Context())
			if (err != nil) != c.away {
				t.Fatalf("flush: %v", err)
			}
			outbox.fail = false
			b.release("a")
			for i := range c.count + 1 {
				want = append(want, fmt.Sprintf("a%d", i+1))
			}
			for range 3 {
				b.flush()
				b.relay.Measured(map[string]int64{"a": 0})
			}
			b.flush()
			b.wantSent(want...)
			b.wantHeld()
		})
	}
}
