package flow

import (
	"encoding/json"
	"errors"
	"strconv"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/cond"
	"github.com/rondo-engine/rondo/internal/definition"
)

// condition evaluates a branch. What it depends on besides the context (the
// time, the sample) is kept in the row's input, so that the branch of an attempt
// is decided once and can be explained later.
func (m *move) condition(att rondo.Attempt, step *definition.Step) string {
	if step.Expr == nil {
		return m.conditionError(att, step, errors.New("the step has no expression"))
	}
	now := m.now.UnixMilli()
	input := newObject(64).text("expr", step.Expr.Source())
	if step.Expr.UsesNow() {
		input.integer("now", now)
	}
	unit := 0.0
	if len(step.Expr.Samples()) > 0 {
		unit = cond.SampleUnit(m.inst.CaseID, m.inst.DefinitionID.String(), step.ID)
		input.raw("sample", strconv.AppendFloat(nil, unit, 'g', -1, 64))
	}
	att.Input = input.done()
	result, err := step.Expr.True(cond.Env{
		Lookup: m.lookup,
		Now:    func() int64 { return now },
		Sample: func(p float64) bool { return unit < p },
	})
	if err != nil {
		return m.conditionError(att, step, err)
	}
	end := ending{status: rondo.StepCompleted, outcome: definition.OnFalse, output: newObject(16).boolean("result", result).done()}
	if result {
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
