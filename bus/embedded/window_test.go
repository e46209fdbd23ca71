package embedded

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
)

func entries(seqs ...int64) []rondo.Outgoing {
	out := make([]rondo.Outgoing, len(seqs))
	for i, seq := range seqs {
		out[i] = rondo.Outgoing{Seq: seq}
	}
	return out
}

func seqsOf(entries []*rondo.Outgoing) []int64 {
	var out []int64
	for _, e := range entries {
		out = append(out, e.Seq)
	}
	return out
}

func TestWindow(t *testing.T) {
	for _, c := range []struct {
		name  string
		feed  func(w *window)
		after int64
		want  []int64
		head  int64
		ok    bool
	}{
		{"empty", func(*window) {}, 0, nil, 0, true},
		{"in order", func(w *window) { w.add(entries(1, 2)); w.add(entries(3)) }, 1, []int64{2, 3}, 3, true},
		{"commits reported out of order", func(w *window) { w.add(entries(3)); w.add(entries(4, 5)); w.add(entries(1, 2)) }, 0, []int64{1, 2, 3, 4, 5}, 5, true},
		{"a gap hides what follows", func(w *window) { w.add(entries(1)); w.add(entries(3)) }, 0, []int64{1}, 1, true},
		{"a gap that the database has filled", func(w *window) { w.add(entries(1)); w.add(entries(3, 4)); w.reach(4) }, 0, nil, 4, false},
		{"after such a gap", func(w *window) { w.add(entries(1)); w.add(entries(3, 4)); w.reach(4) }, 2, []int64{3, 4}, 4, true},
		{"the database is ahead", func(w *window) { w.add(entries(1)); w.reach(5) }, 1, nil, 5, false},
		{"entries that were not logged are skipped", func(w *window) { w.add(entries(0, 1, 0, 2)) }, 0, []int64{1, 2}, 2, true},
		{"another process's entry within a commit", func(w *window) { w.reach(3); w.add(entries(1, 3)) }, 2, []int64{3}, 3, true},
		{"what nobody read is not kept", func(w *window) { w.add(entries(1)); w.pass(entries(2, 3)); w.add(entries(4)) }, 1, nil, 4, false},
		{"what follows it is", func(w *window) { w.add(entries(1)); w.pass(entries(2, 3)); w.add(entries(4)) }, 3, []int64{4}, 4, true},
		{"the same commit twice", func(w *window) { w.add(entries(1, 2)); w.add(entries(1, 2)) }, 0, []int64{1, 2}, 2, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWindow()
			c.feed(w)
			got, head, ok := w.after(c.after)
			if diff := cmp.Diff(c.want, seqsOf(got)); diff != "" || head != c.head || ok != c.ok {
				t.Errorf("after %d: head %d ok %v, want head %d ok %v (-want +got):\n%s", c.after, head, ok, c.head, c.ok, diff)
			}
		})
	}
}

func TestWindowIsBounded(t *testing.T) {
	w := newWindow()
	for n := range int64(3 * windowEntries) {
		w.add(entries(n + 1))
	}
	if len(w.entries) != windowEntries {
		t.Errorf("%d entries are kept, want %d", len(w.entries), windowEntries)
	}
	big := newWindow()
	for n := range int64(100) {
		big.add([]rondo.Outgoing{{Seq: n + 1, Envelope: make([]byte, 1<<20)}})
	}
	if big.bytes > windowBytes || len(big.entries) != windowBytes>>20 {
		t.Errorf("%d bytes in %d entries are kept, want at most %d", big.bytes, len(big.entries), windowBytes)
	}
	for n := range int64(3 * stashBatches) {
		big.add(entries(1000 + 2*n))
	}
	if len(big.stash) > stashBatches {
		t.Errorf("%d batches wait for a gap to close, want at most %d", len(big.stash), stashBatches)
	}
}
