package flow

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
)

// BenchmarkCompletion is one completion in the middle of a chain of five steps:
// it ends an attempt and asks for the next.
func BenchmarkCompletion(b *testing.B) {
	w := newWorld(compiled(b, chain(5)))
	created := w.inbound(event.TypeCaseCreated, w.caseID, json.RawMessage(`{"patient_id":"p-1","metadata":{"name":"Ann"}}`))
	w.do(b, Event{Envelope: created, Raw: created.Encode()})
	payload := json.RawMessage(`{"score":77,"note":"` + strings.Repeat("x", 170) + `"}`)
	answer := func() Event {
		e := w.inbound("ext.noop.completed", w.state.Instance.Machine.Live[0].CorrelationID, payload)
		return Event{Envelope: e, Raw: e.Encode()}
	}
	w.do(b, answer())
	w.do(b, answer())
	in, env := answer(), w.env()
	b.ReportAllocs()
	for b.Loop() {
		if d := Decide(w.state, in, env); d.Event.Outcome != rondo.OutcomeApplied || len(d.Outbox) != 1 {
			b.Fatalf("unexpected decision: %+v", d)
		}
	}
}
