package memory

import (
	"context"
	"time"
)

// Migrate has nothing to do.
func (s *Store) Migrate(ctx context.Context) error { return ctx.Err() }

// Check always finds the store usable.
func (s *Store) Check(ctx context.Context) error { return ctx.Err() }

// Launched implements store.System.
func (s *Store) Launched(ctx context.Context, now time.Time) (time.Time, error) {
	if err := ctx.Err(); err != nil {
		return time.Time{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.launched.IsZero() {
		s.launched = stored(now)
	}
	return s.launched, nil
}

// Close has nothing to release: the store stays usable for whoever holds it,
// like a database whose client went away.
func (s *Store) Close() error { return nil }
