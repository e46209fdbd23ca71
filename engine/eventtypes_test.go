package engine_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
)

// An event type of a step kind is known to its organisation from the moment the
// kind is published, and to nobody else.
func TestEventTypesBelongToTheirOrganisation(t *testing.T) {
	e := inMemory(t)
	ids := rondo.NewIDs(time.Now)
	publish := func(org string) (rondo.Receipt, error) {
		envelope := event.Envelope{
			EventID: ids.New(), Type: "ext.weighing.completed", SchemaVersion: event.SchemaVersion, OccurredAt: time.Now().UTC(),
			CorrelationID: "c", CaseID: "c", OrgID: org, ProductID: "p", Payload: json.RawMessage(`{}`),
		}
		return e.PublishEvent(t.Context(), rondo.Principal{Tenant: org, User: "m", Scopes: []string{rondo.ScopeEvents}}, envelope.Encode())
	}
	if _, err := publish("acme"); rondo.CodeOf(err) != rondo.CodeInvalid {
		t.Fatalf("before the kind is there: %v", err)
	}
	contract := `{"behaviour": "request", "events": {"requested": "ext.weighing.requested", "completed": "ext.weighing.completed", "failed": "ext.weighing.failed"},
		"outcomes": [{"outcome": "on_complete"}], "failure_halt_code": "step_failed"}`
	if _, err := e.PutStepKind(t.Context(), user(), "weighing", []byte(contract)); err != nil {
		t.Fatal(err)
	}
	if receipt, err := publish("acme"); err != nil || receipt.Outcome != rondo.OutcomeParked {
		t.Errorf("of its organisation: %+v, %v", receipt, err)
	}
	if _, err := publish("globex"); rondo.CodeOf(err) != rondo.CodeInvalid {
		t.Errorf("of another organisation: %v", err)
	}
}
