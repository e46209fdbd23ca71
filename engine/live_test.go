package engine

import (
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/caseloop"
	"github.com/rondo-engine/rondo/internal/flow"
)

func changedBatch(from, to int) *caseloop.Batch {
	b := &caseloop.Batch{}
	for n := from; n < to; n++ {
		i := &rondo.Instance{ID: rondo.ID{0: 1, 13: byte(n >> 16), 14: byte(n >> 8), 15: byte(n)}, OrgID: "acme", Version: 1}
		b.Decisions = append(b.Decisions, caseloop.Decided{Decision: flow.Decision{Instance: i}})
	}
	return b
}

func TestWhatWaitsForAReaderIsBounded(t *testing.T) {
	t.Parallel()
	h := newHub()
	w := h.watch("acme", rondo.ID{})
	defer h.leave(w)
	foreign := h.watch("beta", rondo.ID{})
	defer h.leave(foreign)

	h.committed(changedBatch(1, liveHeld+101))
	h.committed(changedBatch(1, 2)) // once more: it stays one note
	notes, err := w.take()
	if err != nil || len(notes) != liveHeld+100 {
		t.Fatalf("%d notes, %v", len(notes), err)
	}
	held := 0
	for _, n := range notes {
		if n.instance != nil {
			held++
		}
	}
	if held != liveHeld {
		t.Errorf("%d instances are held in memory, want %d", held, liveHeld)
	}
	if notes, err := w.take(); err != nil || len(notes) != 0 {
		t.Errorf("told twice: %d, %v", len(notes), err)
	}
	if notes, err := foreign.take(); err != nil || len(notes) != 0 {
		t.Errorf("another organisation has %d notes, %v", len(notes), err)
	}

	h.committed(changedBatch(1, liveBacklog+1))
	h.committed(changedBatch(1, liveBacklog+1)) // the same ones again are no more
	if notes, err := w.take(); err != nil || len(notes) != liveBacklog {
		t.Fatalf("%d notes, %v", len(notes), err)
	}
	h.committed(changedBatch(1, liveBacklog+2))
	if _, err := w.take(); rondo.CodeOf(err) != rondo.CodeOverloaded {
		t.Errorf("a reader who is too far behind: %v", err)
	}
}

func TestOnlyWhoIsConcernedIsWoken(t *testing.T) {
	t.Parallel()
	h := newHub()
	b := changedBatch(1, 2)
	id := b.Decisions[0].Decision.Instance.ID
	concerned, other := h.watch("acme", id), h.watch("acme", rondo.ID{9})
	foreign := h.watch("beta", id)
	h.committed(b)
	if len(concerned.wake) != 1 || len(other.wake) != 0 || len(foreign.wake) != 0 {
		t.Errorf("woken: %d concerned, %d other, %d foreign", len(concerned.wake), len(other.wake), len(foreign.wake))
	}
	for _, w := range []*watcher{concerned, other, foreign} {
		h.leave(w)
	}
	if len(h.watchers) != 0 || h.count.Load() != 0 {
		t.Errorf("%d watchers stay behind", len(h.watchers))
	}
}
