package memory

import (
	"context"
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// EventList implements store.Ledger.
func (s *Store) EventList(ctx context.Context, filter store.EventFilter, page store.Page) ([]rondo.EventRecord, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := filter.Check(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var rows []*rondo.EventRecord
	for key, row := range s.cases {
		if key.OrgID == filter.OrgID && is(key.CaseID, filter.CaseID) {
			rows = append(rows, row.events...)
		}
	}
	slices.SortFunc(rows, func(a, b *rondo.EventRecord) int { return compareIDs(a.ID, b.ID) })
	found := newestFirst(rows, page, eventID, func(event *rondo.EventRecord) bool {
		return is(event.Outcome, filter.Outcome) && is(event.Type, filter.Type)
	})
	events := make([]rondo.EventRecord, len(found))
	for i, event := range found {
		events[i] = *event
	}
	return events, nil
}

// StepsOf implements store.Ledger.
func (s *Store) StepsOf(ctx context.Context, org string, instances []rondo.ID) (map[rondo.ID][]rondo.Step, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	found := make(map[rondo.ID][]rondo.Step, len(instances))
	for _, id := range instances {
		if row := s.instanceOf(org, id); row != nil && len(row.steps) > 0 {
			found[id] = slices.Clone(row.steps)
		}
	}
	return found, nil
}
