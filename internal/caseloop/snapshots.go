package caseloop

import (
	"context"
	"strings"
	"sync"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
	"github.com/rondo-engine/rondo/store"
)

// maxSnapshots bounds the cache of compiled snapshots; when it is full it starts
// over, which costs one compile per snapshot in use.
const maxSnapshots = 4096

// SnapshotSource reads the frozen form of a snapshot.
type SnapshotSource interface {
	Snapshot(ctx context.Context, hash string) ([]byte, error)
}

// Snapshots compiles snapshots once and keeps them by hash. A snapshot never
// changes, so an entry is never stale.
type Snapshots struct {
	source SnapshotSource

	mu       sync.RWMutex
	compiled map[string]*definition.Snapshot
}

// NewSnapshots returns an empty cache over source.
func NewSnapshots(source SnapshotSource) *Snapshots {
	return &Snapshots{source: source, compiled: map[string]*definition.Snapshot{}}
}

// Get returns the compiled snapshot, reading and compiling it the first time.
func (s *Snapshots) Get(ctx context.Context, hash string) (*definition.Snapshot, error) {
	if snapshot, err := s.Known(hash); err == nil {
		return snapshot, nil
	}
	document, err := s.source.Snapshot(ctx, hash)
	if err != nil {
		return nil, rondo.Op("read snapshot "+hash, err)
	}
	snapshot, err := definition.Compile(document)
	if err != nil {
		return nil, rondo.Op("compile snapshot "+hash, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.compiled) >= maxSnapshots {
		clear(s.compiled)
	}
	s.compiled[hash] = snapshot
	return snapshot, nil
}

// Known returns a snapshot that is compiled already, else unknownSnapshotsError. It
// does no I/O.
func (s *Snapshots) Known(hash string) (*definition.Snapshot, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if snapshot, ok := s.compiled[hash]; ok {
		return snapshot, nil
	}
	return nil, unknownSnapshotsError{hash}
}

// unknown lists the snapshots that deciding about what was loaded needs and that
// are not compiled yet.
func (s *Snapshots) unknown(loaded *store.Loaded) unknownSnapshotsError {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var missing unknownSnapshotsError
	need := func(hash string) {
		if _, ok := s.compiled[hash]; !ok {
			missing = append(missing, hash)
		}
	}
	for _, state := range loaded.Cases {
		if state.Instance != nil {
			need(state.Instance.SnapshotHash)
		}
	}
	for _, active := range loaded.Active {
		need(active.SnapshotHash)
	}
	return missing
}

// unknownSnapshotsError is how decide says what it needs before it can decide.
type unknownSnapshotsError []string

// Error names them.
func (u unknownSnapshotsError) Error() string {
	return "snapshots are not compiled yet: " + strings.Join(u, ", ")
}
