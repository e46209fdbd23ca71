package httpapi

import (
	"context"
	"fmt"

	"github.com/danielgtaylor/huma/v2"

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
	r.orNull("NextStep", "current_step")
	r.orNull("Why", "halt", "ended")
}

// orNull documents that members of a schema, which are objects, may be null.
func (r *registrar) orNull(schema string, members ...string) {
	described := r.huma.OpenAPI().Components.Schemas.Map()[schema]
	for _, name := range members {
		if described == nil || described.Properties[name] == nil {
			r.errs = append(r.errs, fmt.Errorf("httpapi: schema %s has no member %s", schema, name))
			continue
		}
		object := described.Properties[name]
		described.Properties[name] = &huma.Schema{Description: object.Description, AnyOf: []*huma.Schema{{Ref: object.Ref}, {Type: "null"}}}
	}
}
