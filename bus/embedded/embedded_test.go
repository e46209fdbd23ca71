package embedded_test

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/bus/bustest"
	"github.com/rondo-engine/rondo/bus/embedded"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	bustest.Run(t, bustest.Harness{
		Open: func(*testing.T) bustest.Storage { return storage{Store: memory.Open(memory.Options{Embedded: true})} },
		Wrap: synctest.Test,
	})
}

// Commits that are reported late, out of order or never, and room for few
// entries: everything then goes through the database now and again.
func TestConformanceWithUnreliableReportsAndLittleRoom(t *testing.T) {
	bustest.Run(t, bustest.Harness{
		Open: func(*testing.T) bustest.Storage {
			random := rand.New(rand.NewPCG(1, 2))
			var mu sync.Mutex
			return storage{
				Store: memory.Open(memory.Options{Embedded: true}),
				opts:  embedded.Options{MaxOutstanding: 128, MaxBytes: 1 << 20},
				report: func(report func()) {
					mu.Lock()
					fate := random.IntN(10)
					mu.Unlock()
					if fate == 0 {
						return
					}
					time.Sleep(time.Duration(fate-1) * time.Millisecond)
					report()
				},
			}
		},
		Wrap: synctest.Test,
	})
}

// storage is a store that outlives its buses.
type storage struct {
	*memory.Store
	opts   embedded.Options
	report func(report func())
}

func (s storage) Process(*testing.T) bustest.Process {
	log := &mortalLog{Log: s.Store}
	b, sink := newBusAndSink(s.Store, log, s.opts)
	sink.report = s.report
	return bustest.Process{Bus: b, Trim: b.Trim, Kill: func() { log.dead.Store(true) }}
}

func (s storage) Stored(t *testing.T, stream string) int {
	entries, err := s.LogRead(t.Context(), []string{stream}, 0, 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// newBus makes a bus whose sink commits straight to the store, as an engine
// that only relays would.
func newBus(cases store.Cases, log store.Log, opts embedded.Options) *embedded.Bus {
	b, _ := newBusAndSink(cases, log, opts)
	return b
}

func newBusAndSink(cases store.Cases, log store.Log, opts embedded.Options) (*embedded.Bus, *relay) {
	sink := &relay{cases: cases}
	opts.Sink = sink
	opts.Log = slog.New(slog.DiscardHandler)
	sink.bus = embedded.New(log, opts)
	return sink.bus, sink
}

// relay is the engine of these tests: it writes every message to the log and
// takes acks along.
type relay struct {
	cases  store.Cases
	bus    *embedded.Bus
	report func(report func()) // how commits are reported; nil = at once
}

func (r *relay) Submit(ctx context.Context, messages []bus.Message) error {
	entries := make([]rondo.Outgoing, len(messages))
	for i, m := range messages {
		entries[i] = rondo.Outgoing{Stream: m.Stream, OrgID: "org", EventID: m.EventID, Envelope: m.Envelope, Relayed: m.Relayed, CreatedAt: time.Now()}
	}
	acks := r.bus.TakeAcks()
	committed, err := r.cases.Update(ctx, store.Load{}, func(*store.Loaded) (*store.Write, error) {
		return &store.Write{Outbox: entries, Acks: acks}, nil
	})
	if err != nil {
		r.bus.ReturnAcks(acks)
		return err
	}
	for i, seq := range committed.Seqs {
		entries[i].Seq = seq
	}
	if r.report == nil {
		r.bus.Committed(entries)
	} else {
		r.report(func() { r.bus.Committed(entries) })
	}
	return nil
}

var errDead = errors.New("this process was killed")

// mortalLog is the log as a process sees it that may be killed.
type mortalLog struct {
	store.Log
	dead atomic.Bool
}

func (l *mortalLog) check() error {
	if l.dead.Load() {
		return errDead
	}
	return nil
}

func (l *mortalLog) LogLease(ctx context.Context, group, owner string, now time.Time, ttl time.Duration) (int64, bool, error) {
	if err := l.check(); err != nil {
		return 0, false, err
	}
	return l.Log.LogLease(ctx, group, owner, now, ttl)
}

func (l *mortalLog) LogRelease(ctx context.Context, group, owner string) error {
	if err := l.check(); err != nil {
		return err
	}
	return l.Log.LogRelease(ctx, group, owner)
}

func (l *mortalLog) LogAck(ctx context.Context, states []store.GroupState) error {
	if err := l.check(); err != nil {
		return err
	}
	return l.Log.LogAck(ctx, states)
}

func (l *mortalLog) LogRead(ctx context.Context, streams []string, after int64, limit int) ([]rondo.Outgoing, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	return l.Log.LogRead(ctx, streams, after, limit)
}

func (l *mortalLog) LogHead(ctx context.Context) (int64, error) {
	if err := l.check(); err != nil {
		return 0, err
	}
	return l.Log.LogHead(ctx)
}
