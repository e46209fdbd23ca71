package flow

import (
	"encoding/json"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
)

// MaxPayload is how large a payload may be so that its envelope stays within
// event.MaxPublishedBytes. The other members need less than what is set aside:
// six texts of at most event.MaxIDBytes, each byte of which may take six once it
// is escaped, and the names, an id and a time. Every payload is checked before
// its event is published: what a step would send by the step, what a person
// says by MaxWords.
const MaxPayload = event.MaxPublishedBytes - 8<<10

// outgoing is one event to send about the instance.
type outgoing struct {
	id          rondo.ID
	eventType   string
	at          time.Time
	correlation string
	cause       string
	payload     json.RawMessage
}

func (m *move) publish(o outgoing) {
	envelope := event.Envelope{
		EventID:       o.id,
		Type:          o.eventType,
		SchemaVersion: event.SchemaVersion,
		OccurredAt:    o.at,
		CorrelationID: o.correlation,
		CausationID:   o.cause,
		CaseID:        m.inst.CaseID,
		OrgID:         m.inst.OrgID,
		ProductID:     m.inst.ProductID,
		Payload:       o.payload,
	}
	m.decided.Outbox = append(m.decided.Outbox, rondo.Outgoing{
		Stream:     o.eventType,
		OrgID:      m.inst.OrgID,
		EventID:    o.id,
		InstanceID: m.inst.ID,
		Envelope:   envelope.Encode(),
		CreatedAt:  m.now,
	})
}

// lifecycle publishes what happened to the instance itself: the correlation id
// is the instance's own.
func (m *move) lifecycle(eventType string, payload json.RawMessage) {
	m.publish(outgoing{
		id: m.env.NewID(), eventType: eventType, at: m.now,
		correlation: m.inst.ID.String(), cause: m.cause, payload: payload,
	})
}

// complete ends the instance with success.
func (m *move) complete() {
	m.own()
	m.inst.Status = rondo.StatusCompleted
	m.inst.CompletedAt = m.now
	m.skipLive("completed")
	m.lifecycle(event.TypeWorkflowCompleted, newObject(128).text("instance_id", m.inst.ID.String()).
		text("completed_at", m.now.Format(time.RFC3339Nano)).done())
}

// skipLive ends whatever is still open, because the instance has ended.
func (m *move) skipLive(code string) {
	skipped := ending{status: rondo.StepSkipped, failure: failure{code: code}.json(), over: true}
	for len(m.inst.Machine.Live) > 0 {
		m.end(0, skipped)
	}
	for n := len(m.inst.Machine.Forks); n > 0; n-- {
		m.record(m.takeFork(n-1), skipped)
	}
}
