package caseloop_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/internal/caseloop"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/memory"
)

// wire is a bus that can be cut.
type wire struct {
	cut  bool
	sent []string
}

func (w *wire) Publish(_ context.Context, messages []bus.Message) error {
	if w.cut {
		return errors.New("cut")
	}
	for _, m := range messages {
		w.sent = append(w.sent, m.Stream)
	}
	return nil
}

type relayBench struct {
	t     *testing.T
	store *memory.Store
	wire  *wire
	relay *caseloop.Relay
	now   time.Time
	ids   *rondo.IDs
}

func newRelayBench(t *testing.T) *relayBench {
	b := &relayBench{t: t, store: memory.Open(memory.Options{}), wire: &wire{}, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	clock := func() time.Time { return b.now }
	b.ids = rondo.NewIDs(clock)
	b.relay = caseloop.NewRelay(b.wire, b.store, clock)
	return b
}

// commit stores one event per stream name and returns them as committed.
func (b *relayBench) commit(streams ...string) []rondo.Outgoing {
	b.t.Helper()
	var out []rondo.Outgoing
	for _, stream := range streams {
		out = append(out, rondo.Outgoing{Stream: stream, OrgID: "o", EventID: b.ids.New(), Envelope: []byte(`{}`), CreatedAt: b.now})
	}
	committed, err := b.store.Update(b.t.Context(), store.Load{}, func(*store.Loaded) (*store.Write, error) { return &store.Write{Outbox: out}, nil })
	if err != nil {
		b.t.Fatal(err)
	}
	for i := range out {
		out[i].Seq = committed.Seqs[i]
	}
	return out
}

func (b *relayBench) backlog() int {
	b.t.Helper()
	n, _, err := b.store.Backlog(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return n
}

func (b *relayBench) wantSent(want ...string) {
	b.t.Helper()
	if !slices.Equal(b.wire.sent, want) {
		b.t.Errorf("sent %v, want %v", b.wire.sent, want)
	}
}

func TestAFailedSendIsRepeatedBeforeAnythingNewer(t *testing.T) {
	b := newRelayBench(t)
	b.wire.cut = true
	b.relay.Release(b.commit("first"))
	if err := b.relay.Flush(t.Context()); err == nil {
		t.Fatal("a cut wire took events")
	}
	b.relay.Release(b.commit("second"))
	b.wire.cut = false
	if err := b.relay.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.wantSent("first", "second")
	if err := b.relay.FlushSent(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := b.backlog(); n != 0 {
		t.Errorf("%d rows are left in the outbox", n)
	}
}

func TestARelayThatOverflowsWorksThroughTheOutboxInOrder(t *testing.T) {
	b := newRelayBench(t)
	b.relay.Limit = 2
	b.wire.cut = true
	b.relay.Release(b.commit("a", "b"))
	b.relay.Release(b.commit("c")) // one too many: memory is forgotten
	b.relay.Release(b.commit("d"))
	if n := b.relay.Waiting(); n != 0 {
		t.Fatalf("%d events are held in memory", n)
	}
	b.wire.cut = false
	if err := b.relay.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.relay.Release(b.commit("e"))
	if err := b.relay.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.wantSent("a", "b", "c", "d", "e")
}

func TestDoubtAboutACommitPutsItsEventsBeforeLaterOnes(t *testing.T) {
	b := newRelayBench(t)
	b.commit("doubtful") // committed, but reported as failed: never released
	b.relay.Doubt()
	b.relay.Release(b.commit("later"))
	if err := b.relay.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.wantSent("doubtful", "later")
}

func TestASweptRowThatCouldNotBeSentStaysFirstInLine(t *testing.T) {
	b := newRelayBench(t)
	b.commit("left by a dead replica")
	b.now = b.now.Add(time.Minute)
	b.wire.cut = true
	if _, err := b.relay.Sweep(t.Context()); err == nil {
		t.Fatal("a cut wire took events")
	}
	b.wire.cut = false
	n, err := b.relay.Sweep(t.Context()) // at once, although the claim still runs
	if err != nil || n != 1 {
		t.Fatalf("swept %d rows (%v), want 1", n, err)
	}
	b.wantSent("left by a dead replica")
}

func TestASweepLeavesYoungRowsToTheirOwner(t *testing.T) {
	b := newRelayBench(t)
	b.commit("young")
	if n, err := b.relay.Sweep(t.Context()); n != 0 || err != nil {
		t.Fatalf("swept %d rows (%v), want none", n, err)
	}
	b.wantSent()
}

func TestRowsThatAreSentAndNotYetRemovedDoNotHideUnsentOnes(t *testing.T) {
	b := newRelayBench(t)
	for range 4 {
		b.relay.Release(b.commit(slices.Repeat([]string{"sent"}, 250)...))
		if err := b.relay.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	b.wire.sent = nil
	b.commit("doubtful")
	b.relay.Doubt()
	b.relay.Release(b.commit("later")) // not held: the outbox leads
	if err := b.relay.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.relay.Release(b.commit("last"))
	if err := b.relay.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.wantSent("doubtful", "later", "last")
}
