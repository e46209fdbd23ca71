package app

import (
	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine"
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
		m.metrics.StepEnded(step.Kind, step.CompletedAt.Sub(step.StartedAt).Seconds())
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
	case rondo.StatusHalted:
		m.metrics.Halted(c.After.HaltReason)
		m.metrics.InstanceEnded(c.After.OrgID, metrics.EndedHalted)
	case rondo.StatusCompleted:
		m.metrics.InstanceEnded(c.After.OrgID, metrics.EndedCompleted)
	case rondo.StatusCancelled:
		state := metrics.EndedCancelled
		if !c.After.SupersededByID.IsZero() {
			state = metrics.EndedSuperseded
		}
		m.metrics.InstanceEnded(c.After.OrgID, state)
	case rondo.StatusRunning: // resumed: it has not come to rest
	}
}
