package runs

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
)

func TestWatchTellsEveryChangeInOrder(t *testing.T) {
	t.Parallel()
	inHouses(t, func(t *testing.T, h *house) {
		h.define("w", chain(4)...)
		h.craft.slow(time.Second)
		s, other := h.open(), h.open()
		id := begin(t, s, "w", 1).ID
		for _, by := range []*Service{s, other} { // where it is driven, and elsewhere
			var told []Event
			if err := by.Watch(t.Context(), bob, id, 0, func(e Event) error {
				told = append(told, e)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			last := int64(0)
			done := map[string]bool{}
			for i, e := range told {
				if follows := i+1 < len(told) && told[i+1].Seq == e.Seq; e.More != follows {
					t.Errorf("event %d of Seq %d: More is %v", i, e.Seq, e.More)
				}
				if e.Seq <= last && e.Step != nil {
					t.Errorf("%d was told after %d", e.Seq, last)
				}
				last = e.Seq
				if e.Step != nil && e.Step.Status == rondo.RunStepCompleted {
					done[e.Step.StepID] = true
				}
				if e.Step != nil && e.Step.Data != nil {
					t.Error("data was told")
				}
			}
			if end := told[len(told)-1]; end.Run == nil || end.Run.Status != rondo.RunCompleted || len(done) != 4 {
				t.Errorf("%d steps were told to be done, at last %+v", len(done), end)
			}
			// From the middle only the rest is told.
			var rest int
			if err := by.Watch(t.Context(), bob, id, told[len(told)-2].Seq, func(Event) error {
				rest++
				return nil
			}); err != nil || rest != 1 {
				t.Errorf("from the last but one %d events were told, %v", rest, err)
			}
		}
		stop := errors.New("enough")
		if err := s.Watch(t.Context(), bob, id, 0, func(Event) error { return stop }); !errors.Is(err, stop) {
			t.Errorf("a listener that has enough: %v", err)
		}
		if err := s.Watch(t.Context(), rondo.Principal{Tenant: "eve"}, id, 0, nil); rondo.CodeOf(err) != rondo.CodeNotFound {
			t.Errorf("another tenant: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		h.craft.slow(time.Hour)
		if err := s.Watch(ctx, bob, begin(t, s, "w", 2).ID, 0, func(Event) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a listener that goes away: %v", err)
		}
		if len(s.watchers.of) != 0 {
			t.Error("watchers are left")
		}
	})
}
