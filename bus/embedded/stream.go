package embedded

import (
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// maxStoredAcks bounds the acks above the cursor that are stored. More would be
// kept in memory only: after a crash those entries come again.
const maxStoredAcks = 1024

// state of one entry within a group.
type itemState uint8

const (
	waiting  itemState = iota // not delivered yet
	inFlight                  // with a consumer
	again                     // was delivered, must be delivered again
	acked
)

// item is one entry above the group's position.
type item struct {
	entry    *rondo.Outgoing // nil once acked
	seq      int64
	deadline int64 // in flight: when it comes again, Unix ns
	by       *consumer
	attempt  int
	state    itemState
}

// stream is what a group knows of one stream. The group's mutex guards it.
type stream struct {
	name   string
	wanted int   // local consumers
	loaded bool  // the stored position has been read under the current lease
	behind bool  // it must catch up from the database before it can follow the window
	read   int64 // every entry up to here was pushed, or is acked

	// items are the entries above the position, by seq. Before head they are
	// gone; from next on they were never delivered.
	items      []item
	head, next int
	bytes      int     // of envelopes held
	again      []int64 // to be delivered again, in the order they became so
	stored     []int64 // acks loaded from the store whose entries were not read yet, ascending
	dirty      bool    // the position changed since it was last taken
	saved      int64   // the cursor that was last taken or loaded
}

// start places the stream at its stored position.
func (s *stream) start(state store.GroupState) {
	*s = stream{
		name: s.name, wanted: s.wanted, loaded: true, behind: true,
		read: state.Cursor, saved: state.Cursor, stored: slices.Clone(state.Acked),
	}
}

// reset forgets everything that belonged to a lost lease.
func (s *stream) reset() { *s = stream{name: s.name, wanted: s.wanted} }

// push appends an entry that follows everything pushed before.
func (s *stream) push(e *rondo.Outgoing) {
	s.read = e.Seq
	for len(s.stored) > 0 && s.stored[0] < e.Seq {
		s.stored = s.stored[1:]
	}
	it := item{entry: e, seq: e.Seq}
	if len(s.stored) > 0 && s.stored[0] == e.Seq {
		it.entry, it.state = nil, acked
	} else {
		s.bytes += len(e.Envelope)
	}
	s.items = append(s.items, it)
	s.drop()
}

// ready reports whether something can be delivered.
func (s *stream) ready() bool {
	s.skip()
	return len(s.again) > 0 || s.next < len(s.items)
}

// skip moves next over entries that the store knew as acked.
func (s *stream) skip() {
	for s.next < len(s.items) && s.items[s.next].state == acked {
		s.next++
	}
}

// find returns the item of a seq, nil when it is acked and gone, or unknown.
func (s *stream) find(seq int64) *item {
	live := s.items[s.head:]
	i, ok := slices.BinarySearchFunc(live, seq, func(it item, seq int64) int {
		switch {
		case it.seq < seq:
			return -1
		case it.seq > seq:
			return 1
		}
		return 0
	})
	if !ok {
		return nil
	}
	return &live[i]
}

// ack marks an entry done and reports whether that is news. An entry that was
// delivered under an earlier lease and read again since may be acked before it
// is delivered again.
func (s *stream) ack(seq int64) bool {
	it := s.find(seq)
	if it == nil || it.state == acked {
		return false
	}
	s.bytes -= len(it.entry.Envelope)
	it.entry, it.by, it.state = nil, nil, acked
	return true
}

// drop forgets the acked entries at the front.
func (s *stream) drop() {
	for s.head < len(s.items) && s.items[s.head].state == acked {
		s.head++
	}
	s.next = max(s.next, s.head)
	switch {
	case s.head == len(s.items):
		s.items, s.head, s.next = s.items[:0], 0, 0
	case s.head >= 256 && s.head >= len(s.items)/2:
		n := copy(s.items, s.items[s.head:])
		clear(s.items[n:])
		s.items, s.next, s.head = s.items[:n], s.next-s.head, 0
	}
}

// nextAgain takes the next entry that must be delivered again, nil = none.
func (s *stream) nextAgain() *item {
	for len(s.again) > 0 {
		seq := s.again[0]
		s.again = s.again[1:]
		if it := s.find(seq); it != nil && it.state == again {
			return it
		}
	}
	return nil
}

// position is what the store should know. pos is how far the group has read.
func (s *stream) position(group string, fence, pos int64) store.GroupState {
	state := store.GroupState{Group: group, Stream: s.name, Fence: fence, Cursor: s.read}
	if !s.behind {
		state.Cursor = max(s.read, pos)
	}
	if s.head < len(s.items) {
		state.Cursor = s.items[s.head].seq - 1
		for i := s.head; i < len(s.items) && len(state.Acked) < maxStoredAcks; i++ {
			if s.items[i].state == acked {
				state.Acked = append(state.Acked, s.items[i].seq)
			}
		}
	}
	for _, seq := range s.stored {
		if seq > max(s.read, state.Cursor) && len(state.Acked) < maxStoredAcks {
			state.Acked = append(state.Acked, seq)
		}
	}
	return state
}
