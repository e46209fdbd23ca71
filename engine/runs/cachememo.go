package runs

import (
	"context"
	"sync"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/plan"
)

const (
	memoEntries = 16_384
	memoLasts   = time.Second // others land and evict as well
)

// memo remembers for a moment the youngest manifest of each step, so that a hundred
// steps that miss at once, and the runs that follow at once, ask the store once
// what to compare with. That a step has none is not remembered.
type memo struct {
	mu    sync.Mutex
	known map[memoKey]memoEntry
}

type memoKey struct{ tenant, workflow, step string }

// memoEntry is a manifest, decoded when it is first needed.
type memoEntry struct {
	raw     []byte
	decoded *plan.Manifest
	until   time.Time
}

// remember notes the manifest of an entry that landed.
func (s *Service) remember(entry *rondo.CacheEntry, manifest *plan.Manifest) {
	s.memo.put(memoKey{entry.TenantID, entry.WorkflowName, entry.StepID}, memoEntry{decoded: manifest, until: s.now().Add(memoLasts)})
}

// forget lets the store be asked again: entries were removed or tainted.
func (m *memo) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.known)
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
	now := s.now()
	m.mu.Lock()
	for _, a := range why {
		if base, ok := a.d.baseStep(a.step); ok && len(base.Manifest) > 0 {
			continue
		}
		key := memoKey{a.d.run.TenantID, a.d.w.Name, a.d.w.Steps[a.step].ID}
		// A step that missed has no entry of its manifest: one that is remembered is gone.
		entry, known := m.known[key]
		if !known || !now.Before(entry.until) || entry.decoded != nil && len(plan.Diff(*entry.decoded, a.q.Keyed.Manifest)) == 0 {
			delete(m.known, key)
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
		for step := range nearest {
			m.put(memoKey{from.tenant, from.workflow, step}, memoEntry{raw: nearest[step].Manifest, until: now.Add(memoLasts)})
		}
	}
}

// previous is the youngest manifest of a step, nil when there is none; fill was
// asked about it.
func (m *memo) previous(tenant, workflow, step string) *plan.Manifest {
	key := memoKey{tenant, workflow, step}
	m.mu.Lock()
	defer m.mu.Unlock()
	entry := m.known[key]
	if entry.decoded == nil && len(entry.raw) > 0 {
		if decoded, err := plan.DecodeManifest(entry.raw); err == nil && len(decoded.Components) > 0 {
			entry.raw, entry.decoded = nil, &decoded
			m.known[key] = entry
		}
	}
	return entry.decoded
}
