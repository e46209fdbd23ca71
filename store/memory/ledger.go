package memory

import (
	"context"
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// Instance implements store.Ledger.
func (s *Store) Instance(ctx context.Context, org string, id rondo.ID) (*rondo.Instance, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.instanceOf(org, id)
	if row == nil {
		return nil, rondo.NotFound("workflow instance")
	}
	instance := copyInstance(&row.instance)
	return &instance, nil
}

func (s *Store) instanceOf(org string, id rondo.ID) *instanceRow {
	row := s.instances[id]
	if row == nil || row.instance.OrgID != org {
		return nil
	}
	return row
}

// Instances implements store.Ledger.
func (s *Store) Instances(ctx context.Context, filter store.InstanceFilter, page store.Page) ([]*rondo.Instance, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	tests, err := filter.Tests()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	rows := newestFirst(s.byID, page, instanceID, func(row *instanceRow) bool {
		return matches(&row.instance, filter) && row.holds(tests)
	})
	found := make([]*rondo.Instance, len(rows))
	for i, row := range rows {
		instance := copyInstance(&row.instance)
		found[i] = &instance
	}
	return found, nil
}

func matches(i *rondo.Instance, filter store.InstanceFilter) bool {
	return is(i.OrgID, filter.OrgID) &&
		is(i.CaseID, filter.CaseID) &&
		is(i.ProductID, filter.ProductID) &&
		is(i.Status, filter.Status) &&
		is(i.Mode, filter.Mode) &&
		is(i.DefinitionID, filter.DefinitionID) &&
		is(i.HaltReason, filter.ReasonCode) &&
		(filter.StepID == "" || isLive(i, filter.StepID)) &&
		(filter.StartedFrom.IsZero() || !i.StartedAt.Before(filter.StartedFrom)) &&
		(filter.StartedTo.IsZero() || i.StartedAt.Before(filter.StartedTo))
}

// is reports whether a value passes a filter that is off when zero.
func is[T comparable](value, filter T) bool {
	var off T
	return filter == off || value == filter
}

// isLive is false for an instance that has ended: nothing in it is live.
func isLive(i *rondo.Instance, step string) bool {
	return !i.Status.Terminal() && slices.ContainsFunc(i.Machine.Live, func(a rondo.Attempt) bool { return a.StepID == step })
}

// Steps implements store.Ledger.
func (s *Store) Steps(ctx context.Context, org string, instance rondo.ID) ([]rondo.Step, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.instanceOf(org, instance)
	if row == nil {
		return nil, nil
	}
	return slices.Clone(row.steps), nil
}

// Events implements store.Ledger.
func (s *Store) Events(ctx context.Context, org string, instance rondo.ID, page store.Page) ([]rondo.EventRecord, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.instanceOf(org, instance)
	if row == nil {
		return nil, nil
	}
	found := oldestFirst(s.cases[row.instance.Key()].events, page, eventID,
		func(event *rondo.EventRecord) bool { return event.InstanceID == instance })
	events := make([]rondo.EventRecord, len(found))
	for i, event := range found {
		events[i] = *event
	}
	return events, nil
}

// Event implements store.Ledger.
func (s *Store) Event(ctx context.Context, org string, eventID rondo.ID) (*rondo.EventRecord, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.events[rondo.EventKey{OrgID: org, EventID: eventID}]
	if row == nil {
		return nil, rondo.NotFound("event")
	}
	event := *row
	return &event, nil
}

// Interventions implements store.Ledger.
func (s *Store) Interventions(ctx context.Context, org string, instance rondo.ID) ([]rondo.Intervention, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.instanceOf(org, instance)
	if row == nil {
		return nil, nil
	}
	return slices.Clone(row.interventions), nil
}
