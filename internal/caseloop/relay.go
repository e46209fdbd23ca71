package caseloop

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/store"
)

// Relay sends committed events to an external bus. Normally an event is
// published from memory right after its commit; the outbox row behind it is the
// promise that it is sent even if this process dies in between. Events are sent
// in commit order; a failed send is repeated before anything newer goes out.
//
// When the bus is away so long that the memory is full, or when a commit may
// have left events that memory does not know of, the relay forgets what it
// holds, works through the outbox instead, and returns to memory once the outbox
// is empty.
//
// A stream that has grown above the cap is held (see hold): its events stay in
// the outbox, and only there, until readers have made room.
type Relay struct {
	Bus    bus.Publisher
	Outbox store.Outbox
	Now    func() time.Time
	// Grace is how old an outbox row must be before a sweep takes it: younger
	// ones are on their way from the memory of the process that wrote them.
	Grace time.Duration
	// Lease is how long a swept row is kept from other replicas.
	Lease time.Duration
	// Limit bounds the events held in memory.
	Limit int
	// Cap is how many entries a stream may have; above, it is held. Whoever sets
	// it calls Measured. 0 = none.
	Cap int64

	mu      sync.Mutex // guards all below but claimed, which only the sending goroutine touches
	waiting []rondo.Outgoing
	claimed []rondo.Outgoing // swept but not published yet: first in line
	behind  bool             // the outbox leads, not memory
	sent    []int64          // published, row not removed yet
	wake    chan struct{}

	held     map[string]*hold // by stream
	purge    bool             // waiting may have events of streams that are held since
	freed    []string         // held no more, not yet told
	measured bool
}

const (
	sweepBatch = 500       // how many outbox rows one claim takes
	ahead      = time.Hour // makes every row old enough, whoever's clock made it
)

// NewRelay returns a relay with defaults: 5 s grace, 10 s lease, 20,000 events.
func NewRelay(publisher bus.Publisher, outbox store.Outbox, now func() time.Time) *Relay {
	return &Relay{
		Bus: publisher, Outbox: outbox, Now: now,
		Grace: 5 * time.Second, Lease: 10 * time.Second, Limit: 20_000,
		wake: make(chan struct{}, 1),
	}
}

// Release takes the events of a commit, in order. It never blocks.
func (r *Relay) Release(committed []rondo.Outgoing) {
	r.mu.Lock()
	committed = r.admitted(committed)
	switch {
	case r.behind:
	case len(r.waiting)+len(committed) > r.Limit:
		r.behind, r.waiting = true, nil
	default:
		r.waiting = append(r.waiting, committed...)
	}
	r.mu.Unlock()
	signal(r.wake)
}

// Doubt says that a commit may have happened whose events were not released.
// They are in the outbox if it did, so the outbox leads from here on.
func (r *Relay) Doubt() {
	r.mu.Lock()
	r.behind, r.waiting = true, nil
	r.mu.Unlock()
	signal(r.wake)
}

// Flush publishes what is waiting, and some of what was held and has room. On
// error everything stays where it was.
func (r *Relay) Flush(ctx context.Context) error {
	r.mu.Lock()
	if r.purge {
		r.waiting, r.purge = r.admitted(r.waiting), false
	}
	behind, batch, unknown := r.behind, r.waiting, r.Cap > 0 && !r.measured
	r.mu.Unlock()
	if unknown {
		return nil
	}
	if behind {
		if err := r.catchUp(ctx); err != nil {
			return err
		}
	} else if err := r.sendWaiting(ctx, batch); err != nil {
		return err
	}
	return r.drain(ctx)
}

