package engine

import (
	"context"
	"encoding/json"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/definition"
	"github.com/rondo-engine/rondo/store"
)

// Deliveries says what became of the events that steps of an instance emitted, by
// the correlation id of the step: what came back is only noted in the ledger, and
// joined to its step here. A step of which nothing came back is left out; of
// several answers the first counts.
func (e *Engine) Deliveries(ctx context.Context, p rondo.Principal, instance *rondo.Instance, steps []rondo.Step) (map[string]rondo.Delivery, error) {
	snapshot, err := e.snapshots.Get(ctx, instance.SnapshotHash)
	if err != nil {
		return nil, &rondo.Error{Code: rondo.CodeInternal, Op: "read the snapshot", Err: err}
	}
	emitted := emittedBy(snapshot, steps)
	types := map[string]bool{}
	for _, completed := range emitted {
		types[completed] = true
	}
	found := map[string]rondo.Delivery{}
	for completed := range types {
		filter := store.EventFilter{OrgID: p.Tenant, CaseID: instance.CaseID, Outcome: rondo.OutcomeNoted, Type: completed}
		err := e.newestEvents(ctx, filter, maxToldEvents, func(row *rondo.EventRecord) {
			envelope, err := event.Parse(row.Envelope)
			if err != nil || row.InstanceID != instance.ID || emitted[envelope.CorrelationID] != row.Type {
				return
			}
			found[envelope.CorrelationID] = rondo.Delivery{
				EventID: row.EventID, ReceivedAt: row.ReceivedAt, DeliveryID: deliveryID(envelope.Payload), Payload: envelope.Payload,
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// emittedBy maps the correlation ids of steps that emitted to the type of event
// that says it was delivered.
func emittedBy(snapshot *definition.Snapshot, steps []rondo.Step) map[string]string {
	answer := map[string]string{webhookKind: event.TypeWebhookEmitCompleted} // also where a migration left the step behind
	for _, step := range snapshot.Steps {
		if step.Contract.Behaviour == definition.BehaviourEmit && step.Contract.Completed != "" {
			answer[step.Kind] = step.Contract.Completed
		}
	}
	emitted := map[string]string{}
	for i := range steps {
		if completed := answer[steps[i].Kind]; completed != "" {
			emitted[steps[i].CorrelationID] = completed
		}
	}
	return emitted
}

const webhookKind = "emit_webhook"

func deliveryID(payload json.RawMessage) string {
	var told struct {
		DeliveryID string `json:"delivery_id"`
	}
	if json.Unmarshal(payload, &told) != nil {
		return ""
	}
	return told.DeliveryID
}

// newestEvents shows ledger rows to visit, newest first, at most limit.
func (e *Engine) newestEvents(ctx context.Context, filter store.EventFilter, limit int, visit func(*rondo.EventRecord)) error {
	const atOnce = 100
	page := store.Page{Limit: atOnce}
	for read := 0; read < limit; read += atOnce {
		rows, err := e.store.EventList(ctx, filter, page)
		if err != nil {
			return err
		}
		for i := range rows {
			visit(&rows[i])
		}
		if len(rows) < atOnce {
			return nil
		}
		page.After = rows[len(rows)-1].ID
	}
	return nil
}
