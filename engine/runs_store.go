package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// RunStore makes what runs commit to a store go out on the engine's bus at once.
// Without it what they send is found in the outbox some seconds later. The store
// must be the engine's own.
func (e *Engine) RunStore(kept store.Runs) store.Runs {
	return releasing{Runs: kept, release: e.processor.Release, doubt: e.processor.Doubt}
}

// releasing tells the bus what a commit sends.
type releasing struct {
	store.Runs
	release func([]rondo.Outgoing)
	doubt   func() // nil: what may have been committed is found anyway
}

// CommitRuns implements store.Runs.
func (r releasing) CommitRuns(ctx context.Context, c store.RunCommit) ([]store.RunResult, error) {
	results, err := r.Runs.CommitRuns(ctx, c)
	if err != nil {
		if errors.Is(err, store.ErrAmbiguous) && r.doubt != nil {
			r.doubt()
		}
		return results, err
	}
	var sent []rondo.Outgoing
	for i := range results {
		sent = appendSent(sent, &c.Writes[i], &results[i])
	}
	if len(sent) > 0 { // the takeoffs of all writes are numbered after everything else
		slices.SortFunc(sent, func(a, b rondo.Outgoing) int { return cmp.Compare(a.Seq, b.Seq) })
		r.release(sent)
	}
	return results, nil
}

// appendSent adds what one write has sent, as it is numbered. What went nowhere has
// no number.
func appendSent(sent []rondo.Outgoing, w *store.RunWrite, result *store.RunResult) []rondo.Outgoing {
	seqs := result.Seqs
	add := func(outbox []rondo.Outgoing) {
		for _, out := range outbox {
			if len(seqs) == 0 {
				return
			}
			if out.Seq, seqs = seqs[0], seqs[1:]; out.Seq != 0 {
				sent = append(sent, out)
			}
		}
	}
	add(w.Outbox)
	for i := range result.Flights {
		if result.Flights[i].Taken {
			add(w.Takeoffs[i].Outbox)
		}
	}
	return sent
}
