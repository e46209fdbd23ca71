package httpbus

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
)

const (
	firstPause = 100 * time.Millisecond // before a broken stream is opened again
	longPause  = 10 * time.Second
	maxAcks    = 1000 // what one request acknowledges
)

// consumer is one stream of a group. Two goroutines belong to it: one reads the
// stream, one sends acks. Rondo gives out no more than a bounded number of
// unacked events, so the buffer needs no bound of its own.
type consumer struct {
	bus   *Bus
	group string
	path  string
	quit  context.CancelFunc // ends the reader
	read  sync.WaitGroup
	rest  context.CancelFunc // ends the acker, after what it is sending
	acker sync.WaitGroup
	got   chan struct{} // there is something in the buffer, or it is closed
	acked chan struct{} // there is something to ack

	mu     sync.Mutex
	closed bool
	buffer []bus.Delivery
	acks   []string
}

var _ bus.Consumer = (*consumer)(nil)

// Subscribe opens a stream, and fails when Rondo does not let it.
func (b *Bus) Subscribe(ctx context.Context, sub bus.Subscription) (bus.Consumer, error) {
	if sub.Group == "" || len(sub.Streams) == 0 {
		return nil, &rondo.Error{Code: rondo.CodeInvalid, Op: "subscribe", Message: "a subscription needs a group and at least one stream"}
	}
	query := url.Values{"group": {sub.Group}, "types": {strings.Join(sub.Streams, ",")}}
	c := &consumer{bus: b, group: sub.Group, path: "/events/stream?" + query.Encode(), got: make(chan struct{}, 1), acked: make(chan struct{}, 1)}
	running, quit := context.WithCancel(context.Background())
	c.quit = quit
	opened := make(chan error, 1)
	c.read.Go(func() { c.readAll(running, opened) })
	var err error
	select {
	case err = <-opened:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		quit()
		c.read.Wait()
		return nil, rondo.Op("join group "+sub.Group, err)
	}
	acking, rest := context.WithCancel(context.Background())
	c.rest = rest
	c.acker.Go(func() { c.sendAcks(acking) })
	return c, nil
}

// readAll keeps a stream open until ctx ends. opened is told how the first attempt
// went.
func (c *consumer) readAll(ctx context.Context, opened chan<- error) {
	pause, first := firstPause, true
	for ctx.Err() == nil {
		err := c.follow(ctx, func() {
			pause = firstPause
			if first {
				first = false
				opened <- nil
			}
		})
		if first {
			opened <- err
			return
		}
		if ctx.Err() == nil {
			c.bus.opts.Log.WarnContext(ctx, "the event stream ended and is opened again", "group", c.group, "error", err)
			sleep(ctx, pause)
			pause = min(2*pause, longPause)
		}
	}
}

var errEnded = errors.New("the stream ended")

// follow reads one stream to its end.
func (c *consumer) follow(ctx context.Context, begun func()) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	silence := time.AfterFunc(c.bus.opts.Silence, cancel)
	defer silence.Stop()
	answer, err := c.bus.send(ctx, http.MethodGet, c.path, nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return problem(answer)
	}
	begun()
	events := newEventReader(answer.Body, func() { silence.Reset(c.bus.opts.Silence) })
	for {
		e, err := events.next()
		if err != nil {
			return errors.Join(errEnded, err)
		}
		c.offer(bus.Delivery{Stream: e.name, EntryID: e.id, Envelope: e.data, Attempt: 1})
	}
}

func (c *consumer) offer(d bus.Delivery) {
	c.mu.Lock()
	c.buffer = append(c.buffer, d)
	c.mu.Unlock()
	signal(c.got)
}

// Fetch returns what has come, up to limit, or waits for it.
func (c *consumer) Fetch(ctx context.Context, limit int) ([]bus.Delivery, error) {
	if limit < 1 {
		return nil, rondo.Invalid("fetch needs a limit of at least 1")
	}
	for {
		taken, err := c.take(limit)
		if len(taken) > 0 || err != nil {
			return taken, err
		}
		select {
		case <-c.got:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (c *consumer) take(limit int) ([]bus.Delivery, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		signal(c.got) // for another Fetch
		return nil, &rondo.Error{Code: rondo.CodeUnavailable, Message: "the consumer is closed"}
	}
	n := min(limit, len(c.buffer))
	taken := c.buffer[:n:n]
	if c.buffer = c.buffer[n:]; len(c.buffer) > 0 {
		signal(c.got)
	}
	return taken, nil
}

// Ack notes events as done; they are sent soon.
func (c *consumer) Ack(_ context.Context, deliveries []bus.Delivery) error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return &rondo.Error{Code: rondo.CodeUnavailable, Op: "ack", Message: "the consumer is closed"}
	}
	for i := range deliveries {
		c.acks = append(c.acks, deliveries[i].EntryID)
	}
	c.mu.Unlock()
	signal(c.acked)
	return nil
}

// sendAcks sends acks as they come, as many at a time as there are.
func (c *consumer) sendAcks(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.acked:
		}
		for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, longPause) {
			// A request that is under way is not given up: its events would come again.
			if err := c.flush(context.WithoutCancel(ctx)); err == nil {
				break
			}
			sleep(ctx, pause)
		}
	}
}

// flush sends every ack that waits. Those that fail wait again, unless Rondo
// refuses them for what they are.
func (c *consumer) flush(ctx context.Context) error {
	for {
		c.mu.Lock()
		ids := c.acks[:min(len(c.acks), maxAcks)]
		c.acks = c.acks[len(ids):]
		c.mu.Unlock()
		if len(ids) == 0 {
			return nil
		}
		body, err := json.Marshal(map[string]any{"group": c.group, "event_ids": ids})
		if err != nil {
			return err
		}
		if err := c.bus.call(ctx, http.MethodPost, "/events/acks", body, nil); err != nil {
			if rondo.CodeOf(err) == rondo.CodeInvalid {
				c.bus.opts.Log.ErrorContext(ctx, "acks are refused; their events come again", "group", c.group, "error", err)
				continue
			}
			c.mu.Lock()
			c.acks = append(slices.Clip(ids), c.acks...)
			c.mu.Unlock()
			return err
		}
	}
}

// Close sends the last acks and ends the stream: unacked events go to others.
func (c *consumer) Close() error {
	c.mu.Lock()
	first := !c.closed
	c.closed = true
	c.mu.Unlock()
	signal(c.got)
	if !first {
		return nil
	}
	c.rest()
	c.acker.Wait()
	err := c.flush(context.Background()) // while the stream is open: it knows its events
	c.quit()
	c.read.Wait()
	return rondo.Op("close consumer of group "+c.group, err)
}

// signal wakes the one reader of a channel of capacity 1.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
