// Package embedded is the bus without a server: events travel through the
// store's own log, so that an event becomes durable by the very commit that
// causes or applies it, and no second system has to be kept.
//
// # How it works
//
//   - What Rondo sends is written to the log by the engine's commit. The engine
//     hands the committed entries to Committed, and local readers get them from
//     memory; only gaps (entries of other processes, a reader that fell behind)
//     are read from the database.
//   - What is sent to Rondo with Publish goes to the Sink, the engine's input,
//     which answers after the commit that applies it.
//   - A group has one reading process at a time, the holder of the group's
//     lease. All consumers of that process share it; other processes stand by
//     and take over when the lease is released or expires.
//   - What is in flight is known in memory only. Positions are stored lazily:
//     the engine takes them along with commits that happen anyway (TakeAcks),
//     and a flusher stores what nobody took. A crash in between means that
//     entries come again, never that they are lost.
//
// # Guarantees
//
// Those of package bus. A process that loses its lease stops delivering by its
// own clock, before another may start; positions carry the lease's fence, so a
// late one is ignored by the store. Memory is bounded per group and stream.
//
// It imports the root package, bus and store. Start begins to follow the log (the
// first Subscribe does so too); Stop and Close wait for every goroutine.
package embedded

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/store"
)

// Sink takes events that are published to Rondo. Submit returns nil when all of
// them are committed; an error means unknown, as for bus.Publisher.
type Sink interface {
	Submit(ctx context.Context, messages []bus.Message) error
}

// Options configure a Bus. The zero value works, except that Publish needs a Sink.
type Options struct {
	// Sink is where Publish goes. Default: none, and Publish fails.
	Sink Sink
	// Clock tells the time for leases and AckWait. Default time.Now.
	Clock func() time.Time
	// Owner names this process in leases; two processes must never share one.
	// Default: a random name.
	Owner string
	// LeaseTTL is how long a group waits for a reader that died. Default 5 s.
	LeaseTTL time.Duration
	// Standby is how often a process without the lease asks for it. Default 250 ms.
	Standby time.Duration
	// Poll is how often entries of other processes are looked for. Default 20 ms.
	Poll time.Duration
	// GapWait is how long a commit whose predecessor has not been reported waits
	// for it before the predecessor is read from the database. Default 1 ms.
	GapWait time.Duration
	// AckFlush is how long a position may wait for a commit to ride on before it
	// is stored on its own. Default 50 ms.
	AckFlush time.Duration
	// MaxOutstanding bounds the entries of one stream that a group holds in
	// memory, acked or not, above its position. Default 8192.
	MaxOutstanding int
	// MaxBytes bounds the envelopes of one stream that a group holds. Default 16 MiB.
	MaxBytes int
	// Log gets one line per change between working and failing. Default: nowhere.
	Log *slog.Logger
}

