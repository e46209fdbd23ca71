package sim

import (
	"maps"
	"slices"

	"github.com/rondo-engine/rondo/internal/caseloop"
)

// streamCap is small: a hold ends in several steps.
const streamCap = caseloop.MinCap

// measure tells a replica how long the streams are. Their readers are not
// simulated: now and then one is full, and sooner or later it has room.
func (w *world) measure(r *replica) {
	lengths := map[string]int64{}
	for _, stream := range slices.Sorted(maps.Keys(w.net.streams)) {
		if !w.healing && w.chance(0.3) {
			lengths[stream] = streamCap + 1
			continue
		}
		lengths[stream] = int64(w.rand.IntN(streamCap))
	}
	held, _ := r.relay.Measured(lengths)
	w.reached.Held += len(held)
}
