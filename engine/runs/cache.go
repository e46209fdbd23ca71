package runs

import (
	"context"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/plan"
	"github.com/rondo-engine/rondo/store"
)

const (
	hotTimeout = 250 * time.Millisecond // of one question to the hot tier
	hotRest    = time.Second            // before a hot tier that failed is asked again
	hotQueue   = 4096                   // entries on their way to the hot tier, more are not put there
	hotAtOnce  = 256
)

// lookUp asks the hot tier, and the cold one about what that does not have. A tier
// that fails has nothing.
func (s *Service) lookUp(ctx context.Context, tenant string, keys []string, known map[flight]*plan.Found) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.OwnerLease/3)
	defer cancel()
	hot, err := s.hotEntries(ctx, tenant, keys)
	if err != nil {
		s.log.Warn("the cache could not be asked; steps are computed", "keys", len(keys), "error", err)
		return
	}
	rest := keys
	if len(hot) > 0 {
		rest = make([]string, 0, len(keys)-len(hot))
		for _, key := range keys {
			if entry, ok := hot[key]; ok {
				known[flight{tenant, key}] = &plan.Found{Entry: &entry, Hot: true}
				continue
			}
			rest = append(rest, key)
		}
	}
	if len(rest) == 0 {
		return
	}
	cold, err := s.store.LookupCache(ctx, tenant, rest, s.now())
	if err != nil {
		s.log.Warn("the cache could not be asked; steps are computed", "keys", len(rest), "error", err)
		return
	}
	for key, found := range cold {
		known[flight{tenant, key}] = &plan.Found{Entry: found.Entry, Flying: found.Flying}
		if found.Entry != nil && found.Entry.Tainted == "" {
			s.promote(found.Entry)
		}
	}
}

// hotEntries returns what the hot tier has and the cold one confirms: its row is
// the truth, and others may have tainted, replaced or removed it since. What is not
// confirmed is dropped from the hot tier. A hot tier that fails has nothing; the
// error is that of the cold one.
func (s *Service) hotEntries(ctx context.Context, tenant string, keys []string) (map[string]rondo.CacheEntry, error) {
	hot := s.askHot(ctx, tenant, keys)
	if len(hot) == 0 {
		return nil, nil
	}
	asked := make([]string, 0, len(hot))
	for key := range hot {
		asked = append(asked, key)
	}
	stamps, err := s.store.CacheStamps(ctx, tenant, asked)
	if err != nil {
		return nil, err
	}
	var stale []string
	for key := range hot {
		entry := hot[key]
		if stamp, there := stamps[key]; !there || !confirms(&stamp, &entry) {
			stale = append(stale, key)
			delete(hot, key)
		}
	}
	if len(stale) > 0 {
		drop, cancel := context.WithTimeout(ctx, hotTimeout)
		defer cancel()
		if err := s.cfg.Hot.Drop(drop, tenant, stale); err != nil {
			s.log.Warn("entries that are not true any more could not be dropped from the hot cache", "entries", len(stale), "error", err)
		}
	}
	return hot, nil
}

// confirms reports whether a stamp is that of an entry, as exactly as stores keep
// times, and the entry is good.
func confirms(stamp *store.CacheStamp, entry *rondo.CacheEntry) bool {
	return !stamp.Tainted && stamp.OutputHash == entry.OutputHash && stamp.RunID == entry.RunID &&
		stamp.CreatedAt.UnixMicro() == entry.CreatedAt.UnixMicro() && stamp.ExpiresAt.UnixMicro() == entry.ExpiresAt.UnixMicro()
}

// askHot asks the hot tier, unless it failed a moment ago.
func (s *Service) askHot(ctx context.Context, tenant string, keys []string) map[string]rondo.CacheEntry {
	if s.cfg.Hot == nil || s.now().UnixNano() < s.hotAfter.Load() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, hotTimeout)
	defer cancel()
	found, err := s.cfg.Hot.Get(ctx, tenant, keys)
	if err != nil {
		s.hotAfter.Store(s.now().Add(hotRest).UnixNano())
		s.log.Warn("the hot cache could not be asked; the cold one is", "error", err)
		return nil
	}
	return found
}

// promote lets the hot tier have an entry, if there is room on the way.
func (s *Service) promote(entry *rondo.CacheEntry) {
	if s.cfg.Hot == nil {
		return
	}
	ttl := hotTTL(entry.Class)
	if !entry.ExpiresAt.IsZero() {
		ttl = min(ttl, entry.ExpiresAt.Sub(s.now()))
	}
	if ttl <= 0 {
		return
	}
	select {
	case s.toHot <- store.HotEntry{Entry: *entry, TTL: ttl}:
	default:
	}
}

// hotTTL is how long the hot tier keeps entries of a class.
func hotTTL(class string) time.Duration {
	switch class {
	case "llm":
		return 48 * time.Hour
	case "template":
		return 24 * time.Hour
	default:
		return 6 * time.Hour
	}
}

// heat puts entries into the hot tier until ctx ends.
func (s *Service) heat(ctx context.Context) {
	for {
		var batch []store.HotEntry
		select {
		case <-ctx.Done():
			return
		case first := <-s.toHot:
			batch = append(batch, first)
		}
		for more := true; more && len(batch) < hotAtOnce; {
			select {
			case next := <-s.toHot:
				batch = append(batch, next)
			default:
				more = false
			}
		}
		put, cancel := context.WithTimeout(ctx, 4*hotTimeout)
		if err := s.cfg.Hot.Put(put, batch); err != nil && ctx.Err() == nil {
			s.log.Warn("entries could not be put into the hot cache", "entries", len(batch), "error", err)
		}
		cancel()
	}
}
