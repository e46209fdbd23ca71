package runs

import (
	"context"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// cachePage is how many entries one call of the store lists or removes.
const cachePage = 500

// Cache lists entries of the principal's tenant, newest first.
func (s *Service) Cache(ctx context.Context, p rondo.Principal, filter store.CacheFilter, page store.CachePage) ([]rondo.CacheEntry, error) {
	filter.TenantID = p.Tenant
	entries, err := s.store.CacheList(ctx, filter, page)
	return entries, rondo.Op("list the step cache", err)
}

// CacheStats sums what the filter names of the principal's tenant.
func (s *Service) CacheStats(ctx context.Context, p rondo.Principal, filter store.CacheFilter) (store.CacheStats, error) {
	filter.TenantID = p.Tenant
	stats, err := s.store.CacheStats(ctx, filter)
	return stats, rondo.Op("sum the step cache", err)
}

// InvalidateCache removes what the filter names of the principal's tenant, from
// both tiers, and returns how many entries went. Steps that are being computed are
// not disturbed: their results are kept.
func (s *Service) InvalidateCache(ctx context.Context, p rondo.Principal, filter store.CacheFilter) (int, error) {
	const op = "invalidate the step cache"
	filter.TenantID = p.Tenant
	// The names are read first and dropped from the hot tier last, so that an entry
	// that is promoted in between goes as well.
	named, err := s.namedEntries(ctx, filter)
	if err != nil {
		return 0, rondo.Op(op, err)
	}
	removed, err := s.evictNamed(ctx, filter, named)
	if dropErr := s.dropHot(ctx, p.Tenant, named.keys); err == nil {
		err = dropErr
	}
	return removed, rondo.Op(op, err)
}

// listPage is how many entries are read at once: they come with their data.
const listPage = 100

// namedEntries are the entries that a filter names.
type namedEntries struct {
	keys      []string
	artifacts map[string][]rondo.ID // by tenant
}

func (s *Service) namedEntries(ctx context.Context, filter store.CacheFilter) (namedEntries, error) {
	named := namedEntries{artifacts: map[string][]rondo.ID{}}
	page := store.CachePage{Limit: listPage}
	for {
		entries, err := s.store.CacheList(ctx, filter, page)
		if err != nil {
			return named, err
		}
		for i := range entries {
			named.keys = append(named.keys, entries[i].Key)
			if ids := entries[i].ArtifactIDs; len(ids) > 0 {
				named.artifacts[entries[i].TenantID] = append(named.artifacts[entries[i].TenantID], ids...)
			}
		}
		if len(entries) < listPage {
			return named, nil
		}
		last := &entries[len(entries)-1]
		page.Before, page.BeforeKey = last.CreatedAt, last.Key
	}
}

// evictNamed removes entries of the cold tier, and remembers the content of their
// artifacts: the last entry that refers to one may be all that its bytes were kept
// for.
func (s *Service) evictNamed(ctx context.Context, filter store.CacheFilter, named namedEntries) (int, error) {
	for tenant, ids := range named.artifacts {
		artifacts, err := s.store.Artifacts(ctx, tenant, ids)
		if err != nil {
			return 0, err
		}
		for i := range artifacts {
			if hash := artifacts[i].ContentHash; hash != "" {
				s.orphans.add([]string{hash}, s.now())
			}
		}
	}
	return s.evict(ctx, filter, 0)
}

// evict removes entries of the cold tier, those unused for longest first; most 0
// is all of them.
func (s *Service) evict(ctx context.Context, filter store.CacheFilter, most int) (int, error) {
	removed := 0
	for ctx.Err() == nil {
		limit := cachePage
		if most > 0 {
			limit = min(limit, most-removed)
		}
		n, err := s.store.EvictCache(ctx, filter, s.now(), limit)
		removed += n
		if err != nil || n < limit || removed == most {
			return removed, err
		}
	}
	return removed, ctx.Err()
}

// dropHot forgets keys in the hot tier.
func (s *Service) dropHot(ctx context.Context, tenant string, keys []string) error {
	if s.cfg.Hot == nil {
		return nil
	}
	for len(keys) > 0 {
		n := min(len(keys), cachePage)
		if err := s.cfg.Hot.Drop(ctx, tenant, keys[:n]); err != nil {
			return err
		}
		keys = keys[n:]
	}
	return nil
}
