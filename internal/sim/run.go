package sim

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/internal/caseloop"
)

// maxFailures is how many failing schedules are reported in full; the run stops
// there.
const maxFailures = 10

// Run plays schedules until all are done, ctx ends or too many fail.
func Run(ctx context.Context, opts Options) (Report, error) {
	lib, err := sharedLibrary()
	if err != nil {
		return Report{}, rondo.Op("prepare simulation", err)
	}
	workers := opts.Workers
	if workers <= 0 {
		workers = 2
	}
	begun := time.Now()
	var (
		next   atomic.Uint64
		mu     sync.Mutex
		report Report
		group  sync.WaitGroup
	)
	for range workers {
		group.Go(func() {
			snapshots := caseloop.NewSnapshots(lib)
			if err := lib.warm(ctx, snapshots); err != nil {
				return // only when ctx has ended
			}
			for ctx.Err() == nil {
				n := next.Add(1) - 1
				if n >= uint64(opts.Schedules) {
					return
				}
				violations, reached := newWorld(opts.Seed+n, lib, snapshots, opts.Mistake).run()
				mu.Lock()
				report.Schedules++
				report.Reached.add(reached)
				if len(violations) > 0 {
					report.Failures = append(report.Failures, Failure{Seed: opts.Seed + n, Violations: violations})
				}
				enough := len(report.Failures) >= maxFailures
				done := report.Schedules
				mu.Unlock()
				if enough {
					return
				}
				if opts.Progress != nil && done%5000 == 0 {
					opts.Progress(done)
				}
			}
		})
	}
	group.Wait()
	slices.SortFunc(report.Failures, func(a, b Failure) int { return int(int64(a.Seed) - int64(b.Seed)) })
	report.Took = time.Since(begun)
	return report, ctx.Err()
}

func message(out rondo.Outgoing) bus.Message {
	return bus.Message{Stream: out.Stream, EventID: out.EventID, Envelope: out.Envelope, Relayed: out.Relayed}
}
