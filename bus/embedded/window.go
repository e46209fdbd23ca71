package embedded

import (
	"slices"
	"sync"

	"github.com/rondo-engine/rondo"
)

// Bounds of the window. Readers further behind use the database.
const (
	windowEntries = 8192
	windowBytes   = 32 << 20
	stashBatches  = 1024
)

// window is the newest stretch of the log without gaps, in memory, fed by the
// commits of this process. It also knows the head: how far the log is known to
// be committed, which other processes may push beyond the window.
type window struct {
	mu      sync.Mutex
	entries []*rondo.Outgoing // contiguous; only ever appended to and cut in front, so readers may keep parts
	last    int64             // Seq of the newest entry that was in the window, 0 = none ever
	head    int64
	bytes   int
	stash   [][]*rondo.Outgoing // runs ahead of a gap, by first Seq
}

func newWindow() *window { return &window{} }

// add takes the entries of one commit. advanced: there is something new to
// read. gap: a commit before these has not been reported yet.
func (w *window) add(entries []rondo.Outgoing) (advanced, gap bool) {
	if len(entries) == 0 {
		return false, false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.head
	run := make([]*rondo.Outgoing, 0, len(entries))
	flush := func() {
		if len(run) > 0 {
			w.place(run)
			run = make([]*rondo.Outgoing, 0, len(entries))
		}
	}
	for i := range entries {
		e := &entries[i]
		if e.Seq <= 0 {
			continue
		}
		if len(run) > 0 && e.Seq != run[len(run)-1].Seq+1 {
			flush()
		}
		run = append(run, e)
	}
	flush()
	w.unstash()
	return w.head > before, len(w.stash) > 0
}

// pass notes a commit that nobody here reads, without keeping it. As numbers are
// given in commit order, everything before it is committed too.
func (w *window) pass(entries []rondo.Outgoing) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range entries {
		w.last = max(w.last, entries[i].Seq)
	}
	w.head = max(w.head, w.last)
	w.entries, w.stash, w.bytes = nil, nil, 0
}

// reach says that the log is committed up to head, as the database told.
func (w *window) reach(head int64) (advanced bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.head
	w.head = max(w.head, head)
	w.unstash()
	return w.head > before
}

// place appends a run, or starts the window again with it when what lies
// between is known to be in the database, or stashes it.
func (w *window) place(run []*rondo.Outgoing) {
	first, last := run[0].Seq, run[len(run)-1].Seq
	switch {
	case last <= w.last:
		return
	case first == w.last+1:
	case first <= w.head+1:
		w.entries, w.bytes = nil, 0
	default:
		at, _ := slices.BinarySearchFunc(w.stash, first, func(r []*rondo.Outgoing, seq int64) int { return int(r[0].Seq - seq) })
		w.stash = slices.Insert(w.stash, at, run)
		if len(w.stash) > stashBatches {
			w.stash = w.stash[1:] // the database has it
		}
		return
	}
	w.entries = append(w.entries, run...)
	for _, e := range run {
		w.bytes += len(e.Envelope)
	}
	w.last = last
	w.head = max(w.head, last)
	cut := 0
	for len(w.entries)-cut > windowEntries || w.bytes > windowBytes && cut < len(w.entries) {
		w.bytes -= len(w.entries[cut].Envelope)
		cut++
	}
	w.entries = w.entries[cut:]
}

// unstash places what a filled gap has freed.
func (w *window) unstash() {
	for len(w.stash) > 0 && w.stash[0][0].Seq <= w.head+1 {
		run := w.stash[0]
		w.stash = w.stash[1:]
		w.place(run)
	}
}

// gapped reports whether a commit waits for its predecessor.
func (w *window) gapped() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.stash) > 0
}

// known returns how far the log is known to be committed.
func (w *window) known() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.head
}

// after returns the entries that follow seq; ok is false when the window does
// not reach back that far (or has nothing beyond) although the log goes on.
func (w *window) after(seq int64) (entries []*rondo.Outgoing, head int64, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if seq >= w.head {
		return nil, w.head, true
	}
	first := w.last - int64(len(w.entries)) + 1
	if seq >= w.last || seq < first-1 {
		return nil, w.head, false
	}
	return w.entries[seq-first+1:], w.head, true
}
