package flow

import (
	"bytes"
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

// begin makes the instance, says so, and runs its first step.
func (m *move) begin(start *Start, in Event, created *caseCreated) {
	e := in.Envelope
	m.snap = start.Snapshot
	mode := rondo.ModeActive
	switch {
	case created.mode != "":
		mode = created.mode
	case start.Snapshot.DefaultMode != "":
		mode = start.Snapshot.DefaultMode
	}
	m.inst = &rondo.Instance{
		ID:           m.env.NewID(),
		OrgID:        e.OrgID,
		CaseID:       e.CaseID,
		ProductID:    e.ProductID,
		DefinitionID: start.DefinitionID,
		SnapshotHash: start.Snapshot.Hash,
		Mode:         mode,
		Status:       rondo.StatusRunning,
		StartedAt:    m.now,
		DeadlineAt:   m.now.Add(start.Snapshot.WorkflowTimeout),
		Version:      1,
		Context: rondo.Context{
			"case_id":    quoted(e.CaseID),
			"org_id":     quoted(e.OrgID),
			"product_id": quoted(e.ProductID),
			"patient_id": created.patientID,
			"case":       newObject(64).raw("images", created.images).raw("metadata", created.metadata).done(),
		},
	}
	m.owned = true
	m.decided.Created = true
	if in.Relay {
		m.decided.Outbox[0].InstanceID = m.inst.ID
	}
	m.lifecycle(event.TypeWorkflowStarted, newObject(192).text("instance_id", m.inst.ID.String()).
		text("definition_id", start.DefinitionID.String()).text("mode", string(mode)).done())
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
	var body struct {
		PatientID json.RawMessage `json:"patient_id"`
		Mode      json.RawMessage `json:"orchestration_mode"`
		Images    json.RawMessage `json:"images"`
		Metadata  json.RawMessage `json:"metadata"`
	}
	if json.Unmarshal(payload, &body) != nil || len(payload) == 0 || bytes.TrimLeft(payload, " \t\r\n")[0] != '{' {
		return nil, errors.New("the payload must be an object")
	}
	created := &caseCreated{patientID: null, images: json.RawMessage("[]"), metadata: json.RawMessage("{}")}
	if !isNull(body.PatientID) {
		var id string
		if json.Unmarshal(body.PatientID, &id) != nil || id == "" || len(id) > maxID {
			return nil, fmt.Errorf("patient_id must be a string of 1 to %d bytes", maxID)
		}
		created.patientID = body.PatientID
	}
	if !isNull(body.Mode) {
		if json.Unmarshal(body.Mode, &created.mode) != nil || created.mode != rondo.ModeActive && created.mode != rondo.ModeClientDriven {
			return nil, fmt.Errorf("orchestration_mode must be %s or %s", rondo.ModeActive, rondo.ModeClientDriven)
		}
	}
	if !isNull(body.Images) {
		if err := checkImages(body.Images); err != nil {
			return nil, err
		}
		created.images = body.Images
	}
	if !isNull(body.Metadata) {
		if members(body.Metadata) == nil {
			return nil, errors.New("metadata must be an object")
		}
		created.metadata = body.Metadata
	}
	if len(created.images)+len(created.metadata) > MaxContext/2 {
		return nil, errors.New("images and metadata together are larger than 128 KiB")
	}
	return created, nil
}

// maxID bounds ids that come from outside.
const maxID = 128

func checkImages(raw json.RawMessage) error {
	var images []struct {
		ID   *string `json:"id"`
		Type *string `json:"type"`
		URI  *string `json:"uri"`
	}
	if json.Unmarshal(raw, &images) != nil {
		return errors.New("images must be an array of {id, type, uri?} with string values")
	}
	for i, one := range images {
		if one.ID == nil || *one.ID == "" || len(*one.ID) > maxID {
			return fmt.Errorf("images/%d/id must be a string of 1 to %d bytes", i, maxID)
		}
	}
	return nil
}
