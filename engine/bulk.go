package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/caseloop"
	"github.com/rondo-engine/rondo/internal/definition"
	"github.com/rondo-engine/rondo/store"
)

// bulkPage is how many instances are listed at once when a job is made.
const bulkPage = 500

// Bulk makes a job that does the action to every instance that the filter names
// now. given is the filter as it was asked for, for the record. It returns when
// the job is durable; the work is done in the background, by any replica.
func (e *Engine) Bulk(ctx context.Context, p rondo.Principal, filter store.InstanceFilter, given json.RawMessage, action rondo.Action) (rondo.Job, error) {
	if err := e.checkBulk(ctx, p, filter, action); err != nil {
		return rondo.Job{}, err
	}
	params, err := encodeParams(action)
	if err != nil {
		return rondo.Job{}, rondo.Op("encode the action", err)
	}
	var items []rondo.JobItem
	err = e.eachInstance(ctx, p, filter, func(i *rondo.Instance) error {
		items = append(items, rondo.JobItem{InstanceID: i.ID, Key: i.Key()})
		return nil
	})
	if err != nil {
		return rondo.Job{}, err
	}
	job := rondo.Job{
		ID: e.ids.New(), OrgID: p.Tenant, Action: action.Name, Params: params, Filter: given, Status: rondo.JobRunning,
		Total: len(items), CreatedBy: p.User, CreatedAt: e.now().UTC(),
	}
	if err := e.store.CreateJob(ctx, job, items); err != nil {
		return rondo.Job{}, rondo.Op("store the job", err)
	}
	signal(e.jobsSoon)
	return job, nil
}

// PreviewBulk says what Bulk would be about, and does nothing.
func (e *Engine) PreviewBulk(ctx context.Context, p rondo.Principal, filter store.InstanceFilter, action rondo.Action) (rondo.BulkPreview, error) {
	if err := e.checkBulk(ctx, p, filter, action); err != nil {
		return rondo.BulkPreview{}, err
	}
	var preview rondo.BulkPreview
	judge := func(*rondo.Instance) error { return nil }
	if action.Name == rondo.ActionMigrate {
		forecast := e.newForecast(action, p.User)
		preview.Migration = &forecast.preview
		judge = func(i *rondo.Instance) error { return forecast.add(ctx, i) }
	}
	err := e.eachInstance(ctx, p, filter, func(i *rondo.Instance) error {
		if preview.Count++; len(preview.Sample) < rondo.BulkSample {
			preview.Sample = append(preview.Sample, i)
		}
		return judge(i)
	})
	return preview, err
}

// eachInstance walks through everything that a filter names, newest first. More
// than a job takes is refused before anything is done.
func (e *Engine) eachInstance(ctx context.Context, p rondo.Principal, filter store.InstanceFilter, visit func(*rondo.Instance) error) error {
	filter.OrgID = p.Tenant
	page := store.Page{Limit: bulkPage}
	for seen := 0; ; {
		rows, err := e.store.Instances(ctx, filter, page)
		if err != nil {
			return rondo.Op("list instances", err)
		}
		if seen += len(rows); seen > rondo.MaxBulk {
			return &rondo.Error{
				Code: rondo.CodeInvalid, Message: fmt.Sprintf("the filter names more than %d instances", rondo.MaxBulk),
				Hint: "narrow the filter, for example by started_from and started_to, and make several jobs",
			}
		}
		for _, row := range rows {
			if err := visit(row); err != nil {
				return err
			}
		}
		if len(rows) < page.Limit {
			return nil
		}
		page.After = rows[len(rows)-1].ID
	}
}

// checkBulk refuses what is wrong with a request whatever the instances are.
func (e *Engine) checkBulk(ctx context.Context, p rondo.Principal, filter store.InstanceFilter, action rondo.Action) error {
	if !slices.Contains(rondo.BulkActions(), action.Name) {
		return invalidField("/action", "unknown_value", "use an action that can be done to many: "+join(rondo.BulkActions()))
	}
	if !narrows(filter) {
		return invalidField("/filter", "required", "name at least one member of the filter besides org_id: a job is never about everything")
	}
	switch {
	case action.Name == rondo.ActionHalt:
		code, err := e.haltCode(ctx, p.Tenant, action.ReasonCode)
		if err != nil {
			return err
		}
		if code == nil {
			return invalidField("/params/reason_code", "unknown_reason_code", "reason_code is not an active code of scope halt; use for example manual_halt")
		}
		if code.RequiresNote && strings.TrimSpace(action.Note) == "" {
			return invalidField("/params/note", "note_required", fmt.Sprintf("reason code %s needs a note: say in note why the cases are halted", code.Code))
		}
	case action.Name == rondo.ActionMigrate && !action.ToDefinition.IsZero():
		d, err := e.store.Definition(ctx, p.Tenant, action.ToDefinition)
		if rondo.CodeOf(err) == rondo.CodeNotFound {
			return invalidField("/params/to_definition_id", "unknown_definition", "to_definition_id names no definition of the organisation")
		}
		if err != nil {
			return err
		}
		return inParams(migratable(d, d.ProductID))
	}
	return nil
}

