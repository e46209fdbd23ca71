package engine

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/explain"
	"github.com/rondo-engine/rondo/store"
)

const (
	// maxToldEvents is how many inbound events of a case a timeline shows at most:
	// the newest ones.
	maxToldEvents = 2000
	// maxToldParked is how many parked events an explanation shows at most.
	maxToldParked = 200
	// maxToldID is how many bytes of an id that a module gave are shown.
	maxToldID = 1 << 10
)

// Interventions returns what people did to an instance, oldest first.
func (e *Engine) Interventions(ctx context.Context, p rondo.Principal, id rondo.ID) ([]rondo.Intervention, error) {
	if _, err := e.store.Instance(ctx, p.Tenant, id); err != nil {
		return nil, err
	}
	return e.store.Interventions(ctx, p.Tenant, id)
}

// NextStep tells a client what to do about a case.
func (e *Engine) NextStep(ctx context.Context, p rondo.Principal, id rondo.ID) (explain.NextStep, error) {
	f, err := e.facts(ctx, p.Tenant, id)
	if err != nil {
		return explain.NextStep{}, err
	}
	if f.Steps, err = e.store.Steps(ctx, p.Tenant, id); err != nil {
		return explain.NextStep{}, err
	}
	return f.NextStep(), nil
}

// Why says what an instance waits for, what happens next, and who can help.
func (e *Engine) Why(ctx context.Context, p rondo.Principal, id rondo.ID) (explain.Why, error) {
	f, err := e.facts(ctx, p.Tenant, id)
	if err != nil {
		return explain.Why{}, err
	}
	parked := store.EventFilter{OrgID: p.Tenant, CaseID: f.Instance.CaseID, Outcome: rondo.OutcomeParked}
	if err := e.history(ctx, &f, parked, maxToldParked); err != nil {
		return explain.Why{}, err
	}
	return f.Why(), nil
}

// Timeline tells what happened to an instance, and what is open now.
func (e *Engine) Timeline(ctx context.Context, p rondo.Principal, id rondo.ID) (explain.Timeline, error) {
	f, err := e.wholeFacts(ctx, p.Tenant, id)
	if err != nil {
		return explain.Timeline{}, err
	}
	return f.Timeline(), nil
}

// facts reads the instance and what drives it.
func (e *Engine) facts(ctx context.Context, org string, id rondo.ID) (explain.Facts, error) {
	instance, err := e.store.Instance(ctx, org, id)
	if err != nil {
		return explain.Facts{}, err
	}
	snapshot, err := e.snapshots.Get(ctx, instance.SnapshotHash)
	if err != nil {
		// The instance is there: a snapshot that is not is a defect.
		return explain.Facts{}, &rondo.Error{Code: rondo.CodeInternal, Op: "explain instance", Err: err}
	}
	return explain.Facts{
		Instance: instance, Snapshot: snapshot, Now: e.now(),
		Conversation: func(correlationID string) string { return ConversationID(org, correlationID) },
	}, nil
}

// wholeFacts reads everything about an instance as one commit left it: when one
// comes between, it reads again.
func (e *Engine) wholeFacts(ctx context.Context, org string, id rondo.ID) (explain.Facts, error) {
	const tries = 5
	for try := 1; ; try++ {
		f, err := e.facts(ctx, org, id)
		if err != nil {
			return f, err
		}
		if err := e.history(ctx, &f, store.EventFilter{OrgID: org, CaseID: f.Instance.CaseID}, maxToldEvents); err != nil {
			return f, err
		}
		after, err := e.store.Instance(ctx, org, id)
		if err != nil {
			return f, err
		}
		if after.Version == f.Instance.Version || try == tries {
			return f, nil
		}
	}
}

// history adds what happened to the instance.
func (e *Engine) history(ctx context.Context, f *explain.Facts, events store.EventFilter, limit int) error {
	org, id := f.Instance.OrgID, f.Instance.ID
	var err error
	if f.Steps, err = e.store.Steps(ctx, org, id); err != nil {
		return err
	}
	if f.Interventions, err = e.store.Interventions(ctx, org, id); err != nil {
		return err
	}
	if f.ReasonCodes, err = e.store.ReasonCodes(ctx, org); err != nil {
		return err
	}
	rows, err := e.told(ctx, f.Instance, events, limit)
	if err != nil {
		return err
	}
	f.Events = rows
	return e.former(ctx, f)
}

// told reads the newest ledger rows of an instance, at most limit of its case,
// oldest first. Of their envelopes, which can be large, it keeps what is told.
func (e *Engine) told(ctx context.Context, instance *rondo.Instance, filter store.EventFilter, limit int) ([]rondo.EventRecord, error) {
	var out []rondo.EventRecord
	err := e.newestEvents(ctx, filter, limit, func(row *rondo.EventRecord) {
		if row.InstanceID == instance.ID {
			row.Envelope = whatIsTold(row.Envelope)
			out = append(out, *row)
		}
	})
	slices.Reverse(out)
	return out, err
}

// whatIsTold keeps of an envelope what explanations read.
func whatIsTold(envelope json.RawMessage) json.RawMessage {
	var kept struct {
		CorrelationID string `json:"correlation_id"`
		Payload       struct {
			DeliveryID json.RawMessage `json:"delivery_id,omitempty"`
		} `json:"payload"`
	}
	if json.Unmarshal(envelope, &kept) != nil {
		return nil
	}
	if len(kept.Payload.DeliveryID) > maxToldID {
		kept.Payload.DeliveryID = nil
	}
	small, err := json.Marshal(kept)
	if err != nil {
		return nil
	}
	return small
}

// former adds the snapshots that the instance has left by migrations.
func (e *Engine) former(ctx context.Context, f *explain.Facts) error {
	for _, done := range f.Interventions {
		if done.Action != string(rondo.ActionMigrate) {
			continue
		}
		var before struct {
			DefinitionID rondo.ID `json:"definition_id"`
		}
		if json.Unmarshal(done.Before, &before) != nil || before.DefinitionID.IsZero() {
			continue
		}
		d, err := e.store.Definition(ctx, f.Instance.OrgID, before.DefinitionID)
		if rondo.CodeOf(err) == rondo.CodeNotFound {
			continue // history is told by what drives the instance now
		}
		if err != nil {
			return err
		}
		snapshot, err := e.snapshots.Get(ctx, d.SnapshotHash)
		if err != nil {
			return &rondo.Error{Code: rondo.CodeInternal, Op: "explain instance", Err: err}
		}
		f.Former = append(f.Former, explain.Former{Until: done.CreatedAt, Snapshot: snapshot})
	}
	return nil
}
