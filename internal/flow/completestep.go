package flow

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
)

// prepareComplete checks what a person answers to a manual step that waits.
func (m *move) prepareComplete(c Command) (do func(), refusal error) {
	step, err := m.namedStepOf(c)
	if err != nil {
		return nil, err
	}
	i := m.liveAt(step.ID)
	if step.Manual == nil || i < 0 || m.inst.Machine.Live[i].Status != rondo.StepInProgress {
		return nil, m.wrongState(rondo.ActionCompleteStep, fmt.Sprintf("the instance is %s and step %s does not wait for a person, which does not allow complete_step", m.inst.Status, step.ID))
	}
	if !slices.Contains(step.Manual.Outcomes, c.Outcome) || step.Transitions[c.Outcome] == "" {
		return nil, noOutcome(step, c.Outcome, step.Manual.Outcomes)
	}
	output, err := m.formOutput(step, c)
	if err != nil {
		return nil, err
	}
	return func() {
		att := m.end(i, ending{status: rondo.StepCompleted, output: output, outcome: c.Outcome})
		m.follow(tokenOf(&att), step.Transitions[c.Outcome])
	}, nil
}

// refuseStranger refuses who may complete a step only as one of its assignees
// and is none.
func (m *move) refuseStranger(c Command) error {
	step := m.snap.Steps[c.StepID]
	if step != nil && step.Manual != nil && slices.Contains(step.Manual.Assignees, c.By) {
		return nil
	}
	return &rondo.Error{
		Code: rondo.CodeForbidden, Message: "you are not an assignee of this step",
		Hint: "ask one of its assignees, or someone who may intervene in cases",
	}
}

// formOutput is {outcome, …form}, checked against the form of a manual step.
func (m *move) formOutput(step *definition.Step, c Command) (json.RawMessage, error) {
	form := c.Output
	if isNull(form) {
		form = json.RawMessage("{}")
	}
	if !isObject(form) {
		return nil, invalidParam("/output", "type", "output must be an object")
	}
	if err := step.Manual.Form.Validate(form); err != nil {
		return nil, badOutput("the output does not match the form of step "+step.ID, err)
	}
	output, err := m.manualOutput(step, c.Outcome, form)
	if err != nil {
		return nil, badOutput("the output does not fit", err)
	}
	return compacted(output), nil
}
