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
	uses    uses
	orphans orphans
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

// orphans are contents whose artifacts went. Bytes that were put again a moment ago
// are too young to be removed, so each is tried at every sweep until they cannot be.
type orphans struct {
	mu     sync.Mutex
	hashes map[string]time.Time // → until when it is tried
}

func (o *orphans) add(hashes []string, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.hashes == nil {
		o.hashes = map[string]time.Time{}
	}
	for _, hash := range hashes {
		if len(o.hashes) < maxNoted {
			o.hashes[hash] = now.Add(blobRest + time.Minute)
		}
	}
}

// take returns what is to be tried now.
func (o *orphans) take(now time.Time) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	hashes := make([]string, 0, len(o.hashes))
	for hash, until := range o.hashes {
		hashes = append(hashes, hash)
		if !now.Before(until) {
			delete(o.hashes, hash)
		}
	}
	return hashes
}
