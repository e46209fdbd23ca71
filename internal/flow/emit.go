package flow

import (
	"bytes"
	"encoding/json"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
)

// emit publishes and goes on at once. Whatever comes back later is only noted.
func (m *move) emit(att rondo.Attempt, step *definition.Step) string {
	att.Input = newObject(128).text("event_name", textParam(step, "event_name")).
		raw("payload", m.render(step.Params["payload_template"])).done()
	m.announce(&att, step)
	m.record(att, ending{status: rondo.StepCompleted, outcome: definition.OnComplete})
	return step.Transitions[definition.OnComplete]
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
	att.Input = newObject(256).raw("final_diagnoses", diagnoses).raw("context_snapshot", writeMembers(m.inst.Context)).
		text("definition_id", m.inst.DefinitionID.String()).done()
	m.announce(&att, step)
	m.record(att, ending{status: rondo.StepCompleted, outcome: definition.OnComplete})
	return step.Transitions[definition.OnComplete]
}

// announce publishes an attempt's event in either mode: it asks nobody.
func (m *move) announce(att *rondo.Attempt, step *definition.Step) {
	att.RequestID = m.env.NewID()
	m.ask(att, step)
}

// hasElements reports whether a value is an array with anything in it.
func hasElements(raw json.RawMessage) bool {
	var elements []json.RawMessage
	return json.Unmarshal(raw, &elements) == nil && len(elements) > 0
}

// render fills a template: a string that is exactly {{path}} becomes the context
// value there, or null; all else stays as it is.
func (m *move) render(template json.RawMessage) json.RawMessage {
	if isNull(template) {
		return json.RawMessage("{}")
	}
	if !bytes.Contains(template, []byte("{{")) {
		return template
	}
	decoder := json.NewDecoder(bytes.NewReader(template))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return template
	}
	rendered, err := json.Marshal(m.fill(value))
	if err != nil {
		return template
	}
	return rendered
}

func (m *move) fill(value any) any {
	switch v := value.(type) {
	case string:
		path, ok := definition.TemplatePath(v)
		if !ok {
			return v
		}
		if found := m.contextAt(path...); found != nil {
			return found
		}
		return nil
	case []any:
		for i := range v {
			v[i] = m.fill(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = m.fill(v[name])
		}
	}
	return value
}
