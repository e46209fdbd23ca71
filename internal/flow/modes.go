package flow

import (
	"encoding/json"
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/definition"
)

// What an observed event says about the way a client drives its case.
const (
	verdictOnPath      = "on_path"
	verdictEarly       = "early"
	verdictRepeated    = "repeated"
	verdictSkippedGate = "skipped_gate"
	verdictUnknown     = "unknown"
)

func verdictFor(outcome rondo.Outcome) string {
	switch outcome {
	case rondo.OutcomeApplied, rondo.OutcomeParked:
		return verdictOnPath
	case rondo.OutcomeRepeated:
		return verdictRepeated
	case rondo.OutcomeUnmatched, rondo.OutcomeRejected:
		return verdictUnknown
	}
	return ""
}

// judgeObserved judges in client-driven mode, where events are matched by case
// and type whatever their correlation id: to the live step that the payload
// names, else to the oldest live step of that type. What was consumed before is
// repeated; what comes before its step is parked.
func (m *move) judgeObserved(e *event.Envelope) judgement {
	if m.inst.Status.Terminal() {
		return judgement{outcome: rondo.OutcomeRepeated}
	}
	named, oldest := -1, -1
	stepID := namedStep(e.Payload)
	for i := range m.inst.Machine.Live {
		att := &m.inst.Machine.Live[i]
		if !m.answers(att, e.Type) {
			continue
		}
		if oldest < 0 {
			oldest = i
		}
		if named < 0 && stepID != "" && att.StepID == stepID {
			named = i
		}
	}
	consumer, consumed := m.inst.Machine.Consumed[e.CorrelationID]
	switch {
	case consumed && (named < 0 || stepID == consumer):
		return judgement{outcome: rondo.OutcomeRepeated}
	case named >= 0:
		return m.accept(named)
	case oldest >= 0:
		return m.accept(oldest)
	}
	if verdict := m.ahead(e.Type); verdict != "" && !m.taken(e.Type) {
		return judgement{outcome: rondo.OutcomeParked, verdict: verdict}
	}
	return judgement{outcome: rondo.OutcomeRepeated}
}

// namedStep is the step that a client says it completes; "" = none.
func namedStep(payload json.RawMessage) string {
	raw := member(payload, "step_id")
	if raw == nil {
		return ""
	}
	return text(raw)
}

// withoutStep removes step_id: it addresses the event and is no output.
func withoutStep(payload json.RawMessage) json.RawMessage {
	if member(payload, "step_id") == nil {
		return payload
	}
	kept := make([]byte, 1, len(payload))
	kept[0] = '{'
	for key, value := range eachMember(payload) {
		if sameName(key, "step_id") {
			continue
		}
		if len(kept) > 1 {
			kept = append(kept, ',')
		}
		kept = append(append(append(kept, key...), ':'), value...)
	}
	return append(kept, '}')
}

// taken reports whether a step has consumed this event type already.
func (m *move) taken(eventType string) bool {
	if slices.Contains(m.inst.Machine.Taken, eventType) {
		return true
	}
	for _, step := range m.snap.StepsFor(eventType) {
		if step.Contract.Completed == eventType && outputs(m.inst, step.ID) {
			return true
		}
	}
	return false
}

// consume remembers that a step took an observed event.
func (m *move) consume(att *rondo.Attempt, e *event.Envelope) {
	att.CorrelationID = e.CorrelationID
	machine := &m.inst.Machine
	if machine.Consumed == nil {
		machine.Consumed = make(map[string]string, 4)
	}
	machine.Consumed[e.CorrelationID] = att.StepID
	if !slices.Contains(machine.Taken, e.Type) {
		machine.Taken = append(machine.Taken, e.Type)
	}
}

// ahead looks for a step not yet run that would take the event type: "" when
// none can still be reached, skipped_gate when a gate that has not been passed
// stands before every such step, else early.
func (m *move) ahead(eventType string) string {
	from := make([]string, 0, len(m.inst.Machine.Live)+1)
	for i := range m.inst.Machine.Live {
		from = append(from, m.inst.Machine.Live[i].StepID)
	}
	if m.inst.HaltStepID != "" {
		from = append(from, m.inst.HaltStepID)
	}
	verdict := ""
	for _, step := range m.snap.StepsFor(eventType) {
		if step.Contract.Behaviour != definition.BehaviourRequest || m.inst.Machine.Steps[step.ID].Attempts > 0 {
			continue
		}
		for _, start := range from {
			switch {
			case !m.snap.CanReach(start, step.ID):
			case m.openWay(start, step.ID, map[string]bool{}):
				return verdictEarly
			default:
				verdict = verdictSkippedGate
			}
		}
	}
	return verdict
}

// openWay reports whether some way leads from one step to another past no gate.
// Steps in shut led nowhere before: ways that meet again are walked once, for
// their number doubles with every branch.
func (m *move) openWay(from, to string, shut map[string]bool) bool {
	if from == to {
		return true
	}
	step := m.snap.Steps[from]
	if step == nil || shut[from] || isGate(step.Contract) {
		return false
	}
	for _, target := range step.Transitions {
		if (target == to || m.snap.CanReach(target, to)) && m.openWay(target, to, shut) {
			return true
		}
	}
	shut[from] = true
	return false
}

// isGate reports whether a kind decides if the case may go on at all.
func isGate(c *definition.Contract) bool {
	return slices.Contains(c.Mandatory, "on_pass") && slices.Contains(c.Mandatory, "on_fail")
}
