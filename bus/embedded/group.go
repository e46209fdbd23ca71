package embedded

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/bus/internal/outage"
)

// never is a time that does not come, in Unix ns.
const never = math.MaxInt64

// group is one consumer group in this process: its lease, what it has read and
// what is in flight. One goroutine does all its database work; consumers and
// commits only touch memory, under mu.
type group struct {
	bus  *Bus
	name string
	kick chan struct{} // there is work for the goroutine
	quit context.CancelFunc
	ran  sync.WaitGroup // the goroutine
	once sync.Once      // the hand-over
	done chan struct{}  // closed when the lease is back and the bus has forgotten the group

	// What the goroutine does in the database, to be logged when it begins to
	// fail and when it works again.
	leasing, loading, storing, reading outage.Log

	mu        sync.Mutex
	consumers []*consumer
	streams   map[string]*stream
	stopping  bool
	closeErr  error

	held       bool      // the lease is ours, as far as the store last said
	until      time.Time // no delivery from then on, whatever the store would say
	fence      int64
	renewAt    time.Time
	pos        int64 // streams that are not behind have read the log up to here
	expiry     int64 // earliest deadline in flight, or earlier
	dirty      []*stream
	dirtySince time.Time
	average    int // bytes per entry of the last catch-up read
}

func startGroup(b *Bus, name string) *group {
	ctx, cancel := context.WithCancel(context.Background())
	g := &group{
		bus: b, name: name, kick: make(chan struct{}, 1), done: make(chan struct{}), quit: cancel,
		streams: map[string]*stream{}, expiry: never,
	}
	for state, what := range map[*outage.Log]string{
		&g.leasing: "leasing the group", &g.loading: "loading positions", &g.storing: "storing positions", &g.reading: "reading the event log",
	} {
		*state = outage.Log{To: b.opts.Log.With("bus", "embedded", "group", name), What: what}
	}
	g.ran.Go(func() { g.run(ctx) })
	return g
}

// join adds a consumer; nil when the group is stopping.
func (g *group) join(sub bus.Subscription) *consumer {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopping {
		return nil
	}
	c := &consumer{group: g, ackWait: sub.AckWait, wake: make(chan struct{}, 1)}
	names := slices.Clone(sub.Streams)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		s := g.streams[name]
		if s == nil {
			s = &stream{name: name}
			g.streams[name] = s
		}
		s.wanted++
		c.streams = append(c.streams, s)
	}
	g.consumers = append(g.consumers, c)
	signal(g.kick)
	return c
}

// leave removes a consumer and frees what it held. The last one stops the group
// and waits until others can take over.
func (g *group) leave(c *consumer) error {
	g.mu.Lock()
	if c.closed {
		g.mu.Unlock()
		return nil
	}
	c.closed = true
	signal(c.wake)
	g.consumers = slices.DeleteFunc(g.consumers, func(other *consumer) bool { return other == c })
	for _, s := range c.streams {
		s.wanted--
		for i := s.head; i < s.next; i++ {
			if it := &s.items[i]; it.by == c && it.state == inFlight {
				it.state, it.by = again, nil
				s.again = append(s.again, it.seq)
			}
		}
	}
	last := len(g.consumers) == 0
	if last {
		g.stopping = true
	}
	g.wakeNext()
	g.mu.Unlock()
	if last {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		return g.stop(ctx)
	}
	return nil
}

// stop ends the group: consumers get an error, positions are stored and the
// lease is given back.
func (g *group) stop(ctx context.Context) error {
	g.mu.Lock()
	g.stopping = true
	for _, c := range g.consumers {
		c.closed = true
		signal(c.wake)
	}
	g.mu.Unlock()
	g.quit()
	g.ran.Wait()
	g.once.Do(func() {
		g.closeErr = g.handOver(ctx)
		g.bus.forget(g)
		close(g.done)
	})
	return g.closeErr
}

// run does the group's database work until it is stopped.
func (g *group) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-g.kick:
		case <-timer.C:
		}
		timer.Reset(g.step(ctx))
	}
}

// retryPause is how long a failing database is left alone.
const retryPause = 100 * time.Millisecond

