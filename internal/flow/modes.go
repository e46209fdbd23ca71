package flow

import (
	"encoding/json"
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
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
// names, else to the oldest live step of that type, else to a wait. What was
// consumed before is repeated; what comes before its step is parked. Types that are
// only waited for are stale where no wait takes them, as in active mode.
func (m *move) judgeObserved(e *event.Envelope) judgement {
	awaited := m.onlyAwaited(e.Type)
	if m.inst.Status.Terminal() && !awaited {
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
	case named >= 0 && (!consumed || stepID != consumer):
		return m.accept(named)
	case oldest >= 0 && !consumed:
		return m.accept(oldest)
	}
	if i, match := m.awaits(e); i >= 0 {
		return m.acceptAwaited(i, match)
	}
	verdict := m.waitAhead(e.Type)
	if !consumed && !m.taken(e.Type) {
		verdict = sooner(verdict, m.requestAhead(e.Type))
	}
	switch {
	case verdict != "":
		return judgement{outcome: rondo.OutcomeParked, verdict: verdict}
	case awaited:
		return m.missed(e.Type)
	case !consumed && m.dropped(e.Type):
		return judgement{outcome: rondo.OutcomeStale, verdict: verdictRepeated}
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
