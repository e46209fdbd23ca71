package storetest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/rondo-engine/rondo"
)

// key names a case of the first test organisation.
func key(caseID string) rondo.CaseKey { return rondo.CaseKey{OrgID: "acme", CaseID: caseID} }

// newInstance is a running case in which every kind of field is used and
// nothing wakes.
func (d *db) newInstance(key rondo.CaseKey) *rondo.Instance {
	return &rondo.Instance{
		ID:           d.ids.New(),
		OrgID:        key.OrgID,
		CaseID:       key.CaseID,
		ProductID:    "derma",
		DefinitionID: d.ids.New(),
		SnapshotHash: "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9",
		Mode:         rondo.ModeActive,
		Status:       rondo.StatusRunning,
		StartedAt:    epoch,
		DeadlineAt:   epoch.Add(30 * 24 * time.Hour),
		Context: rondo.Context{
			"case_id": json.RawMessage(`"c-1"`),
			"case":    json.RawMessage(`{"images":[],"metadata":{"priority":1.50}}`),
		},
		Version: 1,
		Machine: rondo.Machine{
			Live: []rondo.Attempt{{
				RowID:         d.ids.New(),
				StepID:        "ai_review",
				Kind:          "run_ai_review",
				Status:        rondo.StepInProgress,
				Number:        2,
				CorrelationID: "corr-2",
				Input:         json.RawMessage(`{"model":"m"}`),
				StartedAt:     epoch.Add(time.Second),
				TimeoutAt:     epoch.Add(15 * time.Minute),
				RequestID:     d.ids.New(),
				ResendAt:      epoch.Add(time.Minute),
				Resends:       1,
				Cause:         "cause-1",
			}},
			Steps:    map[string]rondo.StepLife{"ai_review": {Attempts: 2, Retries: 1}, "consent": {Attempts: 1}},
			Finished: 2,
			Consumed: map[string]string{"corr-1": "consent"},
			Forks:    []rondo.Fork{{Attempt: rondo.Attempt{StepID: "both"}, Branches: map[string]string{"left": "live", "right": "done"}}},
		},
	}
}

// cancelled is an instance that left its case free for another.
func (d *db) cancelled(key rondo.CaseKey) *rondo.Instance {
	instance := d.newInstance(key)
	instance.Status = rondo.StatusCancelled
	instance.CancelledBy, instance.CancelledReason = "u-1", "not needed"
	instance.CompletedAt = epoch.Add(time.Hour)
	instance.Machine = rondo.Machine{Finished: 2}
	return instance
}

func (d *db) newStep(instance *rondo.Instance, stepID string, attempt, seq int) rondo.Step {
	return rondo.Step{
		ID:            d.ids.New(),
		OrgID:         instance.OrgID,
		InstanceID:    instance.ID,
		StepID:        stepID,
		Kind:          "run_ai_review",
		Status:        rondo.StepCompleted,
		Attempt:       attempt,
		Seq:           seq,
		StartedAt:     epoch.Add(time.Second),
		CompletedAt:   epoch.Add(2 * time.Second),
		TimeoutAt:     epoch.Add(15 * time.Minute),
		Input:         json.RawMessage(`{"images":3}`),
		Output:        json.RawMessage(`{"confidence":0.70}`),
		CorrelationID: fmt.Sprintf("corr-%d", attempt),
		Outcome:       "on_complete",
	}
}

// newEvent is an inbound event that was applied, without an instance.
func (d *db) newEvent(key rondo.CaseKey, eventType string) rondo.EventRecord {
	id := d.ids.New()
	return rondo.EventRecord{
		ID:         d.ids.New(),
		OrgID:      key.OrgID,
		EventID:    id,
		CaseID:     key.CaseID,
		Type:       eventType,
		Envelope:   json.RawMessage(fmt.Sprintf(`{"event_id": %q,  "event_type":%q}`, id, eventType)),
		ReceivedAt: epoch.Add(time.Minute),
		Processed:  true,
		Outcome:    rondo.OutcomeApplied,
	}
}

// newParked is an inbound event that waits for its case.
func (d *db) newParked(key rondo.CaseKey) rondo.EventRecord {
	event := d.newEvent(key, "ai_review.completed")
	event.Outcome, event.Processed = rondo.OutcomeParked, false
	return event
}

func eventKey(event rondo.EventRecord) rondo.EventKey {
	return rondo.EventKey{OrgID: event.OrgID, EventID: event.EventID}
}

func (d *db) newOutgoing(stream string) rondo.Outgoing {
	id := d.ids.New()
	return rondo.Outgoing{
		Stream:     stream,
		OrgID:      "acme",
		EventID:    id,
		InstanceID: d.ids.New(),
		Envelope:   json.RawMessage(fmt.Sprintf(`{"event_id": %q,  "event_type":%q}`, id, stream)),
		CreatedAt:  epoch,
	}
}

// outgoing is n events for one stream.
func (d *db) outgoing(stream string, n int) []rondo.Outgoing {
	events := make([]rondo.Outgoing, n)
	for i := range events {
		events[i] = d.newOutgoing(stream)
	}
	return events
}

func (d *db) newIntervention(instance *rondo.Instance) rondo.Intervention {
	return rondo.Intervention{
		ID:          d.ids.New(),
		OrgID:       instance.OrgID,
		InstanceID:  instance.ID,
		Action:      "halt",
		PerformedBy: "u-7",
		Reason:      "patient called",
		Before:      json.RawMessage(`{"status":"running"}`),
		After:       json.RawMessage(`{"status":"halted"}`),
		CreatedAt:   epoch.Add(3 * time.Second),
	}
}

func (d *db) newDeadLetter(org string) rondo.DeadLetter {
	return rondo.DeadLetter{
		ID:         d.ids.New(),
		OrgID:      org,
		Stream:     "case.created",
		EntryID:    "1700000000000-0",
		Body:       []byte("not an envelope \x00\xff"),
		Reason:     "the body is not JSON",
		ReceivedAt: epoch,
		Status:     rondo.DeadLetterOpen,
	}
}

// newDefinition is a draft of a case definition.
func (d *db) newDefinition(org, product string) rondo.Definition {
	return rondo.Definition{
		ID:              d.ids.New(),
		OrgID:           org,
		ProductID:       product,
		Kind:            rondo.KindCase,
		Name:            "ai only",
		Status:          rondo.DefinitionDraft,
		DefaultMode:     rondo.ModeActive,
		Body:            json.RawMessage(`{"name":"ai only","start_step":"ai_review","steps":{}}`),
		WorkflowTimeout: 30 * 24 * time.Hour,
		CreatedBy:       "u-1",
		CreatedAt:       epoch,
		UpdatedAt:       epoch,
	}
}

// newTemplate is a shipped definition.
func (d *db) newTemplate(name string) rondo.Definition {
	template := d.newDefinition("", "")
	template.Name, template.IsTemplate, template.Status = name, true, rondo.DefinitionActive
	return template
}

func (d *db) newRevision(of rondo.Definition, reason string) rondo.DefinitionRevision {
	return rondo.DefinitionRevision{
		ID:           d.ids.New(),
		DefinitionID: of.ID,
		OrgID:        of.OrgID,
		ChangedBy:    "u-1",
		Diff:         json.RawMessage(`{"before":null,"after":{"name":"ai only"},"patch":[]}`),
		Reason:       reason,
		CreatedAt:    epoch,
	}
}
