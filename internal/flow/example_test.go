package flow_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/definition"
	"github.com/rondo-engine/rondo/internal/flow"
)

// A case begins: the machine says what to store and what to send, and does
// neither.
func ExampleDecide() {
	template := definition.Templates()[0]
	document, _, err := definition.Freeze(template.Body, definition.Environment{})
	if err != nil {
		fmt.Println(err)
		return
	}
	snapshot, err := definition.Compile(document)
	if err != nil {
		fmt.Println(err)
		return
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ids := rondo.NewIDs(func() time.Time { return now })
	created := &event.Envelope{
		EventID: ids.New(), Type: event.TypeCaseCreated, OccurredAt: now, CorrelationID: "case-1",
		CaseID: "case-1", OrgID: "org-1", ProductID: "product-1", Payload: json.RawMessage(`{"patient_id":"p-1"}`),
	}

	d := flow.Decide(
		flow.State{Start: &flow.Start{DefinitionID: ids.New(), Snapshot: snapshot}},
		flow.Event{Envelope: created, Raw: created.Encode()},
		flow.Env{Now: now, NewID: ids.New},
	)

	fmt.Println(d.Event.Type, "is", d.Event.Outcome)
	fmt.Println("the case is", d.Instance.Status, "and waits for", d.Instance.Machine.Live[0].StepID)
	for _, out := range d.Outbox {
		fmt.Println("send", out.Stream)
	}
	// Output:
	// case.created is applied
	// the case is running and waits for consent_gate
	// send workflow.started
	// send consent.check.requested
}
