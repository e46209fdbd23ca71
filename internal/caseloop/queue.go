package caseloop

import (
	"context"
	"sync"
)

// queue holds the inputs of one shard until the next batch. Batches are filled
// round-robin over organisations, so that one tenant's flood cannot starve the
// others; within an organisation the order is kept. It is bounded: Push waits
// for room.
type queue struct {
	mu     sync.Mutex
	orgs   map[string]*backlog
	ring   []*backlog // organisations with something waiting, in turn
	size   int
	limit  int
	closed bool
	ready  chan struct{} // capacity 1: something is waiting, or the queue closed
	room   chan struct{} // capacity 1: something was taken
}

type backlog struct {
	org    string
	inputs []*Input
}

func newQueue(limit int) *queue {
	return &queue{
		orgs: map[string]*backlog{}, limit: limit,
		ready: make(chan struct{}, 1), room: make(chan struct{}, 1),
	}
}

// Push adds an input, waiting for room until ctx ends. It reports false when the
// queue is closed or ctx ended; the input was then not taken.
func (q *queue) Push(ctx context.Context, in *Input) bool {
	for {
		q.mu.Lock()
		if q.closed {
			q.mu.Unlock()
			signal(q.room)
			return false
		}
		if q.size < q.limit {
			q.add(in)
			more := q.size < q.limit
			q.mu.Unlock()
			signal(q.ready)
			if more {
				signal(q.room) // wake the next waiter too
			}
			return true
		}
		q.mu.Unlock()
		select {
		case <-q.room:
		case <-ctx.Done():
			return false
		}
	}
}

func (q *queue) add(in *Input) {
	b, ok := q.orgs[in.Key.OrgID]
	if !ok {
		b = &backlog{org: in.Key.OrgID}
		q.orgs[in.Key.OrgID] = b
	}
	if len(b.inputs) == 0 {
		q.ring = append(q.ring, b)
	}
	b.inputs = append(b.inputs, in)
	q.size++
}

// Take returns what is waiting, at most limit inputs, waiting for the first. It
// returns nil once the queue is closed and empty.
func (q *queue) Take(limit int) []*Input {
	for {
		q.mu.Lock()
		if q.size > 0 {
			batch := q.take(min(limit, q.size))
			left := q.size > 0
			q.mu.Unlock()
			signal(q.room)
			if left {
				signal(q.ready)
			}
			return batch
		}
		closed := q.closed
		q.mu.Unlock()
		if closed {
			return nil
		}
		<-q.ready
	}
}

func (q *queue) take(n int) []*Input {
	if n == q.size && len(q.ring) == 1 { // the common case: one tenant, all of it
		b := q.ring[0]
		q.drop(b)
		q.size = 0
		return b.inputs
	}
	batch := make([]*Input, 0, n)
	for len(batch) < n {
		b := q.ring[0]
		batch = append(batch, b.inputs[0])
		b.inputs = b.inputs[1:]
		q.size--
		if len(b.inputs) == 0 {
			q.drop(b)
		} else {
			q.ring = append(q.ring[1:], b)
		}
	}
	return batch
}

// drop takes the organisation at the head of the ring out of it.
func (q *queue) drop(b *backlog) {
	q.ring = q.ring[1:]
	delete(q.orgs, b.org)
}

// Close stops intake; what is queued is still taken.
func (q *queue) Close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	signal(q.ready)
	signal(q.room)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
