package explain_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/explain"
)

// reader is somebody who follows a timeline: what they have seen of each entry.
type reader struct {
	seen  map[string]string
	order []string
	mark  string
}

func (r *reader) take(entries []explain.Entry, m explain.Marker) {
	for i := range entries {
		if _, known := r.seen[entries[i].ID]; !known {
			r.order = append(r.order, entries[i].ID)
		}
		r.seen[entries[i].ID] = entries[i].Text
	}
	if len(entries) > 0 {
		r.mark = m.Mark(&entries[len(entries)-1])
	}
}

// TestReadersGoOnWhereTheyWere lets a reader leave after every commit, and after
// each single entry, and come back after each later commit.
func TestReadersGoOnWhereTheyWere(t *testing.T) {
	t.Parallel()
	for name, world := range worlds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, world.source)
			var readers []*reader
			w.after = func() {
				if w.state.Instance == nil {
					return
				}
				f := w.seen()
				entries, marker := f.Timeline().Items, f.Marker()
				want := map[string]string{}
				ids := make([]string, len(entries))
				for i, e := range entries {
					if _, twice := want[e.ID]; twice {
						t.Errorf("two entries have the id %s", e.ID)
					}
					want[e.ID], ids[i] = e.Text, e.ID
				}
				for _, r := range readers {
					back := &reader{seen: maps.Clone(r.seen), order: slices.Clone(r.order)}
					back.take(f.After(entries, r.mark), marker)
					if diff := cmp.Diff(want, back.seen); diff != "" {
						t.Errorf("after %s a reader missed something (-all +seen):\n%s", r.mark, diff)
					}
					if diff := cmp.Diff(ids, back.order); diff != "" {
						t.Errorf("after %s the order differs (-told +seen):\n%s", r.mark, diff)
					}
				}
				for i := range entries {
					r := &reader{seen: map[string]string{}}
					r.take(entries[:i+1], marker)
					readers = append(readers, r)
				}
			}
			world.play(w)
			if len(readers) == 0 {
				t.Fatal("nobody read anything")
			}
		})
	}
}

func TestMarksOfOthersBeginAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "ai_only")
	w.created(begun)
	f := w.seen()
	all := f.Timeline().Items
	for _, mark := range []string{"", "~", "end-nobody", "nobody~*,,", "\x00", "event-"} {
		if diff := cmp.Diff(all, f.After(all, mark)); diff != "" {
			t.Errorf("mark %q (-all +got):\n%s", mark, diff)
		}
	}
}

func TestManyParkedEventsAreRememberedTogether(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "ai_only")
	w.created(begun)
	f := w.seen()
	for i := range 30 {
		f.Events = append(f.Events, rondo.EventRecord{ID: named(3, uint64(i+1)), EventID: named(4, uint64(i+1)), Type: "x", Outcome: rondo.OutcomeParked, ReceivedAt: w.now})
	}
	before := f.Timeline().Items
	mark := f.Marker().Mark(&before[len(before)-1])
	if len(mark) > 400 {
		t.Errorf("a mark of %d bytes: %s", len(mark), mark)
	}
	for i := range f.Events[1:] {
		f.Events[i+1].Outcome = rondo.OutcomeStale
	}
	got := map[string]bool{}
	for _, e := range f.After(f.Timeline().Items, mark) {
		got[e.ID] = true
	}
	for _, e := range f.Events[1:] {
		if !got["event-"+e.ID.String()] {
			t.Errorf("the new verdict on %s is not told", e.ID)
		}
	}
}

// TestOrderAtOneTime freezes the clock: what happened in one batch has one time.
func TestOrderAtOneTime(t *testing.T) {
	t.Parallel()
	at := epoch
	row := func(n uint64, stepID string, seq int) rondo.Step {
		return rondo.Step{ID: named(1, n), StepID: stepID, Status: rondo.StepCompleted, Attempt: 1, Seq: seq, StartedAt: at, CompletedAt: at}
	}
	w := newWorld(t, "ai_only")
	w.created(begun)
	f := w.seen()
	f.Instance.StartedAt = at
	f.Events = nil
	f.Steps = []rondo.Step{row(10, "consent_gate", 1), row(11, "image_check", 2), row(12, "ai_review", 3)}
	f.Instance.Machine.Live = []rondo.Attempt{{RowID: named(1, 13), StepID: "customer_review", Number: 1, StartedAt: at}}
	var got []string
	for _, e := range f.Timeline().Items {
		got = append(got, fmt.Sprint(e.Kind, " ", e.StepID))
	}
	want := []string{
		"started ", "step_started consent_gate", "step_ended consent_gate", "step_started image_check", "step_ended image_check",
		"step_started ai_review", "step_ended ai_review", "step_started customer_review",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestHistoryBeforeAMigrationIsToldByTheOldDefinition(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "ai_only")
	toReview(w)
	f := w.seen()
	f.Former = []explain.Former{{Until: w.now.Add(time.Second), Snapshot: f.Snapshot}}
	f.Snapshot = compiled(t, "clinician_only")
	last := ""
	for _, e := range f.Timeline().Items {
		if e.Kind == explain.EntryStepEnded {
			last = e.Text
		}
	}
	if want := "image_check completed; on_pass leads to ai_review."; last != want {
		t.Errorf("got %q, want %q", last, want)
	}
}
