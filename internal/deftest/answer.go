package deftest

import (
	"encoding/json"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
	"github.com/rondo-engine/rondo/internal/flow"
)

// ask puts the answer of every attempt that has begun to wait on the agenda.
func (p *play) ask() {
	for _, att := range p.state.Instance.Machine.Live {
		step := p.snap.Steps[att.StepID]
		if step == nil || att.Status != rondo.StepInProgress || p.answered[att.RowID] || !waits(step) {
			continue
		}
		p.answered[att.RowID] = true
		script := p.given.Steps[att.StepID]
		if len(script) == 0 {
			p.unasked[att.StepID] = true
			continue
		}
		delete(p.unasked, att.StepID)
		n := min(p.used[att.StepID], len(script)-1)
		p.used[att.StepID]++
		answer := script[n]
		if answer.Silent {
			continue
		}
		at := answer.at
		if at.IsZero() {
			at = att.StartedAt.Add(time.Duration(answer.After))
		}
		p.plan(at, func(p *play) flow.Input { return p.answer(att, step, answer) })
	}
}

// waits reports whether a step waits for something that a script must say.
func waits(step *definition.Step) bool {
	switch step.Contract.Behaviour {
	case definition.BehaviourRequest, definition.BehaviourWait, definition.BehaviourManual:
		return true
	}
	return false
}

// answer is what ends an attempt.
func (p *play) answer(att rondo.Attempt, step *definition.Step, a Answer) flow.Input {
	switch {
	case a.skip != "":
		return flow.Command{Action: string(rondo.ActionSkipStep), By: tester, Reason: "as recorded", StepID: step.ID, Outcome: a.skip, Output: a.output}
	case step.Contract.Behaviour == definition.BehaviourManual:
		form := a.Form
		if a.Choose == "" { // complete: {outcome, …form}
			outcome, rest := takeMember(a.Complete, "outcome")
			return flow.Command{Action: string(rondo.ActionCompleteStep), By: tester, StepID: step.ID, Outcome: outcome, Output: rest}
		}
		return flow.Command{Action: string(rondo.ActionCompleteStep), By: tester, StepID: step.ID, Outcome: a.Choose, Output: orEmpty(form)}
	case step.Contract.Behaviour == definition.BehaviourWait:
		return p.event(step.WaitFor, "awaited", orEmpty(a.Complete))
	case a.Fail != nil:
		return p.event(step.Contract.Failed, att.CorrelationID, a.Fail)
	}
	return p.event(step.Contract.Completed, att.CorrelationID, orEmpty(a.Complete))
}

// tester is who acts in tests.
const tester = "tester"

func (a Action) command() flow.Command {
	c := flow.Command{
		Action: a.Action, By: tester, Reason: a.Reason, ReasonCode: a.ReasonCode, StepID: a.StepID,
		Outcome: a.Outcome, Output: a.Output, Mode: a.Mode,
	}
	if c.Reason == "" {
		c.Reason = "test"
	}
	if a.Action == string(rondo.ActionHalt) && c.ReasonCode == "" {
		c.ReasonCode = "manual_halt"
	}
	return c
}

// takeMember splits one text member off an object.
func takeMember(raw json.RawMessage, name string) (value string, rest json.RawMessage) {
	var members map[string]json.RawMessage
	if json.Unmarshal(orEmpty(raw), &members) != nil {
		return "", raw
	}
	_ = json.Unmarshal(members[name], &value) // what is no text stays ""
	delete(members, name)
	rest, err := json.Marshal(members)
	if err != nil {
		return value, raw
	}
	return value, rest
}

// withMember adds a text member to an object.
func withMember(raw json.RawMessage, name, value string) json.RawMessage {
	members := map[string]json.RawMessage{}
	if json.Unmarshal(raw, &members) != nil {
		return raw
	}
	quoted, err := json.Marshal(value)
	if err != nil {
		return raw
	}
	members[name] = quoted
	out, err := json.Marshal(members)
	if err != nil {
		return raw
	}
	return out
}
