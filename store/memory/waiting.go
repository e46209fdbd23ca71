package memory

import (
	"context"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// Waiting implements store.Ledger.
func (s *Store) Waiting(ctx context.Context) (store.Waiting, error) {
	if err := ctx.Err(); err != nil {
		return store.Waiting{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var waiting store.Waiting
	for _, event := range s.events {
		if event.Outcome == rondo.OutcomeParked {
			waiting.Parked++
		}
	}
	for _, letter := range s.deadLetters {
		if letter.Status == rondo.DeadLetterOpen {
			waiting.DeadLetters++
		}
	}
	return waiting, nil
}
