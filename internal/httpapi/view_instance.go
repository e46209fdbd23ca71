package httpapi

import (
	"github.com/rondo-engine/rondo"
)

// Instance is a workflow_instance on the wire. It is exported only so that the
// OpenAPI document can see through the embedding below.
type Instance struct {
	ID               string             `json:"id" format:"uuid"`
	CaseID           string             `json:"case_id"`
	OrgID            string             `json:"org_id"`
	ProductID        string             `json:"product_id"`
	DefinitionID     string             `json:"definition_id" format:"uuid"`
	SnapshotHash     string             `json:"definition_snapshot_hash" doc:"SHA-256 of the frozen definition that drives the instance"`
	Mode             string             `json:"mode" enum:"active,client_driven"`
	Status           string             `json:"status" enum:"running,halted,completed,cancelled"`
	HaltReason       *string            `json:"halt_reason"`
	HaltNote         *string            `json:"halt_note"`
	HaltStepID       *string            `json:"halt_step_id"`
	CancelledBy      *string            `json:"cancelled_by"`
	CancelledReason  *string            `json:"cancelled_reason"`
	DeadlineExceeded bool               `json:"deadline_exceeded"`
	SupersedesID     *string            `json:"supersedes_id"`
	SupersededByID   *string            `json:"superseded_by_id"`
	StartedAt        instant            `json:"started_at"`
	DeadlineAt       instant            `json:"deadline_at"`
	CompletedAt      maybeInstant       `json:"completed_at"`
	Context          map[string]anyJSON `json:"context" doc:"What the case knows: its ids, the case, and the output of each step"`
	Version          int64              `json:"version"`
	CurrentSteps     []currentStep      `json:"current_steps" nullable:"false" doc:"What is in flight"`
}

// instanceDetail is one instance with the definition that drives it.
type instanceDetail struct {
	Instance
	Snapshot anyJSON `json:"definition_snapshot" doc:"The frozen definition with the contracts of the kinds it uses"`
}

type currentStep struct {
	StepID    string       `json:"step_id"`
	Kind      string       `json:"kind"`
	Status    string       `json:"status" enum:"pending,in_progress"`
	Attempt   int          `json:"attempt"`
	StartedAt maybeInstant `json:"started_at"`
	TimeoutAt maybeInstant `json:"timeout_at"`
}

func viewInstance(i *rondo.Instance) Instance {
	out := Instance{
		ID: i.ID.String(), CaseID: i.CaseID, OrgID: i.OrgID, ProductID: i.ProductID,
		DefinitionID: i.DefinitionID.String(), SnapshotHash: i.SnapshotHash,
		Mode: string(i.Mode), Status: string(i.Status),
		HaltReason: maybe(i.HaltReason), HaltNote: maybe(i.HaltNote), HaltStepID: maybe(i.HaltStepID),
		CancelledBy: maybe(i.CancelledBy), CancelledReason: maybe(i.CancelledReason),
		DeadlineExceeded: i.DeadlineExceeded,
		SupersedesID:     maybeID(i.SupersedesID), SupersededByID: maybeID(i.SupersededByID),
		StartedAt: instant(i.StartedAt), DeadlineAt: instant(i.DeadlineAt), CompletedAt: maybeInstant(i.CompletedAt),
		Context: make(map[string]anyJSON, len(i.Context)), Version: i.Version,
		CurrentSteps: []currentStep{},
	}
	for name, value := range i.Context {
		out.Context[name] = anyJSON(value)
	}
	for _, live := range i.Machine.Live {
		out.CurrentSteps = append(out.CurrentSteps, currentStep{
			StepID: live.StepID, Kind: live.Kind, Status: string(live.Status), Attempt: live.Number,
			StartedAt: maybeInstant(live.StartedAt), TimeoutAt: maybeInstant(live.TimeoutAt),
		})
	}
	return out
}

// step is a workflow_step on the wire.
type step struct {
	ID            string       `json:"id" format:"uuid"`
	InstanceID    string       `json:"instance_id" format:"uuid"`
	StepID        string       `json:"step_id"`
	StepKind      string       `json:"step_kind"`
	Status        string       `json:"status" enum:"pending,in_progress,completed,failed,timed_out,skipped"`
	Attempt       int          `json:"attempt" doc:"1-based"`
	StartedAt     maybeInstant `json:"started_at"`
	CompletedAt   maybeInstant `json:"completed_at"`
	TimeoutAt     maybeInstant `json:"timeout_at"`
	Input         anyJSON      `json:"input"`
	Output        anyJSON      `json:"output"`
	Error         anyJSON      `json:"error"`
	CorrelationID string       `json:"correlation_id"`
	Delivery      *delivery    `json:"delivery" doc:"What came back for the event that the step emitted; null when nothing did, and for steps that emit none"`
}

