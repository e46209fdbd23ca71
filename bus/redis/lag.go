package redis

import (
	"context"

	"github.com/rondo-engine/rondo/bus"
)

// Lag returns how far every group is behind, by event type, for all streams
// under the bus's prefix. Streams without groups have no entry.
func (b *Bus) Lag(ctx context.Context) (map[string][]bus.GroupLag, error) {
	lag := map[string][]bus.GroupLag{}
	err := b.eachStream(ctx, func(key string) error {
		groups, err := b.client.XInfoGroups(ctx, key).Result()
		if err != nil {
			return ignoreMissing(err)
		}
		for _, g := range groups {
			stream := b.keys.eventType(key)
			lag[stream] = append(lag[stream], bus.GroupLag{Group: g.Name, Unread: g.Lag, Pending: g.Pending})
		}
		return nil
	})
	if err != nil {
		return nil, unavailable("measure lag", err)
	}
	return lag, nil
}
