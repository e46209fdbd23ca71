package memory

import (
	"fmt"
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// check refuses a Write that the data model forbids. It changes nothing.
func (s *Store) check(write *store.Write) error {
	for _, check := range []func(*store.Write) error{
		s.checkInstances, s.checkOneLive, s.checkSteps, s.checkEvents, s.checkRecords, s.checkJobResults,
	} {
		if err := check(write); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) checkInstances(write *store.Write) error {
	written := make(map[rondo.ID]bool, len(write.Instances))
	for _, w := range write.Instances {
		if w.Instance == nil {
			return defect("an instance write has no instance")
		}
		if written[w.Instance.ID] {
			return defect("instance %s is written twice in one batch", w.Instance.ID)
		}
		written[w.Instance.ID] = true
		row := s.instances[w.Instance.ID]
		if w.Previous == 0 {
			if row != nil {
				return forbidden("instance %s exists already", w.Instance.ID)
			}
			continue
		}
		if row == nil || row.instance.Key() != w.Instance.Key() {
			return fmt.Errorf("memory: case %q has no instance %s: %w", w.Instance.CaseID, w.Instance.ID, store.ErrConflict)
		}
		if row.instance.Version != w.Previous {
			return fmt.Errorf("memory: instance %s is at version %d, not %d: %w",
				w.Instance.ID, row.instance.Version, w.Previous, store.ErrConflict)
		}
	}
	return nil
}

// checkOneLive asks, for every case that gets an instance, whether more than one
// would not be cancelled after the Write.
func (s *Store) checkOneLive(write *store.Write) error {
	after := make(map[rondo.ID]*rondo.Instance, len(write.Instances))
	live := make(map[rondo.CaseKey]*rondo.Instance, len(write.Instances))
	for _, w := range write.Instances {
		after[w.Instance.ID] = w.Instance
		if w.Instance.Status == rondo.StatusCancelled {
			continue
		}
		if other := live[w.Instance.Key()]; other != nil {
			return secondLive(w.Instance, other)
		}
		live[w.Instance.Key()] = w.Instance
	}
	for _, w := range write.Instances {
		row := s.cases[w.Instance.Key()]
		if row == nil || w.Instance.Status == rondo.StatusCancelled {
			continue
		}
		for _, other := range row.instances {
			if after[other.instance.ID] == nil && other.instance.Status != rondo.StatusCancelled {
				return secondLive(w.Instance, &other.instance)
			}
		}
	}
	return nil
}

func secondLive(instance, other *rondo.Instance) error {
	return forbidden("case %q has the %s instance %s: it cannot have %s too",
		instance.CaseID, other.Status, other.ID, instance.ID)
}

func (s *Store) checkSteps(write *store.Write) error {
	type attempt struct {
		instance rondo.ID
		step     string
		number   int
	}
	added := make(map[attempt]bool, len(write.Steps))
	for i := range write.Steps {
		step := &write.Steps[i]
		row, err := s.owner(write, step.OrgID, step.InstanceID)
		if err != nil {
			return err
		}
		key := attempt{step.InstanceID, step.StepID, step.Attempt}
		if added[key] || row.hasAttempt(step.StepID, step.Attempt) {
			return forbidden("instance %s has a row for attempt %d of step %q already", step.InstanceID, step.Attempt, step.StepID)
		}
		added[key] = true
	}
	return nil
}

func (row *instanceRow) hasAttempt(step string, number int) bool {
	return slices.ContainsFunc(row.steps, func(s rondo.Step) bool { return s.StepID == step && s.Attempt == number })
}

// owner finds the instance that a row of a Write belongs to; one that the same
// Write inserts has no rows yet.
func (s *Store) owner(write *store.Write, org string, id rondo.ID) (*instanceRow, error) {
	if row := s.instances[id]; row != nil && row.instance.OrgID == org {
		return row, nil
	}
	for _, w := range write.Instances {
		if w.Instance.ID == id && w.Instance.OrgID == org {
			return &instanceRow{}, nil
		}
	}
	return nil, rondo.Op("memory: update", rondo.NotFound("workflow instance"))
}

func (s *Store) checkEvents(write *store.Write) error {
	var added map[rondo.EventKey]bool
	if len(write.Events) > 0 {
		added = make(map[rondo.EventKey]bool, len(write.Events))
	}
	for i := range write.Events {
		event := &write.Events[i]
		key := rondo.EventKey{OrgID: event.OrgID, EventID: event.EventID}
		if s.events[key] != nil || added[key] {
			return forbidden("event %s of %q is in the ledger already", key.EventID, key.OrgID)
		}
		added[key] = true
	}
	for i := range write.Rejudged {
		key := rondo.EventKey{OrgID: write.Rejudged[i].OrgID, EventID: write.Rejudged[i].EventID}
		if s.events[key] == nil && !added[key] {
			return defect("event %s of %q is judged again but is not in the ledger", key.EventID, key.OrgID)
		}
	}
	for _, key := range write.Duplicates {
		if s.events[key] == nil && !added[key] {
			return defect("event %s of %q is a duplicate but is not in the ledger", key.EventID, key.OrgID)
		}
	}
	return nil
}

func (s *Store) checkRecords(write *store.Write) error {
	for i := range write.Interventions {
		intervention := &write.Interventions[i]
		row, err := s.owner(write, intervention.OrgID, intervention.InstanceID)
		if err != nil {
			return err
		}
		if hasID(row.interventions, intervention.ID, interventionID) || hasID(write.Interventions[:i], intervention.ID, interventionID) {
			return forbidden("intervention %s exists already", intervention.ID)
		}
	}
	for i := range write.Attributes {
		if _, err := s.owner(write, write.Attributes[i].OrgID, write.Attributes[i].InstanceID); err != nil {
			return err
		}
	}
	for i := range write.DeadLetters {
		id := write.DeadLetters[i].ID
		if hasID(s.deadLetters, id, deadLetterID) || hasID(write.DeadLetters[:i], id, deadLetterID) {
			return forbidden("dead letter %s exists already", id)
		}
	}
	return nil
}

func hasID[T any](rows []T, want rondo.ID, id func(T) rondo.ID) bool {
	return slices.ContainsFunc(rows, func(row T) bool { return id(row) == want })
}

// forbidden is a broken rule of the data model.
func forbidden(format string, args ...any) error {
	return &rondo.Error{
		Code:    rondo.CodeConflict,
		Op:      "memory: update",
		Message: fmt.Sprintf(format, args...),
		Hint:    "load the case again and decide anew",
	}
}

// defect is a Write that no correct caller makes.
func defect(format string, args ...any) error {
	return &rondo.Error{Code: rondo.CodeInternal, Op: "memory: update", Message: fmt.Sprintf(format, args...)}
}
