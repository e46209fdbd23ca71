package caseloop

import (
	"context"
	"sync"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
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
	s.mu.RLock()
	snapshot, ok := s.compiled[hash]
	s.mu.RUnlock()
	if ok {
		return snapshot, nil
	}
	document, err := s.source.Snapshot(ctx, hash)
	if err != nil {
		return nil, rondo.Op("read snapshot "+hash, err)
	}
	snapshot, err = definition.Compile(document)
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
