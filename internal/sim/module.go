package sim

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/worker"
)

func isRequest(stream string) bool { return strings.HasSuffix(stream, ".requested") }

// module answers requests: once per correlation id, from memory after that.
type module struct {
	w       *world
	answers map[string]bus.Message
	silent  map[string]bool // requests that are never answered
}

// handle answers one request, or does not.
func (m *module) handle(e *entry) {
	e.acked = true
	request := e.request
	if m.silent[request.CorrelationID] {
		return
	}
	answer, known := m.answers[request.CorrelationID]
	if !known {
		if m.w.chance(m.w.faults.silent) {
			m.silent[request.CorrelationID] = true
			return
		}
		payload, failure := m.decide(request)
		answer = worker.Reply(request, payload, failure, m.w.now)
		m.answers[request.CorrelationID] = answer
	}
	before := len(m.w.net.inbound)
	m.w.net.inbound = m.w.net.add(m.w.net.inbound, answer)
	if !known && m.w.chance(m.w.faults.slow) {
		for _, added := range m.w.net.inbound[before:] {
			added.visible = m.w.now.Add(m.w.between(10*time.Second, 20*time.Minute))
		}
	}
}

// decide makes up an outcome.
func (m *module) decide(request *event.Envelope) (any, error) {
	if m.w.chance(m.w.faults.failure) {
		return nil, &worker.Failure{ReasonCode: "simulated", Retryable: m.w.chance(0.7)}
	}
	if m.w.chance(m.w.faults.nonsense) {
		return map[string]any{"nonsense": true}, nil
	}
	switch request.Type {
	case event.TypeConsentCheckRequested:
		return map[string]any{"granted": m.w.chance(0.9), "missing_types": []string{}}, nil
	case event.TypeAIReviewRequested:
		return map[string]any{"confidence": float64(m.w.rand.IntN(100)) / 100, "diagnoses": []string{}, "raw_response_id": "r"}, nil
	case event.TypeHumanReviewRequested:
		return map[string]any{"decision": "confirm", "reviewer_id": "r1"}, nil
	case event.TypeSetStatusRequested:
		return map[string]any{"previous_status": "a", "new_status": "b"}, nil
	default:
		return json.RawMessage("{}"), nil
	}
}
