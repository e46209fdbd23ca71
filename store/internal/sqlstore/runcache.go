package sqlstore

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// paddedNames are the stored names of keys as parameters, the last one repeated up
// to one of few sizes, so that there are few texts of a statement.
func paddedNames(keys []string) []any {
	size := maxParameters
	for _, s := range []int{1, 10, 50, 200} {
		if len(keys) <= s {
			size = s
			break
		}
	}
	marks := make([]any, max(size, len(keys)))
	for i := range marks {
		if i < len(keys) {
			marks[i] = CacheRow(keys[i])
		} else {
			marks[i] = marks[i-1]
		}
	}
	return marks
}

// The questions about keys, before their parameters.
const (
	flightsOf = "SELECT f.name, f.fence FROM flights f JOIN run_owners o ON o.owner = f.owner WHERE o.alive_until > ? AND f.tenant_id = ? AND f.name IN ("
	stampsOf  = "SELECT name, created_at, output_hash, run_id, expires_at, CASE WHEN tainted IS NULL THEN 0 ELSE 1 END FROM step_cache WHERE tenant_id = ? AND name IN ("
)

var entriesOf = "SELECT " + (&Table{Columns: stepCacheColumns}).Names("") + " FROM step_cache WHERE tenant_id = ? AND name IN ("

// AskedOften reports whether a query is one of the few that every turn of a
// conversation and every step of a run asks: a driver may keep it prepared.
func AskedOften(query string) bool {
	return query == LoadConversation || strings.HasPrefix(query, entriesOf) || strings.HasPrefix(query, flightsOf) || strings.HasPrefix(query, stampsOf)
}

// LookupCache implements store.Runs.
func (c *Cold) LookupCache(ctx context.Context, tenant string, keys []string, at time.Time) (map[string]store.CacheLookup, error) {
	found := make(map[string]store.CacheLookup)
	for chunk := range slices.Chunk(keys, maxParameters-2) {
		names := paddedNames(chunk)
		byName := make(map[string]string, len(chunk))
		for i, key := range chunk {
			name, _ := names[i].([]byte)
			byName[string(name)] = key
		}
		err := c.reader().each(ctx, func(values []any) error {
			stored, err := ReadEntry(values)
			if err == nil {
				found[byName[string(stored.Name)]] = store.CacheLookup{Entry: &stored.Entry}
			}
			return err
		}, entriesOf+Marks(len(names))+")", append([]any{tenant}, names...)...)
		if err == nil {
			err = c.reader().each(ctx, func(values []any) error {
				r := reader{values: values}
				key := byName[string(r.bytes())]
				lookup := found[key]
				lookup.Flying, lookup.Fence = true, r.int()
				found[key] = lookup
				return r.err
			}, flightsOf+Marks(len(names))+")",
				append([]any{at.UnixMicro(), tenant}, names...)...)
		}
		if err != nil {
			return nil, c.wrap("look up the cache", err)
		}
	}
	return found, nil
}

// headColumns are those of step_cache without data.
func (c *Cold) headColumns(prefix string) string {
	return strings.TrimSuffix(c.tables.StepCache.Names(prefix), prefix+"data") + "NULL AS data"
}

// recentEntries is how many of the newest entries of a workflow are looked at for
// the youngest of each step: nearly always the first number will do.
var recentEntries = []int64{1_000, 20_000}

// youngest is a query for the youngest entry of each step among the newest entries
// of a workflow; its parameters are tenant, workflow, how many, those of where, and
// tenant and workflow again. Entries are indexed in the order in which they come,
// not by step: a commit then changes the end of the index alone.
func youngest(columns, where string) string {
	return "SELECT " + columns + " FROM (SELECT step_id AS step, MAX(created_at) AS newest FROM (SELECT step_id, created_at FROM step_cache " +
		"WHERE tenant_id = ? AND workflow = ? ORDER BY created_at DESC LIMIT ?) AS recent" + where + " GROUP BY step_id) AS n " +
		"JOIN step_cache c ON c.tenant_id = ? AND c.workflow = ? AND c.created_at = n.newest AND c.step_id = n.step ORDER BY c.step_id, c.name"
}

