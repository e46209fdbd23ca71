package engine

import (
	"context"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/caseloop"
	"github.com/rondo-engine/rondo/store"
)

// Every live token of a case has something that will move it: a timer, an
// awaited event, a person. The engine arms them in the commit that needs them,
// so nothing is ever missing unless someone changed the database by hand or
// brought back a damaged copy. The sweeper looks all the same, and arms what it
// finds missing.
const (
	unarmedBatch = 256
	walkPage     = 200
)

// runLiveness sweeps now and then.
func (e *Engine) runLiveness(ctx context.Context) {
	walk := walker{status: rondo.StatusRunning}
	for {
		pause(ctx, e.liveness, nil)
		if ctx.Err() != nil {
			return
		}
		found, err := e.sweep(ctx, &walk)
		if err != nil && ctx.Err() == nil {
			e.log.Warn("looking for cases that nothing would wake", "error", err)
		}
		if found > 0 {
			e.log.Warn("cases had lost what would wake them; they were armed again", "cases", found)
		}
	}
}

// sweep heals the cases that have no wake-up at all, which the store finds at
// once, and those of one page of live cases that lack something else. It returns
// how many it found.
func (e *Engine) sweep(ctx context.Context, walk *walker) (found int, err error) {
	for {
		keys, err := e.store.Unarmed(ctx, unarmedBatch)
		if err != nil {
			return found, rondo.Op("list unarmed cases", err)
		}
		if err := e.heal(ctx, keys); err != nil {
			return found, err
		}
		found += len(keys)
		if len(keys) < unarmedBatch {
			break
		}
	}
	flawed, err := e.nextFlawed(ctx, walk)
	if err != nil {
		return found, err
	}
	return found + len(flawed), e.heal(ctx, flawed)
}

// heal has the machine arm the cases and returns when that is committed.
func (e *Engine) heal(ctx context.Context, keys []rondo.CaseKey) error {
	return e.applyAll(ctx, "heal", keys, caseloop.Input{Timer: true, Heal: true})
}

// applyAll gives every case the same input and returns when all are committed.
func (e *Engine) applyAll(ctx context.Context, verb string, keys []rondo.CaseKey, in caseloop.Input) error {
	done := make(chan error, len(keys))
	in.Done = func(r caseloop.Result) { done <- r.Err }
	for _, key := range keys {
		one := in
		one.Key = key
		if err := e.loop.Submit(ctx, &one); err != nil {
			return rondo.Op(verb, err)
		}
	}
	var failed error
	for range keys {
		select {
		case err := <-done:
			if err != nil {
				failed = rondo.Op(verb, err)
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return failed
}

// walker goes over all live cases, page by page, again and again.
type walker struct {
	status rondo.Status
	after  rondo.ID
}

// nextFlawed looks at the next page of live cases.
func (e *Engine) nextFlawed(ctx context.Context, walk *walker) ([]rondo.CaseKey, error) {
	page, err := e.store.Instances(ctx, store.InstanceFilter{Status: walk.status}, store.Page{After: walk.after, Limit: walkPage})
	if err != nil {
		return nil, rondo.Op("list live cases", err)
	}
	var flawed []rondo.CaseKey
	for _, i := range page {
		snapshot, err := e.snapshots.Get(ctx, i.SnapshotHash)
		if err != nil {
			return nil, err
		}
		if len(caseloop.Flaws(i, snapshot, e.now())) > 0 {
			flawed = append(flawed, i.Key())
		}
	}
	walk.next(page)
	return flawed, nil
}

// next moves on to the page after, or to the other status after the last.
func (w *walker) next(page []*rondo.Instance) {
	if len(page) == walkPage {
		w.after = page[len(page)-1].ID
		return
	}
	w.after = rondo.ID{}
	if w.status == rondo.StatusRunning {
		w.status = rondo.StatusHalted
	} else {
		w.status = rondo.StatusRunning
	}
}

// countHealed counts what was wrong with a case before it was healed, each sort
// once.
func (e *Engine) countHealed(counts map[string]int, before *rondo.Instance) map[string]int {
	snapshot, err := e.snapshots.Known(before.SnapshotHash)
	if err != nil { // it was decided by just now
		return counts
	}
	if counts == nil {
		counts = map[string]int{}
	}
	seen := map[string]bool{}
	for _, flaw := range caseloop.Flaws(before, snapshot, e.now()) {
		if !seen[flaw.What] {
			seen[flaw.What] = true
			counts[flaw.What]++
		}
	}
	return counts
}
