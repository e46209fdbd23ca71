package flow

import (
	"encoding/json"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
)

// emit publishes and goes on at once. Whatever comes back later is only noted.
func (m *move) emit(att rondo.Attempt, step *definition.Step) string {
	payload, fits := m.render(step.Params["payload_template"])
	if !fits {
		return m.fail(att, step, violated("the payload is larger than 64 KiB: refer to smaller parts of the context"))
	}
	input := newObject(128).text("event_name", textParam(step, "event_name")).raw("payload", payload).done()
	return m.announce(att, step, input)
}

// final publishes the result of the case. Diagnoses are forwarded, never decided
// here.
func (m *move) final(att rondo.Attempt, step *definition.Step) string {
	diagnoses := json.RawMessage("[]")
	if string(step.Params["include_diagnoses"]) != "false" {
		if found := m.newestOutput("diagnoses", hasElements); found != nil {
			diagnoses = found
		}
	}
	input := newObject(256).raw("final_diagnoses", diagnoses).raw("context_snapshot", writeMembers(m.inst.Context)).
		text("definition_id", m.inst.DefinitionID.String()).done()
	return m.announce(att, step, input)
}

// announce publishes an attempt's event in either mode: it asks nobody. What no
// event can carry fails the attempt instead.
func (m *move) announce(att rondo.Attempt, step *definition.Step, input json.RawMessage) string {
	if len(input) > MaxPayload {
		return m.fail(att, step, violated("the event is larger than 1 MiB"))
	}
	att.Input = input
	att.RequestID = m.env.NewID()
	m.ask(&att, step)
	m.record(att, ending{status: rondo.StepCompleted, outcome: definition.OnComplete})
	return step.Transitions[definition.OnComplete]
}

// hasElements reports whether a value is an array with anything in it.
func hasElements(raw json.RawMessage) bool {
	var elements []json.RawMessage
	return json.Unmarshal(raw, &elements) == nil && len(elements) > 0
}
