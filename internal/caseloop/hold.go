package caseloop

import (
	"context"
	"maps"
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// hold is a stream whose events wait in the outbox because it has grown above
// the cap: nothing of it is kept in memory. It ends when the stream has room and
// its part of the outbox is empty, so that events stay in order.
type hold struct {
	// room is how many of them may be sent before the stream is measured again.
	room int64
}

// Held is a stream that is longer than it may be.
type Held struct {
	Stream string
	Length int64
}

// MinCap is the least cap that leaves room between full and short again.
const MinCap = 10

// Low is how short a held stream must become to be sent to again: nine tenths of
// the cap, so that it does not change its mind with every entry.
func (r *Relay) Low() int64 { return r.Cap - r.Cap/10 }

// Measured takes the lengths of the bus's streams, now and then, and returns
// which streams are held from now on and which are no more, since it was last
// called. With a cap nothing is sent before the first call: what the outbox has
// may belong to a stream that is full. Lengths that are nil could not be
// measured: held streams stay held, the others are sent.
func (r *Relay) Measured(lengths map[string]int64) (held []Held, freed []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.measured = true
	signal(r.wake)
	if lengths == nil {
		return nil, nil
	}
	for stream, h := range r.held {
		h.room = 0
		if length := lengths[stream]; length <= r.Low() {
			h.room = r.Cap - length
		}
	}
	for _, stream := range slices.Sorted(maps.Keys(lengths)) {
		if length := lengths[stream]; length > r.Cap && r.held[stream] == nil {
			r.hold(stream, &hold{})
			held = append(held, Held{Stream: stream, Length: length})
		}
	}
	freed, r.freed = r.freed, nil
	return held, freed
}

// Held returns the streams whose events wait in the outbox.
func (r *Relay) Held() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.held))
}

// hold begins to hold a stream. Under mu.
func (r *Relay) hold(stream string, h *hold) {
	if r.held == nil {
		r.held = map[string]*hold{}
	}
	r.held[stream] = h
	r.purge = true
}

// admitted leaves out events of held streams. Under mu.
func (r *Relay) admitted(events []rondo.Outgoing) []rondo.Outgoing {
	if len(r.held) == 0 {
		return events
	}
	var admitted []rondo.Outgoing
	for i := range events {
		if r.held[events[i].Stream] == nil {
			admitted = append(admitted, events[i])
		}
	}
	return admitted
}

// open are the streams that are not held.
func (r *Relay) open() store.Streams { return store.Streams{Names: r.Held()} }

// drain sends a batch of what has gathered for a stream that has room again.
// When there is no more, memory leads for that stream. As in catchUp, that
// happens before the last look at the outbox, so that whatever is committed
// meanwhile is either seen by that look or waits in memory behind it.
func (r *Relay) drain(ctx context.Context) error {
	stream, limit := r.roomy()
	if stream == "" {
		return nil
	}
	if len(r.claimed) > 0 { // first in line, whatever it is
		signal(r.wake)
		return r.sendClaimed(ctx)
	}
	n, err := r.drainSome(ctx, stream, limit)
	if err != nil || n > 0 {
		signal(r.wake)
		return err
	}
	r.mu.Lock()
	h := r.held[stream]
	delete(r.held, stream)
	r.mu.Unlock()
	n, err = r.drainSome(ctx, stream, limit)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil || n == limit { // there may be more
		h.room -= int64(n)
		r.hold(stream, h)
		signal(r.wake)
		return err
	}
	r.freed = append(r.freed, stream)
	return nil
}

// roomy returns a held stream that has room, and how many events to send at once.
func (r *Relay) roomy() (string, int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, stream := range slices.Sorted(maps.Keys(r.held)) {
		if room := r.held[stream].room; room > 0 {
			return stream, int(min(room, sweepBatch))
		}
	}
	return "", 0
}

// drainSome sends up to limit events of one stream.
func (r *Relay) drainSome(ctx context.Context, stream string, limit int) (int, error) {
	n, err := r.claim(ctx, r.Now().Add(ahead), limit, store.Streams{Only: true, Names: []string{stream}})
	if err != nil || n == 0 {
		return n, err
	}
	r.mu.Lock()
	if h := r.held[stream]; h != nil {
		h.room -= int64(n)
	}
	r.mu.Unlock()
	return n, r.sendClaimed(ctx)
}
