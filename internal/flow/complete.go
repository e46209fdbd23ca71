package flow

import (
	"encoding/json"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/cond"
	"github.com/rondo-engine/rondo/internal/definition"
)

// Bounds on what a case may know.
const (
	MaxOutput  = 64 << 10  // bytes of one step's output
	MaxContext = 256 << 10 // bytes of all members together
)

// apply ends a live attempt with the event that answers it and moves on.
func (m *move) apply(i int, e *event.Envelope) {
	m.own()
	payload := e.Payload
	att := &m.inst.Machine.Live[i]
	step := m.snap.Steps[att.StepID]
	if m.inst.Mode == rondo.ModeClientDriven {
		m.consume(att, e)
		payload = withoutStep(payload)
	}
	if step.Contract.Failed == e.Type && step.Contract.Completed != e.Type {
		m.failLive(i, step, readFailure(payload, step))
		return
	}
	outcome, broken := m.outcome(step, payload)
	if broken != "" {
		m.failLive(i, step, violated(broken))
		return
	}
	ended := m.end(i, ending{status: rondo.StepCompleted, output: payload, outcome: outcome})
	m.follow(tokenOf(&ended), step.Transitions[outcome])
}

// outcome checks an output and says which transition it means; broken says how
// it breaks the contract instead.
func (m *move) outcome(step *definition.Step, output json.RawMessage) (outcome, broken string) {
	if len(output) > MaxOutput {
		return "", "the output is larger than 64 KiB"
	}
	if m.contextSize(step.ID)+len(output) > MaxContext {
		return "", "with this output the context would be larger than 256 KiB"
	}
	if err := step.Contract.OutputSchema.Validate(output); err != nil {
		return "", "the output does not match the kind's schema: " + err.Error()
	}
	read := outputReader(output)
	for _, rule := range step.Contract.Outcomes {
		if rule.When != nil {
			match, err := rule.When.True(cond.Env{Lookup: read})
			if err != nil {
				return "", "the output has no outcome: " + err.Error()
			}
			if !match {
				continue
			}
		}
		if step.Transitions[rule.Outcome] == "" {
			return "", "the output means " + rule.Outcome + ", which the step has no transition for"
		}
		return rule.Outcome, ""
	}
	return "", "the output matches no outcome of the kind"
}

// outputReader gives outcome rules their single root, output.
func outputReader(output json.RawMessage) func([]string) (any, error) {
	return func(path []string) (any, error) {
		if path[0] != "output" {
			return nil, nil
		}
		return decoded(descend(output, path[1:]...))
	}
}

// contextSize is the size of the context without one step's output.
func (m *move) contextSize(without string) int {
	size := 0
	for name, value := range m.inst.Context {
		if name != without {
			size += len(name) + len(value)
		}
	}
	return size
}

// readFailure reads {reason_code?, retryable?, error?}. What is missing means
// the kind's own code, and that trying again is of no use.
func readFailure(payload json.RawMessage, step *definition.Step) failure {
	f := failure{code: step.Contract.FailureHaltCode, detail: descend(payload, "error")}
	if f.code == "" {
		f.code = haltStepFailed
	}
	if raw := descend(payload, "reason_code"); raw != nil {
		if raw[0] != '"' {
			return violated("the failure's reason_code must be a string")
		}
		if code := text(raw); code != "" {
			f.code = code
		}
	}
	switch string(descend(payload, "retryable")) {
	case "true":
		f.retryable = true
	case "false", "":
	default:
		return violated("the failure's retryable must be true or false")
	}
	return f
}
