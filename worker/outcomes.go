package worker

import (
	"context"
	"sync"
)

// Outcomes remembers the answer to each request by correlation id. Forgetting is
// allowed: the handler then runs again, and the answer's derived event id keeps
// it one event.
type Outcomes interface {
	// Get returns the stored envelope; ok is false when there is none.
	Get(ctx context.Context, correlationID string) (envelope []byte, ok bool, err error)
	// Put stores an envelope; a later one for the same id replaces it.
	Put(ctx context.Context, correlationID string, envelope []byte) error
}

// MemoryOutcomes keeps the newest answers in memory.
type MemoryOutcomes struct {
	mu    sync.Mutex
	byID  map[string][]byte
	order []string // ring of ids, oldest at next
	next  int
}

// NewMemoryOutcomes keeps at most limit answers.
func NewMemoryOutcomes(limit int) *MemoryOutcomes {
	return &MemoryOutcomes{byID: make(map[string][]byte), order: make([]string, max(limit, 1))}
}

// Get returns a stored answer.
func (m *MemoryOutcomes) Get(_ context.Context, correlationID string) ([]byte, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	envelope, ok := m.byID[correlationID]
	return envelope, ok, nil
}

// Put stores an answer and forgets the oldest one when there are too many.
func (m *MemoryOutcomes) Put(_ context.Context, correlationID string, envelope []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.byID[correlationID]; !known {
		delete(m.byID, m.order[m.next])
		m.order[m.next] = correlationID
		m.next = (m.next + 1) % len(m.order)
	}
	m.byID[correlationID] = envelope
	return nil
}
