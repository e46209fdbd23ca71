package flow

import (
	"encoding/json"
	"strconv"

	"github.com/rondo-engine/rondo/internal/cond"
	"github.com/rondo-engine/rondo/internal/definition"
)

// evaluation is what an expression came to, and why.
type evaluation struct {
	result bool
	err    error
	now    int64
	sample float64
	trace  *cond.Trace // nil = none
}

// evaluate computes an expression of a step as a condition.
func (m *move) evaluate(expr *cond.Expr, step *definition.Step, lookup func([]string) (any, error)) *evaluation {
	found := &evaluation{now: m.now.UnixMilli()}
	if len(expr.Samples()) > 0 {
		found.sample = cond.SampleUnit(m.inst.CaseID, m.inst.DefinitionID.String(), step.ID)
	}
	found.result, found.trace, found.err = expr.Trace(cond.Env{
		Lookup: lookup,
		Now:    func() int64 { return found.now },
		Sample: func(p float64) bool { return found.sample < p },
	})
	return found
}

// describe writes what was evaluated, with all it depends on besides the
// context, into the input of a row.
func (e *evaluation) describe(input *object, expr *cond.Expr) json.RawMessage {
	input.text("expr", expr.Source())
	if expr.UsesNow() {
		input.integer("now", e.now)
	}
	if len(expr.Samples()) > 0 {
		input.raw("sample", strconv.AppendFloat(nil, e.sample, 'g', -1, 64))
	}
	e.explain(input)
	return input.done()
}

// explain adds what was looked at, in order.
func (e *evaluation) explain(o *object) {
	if e.trace == nil {
		return
	}
	o.raw("trace", member(e.trace.AppendJSON(nil), "steps"))
	if e.trace.Truncated {
		o.boolean("truncated", true)
	}
}
