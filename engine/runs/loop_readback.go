package runs

import (
	"context"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// readBack finds out what became of a commit of which the store does not know: it
// is asked until it answers or the tenure is over. When it happened and the fences
// of what it took cannot be found again, the tenure is ended: everything is free
// then, and is read from the store again.
func (sh *shard) readBack(ctx context.Context, batch []*driven, c *store.RunCommit) (results []store.RunResult, happened bool) {
	wait := firstPause
	for ctx.Err() == nil && sh.term.lasts(sh.s.now()) {
		pause(ctx, wait) // what is under way may still happen
		wait = min(2*wait, longPause)
		results, happened, err := sh.outcomes(ctx, batch, c)
		if err == nil {
			return results, happened
		}
		sh.s.log.Warn("what became of a commit could not be read; it is tried again", "error", err)
	}
	return nil, false
}

func (sh *shard) outcomes(ctx context.Context, batch []*driven, c *store.RunCommit) (results []store.RunResult, happened bool, err error) {
	results = make([]store.RunResult, len(batch))
	known := true
	for i, d := range batch {
		w := &c.Writes[i]
		stored, err := sh.s.store.Run(ctx, d.run.TenantID, d.run.ID)
		if err != nil && rondo.CodeOf(err) != rondo.CodeNotFound {
			return nil, false, err
		}
		if err != nil || stored.Seq != w.Run.Seq || stored.Status != w.Run.Status {
			results[i].Err = store.ErrLeaseLost
			continue
		}
		happened = true
		results[i].Fence = d.fence
		results[i].Landed = make([]bool, len(w.Landings))
		known = known && !w.Insert && w.Resume == ""
		if results[i].Flights, err = sh.flightsOf(ctx, d, w); err != nil {
			return nil, false, err
		}
		for _, f := range results[i].Flights {
			known = known && (!f.Taken || f.Fence > 0)
		}
	}
	if happened && !known {
		sh.startOver(batch, results)
	}
	return results, happened, nil
}

// flightsOf finds the flights that a write took.
func (sh *shard) flightsOf(ctx context.Context, d *driven, w *store.RunWrite) ([]store.Flight, error) {
	flights := make([]store.Flight, len(w.Takeoffs))
	if len(flights) == 0 {
		return flights, nil
	}
	rows, err := sh.s.store.RunSteps(ctx, d.run.ID, 0, false)
	if err != nil {
		return nil, err
	}
	written := map[rondo.ID]bool{}
	for i := range rows {
		written[rows[i].Correlation] = true
	}
	names := make([]string, len(w.Takeoffs))
	for i := range w.Takeoffs {
		names[i] = w.Takeoffs[i].Name
	}
	found, err := sh.s.store.LookupCache(ctx, d.run.TenantID, names, sh.s.now())
	if err != nil {
		return nil, err
	}
	for i := range w.Takeoffs {
		if written[w.Takeoffs[i].Step.Correlation] {
			flights[i] = store.Flight{Taken: true, Fence: found[names[i]].Fence}
		}
	}
	return flights, nil
}

// startOver ends the tenure after answering those whose runs are durable.
func (sh *shard) startOver(batch []*driven, results []store.RunResult) {
	for i, d := range batch {
		if results[i].Err != nil {
			continue
		}
		told := d.run
		for _, reply := range d.next.replies {
			reply(&told, nil)
		}
		d.next.replies = nil
	}
	sh.s.lapse(sh.term)
	sh.dropAll()
}
