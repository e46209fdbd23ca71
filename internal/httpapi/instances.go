package httpapi

import (
	"context"

	"github.com/rondo-engine/rondo"
)

type (
	instanceOut  struct{ Body Instance }
	detailOut    struct{ Body instanceDetail }
	instancesOut struct{ Body page[Instance] }
	stepsOut     struct{ Body page[step] }
	ledgerOut    struct{ Body page[ledgerEvent] }
)

func (a *API) registerInstances(r *registrar) {
	handle(r, "list-instances", nil, a.listInstances)
	handle(r, "get-instance", nil, a.getInstance)
	handle(r, "list-steps", nil, a.listSteps)
	handle(r, "list-events", nil, a.listEvents)
	r.orNull("Step", "delivery")
	a.registerInterventions(r)
	a.registerExplaining(r)
	a.registerStreams(r)
}

func (a *API) listInstances(ctx context.Context, c *call) (*instancesOut, error) {
	pg, err := queryPage(c.query, listInstances)
	if err != nil {
		return nil, err
	}
	rows, err := a.cfg.Cases.Instances(ctx, c.principal, instanceFilter(c.query, c.principal.Tenant, a.cfg.Now()), pg)
	if err != nil {
		return nil, err
	}
	id := func(i *rondo.Instance) rondo.ID { return i.ID }
	return &instancesOut{Body: paged(rows, pg.Limit, listInstances, id, viewInstance)}, nil
}

func (a *API) getInstance(ctx context.Context, c *call) (*detailOut, error) {
	i, err := a.cfg.Cases.Instance(ctx, c.principal, c.id)
	if err != nil {
		return nil, err
	}
	out := &detailOut{Body: instanceDetail{Instance: viewInstance(i)}}
	if snapshots, ok := a.cfg.Cases.(Snapshots); ok {
		raw, err := snapshots.Snapshot(ctx, c.principal, i)
		if err != nil {
			// The instance is there: a snapshot that is not is a defect, not a 404.
			return nil, &rondo.Error{Code: unlessNotFound(err), Op: "read the snapshot", Err: err}
		}
		out.Body.Snapshot = raw
	}
	return out, nil
}

func unlessNotFound(err error) rondo.Code {
	if code := rondo.CodeOf(err); code != rondo.CodeNotFound {
		return code
	}
	return rondo.CodeInternal
}

func (a *API) listSteps(ctx context.Context, c *call) (*stepsOut, error) {
	finished, i, err := a.cfg.Cases.Steps(ctx, c.principal, c.id)
	if err != nil {
		return nil, err
	}
	delivered, err := a.cfg.Cases.Deliveries(ctx, c.principal, i, finished)
	if err != nil {
		return nil, err
	}
	body, err := pageOf(c.query, listAttempts, viewSteps(finished, i, delivered), func(s step) string { return s.ID })
	return &stepsOut{Body: body}, err
}

func (a *API) listEvents(ctx context.Context, c *call) (*ledgerOut, error) {
	pg, err := queryPage(c.query, listEvents)
	if err != nil {
		return nil, err
	}
	rows, err := a.cfg.Cases.Events(ctx, c.principal, c.id, pg)
	if err != nil {
		return nil, err
	}
	id := func(e rondo.EventRecord) rondo.ID { return e.ID }
	return &ledgerOut{Body: paged(rows, pg.Limit, listEvents, id, viewEvent)}, nil
}
