package flow

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
)

// startCase judges the event that creates a case and starts its instance.
func (m *move) startCase(s State, in Event) judgement {
	created, err := readCreated(in.Envelope.Payload)
	switch {
	case err != nil:
		return judgement{outcome: rondo.OutcomeRejected, err: "invalid_payload: " + err.Error()}
	case !in.Replay && in.Envelope.OccurredAt.Before(s.Launched):
		return judgement{outcome: rondo.OutcomeUnmatched, err: errBeforeLaunch}
	case s.Start == nil || s.Start.Snapshot == nil:
		return judgement{outcome: rondo.OutcomeUnmatched, err: errNoDefinition}
	}
	m.begin(s.Start, in, created)
	return judgement{outcome: rondo.OutcomeApplied, verdict: m.startVerdict()}
}

// begin starts the instance that a case.created asks for.
func (m *move) begin(start *Start, in Event, created *caseCreated) {
	e := in.Envelope
	mode := rondo.ModeActive
	switch {
	case created.mode != "":
		mode = created.mode
	case start.Snapshot.DefaultMode != "":
		mode = start.Snapshot.DefaultMode
	}
	m.create(start, &rondo.Instance{
		OrgID: e.OrgID, CaseID: e.CaseID, ProductID: e.ProductID, Mode: mode,
		Context: rondo.Context{
			"case_id":    quoted(e.CaseID),
			"org_id":     quoted(e.OrgID),
			"product_id": quoted(e.ProductID),
			"patient_id": created.patientID,
			"case":       newObject(64).raw("images", created.images).raw("metadata", created.metadata).done(),
		},
	})
	if in.Relay {
		m.decided.Outbox[0].InstanceID = m.inst.ID
	}
	m.depart()
}

// create fills in a new instance: whose case it is, its mode and its context are
// given.
func (m *move) create(start *Start, inst *rondo.Instance) {
	m.snap = start.Snapshot
	inst.ID = m.env.NewID()
	inst.DefinitionID, inst.SnapshotHash = start.DefinitionID, start.Snapshot.Hash
	inst.Status = rondo.StatusRunning
	inst.StartedAt = m.now
	inst.DeadlineAt = m.now.Add(start.Snapshot.WorkflowTimeout)
	inst.Version = 1
	inst.Machine.SLA = startClock(start.Snapshot.SLA, m.now)
	m.inst = inst
	m.owned = true
	m.decided.Created = true
}

// depart says that the instance has started, and runs its first step.
func (m *move) depart() {
	m.lifecycle(event.TypeWorkflowStarted, newObject(192).text("instance_id", m.inst.ID.String()).
		text("definition_id", m.inst.DefinitionID.String()).text("mode", string(m.inst.Mode)).done())
	m.follow(token{}, m.snap.Start)
}

func (m *move) startVerdict() string {
	if m.inst.Mode == rondo.ModeClientDriven {
		return verdictOnPath
	}
	return ""
}

// caseCreated is the payload that starts a case, checked. Every member is there:
// what was left out is null, or empty.
type caseCreated struct {
	patientID json.RawMessage
	mode      rondo.Mode
	images    json.RawMessage
	metadata  json.RawMessage
}

func readCreated(payload json.RawMessage) (*caseCreated, error) {
	if !isObject(payload) {
		return nil, errors.New("the payload must be an object")
	}
	created := &caseCreated{patientID: json.RawMessage(null), images: json.RawMessage("[]"), metadata: json.RawMessage("{}")}
	if raw := descend(payload, "patient_id"); raw != nil {
		if id := text(raw); id == "" || len(id) > event.MaxIDBytes {
			return nil, fmt.Errorf("patient_id must be a string of 1 to %d bytes", event.MaxIDBytes)
		}
		created.patientID = raw
	}
	if raw := descend(payload, "orchestration_mode"); raw != nil {
		created.mode = rondo.Mode(text(raw))
		if created.mode != rondo.ModeActive && created.mode != rondo.ModeClientDriven {
			return nil, fmt.Errorf("orchestration_mode must be %s or %s", rondo.ModeActive, rondo.ModeClientDriven)
		}
	}
	if raw := descend(payload, "images"); raw != nil {
		if err := checkImages(raw); err != nil {
			return nil, err
		}
		created.images = raw
	}
	if raw := descend(payload, "metadata"); raw != nil {
		if !isObject(raw) {
			return nil, errors.New("metadata must be an object")
		}
		created.metadata = raw
	}
	if len(created.images)+len(created.metadata) > MaxContext/2 {
		return nil, errors.New("images and metadata together are larger than 128 KiB")
	}
	return created, nil
}

func checkImages(raw json.RawMessage) error {
	var images []json.RawMessage
	if json.Unmarshal(raw, &images) != nil {
		return errors.New("images must be an array of {id, type, uri?}")
	}
	for i, one := range images {
		if id := text(member(one, "id")); id == "" || len(id) > event.MaxIDBytes {
			return fmt.Errorf("images/%d/id must be a string of 1 to %d bytes", i, event.MaxIDBytes)
		}
		for _, name := range []string{"type", "uri"} {
			if value := descend(one, name); value != nil && value[0] != '"' {
				return fmt.Errorf("images/%d/%s must be a string", i, name)
			}
		}
	}
	return nil
}
