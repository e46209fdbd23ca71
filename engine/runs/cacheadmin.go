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
	keys, err := s.namedKeys(ctx, filter)
	if err != nil {
		return 0, rondo.Op(op, err)
	}
	removed, err := s.evict(ctx, filter, 0)
	if dropErr := s.dropHot(ctx, p.Tenant, keys); err == nil {
		err = dropErr
	}
	return removed, rondo.Op(op, err)
}

// listPage is how many entries are read at once: they come with their data.
const listPage = 100

// namedKeys are the keys of the entries that a filter names.
func (s *Service) namedKeys(ctx context.Context, filter store.CacheFilter) ([]string, error) {
	var keys []string
	page := store.CachePage{Limit: listPage}
	for {
		entries, err := s.store.CacheList(ctx, filter, page)
		if err != nil {
			return keys, err
		}
		for i := range entries {
			keys = append(keys, entries[i].Key)
		}
		if len(entries) < listPage {
			return keys, nil
		}
		last := &entries[len(entries)-1]
		page.Before, page.BeforeKey = last.CreatedAt, last.Key
	}
}

// evict removes entries of the cold tier, those unused for longest first; most 0
// is all of them. The bytes of their artifacts go with a sweep. What the hot tiers
// have of them is not used any more, since the cold one does not confirm it.
func (s *Service) evict(ctx context.Context, filter store.CacheFilter, most int) (int, error) {
	defer s.memo.forget()
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

// dropHot forgets keys in the hot tier, and what this process remembers of steps.
func (s *Service) dropHot(ctx context.Context, tenant string, keys []string) error {
	s.memo.forget()
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
