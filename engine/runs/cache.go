package runs

import (
	"context"
	"sync"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/plan"
	"github.com/rondo-engine/rondo/store"
)

const (
	hotTimeout  = 250 * time.Millisecond // of one question to the hot tier
	hotRest     = time.Second            // before a hot tier that failed is asked again
	hotQueue    = 4096                   // entries on their way to the hot tier, more are not put there
	hotAtOnce   = 256
	memoEntries = 16_384
)

// lookUp asks the hot tier, and the cold one about what that does not have. A tier
// that fails has nothing.
func (s *Service) lookUp(ctx context.Context, tenant string, keys []string, known map[flight]*plan.Found) {
	rest := keys
	if hot := s.askHot(ctx, tenant, keys); len(hot) > 0 {
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
	ctx, cancel := context.WithTimeout(ctx, s.cfg.OwnerLease/3)
	defer cancel()
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

// memo remembers the youngest manifest of each step, so that a first run of a
// hundred steps asks the store once what to compare with.
type memo struct {
	mu    sync.Mutex
	known map[memoKey]memoEntry
}

type memoKey struct{ tenant, workflow, step string }

// memoEntry is a manifest, decoded when it is first needed; neither = there is none.
type memoEntry struct {
	raw     []byte
	decoded *plan.Manifest
}

// remember notes the manifest of an entry that landed.
func (s *Service) remember(entry *rondo.CacheEntry, manifest *plan.Manifest) {
	s.memo.put(memoKey{entry.TenantID, entry.WorkflowName, entry.StepID}, memoEntry{decoded: manifest})
}

func (m *memo) put(key memoKey, entry memoEntry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil {
		m.known = map[memoKey]memoEntry{}
	}
	if _, there := m.known[key]; !there && len(m.known) >= memoEntries {
		for old := range m.known { // any: it is a memo
			delete(m.known, old)
			break
		}
	}
	m.known[key] = entry
}

// fill asks the store about steps that are not known and have no base to be
// compared with. A store that fails leaves them without anything to compare with.
func (m *memo) fill(ctx context.Context, s *Service, why []asked) {
	type of struct{ tenant, workflow string }
	unknown := map[of][]string{}
	m.mu.Lock()
	for _, a := range why {
		if base, ok := a.d.baseStep(a.step); ok && len(base.Manifest) > 0 {
			continue
		}
		key := memoKey{a.d.run.TenantID, a.d.w.Name, a.d.w.Steps[a.step].ID}
		if _, known := m.known[key]; !known {
			unknown[of{key.tenant, key.workflow}] = append(unknown[of{key.tenant, key.workflow}], key.step)
		}
	}
	m.mu.Unlock()
	for from, steps := range unknown {
		nearest, err := s.store.NearestEntries(ctx, from.tenant, from.workflow, steps)
		if err != nil {
			s.log.Warn("what steps did before could not be read", "workflow", from.workflow, "error", err)
			continue
		}
		for _, step := range steps {
			m.put(memoKey{from.tenant, from.workflow, step}, memoEntry{raw: nearest[step].Manifest})
		}
	}
}

// previous is the youngest manifest of a step, nil when there is none.
func (m *memo) previous(tenant, workflow, step string) *plan.Manifest {
	key := memoKey{tenant, workflow, step}
	m.mu.Lock()
	defer m.mu.Unlock()
	entry := m.known[key]
	if entry.decoded == nil && len(entry.raw) > 0 {
		if decoded, err := plan.DecodeManifest(entry.raw); err == nil && len(decoded.Components) > 0 {
			entry = memoEntry{decoded: &decoded}
			m.known[key] = entry
		}
	}
	return entry.decoded
}
