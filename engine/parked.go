package engine

import (
	"context"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/caseloop"
)

// An event may overtake the one that creates its case, so it is parked. When its
// case never begins nothing would look at it again: the sweep has the machine say
// so. Any number of replicas may sweep at once.
const (
	parkedEvery = 10 * time.Minute
	parkedBatch = 256 // cases that are asked about at a time
	parkedSweep = 40  // batches of one sweep; what is left waits for the next
)

// expireParked makes events unmatched that have waited too long for their case to
// begin. It returns how many cases it found.
func (e *Engine) expireParked(ctx context.Context) (found int, err error) {
	for range parkedSweep {
		keys, err := e.store.ParkedAlone(ctx, e.now().Add(-e.parkedFor), parkedBatch)
		if err != nil {
			return found, rondo.Op("list cases that never began", err)
		}
		if err := e.applyAll(ctx, "expire parked events", keys, caseloop.Input{Timer: true}); err != nil {
			return found, err
		}
		found += len(keys)
		if len(keys) < parkedBatch {
			break
		}
	}
	return found, nil
}

// sweepParked is expireParked as upkeep.
func (e *Engine) sweepParked(ctx context.Context) {
	found, err := e.expireParked(ctx)
	if err != nil && ctx.Err() == nil {
		e.log.Warn("looking for events whose case never began", "error", err)
	}
	if found > 0 {
		e.log.Info("events whose case never began are unmatched now", "cases", found)
	}
}
