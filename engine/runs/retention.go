package runs

import (
	"context"
	"errors"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

const (
	purgeBatch = 100    // runs that one call of the store removes
	purgeSweep = 10_000 // runs that one sweep removes of one policy
	// expiredRest is how long an entry that has expired is kept: a step that misses it
	// says so.
	expiredRest = 24 * time.Hour
	// blobRest is how old bytes are before they are removed: what a step is putting
	// right now is named by no artifact yet.
	blobRest  = time.Hour
	blobSweep = 10_000 // contents that one sweep looks at
)

// sweep writes down what was used and removes what need not be kept. Any number of
// processes may do so at once. A part that fails does not keep the others from
// being done.
func (s *Service) sweep(ctx context.Context) error {
	return errors.Join(
		rondo.Op("note the use of cache entries", s.uses.flush(ctx, s.store)),
		rondo.Op("evict cache entries", s.sweepCache(ctx)),
		rondo.Op("remove ended runs", s.sweepRuns(ctx)),
		rondo.Op("remove bytes that nothing names", s.sweepBlobs(ctx)),
	)
}

// sweepCache evicts entries by age and by size.
func (s *Service) sweepCache(ctx context.Context) error {
	now := s.now()
	filters := []store.CacheFilter{{Expired: now.Add(-expiredRest)}}
	if age := s.cfg.CacheMaxAge; age > 0 {
		filters = append(filters, store.CacheFilter{Before: now.Add(-age)})
	}
	for _, filter := range filters {
		if _, err := s.evict(ctx, filter, 0); err != nil {
			return err
		}
	}
	return s.shrinkCache(ctx)
}

// shrinkCache evicts what is above CacheMaxBytes. How many entries that is can
// only be guessed from their mean size, so it looks again.
func (s *Service) shrinkCache(ctx context.Context) error {
	for most := s.cfg.CacheMaxBytes; most > 0 && ctx.Err() == nil; {
		stats, err := s.store.CacheStats(ctx, store.CacheFilter{})
		if err != nil || stats.Bytes <= most || stats.Entries == 0 {
			return err
		}
		mean := max(1, stats.Bytes/stats.Entries)
		removed, err := s.evict(ctx, store.CacheFilter{}, int(max(1, (stats.Bytes-most)/mean)))
		if err != nil || removed == 0 {
			return err
		}
	}
	return ctx.Err()
}

// sweepRuns removes ended runs that are older than the policy of their tenant, or
// the policy of all, or the configuration says.
func (s *Service) sweepRuns(ctx context.Context) error {
	keep, err := s.keepRuns(ctx)
	if err != nil {
		return err
	}
	for tenant, kept := range keep {
		if kept <= 0 {
			continue
		}
		if err := s.purge(ctx, tenant, s.now().Add(-kept)); err != nil {
			return err
		}
	}
	return nil
}

// keepRuns is how long ended runs are kept, by tenant; "" is every tenant without
// a policy of its own, 0 is for ever.
func (s *Service) keepRuns(ctx context.Context) (map[string]time.Duration, error) {
	keep := map[string]time.Duration{"": s.cfg.RunRetention}
	if s.cfg.Retention == nil {
		return keep, nil
	}
	policies, err := s.cfg.Retention.RetentionPolicies(ctx)
	if err != nil {
		return nil, err
	}
	for _, policy := range policies {
		if policy.OrgID != "" || policy.KeepFinished > 0 {
			keep[policy.OrgID] = policy.KeepFinished
		}
	}
	return keep, nil
}

// purge removes runs of a tenant. The store notes what content went with them.
func (s *Service) purge(ctx context.Context, tenant string, before time.Time) error {
	for purged := 0; purged < purgeSweep && ctx.Err() == nil; {
		n, _, err := s.store.PurgeRuns(ctx, tenant, before, purgeBatch)
		if err != nil || n < purgeBatch {
			return err
		}
		purged += n
	}
	return ctx.Err()
}

// sweepBlobs removes the bytes of artifacts that went, unless another artifact has
// the same. Bytes that were put again a moment ago are too young to be removed, so
// each is tried at every sweep until they cannot be.
func (s *Service) sweepBlobs(ctx context.Context) error {
	if s.cfg.Blobs == nil {
		return nil
	}
	now := s.now()
	loose, err := s.store.LooseBlobs(ctx, now, blobSweep)
	if err != nil || len(loose) == 0 {
		return err
	}
	hashes := make([]string, len(loose))
	var tried []string
	for i, blob := range loose {
		hashes[i] = blob.Hash
		if now.Sub(blob.Since) > blobRest {
			tried = append(tried, blob.Hash)
		}
	}
	if _, err := s.cfg.Blobs.DeleteUnused(ctx, hashes, now.Add(-blobRest)); err != nil {
		return err
	}
	return s.store.ForgetBlobs(ctx, tried)
}
