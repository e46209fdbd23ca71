package definition

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo/event"
)

// What the catalogue says of an answer is what the engine asks of it: a module
// that keeps to the published schema never breaks the contract of its step.
func TestPublishedSchemasOfAnswersAreThoseOfTheKinds(t *testing.T) {
	t.Parallel()
	checked := 0
	for name, contract := range builtinContracts() {
		if contract.Behaviour != BehaviourRequest {
			continue
		}
		checked++
		raw, known := event.Schema(contract.Completed)
		if !known {
			t.Errorf("%s: %s is not in the catalogue", name, contract.Completed)
			continue
		}
		var kind struct {
			OutputSchema map[string]any `json:"output_schema"`
		}
		var published map[string]any
		if err := json.Unmarshal(contract.JSON(), &kind); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &published); err != nil {
			t.Fatal(err)
		}
		for _, about := range []string{"$schema", "$id", "title", "description"} {
			delete(published, about)
		}
		properties, ok := published["properties"].(map[string]any)
		if !ok {
			t.Fatalf("%s: %s has no properties", name, contract.Completed)
		}
		delete(properties, "step_id") // addresses the event and is no output
		if diff := cmp.Diff(kind.OutputSchema, published); diff != "" {
			t.Errorf("%s and %s (-kind +event):\n%s", name, contract.Completed, diff)
		}
	}
	if checked < 5 {
		t.Errorf("only %d kinds were checked", checked)
	}
}
