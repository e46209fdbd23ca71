package caseloop

import (
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
	"github.com/rondo-engine/rondo/internal/flow"
)

// claimedLate is how far beyond its time the wake-up of a sound instance may be
// stored: a poller that claims it moves it on by its lease.
const claimedLate = time.Minute

// Flaws lists what a stored instance should be woken by and is not. A wake-up
// that a poller may have claimed counts as there.
func Flaws(inst *rondo.Instance, snap *definition.Snapshot, now time.Time) []flow.Flaw {
	return slices.DeleteFunc(flow.Unarmed(inst, snap), func(f flow.Flaw) bool {
		due := flow.Due(inst)
		if due.Before(now) {
			due = now
		}
		return f.What == flow.FlawWake && !inst.WakeAt.IsZero() && !inst.WakeAt.After(due.Add(claimedLate))
	})
}
