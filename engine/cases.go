package engine

import (
	"context"
	"fmt"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/caseloop"
	"github.com/rondo-engine/rondo/internal/flow"
	"github.com/rondo-engine/rondo/store"
)

// PublishEvent takes one envelope in and returns when the commit that applied it
// is durable. The envelope must be of the principal's own organisation; an admin
// may publish for any.
func (e *Engine) PublishEvent(ctx context.Context, p rondo.Principal, raw []byte) (rondo.Receipt, error) {
	envelope, err := event.Parse(raw)
	if err != nil {
		return rondo.Receipt{}, err
	}
	if envelope.OrgID != p.Tenant && !p.Admin() {
		return rondo.Receipt{}, &rondo.Error{
			Code: rondo.CodeForbidden, Message: "org_id is not the organisation of your token",
			Hint: "publish events of your own organisation only",
		}
	}
	if event.RunAnswer(envelope.Type) {
		if err := e.answerRun(ctx, envelope); err != nil {
			return rondo.Receipt{}, err
		}
		return rondo.Receipt{EventID: envelope.EventID, Outcome: rondo.OutcomeApplied}, nil
	}
	if event.PublishedByOrchestrator(envelope.Type) {
		return e.publishOfClient(ctx, envelope, raw)
	}
	if err := e.checkType(ctx, envelope.OrgID, envelope.Type); err != nil {
		return rondo.Receipt{}, err
	}
	return e.take(ctx, &caseloop.Event{Envelope: envelope, Raw: raw, Relay: true})
}

// publishOfClient takes in how a run ended that a client started for its case:
// where the client drives, it tells. That is between the two and goes on no
// stream. Everything else of Rondo's own is refused.
func (e *Engine) publishOfClient(ctx context.Context, envelope *event.Envelope, raw []byte) (rondo.Receipt, error) {
	if endOfRun(envelope.Type) && envelope.CaseID != "" {
		found, err := e.store.Instances(ctx, store.InstanceFilter{OrgID: envelope.OrgID, CaseID: envelope.CaseID}, store.Page{Limit: 1})
		if err != nil {
			return rondo.Receipt{}, err
		}
		if len(found) > 0 && found[0].Mode == rondo.ModeClientDriven {
			return e.take(ctx, &caseloop.Event{Envelope: envelope, Raw: raw})
		}
	}
	return rondo.Receipt{}, &rondo.Error{
		Code: rondo.CodeForbidden, Message: fmt.Sprintf("only the orchestrator publishes %s", envelope.Type),
		Hint: "publish the matching completed or failed event",
	}
}

// take applies an event and returns when that is durable.
func (e *Engine) take(ctx context.Context, in *caseloop.Event) (rondo.Receipt, error) {
	r := e.loop.Do(ctx, &caseloop.Input{Key: in.Envelope.Key(), Event: in})
	if r.Err != nil {
		return rondo.Receipt{}, r.Err
	}
	return rondo.Receipt{EventID: in.Envelope.EventID, Outcome: r.Outcome, Duplicate: r.Duplicate, Verdict: r.Verdict, Error: r.Reason}, nil
}

// Act does what a person asks of an instance and returns the instance after it:
// for supersede, the new one. The right to intervene is the caller's to check,
// but for complete_step, which the assignees of the step may do without it.
func (e *Engine) Act(ctx context.Context, p rondo.Principal, id rondo.ID, action rondo.Action) (*rondo.Instance, error) {
	instance, err := e.store.Instance(ctx, p.Tenant, id)
	if err != nil {
		return nil, err
	}
	if !instance.SupersededByID.IsZero() {
		refusal := rondo.WrongState(fmt.Sprintf("the instance is %s: another one took its place", instance.Status))
		refusal.Hint = "act on the instance that superseded_by_id names"
		return nil, refusal
	}
	command, err := e.command(ctx, p, instance, action)
	if err != nil {
		return nil, err
	}
	r := e.loop.Do(ctx, &caseloop.Input{Key: instance.Key(), Command: command})
	if r.Err != nil {
		return nil, r.Err
	}
	return r.Instance, nil
}

// command is an action made ready for the machine: what it refers to outside its
// case is found and checked. What the case itself allows is decided in the
// commit.
func (e *Engine) command(ctx context.Context, p rondo.Principal, instance *rondo.Instance, action rondo.Action) (*caseloop.Command, error) {
	out := &caseloop.Command{InstanceID: instance.ID, ProductID: instance.ProductID, Command: commandOf(action, p.User)}
	switch action.Name {
	case rondo.ActionHalt:
		return out, e.checkHaltReason(ctx, instance, action)
	case rondo.ActionCompleteStep:
		out.Command.Assignee = !p.Can(rondo.ScopeIntervene)
	case rondo.ActionMigrate:
		if e.unmovable(instance) != "" {
			return out, nil // the machine refuses it for its state, whatever the target
		}
		target, err := e.targetOf(ctx, instance, action.ToDefinition)
		if err != nil {
			return nil, err
		}
		out.Command.Target = target
	}
	return out, nil
}

