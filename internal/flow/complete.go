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

// apply ends a live attempt with the event that answers it and moves on. It
// returns how the attempt failed, nil when it did not.
func (m *move) apply(j judgement, e *event.Envelope) *failure {
	m.own()
	i, payload := j.live, e.Payload
	att := &m.inst.Machine.Live[i]
	step := m.snap.Steps[att.StepID]
	if j.match != nil {
		return m.arrive(i, step, e, j.match)
	}
	if m.inst.Mode == rondo.ModeClientDriven {
		m.consume(att, e)
		payload = withoutStep(payload)
	} else {
		defer m.rememberAnswer(step, e.Type, att.CorrelationID)
	}
	if step.Contract.FailedBy(e.Type) {
		failed := readFailure(payload, step)
		m.failLive(i, step, failed)
		return &failed
	}
	outcome, broken := m.outcome(step, payload)
	if broken != nil {
		m.failLive(i, step, *broken)
		return broken
	}
	ended := m.end(i, ending{status: rondo.StepCompleted, output: payload, outcome: outcome})
	m.follow(tokenOf(&ended), step.Transitions[outcome])
	return nil
}

// outcome checks an output and says which transition it means; broken says how
// it breaks the contract instead.
func (m *move) outcome(step *definition.Step, output json.RawMessage) (outcome string, broken *failure) {
	breaks := func(message string) (string, *failure) {
		f := violated(message)
		return "", &f
	}
	if message := m.checkOutput(step, output); message != "" {
		return breaks(message)
	}
	env := cond.Env{Lookup: outputReader(output)}
	for _, rule := range step.Contract.Outcomes {
		if rule.When != nil {
			match, err := rule.When.True(env)
			if err != nil {
				outcome, broken = breaks("the output has no outcome: " + err.Error())
				broken.rule = rule.When.Source()
				_, broken.trace, _ = rule.When.Trace(env) // fails as it just did
				return outcome, broken
			}
			if !match {
				continue
			}
		}
		if step.Transitions[rule.Outcome] == "" {
			return breaks("the output means " + rule.Outcome + ", which the step has no transition for")
		}
		return rule.Outcome, nil
	}
	return breaks("the output matches no outcome of the kind")
}

// checkOutput says how an output breaks the step's contract or the bounds of the
// context; "" when it may be merged.
func (m *move) checkOutput(step *definition.Step, output json.RawMessage) (broken string) {
	if len(output) > MaxOutput {
		return "the output is larger than 64 KiB"
	}
	if m.contextSize(step.ID)+len(output) > MaxContext {
		return "with this output the context would be larger than 256 KiB"
	}
	if err := step.Contract.OutputSchema.Validate(output); err != nil {
		return "the output does not match the kind's schema: " + err.Error()
	}
	return ""
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
