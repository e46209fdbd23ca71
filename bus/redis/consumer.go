package redis

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/bus/internal/outage"
)

// closeTimeout bounds what Close does in the server. What it cannot do in time
// happens by AckWait.
const closeTimeout = 5 * time.Second

// consumer is one member of a group. A reader goroutine talks to the server
// while a Fetch waits; a second one sends acks that no read took along.
type consumer struct {
	bus     *Bus
	group   string
	name    string
	streams []string          // event types
	keys    []string          // their keys, in the same order
	types   map[string]string // key → event type
	keyOf   map[string]string // event type → key
	ackWait time.Duration

	work   chan struct{} // to the reader: someone waits
	got    chan struct{} // to Fetch: something came
	acked  chan struct{} // to the acker: there are acks
	closed chan struct{}
	quit   context.CancelFunc
	ran    sync.WaitGroup
	reader reader // of the reader goroutine alone

	mu       sync.Mutex
	fetching int // calls of Fetch that wait
	limit    int // the most that one of them wants
	buffer   []held
	acks     map[string][]any // by key: ids to ack
	isClosed bool
}

// held is a delivery that the server has given to this consumer and that waits
// for a Fetch. After stale it is left to whoever claims it.
type held struct {
	bus.Delivery
	stale time.Time
}

var _ bus.Consumer = (*consumer)(nil)

// Subscribe joins a group, creating it at the start of each stream.
func (b *Bus) Subscribe(ctx context.Context, sub bus.Subscription) (bus.Consumer, error) {
	if sub.Group == "" || len(sub.Streams) == 0 {
		return nil, &rondo.Error{Code: rondo.CodeInvalid, Op: "subscribe", Message: "a subscription needs a group and at least one stream"}
	}
	if sub.AckWait <= 0 {
		sub.AckWait = 60 * time.Second
	}
	c := &consumer{
		bus: b, group: sub.Group, name: b.consumerName(), ackWait: sub.AckWait, types: map[string]string{}, keyOf: map[string]string{},
		work: make(chan struct{}, 1), got: make(chan struct{}, 1), acked: make(chan struct{}, 1), closed: make(chan struct{}),
		acks: map[string][]any{},
	}
	c.streams = slices.Clone(sub.Streams)
	slices.Sort(c.streams)
	c.streams = slices.Compact(c.streams)
	for _, s := range c.streams {
		key := b.keys.stream(s)
		c.keys = append(c.keys, key)
		c.types[key], c.keyOf[s] = s, key
	}
	if _, err := c.createGroups(ctx); err != nil {
		return nil, unavailable("join group "+sub.Group, err)
	}
	running, cancel := context.WithCancel(context.Background())
	c.quit = cancel
	log := b.opts.Log.With("bus", "redis", "group", sub.Group)
	c.reader = reader{consumer: c, state: outage.Log{To: log, What: "reading streams"}}
	c.ran.Go(func() { c.reader.run(running) })
	c.ran.Go(func() { c.runAcker(running, outage.Log{To: log, What: "acking entries"}) })
	return c, nil
}

// Fetch returns what is there, up to limit, or waits for it, however long the
// server is away.
func (c *consumer) Fetch(ctx context.Context, limit int) ([]bus.Delivery, error) {
	if limit < 1 {
		return nil, rondo.Invalid("fetch needs a limit of at least 1")
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	taken, err := c.take(limit, true)
	if len(taken) > 0 || err != nil {
		return taken, err
	}
	defer func() {
		c.mu.Lock()
		c.fetching--
		c.mu.Unlock()
	}()
	for {
		signal(c.work)
		select {
		case <-c.got:
		case <-c.closed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		taken, err := c.take(limit, false)
		if len(taken) > 0 || err != nil {
			return taken, err
		}
	}
}

// take gives out what is buffered. When there is nothing and enlist is set, the
// caller is counted as waiting.
func (c *consumer) take(limit int, enlist bool) ([]bus.Delivery, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isClosed {
		return nil, &rondo.Error{Code: rondo.CodeUnavailable, Message: "the consumer is closed"}
	}
	var taken []bus.Delivery
	if len(c.buffer) > 0 {
		now := time.Now()
		n := 0
		taken = make([]bus.Delivery, 0, min(limit, len(c.buffer)))
		for ; n < len(c.buffer) && len(taken) < limit; n++ {
			if c.buffer[n].stale.After(now) {
				taken = append(taken, c.buffer[n].Delivery)
			}
		}
		clear(c.buffer[:n])
		c.buffer = c.buffer[n:]
		if len(c.buffer) > 0 {
			signal(c.got) // for another Fetch
		}
	}
	if len(taken) == 0 && enlist {
		c.fetching++
		c.limit = max(c.limit, limit)
	}
	return taken, nil
}

// wanted tells the reader how many entries to read, 0 = none.
func (c *consumer) wanted() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fetching == 0 {
		c.limit = 0
		return 0
	}
	if len(c.buffer) > 0 {
		return 0
	}
	return max(c.limit, 1)
}

// offer puts deliveries where Fetch finds them.
func (c *consumer) offer(deliveries []bus.Delivery, at time.Time) {
	if len(deliveries) == 0 {
		return
	}
	stale := at.Add(c.ackWait / 2)
	c.mu.Lock()
	if len(c.buffer) == 0 {
		c.buffer = make([]held, 0, len(deliveries))
	}
	for _, d := range deliveries {
		c.buffer = append(c.buffer, held{d, stale})
	}
	c.mu.Unlock()
	signal(c.got)
}

// Close ends the reader, sends the last acks, lets others have what is unacked
// at once, and removes the consumer from groups where it holds nothing.
func (c *consumer) Close() error {
	c.mu.Lock()
	first := !c.isClosed
	if first {
		c.isClosed = true
		c.buffer = nil
		close(c.closed)
	}
	c.mu.Unlock()
	c.quit()
	c.ran.Wait()
	if first {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		if err := c.sendAcks(ctx, c.takeAcks()); err != nil {
			return unavailable("close consumer of group "+c.group, err)
		}
		return unavailable("close consumer of group "+c.group, errors.Join(c.release(ctx), c.retire(ctx)))
	}
	return nil
}

// signal wakes the one reader of a channel of capacity 1.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