// step does what is due and returns how long nothing else is.
func (g *group) step(ctx context.Context) time.Duration {
	held, ok := g.keepLease(ctx)
	if !ok {
		return retryPause
	}
	if !held {
		return g.bus.opts.Standby
	}
	if !g.loadPositions(ctx) {
		return retryPause
	}
	stored := g.flushDue(ctx)
	g.mu.Lock()
	g.expire(g.bus.opts.Clock())
	g.follow()
	g.wakeNext()
	g.mu.Unlock()
	more, ok := g.catchUp(ctx)
	switch {
	case !ok || !stored:
		return retryPause
	case more:
		return 0
	}
	return g.untilDue()
}

// untilDue is the time to the next renewal, flush or redelivery.
func (g *group) untilDue() time.Duration {
	now := g.bus.opts.Clock()
	g.mu.Lock()
	defer g.mu.Unlock()
	wait := g.renewAt.Sub(now)
	if len(g.dirty) > 0 {
		wait = min(wait, g.dirtySince.Add(g.bus.opts.AckFlush).Sub(now))
	}
	if g.expiry != never {
		wait = min(wait, time.Duration(g.expiry-now.UnixNano()))
	}
	return max(wait, 0)
}

// advance takes what was newly committed; it is called for every commit.
func (g *group) advance() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held && g.follow() {
		g.wakeNext()
	}
}

// follow reads the window from pos on, and reports whether something was
// pushed. Streams for which the window is not enough fall behind.
func (g *group) follow() (pushed bool) {
	for {
		entries, head, ok := g.bus.recent.after(g.pos)
		if !ok {
			for _, s := range g.streams {
				g.fallBehind(s, g.pos)
			}
			g.pos = head
			continue
		}
		if len(entries) == 0 {
			return pushed
		}
		for _, e := range entries {
			s := g.streams[e.Stream]
			if s == nil || !s.loaded || s.behind || e.Seq <= s.read {
				continue
			}
			if s.wanted == 0 || g.full(s) {
				g.fallBehind(s, e.Seq-1)
				continue
			}
			s.push(e)
			pushed = true
		}
		g.pos = entries[len(entries)-1].Seq
	}
}

// fallBehind makes a stream read the database from seq on.
func (g *group) fallBehind(s *stream, seq int64) {
	if s.loaded && !s.behind {
		s.behind = true
		s.read = max(s.read, seq)
		signal(g.kick)
	}
}

func (g *group) full(s *stream) bool {
	return len(s.items)-s.head >= g.bus.opts.MaxOutstanding || s.bytes >= g.bus.opts.MaxBytes
}

// roomy reports whether a stream that is behind has room worth a read.
func (g *group) roomy(s *stream) bool {
	return len(s.items)-s.head <= g.bus.opts.MaxOutstanding/2 && s.bytes <= g.bus.opts.MaxBytes/2
}

// expire makes entries come again whose AckWait has passed.
func (g *group) expire(now time.Time) {
	if g.expiry > now.UnixNano() {
		return
	}
	g.expiry = never
	for _, s := range g.streams {
		for i := s.head; i < s.next; i++ {
			it := &s.items[i]
			if it.state != inFlight {
				continue
			}
			if it.deadline > now.UnixNano() {
				g.expiry = min(g.expiry, it.deadline)
				continue
			}
			it.state, it.by = again, nil
			s.again = append(s.again, it.seq)
		}
	}
}

// wakeNext wakes one waiting consumer that has something to take; having taken,
// it wakes the next.
func (g *group) wakeNext() {
	for i, c := range g.consumers {
		if c.waiting && slices.ContainsFunc(c.streams, (*stream).ready) {
			c.waiting = false
			signal(c.wake)
			// The next entry is someone else's turn.
			g.consumers = append(slices.Delete(g.consumers, i, i+1), c)
			return
		}
	}
}

// entriesOf turns what LogRead returned into items that can be kept.
func entriesOf(rows []rondo.Outgoing) []*rondo.Outgoing {
	entries := make([]*rondo.Outgoing, len(rows))
	for i := range rows {
		entries[i] = &rows[i]
	}
	return entries
}
