package embedded

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// filled is a stream whose entries were all delivered.
func filled(seqs ...int64) *stream {
	s := &stream{name: "a", loaded: true}
	for _, seq := range seqs {
		s.push(&rondo.Outgoing{Seq: seq, Stream: "a"})
	}
	for i := range s.items {
		s.items[i].state = inFlight
	}
	s.next = len(s.items)
	return s
}

func TestPosition(t *testing.T) {
	for _, c := range []struct {
		name   string
		stream *stream
		ack    []int64
		pos    int64
		want   store.GroupState
	}{
		{"nothing read", &stream{name: "a", behind: true, read: 7}, nil, 20, store.GroupState{Cursor: 7}},
		{"everything acked stands where the group stands", filled(3, 5, 9), []int64{9, 3, 5}, 20, store.GroupState{Cursor: 20}},
		{"the first open entry holds the cursor", filled(3, 5, 9), []int64{3, 9}, 20, store.GroupState{Cursor: 4, Acked: []int64{9}}},
		{"nothing acked", filled(3, 5, 9), nil, 20, store.GroupState{Cursor: 2}},
		{"an unknown entry changes nothing", filled(3, 5, 9), []int64{4, 100}, 20, store.GroupState{Cursor: 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, seq := range c.ack {
				c.stream.ack(seq)
				c.stream.drop()
			}
			c.want.Group, c.want.Stream, c.want.Fence = "g", "a", 3
			if diff := cmp.Diff(c.want, c.stream.position("g", 3, c.pos)); diff != "" {
				t.Errorf("position (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStoredAcksAreKeptUntilTheirEntriesAreRead(t *testing.T) {
	s := &stream{name: "a"}
	s.start(store.GroupState{Cursor: 2, Acked: []int64{5, 9}})
	want := store.GroupState{Group: "g", Stream: "a", Cursor: 2, Acked: []int64{5, 9}}
	if diff := cmp.Diff(want, s.position("g", 0, 50)); diff != "" {
		t.Errorf("position before reading (-want +got):\n%s", diff)
	}
	for _, seq := range []int64{3, 5, 7} {
		s.push(&rondo.Outgoing{Seq: seq, Stream: "a"})
	}
	if diff := cmp.Diff(want, s.position("g", 0, 50)); diff != "" {
		t.Errorf("position after reading (-want +got):\n%s", diff)
	}
	var fresh []int64
	for s.ready() {
		fresh = append(fresh, s.items[s.next].seq)
		s.items[s.next].state = inFlight
		s.next++
	}
	if diff := cmp.Diff([]int64{3, 7}, fresh); diff != "" {
		t.Errorf("delivered (-want +got):\n%s", diff)
	}
}

func TestStoredAcksAreBounded(t *testing.T) {
	var seqs []int64
	for n := range int64(3 * maxStoredAcks) {
		seqs = append(seqs, n+1)
	}
	s := filled(seqs...)
	for _, seq := range seqs[1:] {
		s.ack(seq)
	}
	s.drop()
	got := s.position("g", 0, 0)
	if got.Cursor != 0 || len(got.Acked) != maxStoredAcks || got.Acked[0] != 2 {
		t.Errorf("cursor %d with %d acks from %d; want 0 with %d from 2", got.Cursor, len(got.Acked), got.Acked[0], maxStoredAcks)
	}
}
