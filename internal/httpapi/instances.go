package httpapi

import (
	"context"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

type (
	instanceOut  struct{ Body Instance }
	detailOut    struct{ Body instanceDetail }
	instancesOut struct{ Body page[Instance] }
	stepsOut     struct{ Body page[step] }
	ledgerOut    struct{ Body page[ledgerEvent] }
)

// haltBody documents the body of halt.
type haltBody struct {
	ReasonCode string `json:"reason_code" minLength:"1" maxLength:"128" doc:"A usable reason code of scope halt, such as manual_halt"`
	Note       string `json:"note,omitempty" maxLength:"4096"`
}

// becauseBody documents the body of resume and cancel.
type becauseBody struct {
	Reason string `json:"reason" minLength:"1" maxLength:"4096"`
}

func (a *API) registerInstances(r *registrar) {
	handle(r, "list-instances", nil, a.listInstances)
	handle(r, "get-instance", nil, a.getInstance)
	handle(r, "list-steps", nil, a.listSteps)
	handle(r, "list-events", nil, a.listEvents)
	handle(r, "halt-instance", haltBody{}, a.halt)
	handle(r, "resume-instance", becauseBody{}, a.act(rondo.ActionResume))
	handle(r, "cancel-instance", becauseBody{}, a.act(rondo.ActionCancel))
}

func (a *API) listInstances(ctx context.Context, c *call) (*instancesOut, error) {
	pg, err := queryPage(c.query, listInstances)
	if err != nil {
		return nil, err
	}
	rows, err := a.cfg.Cases.Instances(ctx, c.principal, store.InstanceFilter{
		OrgID:        c.principal.Tenant,
		CaseID:       c.query.Get("case_id"),
		ProductID:    c.query.Get("product_id"),
		Status:       rondo.Status(c.query.Get("status")),
		Mode:         rondo.Mode(c.query.Get("mode")),
		DefinitionID: queryID(c.query, "definition_id"),
		ReasonCode:   c.query.Get("reason_code"),
		StepID:       c.query.Get("step_id"),
		StartedFrom:  queryTime(c.query, "started_from"),
		StartedTo:    queryTime(c.query, "started_to"),
	}, pg)
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
	return &stepsOut{Body: whole(viewSteps(finished, i))}, nil
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

func (a *API) halt(ctx context.Context, c *call) (*instanceOut, error) {
	action := rondo.Action{Name: rondo.ActionHalt}
	err := decode(c.body,
		member{name: "reason_code", required: true, identifier: true, text: &action.ReasonCode},
		member{name: "note", text: &action.Note},
	)
	if err != nil {
		return nil, err
	}
	return a.acted(ctx, c, action)
}

// act is an action that takes a reason and nothing else.
func (a *API) act(name rondo.ActionName) func(context.Context, *call) (*instanceOut, error) {
	return func(ctx context.Context, c *call) (*instanceOut, error) {
		action := rondo.Action{Name: name}
		if err := decode(c.body, member{name: "reason", required: true, text: &action.Reason}); err != nil {
			return nil, err
		}
		return a.acted(ctx, c, action)
	}
}

func (a *API) acted(ctx context.Context, c *call, action rondo.Action) (*instanceOut, error) {
	i, err := a.cfg.Cases.Act(ctx, c.principal, c.id, action)
	if err != nil {
		return nil, err
	}
	return &instanceOut{Body: viewInstance(i)}, nil
}
