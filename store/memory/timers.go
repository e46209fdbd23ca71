package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
)

// ClaimDue implements store.Timers.
func (s *Store) ClaimDue(ctx context.Context, now time.Time, lease time.Duration, limit int) ([]rondo.CaseKey, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var due []*instanceRow
	for _, row := range s.waking {
		if !row.instance.WakeAt.After(now) {
			due = append(due, row)
		}
	}
	slices.SortFunc(due, func(a, b *instanceRow) int {
		return cmp.Or(a.instance.WakeAt.Compare(b.instance.WakeAt), compareIDs(a.instance.ID, b.instance.ID))
	})
	due = due[:min(limit, len(due))]
	keys := make([]rondo.CaseKey, len(due))
	for i, row := range due {
		keys[i] = row.instance.Key()
		row.instance.WakeAt = stored(now.Add(lease))
	}
	return keys, nil
}

// NextWake implements store.Timers.
func (s *Store) NextWake(ctx context.Context) (time.Time, error) {
	if err := ctx.Err(); err != nil {
		return time.Time{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var next time.Time
	for _, row := range s.waking {
		if at := row.instance.WakeAt; next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return next, nil
}

// Unarmed implements store.Timers.
func (s *Store) Unarmed(ctx context.Context, limit int) ([]rondo.CaseKey, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []rondo.CaseKey
	for _, row := range s.byID {
		i := &row.instance
		waits := i.Status == rondo.StatusRunning || i.Status == rondo.StatusHalted && !i.DeadlineExceeded
		if waits && i.WakeAt.IsZero() && len(keys) < limit {
			keys = append(keys, i.Key())
		}
	}
	return keys, nil
}

// ParkedAlone implements store.Timers.
func (s *Store) ParkedAlone(ctx context.Context, received time.Time, limit int) ([]rondo.CaseKey, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []rondo.CaseKey
	for key, row := range s.cases {
		if len(row.instances) == 0 && slices.ContainsFunc(row.events, func(e *rondo.EventRecord) bool {
			return e.Outcome == rondo.OutcomeParked && !e.ReceivedAt.After(received)
		}) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b rondo.CaseKey) int {
		return cmp.Or(cmp.Compare(a.OrgID, b.OrgID), cmp.Compare(a.CaseID, b.CaseID))
	})
	return keys[:min(max(limit, 0), len(keys))], nil
}