// NearestEntries implements store.Runs.
func (c *Cold) NearestEntries(ctx context.Context, tenant, workflow string, steps []string) (map[string]rondo.CacheEntry, error) {
	found := map[string]rondo.CacheEntry{}
	for chunk := range slices.Chunk(steps, maxParameters-5) {
		in := make([]any, len(chunk))
		for i, step := range chunk {
			in[i] = step
		}
		query := youngest(c.headColumns("c."), " WHERE step_id IN ("+Marks(len(in))+")")
		for _, recent := range recentEntries {
			met := 0
			err := c.reader().each(ctx, func(values []any) error {
				entry, err := readEntry(values)
				if err == nil {
					met++
					found[entry.StepID] = entry
				}
				return err
			}, query, slices.Concat([]any{tenant, workflow, recent}, in, []any{tenant, workflow})...)
			if err != nil {
				return nil, c.wrap("read the nearest entries", err)
			}
			if met >= len(chunk) {
				break
			}
		}
	}
	return found, nil
}

// StepHistory implements store.Runs.
func (c *Cold) StepHistory(ctx context.Context, tenant, workflow string) (map[string]store.StepCost, error) {
	history := map[string]store.StepCost{}
	err := c.reader().each(ctx, func(values []any) error {
		r := reader{values: values}
		step, cost := r.text(), store.StepCost{DurationMs: r.int()}
		cost.Cost, _ = r.float()
		history[step] = cost // of equally young ones the last by name
		return r.err
	}, youngest("c.step_id, c.duration_ms, c.cost", ""), tenant, workflow, recentEntries[len(recentEntries)-1], tenant, workflow)
	if err != nil {
		return nil, c.wrap("read the history of steps", err)
	}
	return history, nil
}

// TouchCache implements store.Runs.
func (c *Cold) TouchCache(ctx context.Context, tenant string, used map[string]time.Time) error {
	if len(used) == 0 {
		return nil
	}
	return c.gather(ctx, "note the use of entries", func(ctx context.Context, s session) error {
		for _, key := range slices.Sorted(maps.Keys(used)) { // in the order in which rows are locked
			at := used[key].UnixMicro()
			if _, err := s.exec(ctx, "UPDATE step_cache SET last_used_at = ? WHERE tenant_id = ? AND name = ? AND last_used_at < ?",
				at, tenant, CacheRow(key), at); err != nil {
				return err
			}
		}
		return nil
	})
}

// namedEntries is the condition for entries that a filter names.
func namedEntries(f store.CacheFilter) (string, []any) {
	where, args := "1 = 1", []any(nil)
	add := func(condition string, value any) {
		where += " AND " + condition
		args = append(args, value)
	}
	if f.TenantID != "" {
		add("tenant_id = ?", f.TenantID)
	}
	if f.Workflow != "" {
		add("workflow = ?", f.Workflow)
	}
	if f.Step != "" {
		add("step_id = ?", f.Step)
	}
	if f.Key != "" {
		add("name = ?", CacheRow(f.Key))
	}
	if !f.Before.IsZero() {
		add("last_used_at < ?", f.Before.UnixMicro())
	}
	if !f.Expired.IsZero() {
		add("expires_at <= ?", f.Expired.UnixMicro())
	}
	return where, args
}

