package flow

import (
	"encoding/json"
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/definition"
)

// wait opens an attempt that any event of its type can end, whoever sent it: the
// correlation id does not matter, and it is the same in either mode.
func (m *move) wait(att rondo.Attempt, step *definition.Step) string {
	input := newObject(96).text("event_type", step.WaitFor)
	if step.Match != nil {
		input.text("expr", step.Match.Source())
	}
	att.Input = input.done()
	m.armTimeout(&att, step)
	m.setLive(att)
	return ""
}

// awaits finds the oldest live wait that an event ends. A match that cannot be
// decided ends it too: the case halts there, for passing over the event could
// skip what it meant.
func (m *move) awaits(e *event.Envelope) (live int, found *evaluation) {
	for i := range m.inst.Machine.Live {
		step := m.waitingAt(&m.inst.Machine.Live[i], e.Type)
		if step == nil {
			continue
		}
		if step.Match == nil {
			return i, &evaluation{result: true}
		}
		if match := m.evaluate(step.Match, step, eventReader(e, m.lookup)); match.err != nil || match.result {
			return i, match
		}
	}
	return -1, nil
}

// waitingAt is the step of a live attempt that waits for an event type; nil = it
// does not.
func (m *move) waitingAt(att *rondo.Attempt, eventType string) *definition.Step {
	step := m.snap.Steps[att.StepID]
	if att.Status != rondo.StepInProgress || step == nil || step.Contract.Behaviour != definition.BehaviourWait || step.WaitFor != eventType {
		return nil
	}
	return step
}

// onlyAwaited reports whether waits are all that an event type is for.
func (m *move) onlyAwaited(eventType string) bool {
	return len(m.snap.Waiting(eventType)) > 0 && !slices.ContainsFunc(m.snap.StepsFor(eventType), func(step *definition.Step) bool {
		return step.Contract.Behaviour == definition.BehaviourRequest
	})
}

// missed judges an event of a type that is only waited for and that no wait takes,
// now or later: it is stale in either mode. When a wait is open its match is
// false. What one took before makes the next of its type a repetition, for whoever
// drives the case.
func (m *move) missed(eventType string) judgement {
	j := judgement{outcome: rondo.OutcomeStale}
	observed := m.inst.Mode == rondo.ModeClientDriven
	if observed {
		j.verdict = verdictUnknown
	}
	for i := range m.inst.Machine.Live {
		if step := m.waitingAt(&m.inst.Machine.Live[i], eventType); step != nil {
			j.err = errNoMatch + step.ID
			return j
		}
	}
	taken := slices.ContainsFunc(m.snap.Waiting(eventType), func(step *definition.Step) bool { return outputs(m.inst, step.ID) })
	if observed && taken {
		j.verdict = verdictRepeated
	}
	return j
}

// arrive ends a live wait with the event that came. It returns how the event
// breaks the contract, nil when it does not.
func (m *move) arrive(i int, step *definition.Step, e *event.Envelope, match *evaluation) *failure {
	m.own()
	att := &m.inst.Machine.Live[i]
	if step.Match != nil {
		att.Input = match.describe(newObject(256).text("event_type", step.WaitFor), step.Match)
	}
	if match.err != nil {
		m.conditionError(m.take(i), step, match.err)
		return nil
	}
	if broken := m.checkOutput(step, e.Payload); broken != "" {
		failed := violated(broken)
		m.failLive(i, step, failed)
		return &failed
	}
	ended := m.end(i, ending{status: rondo.StepCompleted, output: e.Payload, outcome: definition.OnEvent})
	m.follow(tokenOf(&ended), step.Transitions[definition.OnEvent])
	return nil
}

// eventReader gives a match its roots: event is the envelope, all else is the
// context.
func eventReader(e *event.Envelope, context func([]string) (any, error)) func([]string) (any, error) {
	var envelope json.RawMessage
	return func(path []string) (any, error) {
		switch {
		case path[0] != "event":
			return context(path)
		case len(path) > 1 && path[1] == "payload":
			return decoded(descend(e.Payload, path[2:]...))
		case envelope == nil:
			envelope = e.Encode()
		}
		return decoded(descend(envelope, path[1:]...))
	}
}
