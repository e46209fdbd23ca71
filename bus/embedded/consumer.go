package embedded

import (
	"context"
	"strconv"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
)

// consumer is one member of a group. The group's mutex guards its state.
type consumer struct {
	group   *group
	streams []*stream
	ackWait time.Duration
	wake    chan struct{} // signalled when there may be something to take, or it is closed
	waiting bool          // in Fetch, not woken yet
	closed  bool
}

var _ bus.Consumer = (*consumer)(nil)

// Fetch returns what is there, up to limit, or waits for it. The envelopes are
// shared with other groups: read only.
func (c *consumer) Fetch(ctx context.Context, limit int) ([]bus.Delivery, error) {
	if limit < 1 {
		return nil, rondo.Invalid("fetch needs a limit of at least 1")
	}
	g := c.group
	for {
		now := g.bus.opts.Clock()
		g.mu.Lock()
		if c.closed {
			g.mu.Unlock()
			return nil, errClosed("consumer")
		}
		var taken []bus.Delivery
		if g.held && now.Before(g.until) && ctx.Err() == nil {
			taken = g.take(c, limit, now)
		}
		c.waiting = len(taken) == 0
		if !c.waiting {
			g.wakeNext()
		}
		g.mu.Unlock()
		if len(taken) > 0 {
			return taken, nil
		}
		select {
		case <-c.wake:
		case <-ctx.Done():
			g.mu.Lock()
			c.waiting = false
			g.wakeNext() // it may have been this one's turn
			g.mu.Unlock()
			return nil, ctx.Err()
		}
	}
}

// take gives a consumer up to limit entries: first those that must come again,
// then new ones in the order of the log.
func (g *group) take(c *consumer, limit int, now time.Time) []bus.Delivery {
	b := batch{by: c, deadline: now.Add(c.ackWait).UnixNano()}
	for _, s := range c.streams {
		for len(b.items) < limit {
			it := s.nextAgain()
			if it == nil {
				break
			}
			b.add(it)
		}
	}
	for len(b.items) < limit {
		var next *stream
		for _, s := range c.streams {
			s.skip()
			if s.next < len(s.items) && (next == nil || s.items[s.next].seq < next.items[next.next].seq) {
				next = s
			}
		}
		if next == nil {
			break
		}
		b.add(&next.items[next.next])
		next.next++
	}
	if len(b.items) == 0 {
		return nil
	}
	if b.deadline < g.expiry {
		g.expiry = b.deadline
		signal(g.kick) // to set its timer
	}
	return b.deliveries()
}

// batch gathers the entries of one Fetch.
type batch struct {
	by       *consumer
	deadline int64
	items    []*item
}

func (b *batch) add(it *item) {
	it.state, it.by, it.deadline = inFlight, b.by, b.deadline
	it.attempt++
	b.items = append(b.items, it)
}

// deliveries cuts all entry ids from one string, to spare an allocation each.
func (b *batch) deliveries() []bus.Delivery {
	out := make([]bus.Delivery, len(b.items))
	digits := make([]byte, 0, 12*len(b.items))
	ends := make([]int, len(b.items))
	for i, it := range b.items {
		digits = strconv.AppendInt(digits, it.seq, 10)
		ends[i] = len(digits)
		out[i] = bus.Delivery{Stream: it.entry.Stream, Envelope: it.entry.Envelope, Relayed: it.entry.Relayed, Attempt: it.attempt}
	}
	ids, start := string(digits), 0
	for i, end := range ends {
		out[i].EntryID = ids[start:end]
		start = end
	}
	return out
}

// Ack marks entries done, at once in memory and lazily in the store.
func (c *consumer) Ack(_ context.Context, deliveries []bus.Delivery) error {
	g := c.group
	now := g.bus.opts.Clock()
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range deliveries {
		d := &deliveries[i]
		seq, err := strconv.ParseInt(d.EntryID, 10, 64)
		if err != nil {
			return &rondo.Error{Code: rondo.CodeInvalid, Op: "ack", Message: "entry id " + strconv.Quote(d.EntryID) + " is not one of this bus"}
		}
		if s := g.streams[d.Stream]; s != nil && s.ack(seq) {
			g.markDirty(s, now)
		}
	}
	for _, s := range g.dirty {
		s.drop()
		if g.canCatchUp(s) {
			signal(g.kick)
		}
	}
	return nil
}

// Close leaves the group. Entries it has not acked go to others at once.
func (c *consumer) Close() error { return c.group.leave(c) }
