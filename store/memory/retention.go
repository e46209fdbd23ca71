package memory

import (
	"context"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
)

// RetentionPolicies implements store.Retention.
func (s *Store) RetentionPolicies(ctx context.Context) ([]rondo.RetentionPolicy, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var policies []rondo.RetentionPolicy
	for _, org := range sortedKeys(s.retention) {
		policies = append(policies, s.retention[org])
	}
	return policies, nil
}

// PutRetentionPolicy implements store.Retention.
func (s *Store) PutRetentionPolicy(ctx context.Context, policy rondo.RetentionPolicy) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	policy.UpdatedAt = stored(policy.UpdatedAt)
	s.retention[policy.OrgID] = policy
	return nil
}

// Purge implements store.Retention.
func (s *Store) Purge(ctx context.Context, org string, except []string, before time.Time, limit int) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var ended []*instanceRow
	for _, row := range s.byID {
		i := &row.instance
		if !i.Status.Terminal() || i.CompletedAt.IsZero() || !i.CompletedAt.Before(before) {
			continue
		}
		if org == "" && !slices.Contains(except, i.OrgID) || org != "" && i.OrgID == org {
			ended = append(ended, row)
		}
	}
	slices.SortStableFunc(ended, func(a, b *instanceRow) int { return a.instance.CompletedAt.Compare(b.instance.CompletedAt) })
	ended = ended[:max(0, min(limit, len(ended)))]
	for _, row := range ended {
		s.remove(row, before)
	}
	return len(ended), nil
}

// remove takes out an instance with all that belongs to it. With the last
// instance of a case go also its older events that never reached one.
func (s *Store) remove(gone *instanceRow, before time.Time) {
	key := gone.instance.Key()
	row := s.cases[key]
	isGone := func(other *instanceRow) bool { return other == gone }
	row.instances = slices.DeleteFunc(row.instances, isGone)
	s.byID = slices.DeleteFunc(s.byID, isGone)
	delete(s.instances, gone.instance.ID)
	delete(s.waking, gone.instance.ID)
	last := len(row.instances) == 0
	row.events = slices.DeleteFunc(row.events, func(event *rondo.EventRecord) bool {
		stray := last && event.InstanceID.IsZero() && event.ReceivedAt.Before(before)
		if event.InstanceID != gone.instance.ID && !stray {
			return false
		}
		delete(s.events, rondo.EventKey{OrgID: event.OrgID, EventID: event.EventID})
		return true
	})
	if last && len(row.events) == 0 {
		delete(s.cases, key)
	}
}