func (r *Relay) sendWaiting(ctx context.Context, batch []rondo.Outgoing) error {
	if len(batch) == 0 {
		return nil
	}
	if err := r.Bus.Publish(ctx, messages(batch)); err != nil {
		return rondo.Op("publish", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.behind {
		r.waiting = r.waiting[len(batch):]
		if len(r.waiting) == 0 {
			r.waiting = nil
		}
	}
	for i := range batch {
		r.sent = append(r.sent, batch[i].Seq)
	}
	return nil
}

// catchUp sends the whole outbox in order and then lets memory lead again. The
// flag falls before the last look at the outbox, so that whatever is committed
// meanwhile is either seen by that look or waits in memory behind it.
func (r *Relay) catchUp(ctx context.Context) error {
	for {
		n, err := r.sweep(ctx, r.Now().Add(ahead))
		if err != nil {
			return err
		}
		if n > 0 {
			continue
		}
		r.mu.Lock()
		first := r.behind
		r.behind = false
		r.mu.Unlock()
		if !first {
			return nil
		}
	}
}

// Sweep sends outbox rows that are older than Grace: those of a replica that
// died between commit and publish. It returns how many it sent.
func (r *Relay) Sweep(ctx context.Context) (int, error) {
	r.mu.Lock()
	unknown := r.Cap > 0 && !r.measured
	r.mu.Unlock()
	if unknown {
		return 0, nil
	}
	total := 0
	for {
		n, err := r.sweep(ctx, r.Now().Add(-r.Grace))
		total += n
		if err != nil || n < sweepBatch {
			return total, err
		}
	}
}

// sweep claims rows of streams that are not held and sends those that were not
// sent yet. It returns how many it claimed: none means that the outbox has
// nothing for this replica.
func (r *Relay) sweep(ctx context.Context, olderThan time.Time) (int, error) {
	n, err := r.claim(ctx, olderThan, sweepBatch, r.open())
	if err != nil || n == 0 {
		return 0, err
	}
	if err := r.sendClaimed(ctx); err != nil {
		return 0, err
	}
	return n, nil
}

// claim takes rows from the outbox unless some are left from before, and returns
// how many there are to send.
func (r *Relay) claim(ctx context.Context, olderThan time.Time, limit int, which store.Streams) (int, error) {
	if len(r.claimed) == 0 {
		rows, err := r.Outbox.ClaimUnsent(ctx, r.Now(), olderThan, r.Lease, limit, which)
		if err != nil {
			return 0, rondo.Op("claim unsent events", err)
		}
		r.claimed = rows
	}
	return len(r.claimed), nil
}

// sendClaimed publishes what was claimed and removes it from the outbox.
func (r *Relay) sendClaimed(ctx context.Context) error {
	rows := r.claimed
	if unsent := r.unsent(rows); len(unsent) > 0 {
		if err := r.Bus.Publish(ctx, messages(unsent)); err != nil {
			return rondo.Op("publish", err)
		}
	}
	r.claimed = nil
	seqs := make([]int64, len(rows))
	for i := range rows {
		seqs[i] = rows[i].Seq
	}
	if err := r.Outbox.MarkSent(ctx, seqs); err != nil {
		r.RestoreSent(seqs)
		return rondo.Op("mark events sent", err)
	}
	return nil
}

// unsent leaves out rows that this relay has published already and only not
// removed yet.
func (r *Relay) unsent(rows []rondo.Outgoing) []rondo.Outgoing {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.sent) == 0 {
		return rows
	}
	published := make(map[int64]bool, len(r.sent))
	for _, seq := range r.sent {
		published[seq] = true
	}
	return slices.DeleteFunc(slices.Clone(rows), func(row rondo.Outgoing) bool { return published[row.Seq] })
}

// TakeSent hands out the published rows for removal by a commit that happens
// anyway.
func (r *Relay) TakeSent() []int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	sent := r.sent
	r.sent = nil
	return sent
}

// RestoreSent takes them back when that commit did not happen.
func (r *Relay) RestoreSent(sent []int64) {
	if len(sent) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent = append(sent, r.sent...)
}

// FlushSent removes published rows that no commit has taken along.
func (r *Relay) FlushSent(ctx context.Context) error {
	sent := r.TakeSent()
	if len(sent) == 0 {
		return nil
	}
	if err := r.Outbox.MarkSent(ctx, sent); err != nil {
		r.RestoreSent(sent)
		return rondo.Op("mark events sent", err)
	}
	return nil
}

// Wake is signalled when there is something to flush.
func (r *Relay) Wake() <-chan struct{} { return r.wake }

// Waiting tells how many events are held in memory.
func (r *Relay) Waiting() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.waiting)
}

func messages(rows []rondo.Outgoing) []bus.Message {
	out := make([]bus.Message, len(rows))
	for i, row := range rows {
		out[i] = bus.Message{
			Stream: row.Stream, EventID: row.EventID, Envelope: row.Envelope, Relayed: row.Relayed,
			Own: !row.Relayed && !event.PublishedByOrchestrator(row.Stream),
		}
	}
	return out
}
