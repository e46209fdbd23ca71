package engine

import (
	"context"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/flow"
)

// migrationTargets remembers where instances migrate to, so that a job reads it
// once for all that have the same product and run on the same snapshot.
type migrationTargets struct {
	engine *Engine
	to     rondo.ID
	known  map[migrationOrigin]migrationAnswer
}

type migrationOrigin struct{ product, snapshot string }

type migrationAnswer struct {
	target  *flow.Start
	refusal error
}

// of is the target of an instance, or why there is none.
func (t *migrationTargets) of(ctx context.Context, instance *rondo.Instance) (target *flow.Start, refusal, err error) {
	origin := migrationOrigin{instance.ProductID, instance.SnapshotHash}
	if answer, ok := t.known[origin]; ok {
		return answer.target, answer.refusal, nil
	}
	target, err = t.engine.targetOf(ctx, instance, t.to)
	switch rondo.CodeOf(err) {
	case "":
	case rondo.CodeNotFound, rondo.CodeWrongState, rondo.CodeConflict, rondo.CodeInvalid:
		refusal = err
	default:
		return nil, nil, err
	}
	if t.known == nil {
		t.known = map[migrationOrigin]migrationAnswer{}
	}
	t.known[origin] = migrationAnswer{target, refusal}
	return target, refusal, nil
}

// forecast collects what migrating many instances would come to.
type forecast struct {
	engine  *Engine
	action  rondo.Action
	by      string
	targets migrationTargets
	preview rondo.MigrationPreview
}

func (e *Engine) newForecast(action rondo.Action, by string) *forecast {
	return &forecast{
		engine: e, action: action, by: by, targets: migrationTargets{engine: e, to: action.ToDefinition},
		preview: rondo.MigrationPreview{Verdicts: map[rondo.MigrationVerdict]int{}, Reasons: map[string]int{}},
	}
}

// add judges one instance.
func (f *forecast) add(ctx context.Context, instance *rondo.Instance) error {
	told := rondo.MigrationForecast{InstanceID: instance.ID, CaseID: instance.CaseID, Steps: map[string]string{}}
	if err := f.judge(ctx, instance, &told); err != nil {
		return err
	}
	f.preview.Verdicts[told.Verdict]++
	if told.Reason != "" {
		f.preview.Reasons[told.Reason]++
	}
	if len(f.preview.Items) < rondo.BulkForecast {
		f.preview.Items = append(f.preview.Items, told)
	}
	return nil
}

// judge fills in the verdict: that of the plan of the one instance, in the same
// words. Where that moves, the machine itself is asked whether it would migrate
// it: what is told is what happens.
func (f *forecast) judge(ctx context.Context, instance *rondo.Instance, told *rondo.MigrationForecast) error {
	cannot := func(why string) { told.Verdict, told.Reason = rondo.MigrationCannot, why }
	if why := f.engine.unmovable(instance); why != "" {
		cannot(why)
		return nil
	}
	target, refusal, err := f.targets.of(ctx, instance)
	if err != nil {
		return err
	}
	if refusal != nil {
		cannot(reasonOf(refusal))
		return nil
	}
	plan, err := f.engine.planMigration(ctx, instance, target, f.action.StepMap)
	if err != nil {
		return err
	}
	told.Verdict, told.Reason = rondo.MigrationVerdict(plan.Verdict), plan.Reason
	told.Renamed, told.Warnings = plan.Renamed, plan.Warnings
	for _, step := range plan.Steps {
		if step.To != "" {
			told.Steps[step.From] = step.To
		}
	}
	if plan.Verdict != flow.MigrationMoves {
		return nil
	}
	refusal, err = f.refusal(ctx, instance, target)
	if refusal != nil {
		cannot(reasonOf(refusal))
	}
	return err
}

// refusal is what the machine would say to the migration; nil = it would do it.
func (f *forecast) refusal(ctx context.Context, instance *rondo.Instance, target *flow.Start) (refusal, err error) {
	from, err := f.engine.snapshots.Get(ctx, instance.SnapshotHash)
	if err != nil {
		return nil, err
	}
	command := commandOf(f.action, f.by)
	command.Target = target
	decision := flow.Decide(flow.State{Instance: instance, Snapshot: from}, command, flow.Env{
		Now: f.engine.now(), NewID: f.engine.ids.New, Known: event.Known,
	})
	return decision.Refused, nil
}
