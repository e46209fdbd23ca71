// Package sim runs the real engine loop (internal/caseloop over internal/flow)
// in a small simulated world: a store, a bus, modules, people and a clock, all
// driven by one seeded scheduler in one goroutine.
//
// A schedule is a sequence of small actions: deliver, apply a batch, publish,
// ack, poll timers, let time pass; people intervene in every way there is,
// publish the next version and migrate to it, clients drive cases themselves,
// and timers get lost. Between any two effects a replica
// may crash and lose its memory; commits may fail, or happen and be reported as
// failed; entries may come twice, late, out of order or not at all. When the
// schedule is over faults stop, the world runs until nothing moves, and every
// invariant is checked. A schedule is a pure function of its seed, so a failing
// one replays.
//
// Mistakes can be planted (plant.go) to show that the checks would notice.
package sim

import (
	"time"

	"github.com/rondo-engine/rondo/internal/invariant"
)

// Options choose what to run.
type Options struct {
	Schedules int
	Seed      uint64 // of the first schedule; the others count up from it
	Workers   int    // schedules side by side. Default 2.
	Mistake   Mistake
	// Progress is told how many schedules are done, now and then. Default: nobody.
	Progress func(done int)
}

// Report is what a simulation found.
type Report struct {
	Schedules int
	Took      time.Duration
	Reached   Coverage
	Failures  []Failure // at most maxFailures
}

// Failure is one schedule that broke an invariant.
type Failure struct {
	Seed       uint64
	Violations []invariant.Violation
}
