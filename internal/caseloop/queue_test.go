package caseloop

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/rondo-engine/rondo"
)

func input(org string, n int) *Input {
	return &Input{Key: rondo.CaseKey{OrgID: org, CaseID: fmt.Sprint(n)}, Timer: true}
}

func names(inputs []*Input) []string {
	var out []string
	for _, in := range inputs {
		out = append(out, in.Key.OrgID+in.Key.CaseID)
	}
	return out
}

func TestABatchTakesTurnsBetweenOrganisations(t *testing.T) {
	q := newQueue(100)
	for n := range 50 {
		q.Push(t.Context(), input("loud", n))
	}
	q.Push(t.Context(), input("quiet", 0))
	q.Push(t.Context(), input("calm", 0))
	got := names(q.Take(4))
	if want := []string{"loud0", "quiet0", "calm0", "loud1"}; !slices.Equal(got, want) {
		t.Errorf("first batch is %v, want %v", got, want)
	}
	if rest := q.Take(100); len(rest) != 48 || names(rest)[0] != "loud2" || names(rest)[47] != "loud49" {
		t.Errorf("the rest is %v, want loud2 to loud49 in order", names(rest))
	}
}

func TestAFullQueueHoldsCallersBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(2)
		q.Push(t.Context(), input("a", 0))
		q.Push(t.Context(), input("a", 1))
		var pushed atomic.Int32
		for range 3 {
			go func() {
				if q.Push(t.Context(), input("a", 2)) {
					pushed.Add(1)
				}
			}()
		}
		synctest.Wait()
		if pushed.Load() != 0 {
			t.Fatalf("%d inputs went into a full queue", pushed.Load())
		}
		q.Take(1)
		synctest.Wait()
		if pushed.Load() != 1 {
			t.Fatalf("%d inputs followed one that was taken, want 1", pushed.Load())
		}
		q.Take(2)
		synctest.Wait()
		if pushed.Load() != 3 {
			t.Fatalf("%d inputs followed three that were taken, want 3", pushed.Load())
		}
	})
}

func TestPushGivesUpWithItsContext(t *testing.T) {
	q := newQueue(1)
	q.Push(t.Context(), input("a", 0))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if q.Push(ended, input("a", 1)) {
		t.Error("an input went into a full queue")
	}
}

func TestAClosedQueueGivesOutWhatItHasAndTakesNothing(t *testing.T) {
	q := newQueue(10)
	q.Push(t.Context(), input("a", 0))
	q.Close()
	if q.Push(t.Context(), input("a", 1)) {
		t.Error("a closed queue took an input")
	}
	if got := names(q.Take(10)); !slices.Equal(got, []string{"a0"}) {
		t.Errorf("left was %v, want a0", got)
	}
	if got := q.Take(10); got != nil {
		t.Errorf("an empty closed queue gave %v", names(got))
	}
}
