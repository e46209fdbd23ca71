package httpapi

import (
	"context"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/explain"
	"github.com/rondo-engine/rondo/internal/flow"
)

// Explaining is what the edge needs in order to explain cases.
type Explaining interface {
	// PlanMigration says what the action would do and does nothing.
	PlanMigration(ctx context.Context, p rondo.Principal, id rondo.ID, a rondo.Action) (flow.MigrationPlan, error)
	// Interventions lists oldest first.
	Interventions(ctx context.Context, p rondo.Principal, id rondo.ID) ([]rondo.Intervention, error)
	NextStep(ctx context.Context, p rondo.Principal, id rondo.ID) (explain.NextStep, error)
	Why(ctx context.Context, p rondo.Principal, id rondo.ID) (explain.Why, error)
	Timeline(ctx context.Context, p rondo.Principal, id rondo.ID) (explain.Timeline, error)
}

type (
	nextStepOut struct{ Body explain.NextStep }
	whyOut      struct{ Body explain.Why }
	timelineOut struct{ Body explain.Timeline }
)

func (a *API) registerExplaining(r *registrar) {
	handle(r, "get-next-step", nil, func(ctx context.Context, c *call) (*nextStepOut, error) {
		body, err := a.cfg.Cases.NextStep(ctx, c.principal, c.id)
		return &nextStepOut{body}, err
	})
	handle(r, "get-why", nil, func(ctx context.Context, c *call) (*whyOut, error) {
		body, err := a.cfg.Cases.Why(ctx, c.principal, c.id)
		return &whyOut{body}, err
	})
	handle(r, "get-timeline", nil, func(ctx context.Context, c *call) (*timelineOut, error) {
		body, err := a.cfg.Cases.Timeline(ctx, c.principal, c.id)
		return &timelineOut{body}, err
	})
}
