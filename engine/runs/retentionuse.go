package runs

import (
	"context"
	"sync"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// maxNoted bounds what is remembered between two sweeps: use beyond it is not
// noted, which only makes an entry look older than it is.
const maxNoted = 100_000

// keeping is what the sweeps of a Service remember.
type keeping struct {
	uses uses
}

// uses gathers when entries were used, so that a sweep writes each down once.
type uses struct {
	mu    sync.Mutex
	noted map[string]map[string]time.Time // tenant → key → last use
	count int
}

// used notes that an entry was reused.
func (s *Service) used(entry *rondo.CacheEntry) { s.uses.note(entry.TenantID, entry.Key, s.now()) }

func (u *uses) note(tenant, key string, at time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	keys := u.noted[tenant]
	if _, known := keys[key]; !known {
		if u.count >= maxNoted {
			return
		}
		u.count++
	}
	if keys == nil {
		if u.noted == nil {
			u.noted = map[string]map[string]time.Time{}
		}
		keys = map[string]time.Time{}
		u.noted[tenant] = keys
	}
	keys[key] = at
}

// noteUses writes down what was used since the last sweep, as well as can be: a
// process that lives for less than a sweep notes its uses as well.
func (s *Service) noteUses(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, max(s.cfg.OwnerLease/3, time.Millisecond))
	defer cancel()
	if err := s.uses.flush(ctx, s.store); err != nil {
		s.log.Info("the use of cache entries was not noted", "error", err)
	}
}

// flush writes everything down. What cannot be written is forgotten: a store that
// is away has other worries.
func (u *uses) flush(ctx context.Context, runs store.Runs) error {
	u.mu.Lock()
	noted := u.noted
	u.noted, u.count = nil, 0
	u.mu.Unlock()
	for tenant, keys := range noted {
		if err := runs.TouchCache(ctx, tenant, keys); err != nil {
			return err
		}
	}
	return nil
}