// CacheList implements store.Runs: the page is found in the index, and only its
// rows are read.
func (c *Cold) CacheList(ctx context.Context, filter store.CacheFilter, page store.CachePage) ([]rondo.CacheEntry, error) {
	where, args := namedEntries(filter)
	if !page.Before.IsZero() {
		where += " AND (created_at < ? OR (created_at = ? AND name < ?))"
		args = append(args, page.Before.UnixMicro(), page.Before.UnixMicro(), CacheRow(page.BeforeKey))
	}
	found, err := list(ctx, c.reader(), readEntry, "SELECT "+c.tables.StepCache.Names("c.")+" FROM (SELECT tenant_id AS tenant, name AS row_name FROM step_cache WHERE "+where+
		" ORDER BY created_at DESC, name DESC LIMIT ?) p JOIN step_cache c ON c.tenant_id = p.tenant AND c.name = p.row_name "+
		"ORDER BY c.created_at DESC, c.name DESC", append(args, rowLimit(page.Limit))...)
	return found, c.wrap("list cache entries", err)
}

// CacheStats implements store.Runs.
func (c *Cold) CacheStats(ctx context.Context, filter store.CacheFilter) (store.CacheStats, error) {
	where, args := namedEntries(filter)
	var stats store.CacheStats
	err := c.reader().each(ctx, func(values []any) error {
		r := reader{values: values}
		stats = store.CacheStats{Entries: r.int(), Bytes: r.int()}
		return r.err
	}, "SELECT COUNT(*), CAST(COALESCE(SUM(size), 0) AS "+c.dialect.BigInt+") FROM step_cache WHERE "+where, args...)
	return stats, c.wrap("count cache entries", err)
}

// TaintCache implements store.Runs.
func (c *Cold) TaintCache(ctx context.Context, tenant, key, why string) (rondo.CacheEntry, error) {
	const op = "taint a cache entry"
	name := CacheRow(key)
	var found []rondo.CacheEntry
	err := c.gather(ctx, op, func(ctx context.Context, s session) error {
		if _, err := s.exec(ctx, "UPDATE step_cache SET tainted = ? WHERE tenant_id = ? AND name = ?", freeText(why), tenant, name); err != nil {
			return err
		}
		var err error
		found, err = list(ctx, s, readEntry, "SELECT "+c.tables.StepCache.Names("")+" FROM step_cache WHERE tenant_id = ? AND name = ?", tenant, name)
		if err == nil && len(found) == 0 {
			err = rondo.Op(c.dialect.Name+": "+op, rondo.NotFound("cache entry"))
		}
		return err
	})
	if err != nil {
		return rondo.CacheEntry{}, err
	}
	return found[0], nil
}

// CacheUsers implements store.Runs. Nothing indexes steps by key, which every step
// would pay for: it walks the runs of the entry's workflow, or all of a tenant when
// the entry is gone.
func (c *Cold) CacheUsers(ctx context.Context, tenant, key string, page store.Page) ([]store.CacheUser, error) {
	const op = "list the users of a cache entry"
	where, args := "r.tenant_id = ? AND s.cache_key = ? AND s.status IN (?, ?)",
		[]any{tenant, CacheRow(key), string(rondo.RunStepCompleted), string(rondo.RunStepSkipped)}
	err := c.reader().each(ctx, func(values []any) error {
		r := reader{values: values}
		where += " AND r.workflow = ? AND s.step_id = ?"
		args = append(args, r.text(), r.text())
		return r.err
	}, "SELECT workflow, step_id FROM step_cache WHERE tenant_id = ? AND name = ?", tenant, CacheRow(key))
	if err != nil {
		return nil, c.wrap(op, err)
	}
	if !page.After.IsZero() {
		where += " AND r.id < ?"
		args = append(args, ID(page.After))
	}
	found, err := list(ctx, c.reader(), func(values []any) (store.CacheUser, error) {
		r := reader{values: values}
		user := store.CacheUser{RunID: r.id(), Workflow: r.text(), Status: rondo.RunStatus(r.text()), StepID: r.text(), ArtifactIDs: r.ids()}
		return user, wrapRead("user of an entry", r.err)
	}, "SELECT r.id, r.workflow, r.status, s.step_id, s.artifacts FROM runs r JOIN run_steps s ON s.run_id = r.id WHERE "+where+
		" ORDER BY r.id DESC LIMIT ?", append(args, rowLimit(page.Limit))...)
	return found, c.wrap(op, err)
}
