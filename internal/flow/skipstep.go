package flow

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
)

// skippedByHand is why a row ended that a person skipped.
const skippedByHand = "skipped"

// prepareSkip checks that a step can be skipped: it is live, a fork with its
// branches too, or it is where the case halted.
func (m *move) prepareSkip(c Command) (do func(), refusal error) {
	step, err := m.namedStepOf(c)
	if err != nil {
		return nil, err
	}
	isOpen := !m.openRow(step.ID).IsZero()
	switch {
	case !isOpen && m.inst.HaltStepID != step.ID:
		return nil, m.wrongState(rondo.ActionSkipStep, fmt.Sprintf("the instance is %s and step %s is not live, which does not allow skip_step", m.inst.Status, step.ID))
	case m.unreachable(step):
		return nil, m.wrongState(rondo.ActionSkipStep, fmt.Sprintf("the instance is %s and the parallel step around %s has ended, which does not allow skip_step", m.inst.Status, step.ID))
	case step.Transitions[c.Outcome] == "":
		return nil, noOutcome(step, c.Outcome, slices.Sorted(maps.Keys(step.Transitions)))
	}
	output, err := m.skippedOutput(step, c)
	if err != nil {
		return nil, err
	}
	return func() { m.skip(step, c.Outcome, output) }, nil
}

func noOutcome(step *definition.Step, outcome string, known []string) error {
	if len(known) == 0 {
		return invalidParam("/outcome", "unknown_outcome", "step "+step.ID+" has no transitions: it cannot be skipped")
	}
	return invalidParam("/outcome", "unknown_outcome", fmt.Sprintf("step %s has no outcome %q; use %s", step.ID, outcome, listed(known, "or")))
}

// skippedOutput checks an output that a person gives for a step; nil = none was
// given, and the context stays as it is.
func (m *move) skippedOutput(step *definition.Step, c Command) (json.RawMessage, error) {
	switch {
	case isNull(c.Output):
		return nil, nil
	case step.Manual != nil && slices.Contains(step.Manual.Outcomes, c.Outcome):
		return m.formOutput(step, c)
	}
	if !isObject(c.Output) {
		return nil, invalidParam("/output", "type", "output must be an object")
	}
	if err := step.Contract.OutputSchema.Validate(c.Output); err != nil {
		return nil, badOutput("the output does not match the schema of "+step.Kind, err)
	}
	if broken := m.checkOutput(step, c.Output); broken != "" {
		return nil, invalidParam("/output", "too_large", broken)
	}
	return compacted(c.Output), nil
}

func badOutput(message string, err error) error {
	fields := fieldsBelow(err, "/output", nil)
	return &rondo.Error{Code: rondo.CodeInvalid, Message: message + ": " + fields[0].Pointer + " " + fields[0].Message, Fields: fields}
}

// compacted drops the spaces that a person wrote: what is kept in the context
// and in the row must read the same everywhere.
func compacted(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

// skip ends a step without doing it and follows the outcome. A halted case runs
// again: the step that its halt goes back to, when it is another one, keeps its
// token.
func (m *move) skip(step *definition.Step, outcome string, output json.RawMessage) {
	back := m.wake()
	end := ending{status: rondo.StepSkipped, output: output, outcome: outcome, failure: failure{code: skippedByHand}.json()}
	var att rondo.Attempt
	if i := m.liveAt(step.ID); i >= 0 {
		att = m.end(i, end)
	} else if k := m.forkAt(step.ID); k >= 0 {
		att = m.endFork(k, skippedByHand, end)
	} else {
		att = m.mint(step)
		att.StartedAt = m.now
		m.record(att, end)
	}
	tok := m.tokenBefore(&att)
	tok.last = step.ID
	if works(step) {
		tok.work = step.ID
	}
	m.follow(tok, step.Transitions[outcome])
	m.keepToken(back, step.ID)
}

// keepToken gives the step that a halt goes back to its next attempt when
// nothing is open there: the case runs again, and nothing else would.
func (m *move) keepToken(back, skipped string) {
	step := m.snap.Steps[back]
	if step == nil || back == skipped || m.inst.Status.Terminal() || m.unreachable(step) || !m.openRow(back).IsZero() {
		return
	}
	m.again(len(m.inst.Machine.Live), step)
}
