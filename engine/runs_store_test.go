package engine

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// committing is a store whose commits end as the test says.
type committing struct {
	store.Runs
	results []store.RunResult
	err     error
}

func (c committing) CommitRuns(context.Context, store.RunCommit) ([]store.RunResult, error) {
	return c.results, c.err
}

func TestWhatRunsCommitIsReleasedInTheOrderOfItsNumbers(t *testing.T) {
	t.Parallel()
	out := func(stream string) []rondo.Outgoing { return []rondo.Outgoing{{Stream: stream}} }
	commit := store.RunCommit{Writes: []store.RunWrite{
		{Outbox: out("a"), Takeoffs: []store.Takeoff{{Outbox: out("not taken")}, {Outbox: out("d")}}},
		{Outbox: out("refused")},
		{Outbox: append(out("b"), out("nobody listens")...)},
		{Outbox: out("c"), Takeoffs: []store.Takeoff{{Outbox: out("e")}}},
	}}
	results := []store.RunResult{
		{Seqs: []int64{1, 4}, Flights: []store.Flight{{}, {Taken: true}}},
		{Err: store.ErrLeaseLost},
		{Seqs: []int64{2, 0}},
		{Seqs: []int64{3, 5}, Flights: []store.Flight{{Taken: true}}},
	}
	var streams []string
	doubts := 0
	tell := func(kept store.Runs) error {
		r := releasing{Runs: kept, doubt: func() { doubts++ }, release: func(sent []rondo.Outgoing) {
			for i, s := range sent {
				if streams = append(streams, s.Stream); s.Seq != int64(i+1) {
					t.Errorf("%s has number %d at place %d", s.Stream, s.Seq, i)
				}
			}
		}}
		_, err := r.CommitRuns(t.Context(), commit)
		return err
	}
	if err := tell(committing{results: results}); err != nil || !slices.Equal(streams, []string{"a", "b", "c", "d", "e"}) || doubts > 0 {
		t.Errorf("released %v (%v), %d doubts", streams, err, doubts)
	}
	streams = nil
	unsure := rondo.Op("commit", errors.Join(store.ErrAmbiguous))
	if err := tell(committing{err: unsure}); !errors.Is(err, store.ErrAmbiguous) || doubts != 1 || len(streams) > 0 {
		t.Errorf("a commit that may have happened: released %v (%v), %d doubts", streams, err, doubts)
	}
	if err := tell(committing{err: rondo.WrongState("away")}); err == nil || doubts != 1 {
		t.Errorf("a commit that failed: %v, %d doubts", err, doubts)
	}
}
