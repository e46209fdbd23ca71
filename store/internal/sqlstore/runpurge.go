package sqlstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// How many entries and runs one transaction removes: sweeping never holds up the
// commits of runs for longer than that takes.
const (
	evictChunk    = 50
	purgeRunChunk = 5
)

// EvictCache implements store.Runs.
func (c *Cold) EvictCache(ctx context.Context, filter store.CacheFilter, at time.Time, limit int) (int, error) {
	const op = "evict cache entries"
	if err := c.sweepFlights(ctx, at); err != nil || limit <= 0 {
		return 0, err
	}
	where, args := namedEntries(filter)
	type victim struct {
		tenant string
		name   []byte
	}
	victims, err := list(ctx, c.reader(), func(values []any) (victim, error) {
		r := reader{values: values}
		v := victim{tenant: r.text(), name: r.bytes()}
		return v, wrapRead("cache entry", r.err)
	}, "SELECT tenant_id, name FROM step_cache WHERE "+where+" ORDER BY last_used_at, name LIMIT ?", append(slices.Clone(args), int64(limit))...)
	if err != nil {
		return 0, c.wrap(op, err)
	}
	evicted := 0
	for chunk := range slices.Chunk(victims, evictChunk) {
		gone := 0
		slices.SortFunc(chunk, func(a, b victim) int { return cmp.Or(cmp.Compare(a.tenant, b.tenant), slices.Compare(a.name, b.name)) })
		err := c.gather(ctx, op, func(ctx context.Context, s session) error {
			gone = 0
			for _, v := range chunk {
				n, err := s.exec(ctx, "DELETE FROM step_cache WHERE tenant_id = ? AND name = ? AND "+where, append([]any{v.tenant, v.name}, args...)...)
				if err != nil {
					return err
				}
				if n == 0 {
					continue
				}
				gone++
				if _, err := s.dropUses(ctx, EntryUser(v.tenant, v.name)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return evicted, err
		}
		evicted += gone
	}
	return evicted, nil
}

// sweepFlights removes flights of owners who have ended; there are never many
// flights.
func (c *Cold) sweepFlights(ctx context.Context, at time.Time) error {
	const op = "sweep flights"
	const dead = "owner NOT IN (" + AliveOwners + ")"
	owners, err := list(ctx, c.reader(), ReadText, "SELECT owner FROM flights WHERE "+dead+" LIMIT 1", at.UnixMicro())
	if err != nil || len(owners) == 0 {
		return c.wrap(op, err)
	}
	return c.gather(ctx, op, func(ctx context.Context, s session) error {
		_, err := s.exec(ctx, "DELETE FROM flights WHERE "+dead, at.UnixMicro())
		return err
	})
}

// unneeded is the condition for runs r that have ended and are not the base of one
// that has not.
const unneeded = "r.live IS NULL AND NOT EXISTS (SELECT 1 FROM runs b WHERE b.base_id = r.id AND b.live = 1)"

// PurgeRuns implements store.Runs.
func (c *Cold) PurgeRuns(ctx context.Context, tenant string, before time.Time, limit int) (int, []string, error) {
	const op = "purge runs"
	if limit <= 0 {
		return 0, nil, nil
	}
	tenants := []string{tenant}
	if tenant == "" {
		var err error
		if tenants, err = c.runTenants(ctx); err != nil {
			return 0, nil, c.wrap(op, err)
		}
	}
	var oldest []endedRow
	for _, of := range tenants {
		found, err := list(ctx, c.reader(), readEnded, "SELECT r.id, r.tenant_id, '', r.completed_at FROM runs r "+
			"WHERE r.tenant_id = ? AND r.completed_at < ? AND "+unneeded+" ORDER BY r.completed_at, r.id LIMIT ?", of, before.UnixMicro(), int64(limit))
		if err != nil {
			return 0, nil, c.wrap(op, err)
		}
		oldest = append(oldest, found...)
	}
	slices.SortFunc(oldest, func(a, b endedRow) int { return cmp.Or(cmp.Compare(a.ended, b.ended), compareIDs(a.id, b.id)) })
	purged, hashes := 0, []string(nil)
	for chunk := range slices.Chunk(oldest[:min(limit, len(oldest))], purgeRunChunk) {
		var gone int
		var freed []string
		err := c.gather(ctx, op, func(ctx context.Context, s session) error {
			gone, freed = 0, nil
			for _, row := range chunk {
				some, removed, err := s.removeRun(ctx, row.id)
				if err != nil {
					return err
				}
				if removed {
					gone++
				}
				freed = append(freed, some...)
			}
			return nil
		})
		if err != nil {
			return purged, hashes, err
		}
		purged += gone
		hashes = append(hashes, freed...)
	}
	slices.Sort(hashes)
	return purged, slices.Compact(hashes), nil
}

// runTenants walks from tenant to tenant that has runs and no policy of its own.
func (c *Cold) runTenants(ctx context.Context) ([]string, error) {
	policies, err := c.RetentionPolicies(ctx)
	if err != nil {
		return nil, err
	}
	var found []string
	query, args := "SELECT tenant_id FROM runs ORDER BY tenant_id LIMIT 1", []any(nil)
	for {
		next, err := list(ctx, c.reader(), ReadText, query, args...)
		if err != nil || len(next) == 0 {
			return found, err
		}
		if !slices.ContainsFunc(policies, func(p rondo.RetentionPolicy) bool { return p.OrgID == next[0] }) {
			found = append(found, next[0])
		}
		query, args = "SELECT tenant_id FROM runs WHERE tenant_id > ? ORDER BY tenant_id LIMIT 1", []any{next[0]}
	}
}

// removeRun removes a run with all that belongs to it, unless someone needs it by
// now. What it raised stays until it is confirmed.
func (s session) removeRun(ctx context.Context, id rondo.ID) (hashes []string, removed bool, err error) {
	free, err := list(ctx, s, readID, "SELECT r.id FROM runs r WHERE r.id = ? AND "+unneeded+s.d.Lock, ID(id))
	if err != nil || len(free) == 0 {
		return nil, false, err
	}
	for _, from := range []string{"runs WHERE id = ?", "run_steps WHERE run_id = ?", "run_signals WHERE run_id = ?"} {
		if _, err := s.exec(ctx, "DELETE FROM "+from, ID(id)); err != nil {
			return nil, false, err
		}
	}
	hashes, err = s.dropUses(ctx, id[:])
	return hashes, true, err
}
