package sqlstore

import (
	"context"
	"slices"

	"github.com/rondo-engine/rondo/store"
)

// CacheStamps implements store.Runs.
func (c *Cold) CacheStamps(ctx context.Context, tenant string, keys []string) (map[string]store.CacheStamp, error) {
	found := make(map[string]store.CacheStamp, len(keys))
	for chunk := range slices.Chunk(keys, maxParameters-1) {
		names := paddedNames(chunk)
		byName := make(map[string]string, len(chunk))
		for i, key := range chunk {
			name, _ := names[i].([]byte)
			byName[string(name)] = key
		}
		err := c.reader().each(ctx, func(values []any) error {
			r := reader{values: values}
			key := byName[string(r.bytes())]
			found[key] = store.CacheStamp{CreatedAt: r.time(), OutputHash: r.digest(), RunID: r.id(), ExpiresAt: r.time(), Tainted: r.int() != 0}
			return r.err
		}, stampsOf+Marks(len(names))+")", append([]any{tenant}, names...)...)
		if err != nil {
			return nil, c.wrap("read the stamps of the cache", err)
		}
	}
	return found, nil
}
