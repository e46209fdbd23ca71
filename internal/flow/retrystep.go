package flow

import (
	"fmt"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
)

// prepareRetry finds the step that retry_step goes to: where the case halted, or,
// in a running case, a step whose next attempt waits out its backoff.
func (m *move) prepareRetry(c Command) (do func(), refusal error) {
	halted := m.inst.Status == rondo.StatusHalted
	if c.StepID == "" {
		stepID, err := m.retryDefault()
		if err != nil {
			return nil, err
		}
		c.StepID = stepID
	}
	step, err := m.namedStepOf(c)
	if err != nil {
		return nil, err
	}
	switch {
	case halted && c.StepID != m.inst.HaltStepID:
		return nil, m.wrongState(rondo.ActionRetryStep, fmt.Sprintf("the instance is halted at step %s, which does not allow retry_step of %s", m.inst.HaltStepID, c.StepID))
	case halted && m.unreachable(step):
		return nil, m.wrongState(rondo.ActionRetryStep, fmt.Sprintf("the instance is halted and the parallel step around %s has ended, which does not allow retry_step", c.StepID))
	case !halted && m.waitsOut(c.StepID) < 0:
		return nil, m.wrongState(rondo.ActionRetryStep, fmt.Sprintf("the instance is running and step %s does not wait out a backoff, which does not allow retry_step", c.StepID))
	}
	asked, err := m.overridden(step, c.Input)
	if err != nil {
		return nil, err
	}
	if halted {
		return func() { m.retryHalted(asked) }, nil
	}
	return func() { m.retryNow(asked) }, nil
}

// retryDefault is the step to retry when none is named.
func (m *move) retryDefault() (string, error) {
	if m.inst.Status == rondo.StatusHalted {
		return m.inst.HaltStepID, nil
	}
	var pending []string
	for i := range m.inst.Machine.Live {
		if att := &m.inst.Machine.Live[i]; att.Status == rondo.StepPending {
			pending = append(pending, att.StepID)
		}
	}
	switch len(pending) {
	case 0:
		return "", m.wrongState(rondo.ActionRetryStep, "the instance is running and no step waits out a backoff, which does not allow retry_step")
	case 1:
		return pending[0], nil
	}
	return "", invalidParam("/step_id", "required", "name in step_id one of the steps that wait: "+listed(pending, "or"))
}

// waitsOut finds the attempt at a step that waits out its backoff, -1 = none.
func (m *move) waitsOut(stepID string) int {
	if i := m.liveAt(stepID); i >= 0 && m.inst.Machine.Live[i].Status == rondo.StepPending {
		return i
	}
	return -1
}

// retryHalted asks the step where the case halted again; what was asked before
// no longer counts.
func (m *move) retryHalted(step *definition.Step) {
	m.wake()
	m.restart(step, "retried")
}

// retryNow starts the attempt that waits out its backoff. A person wanted it, so
// the automatic budget gets back what it had spent on it.
func (m *move) retryNow(step *definition.Step) {
	i := m.waitsOut(step.ID)
	att := m.take(i)
	if !att.Manual {
		life := m.inst.Machine.Steps[step.ID]
		life.Retries = max(life.Retries-1, 0)
		m.setLife(step.ID, life)
		att.Manual = true
	}
	m.start(i, att, step)
}