// inParams points errors about a parameter to where bulk requests have it.
func inParams(err error) error {
	wrong, ok := errors.AsType[*rondo.Error](err)
	if !ok {
		return err
	}
	moved := *wrong
	moved.Fields = slices.Clone(wrong.Fields)
	for i := range moved.Fields {
		moved.Fields[i].Pointer = "/params" + moved.Fields[i].Pointer
	}
	return &moved
}

func join(names []rondo.ActionName) string {
	words := make([]string, len(names))
	for i, name := range names {
		words[i] = string(name)
	}
	return strings.Join(words, ", ")
}

// narrows reports whether a filter leaves something out besides other orgs.
func narrows(filter store.InstanceFilter) bool {
	return filter.CaseID != "" || filter.ProductID != "" || filter.Status != "" || filter.Mode != "" ||
		!filter.DefinitionID.IsZero() || filter.ReasonCode != "" || filter.StepID != "" || !filter.StartedFrom.IsZero() ||
		!filter.StartedTo.IsZero() || filter.Tag != "" || len(filter.Where) > 0
}

func (e *Engine) haltCode(ctx context.Context, org, word string) (*rondo.ReasonCode, error) {
	codes, err := e.store.ReasonCodes(ctx, org)
	if err != nil {
		return nil, rondo.Op("read reason codes", err)
	}
	for i := range codes {
		if codes[i].Scope == definition.ScopeHalt && codes[i].Code == word && codes[i].Active {
			return &codes[i], nil
		}
	}
	return nil, nil
}

// bulkAction turns the action of a job into commands on its instances.
type bulkAction struct {
	engine  *Engine
	action  rondo.Action
	by      string
	halt    *rondo.ReasonCode
	targets migrationTargets
}

// prepareBulk reads the action of a job.
func (e *Engine) prepareBulk(ctx context.Context, job rondo.Job) (bulkAction, error) {
	action, err := decodeParams(job.Action, job.Params)
	if err != nil {
		return bulkAction{}, rondo.Op("read the action of the job", err)
	}
	bulk := bulkAction{engine: e, action: action, by: job.CreatedBy, targets: migrationTargets{engine: e, to: action.ToDefinition}}
	if action.Name == rondo.ActionHalt {
		bulk.halt, err = e.haltCode(ctx, job.OrgID, action.ReasonCode)
	}
	return bulk, err
}

// command is the action on one instance, or why it is refused without asking the
// case machine.
func (b *bulkAction) command(ctx context.Context, instance *rondo.Instance) (command *caseloop.Command, refusal, err error) {
	command = &caseloop.Command{InstanceID: instance.ID, ProductID: instance.ProductID, Command: commandOf(b.action, b.by)}
	switch b.action.Name {
	case rondo.ActionHalt:
		if b.halt != nil && !applicable(b.halt, instance) {
			return nil, rondo.WrongState(fmt.Sprintf("reason code %s is for steps of kind %s, and none is in flight",
				b.halt.Code, strings.Join(b.halt.ApplicableStepKinds, ", "))), nil
		}
	case rondo.ActionMigrate:
		if b.engine.unmovable(instance) == "" { // else the machine refuses it for its state
			command.Command.Target, refusal, err = b.targets.of(ctx, instance)
		}
	}
	return command, refusal, err
}

func applicable(code *rondo.ReasonCode, instance *rondo.Instance) bool {
	return len(code.ApplicableStepKinds) == 0 || slices.ContainsFunc(instance.Machine.Live, func(a rondo.Attempt) bool {
		return slices.Contains(code.ApplicableStepKinds, a.Kind)
	})
}

// reasonOf is what a person is told of a refusal.
func reasonOf(refusal error) string {
	if known, ok := errors.AsType[*rondo.Error](refusal); ok && known.Message != "" {
		return known.Message
	}
	return refusal.Error()
}
