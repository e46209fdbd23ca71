package flow

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
)

// manual opens an attempt that waits for a person, in either mode. Its input is
// what the person is asked.
func (m *move) manual(att rondo.Attempt, step *definition.Step) string {
	asked := step.Manual
	if asked == nil {
		return m.fail(att, step, violated("the step does not say what a person is asked"))
	}
	input := newObject(256).text("title", asked.Title).optional("instructions", asked.Instructions).raw("outcomes", texts(asked.Outcomes))
	if !isNull(asked.FormJSON) {
		input.raw("form", asked.FormJSON)
	}
	if len(asked.Assignees) > 0 {
		input.raw("assignees", texts(asked.Assignees))
	}
	att.Input = input.done()
	m.armTimeout(&att, step)
	m.setLive(att)
	return ""
}

// manualOutput checks what a person answered and makes {outcome, …form} of it.
func (m *move) manualOutput(step *definition.Step, outcome string, form json.RawMessage) (json.RawMessage, error) {
	if step == nil || step.Manual == nil {
		return nil, &rondo.Error{Code: rondo.CodeInvalid, Message: "the step is not a manual one", Hint: "complete a step of kind manual"}
	}
	if !slices.Contains(step.Manual.Outcomes, outcome) || step.Transitions[outcome] == "" {
		return nil, &rondo.Error{
			Code: rondo.CodeInvalid, Message: "step " + step.ID + " has no outcome " + string(quoted(outcome)),
			Hint: "choose one of " + strings.Join(step.Manual.Outcomes, ", "),
		}
	}
	if isNull(form) {
		form = json.RawMessage("{}")
	}
	broken := ""
	if !isObject(form) {
		broken = "the output must be an object"
	} else if err := step.Manual.Form.Validate(form); err != nil {
		broken = "the output does not match the form of step " + step.ID + ": " + err.Error()
	}
	output := newObject(len(form)+64).text("outcome", outcome)
	for key, value := range eachMember(form) {
		if name := text(key); name != "outcome" {
			output.raw(name, value)
		}
	}
	answer := output.done()
	if broken == "" {
		broken = m.checkOutput(step, answer)
	}
	if broken != "" {
		return nil, &rondo.Error{Code: rondo.CodeInvalid, Message: broken, Hint: "fill in what the step's form asks for"}
	}
	return answer, nil
}

// texts is a JSON array of strings.
func texts(all []string) json.RawMessage {
	buf := []byte{'['}
	for i, one := range all {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = appendText(buf, one)
	}
	return append(buf, ']')
}
