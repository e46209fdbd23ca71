package memory

import (
	"context"
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// Update holds the store for the whole batch, decide included: that is what
// makes batches serial. Everything is checked before anything is changed, so a
// Write is stored whole or not at all.
func (s *Store) Update(ctx context.Context, load store.Load, decide store.Decide) (store.Committed, error) {
	if err := ctx.Err(); err != nil {
		return store.Committed{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	write, err := decide(s.load(load))
	if err != nil || write == nil {
		return store.Committed{}, err
	}
	if err := s.check(write); err != nil {
		return store.Committed{}, err
	}
	return s.apply(write), nil
}

func (s *Store) load(load store.Load) *store.Loaded {
	loaded := &store.Loaded{
		Cases:  make(map[rondo.CaseKey]store.CaseState, len(load.Cases)),
		Seen:   make(map[rondo.EventKey]store.SeenEvent, len(load.Events)),
		Active: make(map[store.StartKey]store.ActiveDefinition, len(load.Starts)),
	}
	for _, key := range load.Cases {
		loaded.Cases[key] = s.caseState(key)
	}
	for _, key := range load.Events {
		if row := s.events[key]; row != nil {
			loaded.Seen[key] = store.SeenEvent{CaseID: row.CaseID, Outcome: row.Outcome}
		}
	}
	for _, key := range load.Starts {
		if active, ok := s.definitions.active(key); ok {
			loaded.Active[key] = active
		}
	}
	return loaded
}

func (s *Store) caseState(key rondo.CaseKey) store.CaseState {
	row := s.cases[key]
	if row == nil {
		return store.CaseState{}
	}
	var state store.CaseState
	if newest := row.newest(); newest != nil {
		instance := copyInstance(&newest.instance)
		state.Instance = &instance
	}
	for _, event := range row.events {
		if event.Outcome == rondo.OutcomeParked {
			state.Parked = append(state.Parked, *event)
		}
	}
	return state
}

// apply makes a checked Write the state of the store. It cannot fail.
func (s *Store) apply(write *store.Write) store.Committed {
	for _, w := range write.Instances {
		s.putInstance(w)
	}
	for _, step := range write.Steps {
		row := s.instances[step.InstanceID]
		at, _ := slices.BinarySearchFunc(row.steps, step.Seq+1, func(have rondo.Step, seq int) int { return have.Seq - seq })
		row.steps = slices.Insert(row.steps, at, storedStep(step))
	}
	for _, event := range write.Events {
		event.ReceivedAt = stored(event.ReceivedAt)
		s.events[rondo.EventKey{OrgID: event.OrgID, EventID: event.EventID}] = &event
		row := s.caseRow(rondo.CaseKey{OrgID: event.OrgID, CaseID: event.CaseID})
		row.events = insertByID(row.events, &event, eventID)
	}
	for _, event := range write.Rejudged {
		row := s.events[rondo.EventKey{OrgID: event.OrgID, EventID: event.EventID}]
		row.Outcome, row.InstanceID, row.Processed = event.Outcome, event.InstanceID, event.Processed
		row.Verdict, row.Error = event.Verdict, event.Error
	}
	for _, key := range write.Duplicates {
		s.events[key].Duplicates++
	}
	for _, intervention := range write.Interventions {
		intervention.CreatedAt = stored(intervention.CreatedAt)
		row := s.instances[intervention.InstanceID]
		row.interventions = insertByID(row.interventions, intervention, interventionID)
	}
	for _, attribute := range write.Attributes {
		s.instances[attribute.InstanceID].put(attribute)
	}
	for _, letter := range write.DeadLetters {
		s.deadLetters = insertByID(s.deadLetters, storedDeadLetter(letter), deadLetterID)
	}
	s.applyJobResults(write.JobResults)
	s.outbox.remove(write.Sent)
	s.log.ack(write.Acks)
	return store.Committed{Seqs: s.send(write.Outbox)}
}

func (s *Store) putInstance(w store.InstanceWrite) {
	row := s.instances[w.Instance.ID]
	if row == nil {
		row = &instanceRow{instance: storedInstance(w.Instance)}
		s.instances[row.instance.ID] = row
		s.byID = insertByID(s.byID, row, instanceID)
		inCase := s.caseRow(row.instance.Key())
		inCase.instances = insertByID(inCase.instances, row, instanceID)
	} else {
		row.instance = storedInstance(w.Instance)
	}
	if row.instance.WakeAt.IsZero() {
		delete(s.waking, row.instance.ID)
	} else {
		s.waking[row.instance.ID] = row
	}
}

func (s *Store) caseRow(key rondo.CaseKey) *caseRow {
	row := s.cases[key]
	if row == nil {
		row = &caseRow{}
		s.cases[key] = row
	}
	return row
}

// send puts events where they are picked up: the log when embedded, else the
// outbox.
func (s *Store) send(events []rondo.Outgoing) []int64 {
	if len(events) == 0 {
		return nil
	}
	seqs := make([]int64, len(events))
	for i, event := range events {
		event.CreatedAt = stored(event.CreatedAt)
		if s.embedded {
			seqs[i] = s.log.add(event)
		} else {
			seqs[i] = s.outbox.add(event)
		}
	}
	return seqs
}

func instanceID(row *instanceRow) rondo.ID           { return row.instance.ID }
func eventID(row *rondo.EventRecord) rondo.ID        { return row.ID }
func interventionID(row rondo.Intervention) rondo.ID { return row.ID }
func deadLetterID(row rondo.DeadLetter) rondo.ID     { return row.ID }
