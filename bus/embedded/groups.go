package embedded

import (
	"context"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
)

// lagEntries is how far Lag looks back: a group that nobody reads must not make
// it slow.
const lagEntries = 10_000

// Lag returns how far every group is behind, by stream, as far as positions are
// stored. What is in flight is known to the reading process only, so all of it
// counts as unread; more than the newest 10,000 entries are not counted.
func (b *Bus) Lag(ctx context.Context) (map[string][]bus.GroupLag, error) {
	groups, err := b.log.LogLag(ctx, lagEntries)
	if err != nil {
		return nil, rondo.Op("measure lag", err)
	}
	lag := map[string][]bus.GroupLag{}
	for _, g := range groups {
		lag[g.Stream] = append(lag[g.Stream], bus.GroupLag{Group: g.Group, Unread: g.Entries})
	}
	return lag, nil
}

// Retire makes a group leave all its streams, unless some process reads it.
func (b *Bus) Retire(ctx context.Context, group string) error {
	return rondo.Op("retire group "+group, b.log.LogRetire(ctx, group, b.opts.Clock()))
}