// delivery is what came back for an emitted event.
type delivery struct {
	EventID    string  `json:"event_id" format:"uuid" doc:"The event that told of it; it is in the ledger as noted"`
	ReceivedAt instant `json:"received_at"`
	DeliveryID *string `json:"delivery_id"`
	Payload    anyJSON `json:"payload" doc:"Of that event"`
}

func viewDelivery(d rondo.Delivery, there bool) *delivery {
	if !there {
		return nil
	}
	return &delivery{EventID: d.EventID.String(), ReceivedAt: instant(d.ReceivedAt), DeliveryID: maybe(d.DeliveryID), Payload: anyJSON(d.Payload)}
}

// viewSteps lists finished attempts, then open ones; delivered is by correlation
// id.
func viewSteps(finished []rondo.Step, i *rondo.Instance, delivered map[string]rondo.Delivery) []step {
	out := make([]step, 0, len(finished)+len(i.Machine.Forks)+len(i.Machine.Live))
	for _, s := range finished {
		back, there := delivered[s.CorrelationID]
		out = append(out, step{
			ID: s.ID.String(), InstanceID: s.InstanceID.String(), StepID: s.StepID, StepKind: s.Kind,
			Status: string(s.Status), Attempt: s.Attempt,
			StartedAt: maybeInstant(s.StartedAt), CompletedAt: maybeInstant(s.CompletedAt), TimeoutAt: maybeInstant(s.TimeoutAt),
			Input: anyJSON(s.Input), Output: anyJSON(s.Output), Error: anyJSON(s.Error), CorrelationID: s.CorrelationID, Delivery: viewDelivery(back, there),
		})
	}
	open := make([]rondo.Attempt, 0, len(i.Machine.Forks)+len(i.Machine.Live))
	for _, fork := range i.Machine.Forks { // a parallel step is open while its branches run
		open = append(open, fork.Attempt)
	}
	for _, live := range append(open, i.Machine.Live...) {
		out = append(out, step{
			ID: live.RowID.String(), InstanceID: i.ID.String(), StepID: live.StepID, StepKind: live.Kind,
			Status: string(live.Status), Attempt: live.Number,
			StartedAt: maybeInstant(live.StartedAt), TimeoutAt: maybeInstant(live.TimeoutAt),
			Input: anyJSON(live.Input), CorrelationID: live.CorrelationID,
		})
	}
	return out
}

// ledgerEvent is a workflow_event on the wire.
type ledgerEvent struct {
	ID         string  `json:"id" format:"uuid"`
	OrgID      string  `json:"org_id"`
	EventID    string  `json:"event_id" format:"uuid"`
	InstanceID *string `json:"instance_id"`
	EventType  string  `json:"event_type"`
	Envelope   anyJSON `json:"envelope"`
	ReceivedAt instant `json:"received_at"`
	Processed  bool    `json:"processed"`
	Outcome    string  `json:"outcome" enum:"applied,stale,parked,repeated,noted,unmatched,rejected"`
	Duplicates int     `json:"duplicates"`
	Verdict    *string `json:"verdict" doc:"Client-driven mode: on_path, early, repeated, skipped_gate or unknown"`
	Error      *string `json:"error" doc:"What is wrong with it: why it was unmatched or rejected, or stale because nothing asked for it, or how it broke its step's contract"`
}

func viewEvent(e rondo.EventRecord) ledgerEvent {
	return ledgerEvent{
		ID: e.ID.String(), OrgID: e.OrgID, EventID: e.EventID.String(), InstanceID: maybeID(e.InstanceID),
		EventType: e.Type, Envelope: anyJSON(e.Envelope), ReceivedAt: instant(e.ReceivedAt), Processed: e.Processed,
		Outcome: string(e.Outcome), Duplicates: e.Duplicates, Verdict: maybe(e.Verdict), Error: maybe(e.Error),
	}
}
