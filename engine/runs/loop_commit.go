package runs

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

const (
	firstPause = 20 * time.Millisecond // before a commit is tried again,
	longPause  = 2 * time.Second       // later on up to this

	refusalsAtMost = 3 // of one run alone: it may have lost races
)

// commit writes what was decided, in one transaction, and then acts on it.
func (sh *shard) commit(ctx context.Context) {
	batch := make([]*driven, 0, len(sh.dirty))
	for _, d := range sh.dirty {
		d.dirty = false
		if !d.gone {
			batch = append(batch, d)
		}
	}
	sh.dirty, sh.written = sh.dirty[:0], 0
	if len(batch) == 0 {
		return
	}
	batch, results := sh.write(ctx, batch)
	var landed []flight
	for i, d := range batch {
		landed = sh.committed(ctx, d, &results[i], landed)
	}
	if len(landed) > 0 {
		for _, f := range landed {
			sh.landed(f)
		}
		sh.s.tellShards(sh, landed)
	}
}

// write commits a batch, and tries again for as long as the store is away and the
// tenure lasts. It returns what was written; nothing when everything was dropped.
// What the store refuses although it is there is written apart from the rest, so
// that one run that cannot be stored does not hold up the others.
func (sh *shard) write(ctx context.Context, batch []*driven) ([]*driven, []store.RunResult) {
	defer sh.away.Store(false)
	wait, refusals := firstPause, 0
	for {
		c, steps := sh.batch(batch)
		started := sh.s.now()
		results, err := sh.s.commitRuns(ctx, c)
		sh.s.cfg.Observer.Committed(len(c.Writes), steps, sh.s.now().Sub(started), err)
		if err == nil {
			return batch, results
		}
		if refusedByStore(err) {
			if len(batch) > 1 {
				return sh.writeApart(ctx, batch)
			}
			if refusals++; refusals == refusalsAtMost {
				return batch, []store.RunResult{{Err: err}}
			}
			pause(ctx, wait)
			continue
		}
		sh.away.Store(true)
		if errors.Is(err, store.ErrAmbiguous) {
			results, happened := sh.readBack(ctx, batch, &c)
			if happened {
				return batch, results
			}
		} else {
			batch = sh.refuseNew(batch, err)
		}
		if ctx.Err() != nil || !sh.term.lasts(sh.s.now()) {
			sh.s.lapse(sh.term)
			sh.dropAll()
			return nil, nil
		}
		if len(batch) == 0 {
			return nil, nil
		}
		sh.s.log.Warn("runs could not be written; it is tried again", "runs", len(batch), "error", err)
		pause(ctx, wait)
		wait = min(2*wait, longPause)
	}
}

func (s *Service) commitRuns(ctx context.Context, c store.RunCommit) ([]store.RunResult, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.OwnerLease)
	defer cancel()
	return s.store.CommitRuns(ctx, c)
}

// batch is what is written of some runs, and how many steps that is.
func (sh *shard) batch(batch []*driven) (c store.RunCommit, steps int) {
	c = store.RunCommit{Owner: sh.term.owner, At: sh.s.now(), Writes: make([]store.RunWrite, len(batch))}
	for i, d := range batch {
		n := &d.next
		if d.run.Seq == d.stored {
			d.seq() // so that it can be told by Seq whether a commit happened
		}
		w := &c.Writes[i]
		*w = store.RunWrite{
			Run: &d.run, Insert: n.insert, Resume: n.resume, Fence: d.fence, Steps: n.steps, Takeoffs: n.takeoffs,
			Landings: n.landings, Artifacts: n.artifacts, Signals: n.signals, Outbox: n.outbox, Raised: n.raised,
		}
		for _, o := range n.onwards {
			w.Steps = append(slices.Clip(w.Steps), o.row)
			w.Outbox = append(slices.Clip(w.Outbox), o.outbox...)
		}
		steps += len(w.Steps) + len(w.Takeoffs)
	}
	return c, steps
}

// refuseNew answers those who want to start or resume runs while the store is away
// and keeps the others.
func (sh *shard) refuseNew(batch []*driven, err error) []*driven {
	kept := batch[:0:0]
	for _, d := range batch {
		if d.next.insert || d.next.resume != "" {
			sh.drop(d, storeAway(err))
			continue
		}
		kept = append(kept, d)
	}
	return kept
}

// storeAway tells someone who wants to start a run that it cannot be stored.
func storeAway(err error) error {
	return &rondo.Error{Code: rondo.CodeUnavailable, Message: "the store cannot be reached", Hint: "try again", Err: err}
}

// committed acts on what became of one write.
func (sh *shard) committed(ctx context.Context, d *driven, result *store.RunResult, landed []flight) []flight {
	if d.gone {
		return landed
	}
	if result.Err != nil {
		sh.refused(d, result.Err)
		return landed
	}
	done := d.next
	d.next = pending{}
	d.fence, d.stored = result.Fence, d.run.Seq
	for i, l := range done.landings {
		landed = append(landed, flight{d.run.TenantID, l.Name})
		if l.Entry != nil && i < len(result.Landed) && result.Landed[i] {
			sh.s.remember(l.Entry, done.manifests[i])
			sh.s.promote(l.Entry)
		}
	}
	for i, step := range done.taking {
		if met := result.Flights[i]; met.Taken {
			sh.tookOff(ctx, d, step, met.Fence)
		} else {
			sh.notTaken(ctx, d, step, met)
		}
	}
	for _, o := range done.onwards {
		sh.tookOff(ctx, d, o.step, d.steps[o.step].fence)
	}
	for _, id := range done.signals {
		delete(d.heard, id)
	}
	if len(done.raised) > 0 {
		sh.s.relaySoon()
	}
	var told *rondo.Run
	for _, reply := range done.replies {
		if told == nil {
			copied := d.run
			told = &copied
		}
		reply(told, nil)
	}
	if d.run.Status.Ended() {
		sh.s.cfg.Observer.RunEnded(d.w.Name, d.run.Status, d.run.CompletedAt.Sub(d.run.StartedAt))
		sh.release(d)
		sh.s.lookAround()
	}
	sh.s.notify(d.run.ID)
	return landed
}