// PlanMigration says what migrating an instance would do, and changes nothing.
func (e *Engine) PlanMigration(ctx context.Context, p rondo.Principal, id rondo.ID, action rondo.Action) (flow.MigrationPlan, error) {
	instance, err := e.store.Instance(ctx, p.Tenant, id)
	if err != nil {
		return flow.MigrationPlan{}, err
	}
	if why := e.unmovable(instance); why != "" {
		return flow.MigrationPlan{Verdict: flow.MigrationCannot, Reason: why}, nil
	}
	target, err := e.targetOf(ctx, instance, action.ToDefinition)
	if err != nil {
		return flow.MigrationPlan{}, err
	}
	return e.planMigration(ctx, instance, target, action.StepMap)
}

func (e *Engine) planMigration(ctx context.Context, instance *rondo.Instance, target *flow.Start, stepMap map[string]string) (flow.MigrationPlan, error) {
	from, err := e.snapshots.Get(ctx, instance.SnapshotHash)
	if err != nil {
		return flow.MigrationPlan{}, rondo.Op("read the snapshot of the instance", err)
	}
	return flow.PlanMigration(instance, from, target.Snapshot, stepMap), nil
}

// unmovable says why an instance cannot be migrated to anything, "" when its
// state allows it. It is asked before the target is: a state that is wrong is
// told first.
func (e *Engine) unmovable(instance *rondo.Instance) string {
	return flow.Disallowed(instance, e.now(), rondo.ActionMigrate)
}

// targetOf finds the definition that one instance is to go on with.
func (e *Engine) targetOf(ctx context.Context, instance *rondo.Instance, to rondo.ID) (*flow.Start, error) {
	target, err := e.migrationTarget(ctx, instance.OrgID, instance.ProductID, to)
	switch {
	case rondo.CodeOf(err) == rondo.CodeNotFound: // the instance is there: it is not what was not found
		return nil, invalidField("/to_definition_id", "unknown_definition", "to_definition_id names no definition of the organisation")
	case err != nil:
		return nil, err
	case target.Snapshot.Hash == instance.SnapshotHash:
		refusal := rondo.WrongState("the instance runs on this version of the definition already")
		refusal.Hint = "publish a newer version first, or name another definition in to_definition_id"
		return nil, refusal
	}
	return target, nil
}

func invalidField(pointer, code, message string) *rondo.Error {
	return &rondo.Error{
		Code: rondo.CodeInvalid, Message: message,
		Fields: []rondo.FieldError{{Code: code, Pointer: pointer, Message: message}},
	}
}

// Instance returns one instance of the principal's organisation.
func (e *Engine) Instance(ctx context.Context, p rondo.Principal, id rondo.ID) (*rondo.Instance, error) {
	return e.store.Instance(ctx, p.Tenant, id)
}

// Snapshot returns the frozen definition that drives an instance.
func (e *Engine) Snapshot(ctx context.Context, _ rondo.Principal, instance *rondo.Instance) ([]byte, error) {
	return e.store.Snapshot(ctx, instance.SnapshotHash)
}

// EveryOrg is the OrgID by which an admin lists the instances of all
// organisations.
const EveryOrg = "*"

// Instances lists instances, newest first. Only an admin may ask for another
// organisation than their own, or for every one.
func (e *Engine) Instances(ctx context.Context, p rondo.Principal, filter store.InstanceFilter, page store.Page) ([]*rondo.Instance, error) {
	switch {
	case filter.OrgID == "" || !p.Admin():
		filter.OrgID = p.Tenant
	case filter.OrgID == EveryOrg:
		filter.OrgID = ""
	}
	found, err := e.store.Instances(ctx, filter, page)
	if err == nil && len(found) == 0 && len(filter.Where) > 0 && page.After.IsZero() && filter.OrgID != "" {
		err = e.checkSearchable(ctx, filter.OrgID, filter.Where)
	}
	return found, err
}

// Steps returns the finished attempts of an instance, and the instance, whose
// Machine.Live are the open ones.
func (e *Engine) Steps(ctx context.Context, p rondo.Principal, id rondo.ID) ([]rondo.Step, *rondo.Instance, error) {
	instance, err := e.store.Instance(ctx, p.Tenant, id)
	if err != nil {
		return nil, nil, err
	}
	steps, err := e.store.Steps(ctx, p.Tenant, id)
	return steps, instance, err
}

// Events returns the ledger rows of an instance, oldest first.
func (e *Engine) Events(ctx context.Context, p rondo.Principal, id rondo.ID, page store.Page) ([]rondo.EventRecord, error) {
	if _, err := e.store.Instance(ctx, p.Tenant, id); err != nil {
		return nil, err
	}
	return e.store.Events(ctx, p.Tenant, id, page)
}
