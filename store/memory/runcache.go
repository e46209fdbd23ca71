package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// LookupCache implements store.Runs.
func (s *Store) LookupCache(ctx context.Context, tenant string, keys []string, at time.Time) (map[string]store.CacheLookup, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[string]store.CacheLookup{}
	for _, key := range keys {
		row := s.runs.cache[cacheName{tenant, key}]
		if row == nil {
			continue
		}
		lookup := store.CacheLookup{Entry: copyEntry(row.entry), Flying: s.runs.alive(row.owner, at)}
		if lookup.Flying {
			lookup.Fence = row.fence
		}
		if lookup.Entry != nil || lookup.Flying {
			found[key] = lookup
		}
	}
	return found, nil
}

// CacheStamps implements store.Runs.
func (s *Store) CacheStamps(ctx context.Context, tenant string, keys []string) (map[string]store.CacheStamp, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[string]store.CacheStamp{}
	for _, key := range keys {
		if row := s.runs.cache[cacheName{tenant, key}]; row != nil && row.entry != nil {
			e := row.entry
			found[key] = store.CacheStamp{
				CreatedAt: e.CreatedAt, OutputHash: e.OutputHash, RunID: e.RunID, ExpiresAt: e.ExpiresAt, Tainted: e.Tainted != "",
			}
		}
	}
	return found, nil
}

// NearestEntries implements store.Runs.
func (s *Store) NearestEntries(ctx context.Context, tenant, workflow string, steps []string) (map[string]rondo.CacheEntry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[string]rondo.CacheEntry{}
	for _, entry := range s.runs.entries(store.CacheFilter{TenantID: tenant, Workflow: workflow}) {
		if entry.TenantID != tenant || !slices.Contains(steps, entry.StepID) {
			continue
		}
		if _, younger := found[entry.StepID]; !younger {
			entry.Data = nil
			found[entry.StepID] = entry
		}
	}
	return found, nil
}

// StepHistory implements store.Runs.
func (s *Store) StepHistory(ctx context.Context, tenant, workflow string) (map[string]store.StepCost, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	history := map[string]store.StepCost{}
	for _, entry := range s.runs.entries(store.CacheFilter{TenantID: tenant, Workflow: workflow}) {
		if _, younger := history[entry.StepID]; !younger && entry.TenantID == tenant {
			history[entry.StepID] = store.StepCost{DurationMs: entry.DurationMs, Cost: entry.Cost}
		}
	}
	return history, nil
}

// TouchCache implements store.Runs.
func (s *Store) TouchCache(ctx context.Context, tenant string, used map[string]time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, at := range used {
		if row := s.runs.cache[cacheName{tenant, key}]; row != nil && row.entry != nil && row.entry.LastUsedAt.Before(stored(at)) {
			row.entry.LastUsedAt = stored(at)
		}
	}
	return nil
}

// CacheList implements store.Runs.
func (s *Store) CacheList(ctx context.Context, filter store.CacheFilter, page store.CachePage) ([]rondo.CacheEntry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []rondo.CacheEntry
	for _, entry := range s.runs.entries(filter) {
		if page.Limit > 0 && len(found) == page.Limit {
			break
		}
		before := cmp.Or(entry.CreatedAt.Compare(page.Before), cmp.Compare(entry.Key, page.BeforeKey)) < 0
		if page.Before.IsZero() || before {
			found = append(found, entry)
		}
	}
	return found, nil
}

// CacheStats implements store.Runs.
func (s *Store) CacheStats(ctx context.Context, filter store.CacheFilter) (store.CacheStats, error) {
	if err := ctx.Err(); err != nil {
		return store.CacheStats{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var stats store.CacheStats
	for _, entry := range s.runs.entries(filter) {
		stats.Entries++
		stats.Bytes += int64(len(entry.Data) + len(entry.Manifest))
	}
	return stats, nil
}

// EvictCache implements store.Runs.
func (s *Store) EvictCache(ctx context.Context, filter store.CacheFilter, at time.Time, limit int) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	entries := s.runs.entries(filter)
	slices.SortFunc(entries, func(a, b rondo.CacheEntry) int {
		return cmp.Or(a.LastUsedAt.Compare(b.LastUsedAt), cmp.Compare(a.Key, b.Key))
	})
	entries = entries[:max(0, min(limit, len(entries)))]
	for _, entry := range entries {
		s.runs.cache[cacheName{entry.TenantID, entry.Key}].entry = nil
	}
	for name, row := range s.runs.cache {
		if row.entry == nil && !s.runs.alive(row.owner, at) {
			delete(s.runs.cache, name)
		}
	}
	s.runs.dropArtifacts()
	return len(entries), nil
}

// TaintCache implements store.Runs.
func (s *Store) TaintCache(ctx context.Context, tenant, key, why string) (rondo.CacheEntry, error) {
	if err := ctx.Err(); err != nil {
		return rondo.CacheEntry{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.runs.cache[cacheName{tenant, key}]
	if row == nil || row.entry == nil {
		return rondo.CacheEntry{}, rondo.Op("memory: taint", rondo.NotFound("cache entry"))
	}
	row.entry.Tainted = why
	return *copyEntry(row.entry), nil
}

// CacheUsers implements store.Runs.
func (s *Store) CacheUsers(ctx context.Context, tenant, key string, page store.Page) ([]store.CacheUser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	used := func(row *runRow) (step rondo.RunStep, ok bool) {
		for _, step := range row.sorted() {
			if step.CacheKey == key && step.Status.Done() {
				return step, true
			}
		}
		return rondo.RunStep{}, false
	}
	rows := newestFirst(s.runs.ascending, page, runID, func(row *runRow) bool {
		_, ok := used(row)
		return row.run.TenantID == tenant && ok
	})
	users := make([]store.CacheUser, len(rows))
	for i, row := range rows {
		step, _ := used(row)
		users[i] = store.CacheUser{
			RunID: row.run.ID, Workflow: row.run.WorkflowName, Status: row.run.Status, StepID: step.StepID, ArtifactIDs: step.ArtifactIDs,
		}
	}
	return users, nil
}

// entries are copies of those that a filter names, newest first.
func (r *runs) entries(filter store.CacheFilter) []rondo.CacheEntry {
	var found []rondo.CacheEntry
	for _, row := range r.cache {
		if row.entry != nil && named(row.entry, filter) {
			found = append(found, *copyEntry(row.entry))
		}
	}
	slices.SortFunc(found, func(a, b rondo.CacheEntry) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.Key, a.Key), cmp.Compare(a.TenantID, b.TenantID))
	})
	return found
}

func named(entry *rondo.CacheEntry, f store.CacheFilter) bool {
	return (f.TenantID == "" || entry.TenantID == f.TenantID) &&
		(f.Workflow == "" || entry.WorkflowName == f.Workflow) &&
		(f.Step == "" || entry.StepID == f.Step) &&
		(f.Key == "" || entry.Key == f.Key) &&
		(f.Before.IsZero() || entry.LastUsedAt.Before(f.Before)) &&
		(f.Expired.IsZero() || !entry.ExpiresAt.IsZero() && !entry.ExpiresAt.After(f.Expired))
}
