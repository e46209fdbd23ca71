package sim

import (
	"context"
	"encoding/json"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/definition"
	"github.com/rondo-engine/rondo/worker"
)

// drive lets a client do the work of the cases that it drives: the step at hand,
// now and then one that is not, each under an id of its own.
func (w *world) drive() {
	instance := w.someone()
	if instance == nil || instance.Mode != rondo.ModeClientDriven || instance.Status.Terminal() {
		return
	}
	snapshot, err := w.snapshots.Get(context.Background(), instance.SnapshotHash)
	if err != nil {
		w.broken("I16", "snapshot of case %s: %v", instance.CaseID, err)
		return
	}
	steps := make([]string, 0, len(instance.Machine.Live)+1)
	for _, att := range instance.Machine.Live {
		steps = append(steps, att.StepID)
	}
	if w.rand.IntN(5) == 0 {
		steps = append(steps, snapshot.Order[w.rand.IntN(len(snapshot.Order))])
	}
	for _, id := range steps {
		step := snapshot.Steps[id]
		if step == nil || step.Contract.Behaviour != definition.BehaviourRequest {
			continue
		}
		called := event.Envelope{
			EventID: w.ids.New(), Type: step.Contract.Requested, SchemaVersion: event.SchemaVersion, OccurredAt: w.now,
			CorrelationID: w.ids.New().String(), CaseID: instance.CaseID, OrgID: org, ProductID: product,
		}
		payload, failure := w.module.decide(&called)
		w.net.inbound = w.net.add(w.net.inbound, worker.Reply(&called, payload, failure, w.now))
	}
}

// signal sends the event that cases may wait for.
func (w *world) signal() {
	instance := w.someone()
	if instance == nil {
		return
	}
	payload := json.RawMessage(`{"ok":true}`)
	if w.rand.IntN(4) == 0 {
		payload = json.RawMessage(`{"ok":false}`)
	}
	e := event.Envelope{
		EventID: w.ids.New(), Type: heard, SchemaVersion: event.SchemaVersion, OccurredAt: w.now,
		CorrelationID: w.ids.New().String(), CaseID: instance.CaseID, OrgID: org, ProductID: product, Payload: payload,
	}
	w.net.inbound = w.net.add(w.net.inbound, bus.Message{Stream: e.Type, EventID: e.EventID, Envelope: e.Encode()})
}
