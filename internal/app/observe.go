package app

import (
	"encoding/json"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/metrics"
)

// observers tells several about every commit.
type observers []engine.Observer

// Committed passes a commit on.
func (o observers) Committed(c engine.Commit) {
	for _, observer := range o {
		observer.Committed(c)
	}
}

// Meter counts every commit of an engine.
func Meter(m *metrics.Metrics) engine.Observer { return meter{m} }

// meter turns commits into metrics.
type meter struct{ metrics *metrics.Metrics }

// Committed counts what a commit did.
func (m meter) Committed(c engine.Commit) {
	if c.Inputs > 0 {
		m.metrics.Commit(c.Inputs, c.Took.Seconds())
	}
	if c.DeadLetters > 0 {
		m.metrics.DeadLettered(c.DeadLetters)
	}
	for _, change := range c.Changes {
		m.change(change)
	}
	for _, step := range c.Steps {
		if !step.StartedAt.IsZero() { // else it was skipped before it began
			m.metrics.StepEnded(step.Kind, step.CompletedAt.Sub(step.StartedAt).Seconds())
		}
	}
	for _, e := range c.Events {
		m.metrics.EventJudged(e.Outcome)
		if e.Outcome == rondo.OutcomeParked {
			m.metrics.Parked(1)
		}
	}
	for _, i := range c.Interventions {
		m.metrics.Intervened(i.Action)
	}
	for cause, n := range c.Healed {
		m.metrics.Healed(cause, n)
	}
	m.metrics.Purged(c.Purged)
	m.sent(c)
}

// payloadText is a text in the payload of an event on its way out; "" when it is
// not there.
func payloadText(out *rondo.Outgoing, name string) string {
	var envelope struct {
		Payload map[string]json.RawMessage `json:"payload"`
	}
	var text string
	if json.Unmarshal(out.Envelope, &envelope) == nil && envelope.Payload[name] != nil {
		_ = json.Unmarshal(envelope.Payload[name], &text) // what is no text stays ""
	}
	return text
}

// sent counts what only the events tell: halts (a case may halt again in the
// very commit that resumed it), requests that went out again, service levels.
func (m meter) sent(c engine.Commit) {
	asked := map[rondo.ID]bool{} // requests that were out before
	for _, change := range c.Changes {
		if change.Before == nil || change.Before.Mode == rondo.ModeClientDriven {
			continue // nothing was asked
		}
		for i := range change.Before.Machine.Live {
			if att := &change.Before.Machine.Live[i]; att.Status == rondo.StepInProgress && !att.RequestID.IsZero() {
				asked[att.RequestID] = true
			}
		}
	}
	for i := range c.Sent {
		switch out := &c.Sent[i]; {
		case out.Stream == event.TypeWorkflowHalted:
			m.metrics.Halted(payloadText(out, "reason_code"))
			m.metrics.InstanceEnded(out.OrgID, metrics.EndedHalted)
		case asked[out.EventID]:
			m.metrics.Resent(1)
		case strings.HasPrefix(out.Stream, slaPrefix):
			m.metrics.SLA(strings.TrimPrefix(out.Stream, slaPrefix), kindOf(c, out))
		}
	}
}

func (m meter) change(c engine.Change) {
	was := rondo.StatusRunning
	if c.Before == nil {
		m.metrics.InstanceStarted(c.After)
	} else {
		was = c.Before.Status
	}
	if c.After.Status == was {
		return
	}
	switch c.After.Status {
	case rondo.StatusCompleted:
		m.metrics.InstanceEnded(c.After.OrgID, metrics.EndedCompleted)
	case rondo.StatusCancelled:
		state := metrics.EndedCancelled
		if !c.After.SupersededByID.IsZero() {
			state = metrics.EndedSuperseded
		}
		m.metrics.InstanceEnded(c.After.OrgID, state)
	case rondo.StatusRunning, rondo.StatusHalted: // halts are counted by the events that tell them
	}
}

// slaPrefix begins the event types of service levels; the level follows.
const slaPrefix = "workflow.sla_"

// kindOf is the kind of the step that a service level is about, "workflow" when
// it is about the whole case.
func kindOf(c engine.Commit, out *rondo.Outgoing) string {
	step := payloadText(out, "step_id")
	if step == "" {
		return "workflow"
	}
	for _, change := range c.Changes {
		if change.After.ID != out.InstanceID {
			continue
		}
		for _, instance := range []*rondo.Instance{change.Before, change.After} {
			if instance == nil {
				continue
			}
			for i := range instance.Machine.Live {
				if instance.Machine.Live[i].StepID == step {
					return instance.Machine.Live[i].Kind
				}
			}
			for i := range instance.Machine.Forks {
				if instance.Machine.Forks[i].Attempt.StepID == step {
					return instance.Machine.Forks[i].Attempt.Kind
				}
			}
		}
	}
	return "unknown"
}