func (o Options) withDefaults() Options {
	setDuration := func(d *time.Duration, value time.Duration) {
		if *d <= 0 {
			*d = value
		}
	}
	setDuration(&o.LeaseTTL, 5*time.Second)
	setDuration(&o.Standby, 250*time.Millisecond)
	setDuration(&o.Poll, 20*time.Millisecond)
	setDuration(&o.GapWait, time.Millisecond)
	setDuration(&o.AckFlush, 50*time.Millisecond)
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Owner == "" {
		o.Owner = rand.Text()
	}
	if o.MaxOutstanding <= 0 {
		o.MaxOutstanding = 8192
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = 16 << 20
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// closeTimeout bounds what Close does in the database: store positions, release
// leases. What it cannot do in time heals itself when the lease expires.
const closeTimeout = 5 * time.Second

// Bus is the embedded bus. It is safe for concurrent use.
type Bus struct {
	log    store.Log
	opts   Options
	recent *window
	takeAt atomic.Int64 // when TakeAcks has something to give; never = nothing waits

	mu     sync.RWMutex
	groups map[string]*group
	closed bool
	poller *poller // nil before the start
}

var (
	_ bus.Bus     = (*Bus)(nil)
	_ bus.Trimmer = (*Bus)(nil)
	_ bus.Groups  = (*Bus)(nil)
)

// New makes a bus on a store's log. It does no I/O.
func New(log store.Log, opts Options) *Bus {
	b := &Bus{log: log, opts: opts.withDefaults(), recent: newWindow(), groups: map[string]*group{}}
	b.takeAt.Store(never)
	return b
}

// Start begins to follow the log from its end; groups read what lies before from
// their own positions. It fails when the log cannot be read.
func (b *Bus) Start(ctx context.Context) error {
	head, err := b.log.LogHead(ctx)
	if err != nil {
		return rondo.Op("start bus", err)
	}
	b.recent.reach(head)
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.start()
}

// start makes sure that the poller runs. The caller holds mu.
func (b *Bus) start() error {
	if b.closed {
		return errClosed("bus")
	}
	if b.poller == nil {
		b.poller = startPoller(b)
	}
	return nil
}

// Publish hands events to the engine and returns when they are committed.
func (b *Bus) Publish(ctx context.Context, messages []bus.Message) error {
	if len(messages) == 0 {
		return nil
	}
	if b.opts.Sink == nil {
		return &rondo.Error{
			Code: rondo.CodeInternal, Op: "publish", Message: "the embedded bus has no sink",
			Hint: "set Options.Sink to the engine",
		}
	}
	return rondo.Op("publish", b.opts.Sink.Submit(ctx, messages))
}

// Committed tells the bus what a commit of this process wrote to the log, right
// after that commit. Entries without a Seq were not logged and are skipped. The
// bus keeps the slice; the caller must not change it. A call that never comes
// (a crash, an ambiguous commit) only costs a read.
func (b *Bus) Committed(entries []rondo.Outgoing) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if len(b.groups) == 0 {
		b.recent.pass(entries)
		return
	}
	advanced, gap := b.recent.add(entries)
	if advanced {
		b.advanceGroups()
	}
	if gap && b.poller != nil {
		b.poller.expectGap()
	}
}

// advanceGroups lets every group take what is new. The caller holds mu.
func (b *Bus) advanceGroups() {
	for _, g := range b.groups {
		g.advance()
	}
}

// Subscribe joins a group.
func (b *Bus) Subscribe(ctx context.Context, sub bus.Subscription) (bus.Consumer, error) {
	if sub.Group == "" || len(sub.Streams) == 0 {
		return nil, &rondo.Error{Code: rondo.CodeInvalid, Op: "subscribe", Message: "a subscription needs a group and at least one stream"}
	}
	if sub.AckWait <= 0 {
		sub.AckWait = 60 * time.Second
	}
	if err := b.log.LogJoin(ctx, sub.Group, sub.Streams); err != nil {
		return nil, rondo.Op("join group "+sub.Group, err)
	}
	for {
		c, wait, err := b.addConsumer(sub)
		if wait == nil {
			return c, err
		}
		select { // the group is being closed: its lease must be given back first
		case <-wait:
		case <-ctx.Done():
			return nil, rondo.Op("join group "+sub.Group, ctx.Err())
		}
	}
}

// addConsumer returns a consumer, or what to wait for before trying again.
func (b *Bus) addConsumer(sub bus.Subscription) (bus.Consumer, <-chan struct{}, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.start(); err != nil {
		return nil, nil, err
	}
	b.poller.hurry() // joining may have copied entries to the log
	g := b.groups[sub.Group]
	if g == nil {
		g = startGroup(b, sub.Group)
		b.groups[sub.Group] = g
	}
	if c := g.join(sub); c != nil {
		return c, nil, nil
	}
	return nil, g.done, nil
}

// forget removes a group that has stopped.
func (b *Bus) forget(g *group) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.groups[g.name] == g {
		delete(b.groups, g.name)
	}
}

// Check reports whether the log can be read.
func (b *Bus) Check(ctx context.Context) error {
	if _, err := b.log.LogHead(ctx); err != nil {
		return &rondo.Error{
			Code: rondo.CodeUnavailable, Op: "check bus", Message: "the event log cannot be read", Err: err,
			Hint: "check the database",
		}
	}
	return nil
}

// Trim removes entries that are older than before and acked by every group of
// their stream, and returns how many.
func (b *Bus) Trim(ctx context.Context, before time.Time) (int64, error) {
	n, err := b.log.LogTrim(ctx, before)
	return n, rondo.Op("trim log", err)
}

// Close stops the bus, with the time that databases usually need.
func (b *Bus) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return b.Stop(ctx)
}

// Stop stores positions, gives leases back and waits for every goroutine. It
// closes consumers that are still open. ctx bounds what it does in the database.
func (b *Bus) Stop(ctx context.Context) error {
	b.mu.Lock()
	b.closed = true
	poller := b.poller
	b.poller = nil
	groups := make([]*group, 0, len(b.groups))
	for _, g := range b.groups {
		groups = append(groups, g)
	}
	b.mu.Unlock()
	if poller != nil {
		poller.stop()
	}
	var first error
	for _, g := range groups {
		if err := g.stop(ctx); err != nil && first == nil {
			first = err
		}
	}
	return first
}

func errClosed(what string) error {
	return &rondo.Error{Code: rondo.CodeUnavailable, Message: "the " + what + " is closed"}
}
