package flow

import (
	"encoding/json"
	"errors"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
)

// condition evaluates a branch. What was asked, and what each part of it came
// to, is kept in the row's input: the branch of an attempt is decided once and
// can be explained later.
func (m *move) condition(att rondo.Attempt, step *definition.Step) string {
	if step.Expr == nil {
		return m.conditionError(att, step, errors.New("the step has no expression"))
	}
	found := m.evaluate(step.Expr, step, m.lookup)
	att.Input = found.describe(newObject(192), step.Expr)
	if found.err != nil {
		return m.conditionError(att, step, found.err)
	}
	end := ending{status: rondo.StepCompleted, outcome: definition.OnFalse, output: newObject(16).boolean("result", found.result).done()}
	if found.result {
		end.outcome = definition.OnTrue
	}
	m.record(att, end)
	return step.Transitions[end.outcome]
}

// conditionError halts: what cannot be decided must not skip a step silently.
func (m *move) conditionError(att rondo.Attempt, step *definition.Step, err error) string {
	m.record(att, ending{status: rondo.StepFailed, failure: failure{code: haltConditionError, message: err.Error()}.json()})
	m.halt(haltConditionError, "", step.ID)
	return ""
}

// lookup reads the context for an expression, decoding only what is asked for.
func (m *move) lookup(path []string) (any, error) {
	return decoded(m.contextAt(path...))
}

func decoded(raw json.RawMessage) (any, error) {
	if raw == nil {
		return nil, nil
	}
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return nil, errors.New("it is not valid JSON")
	}
	return value, nil
}
