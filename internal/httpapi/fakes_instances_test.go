package httpapi_test

import (
	"context"
	"encoding/json"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine"
	"github.com/rondo-engine/rondo/internal/explain"
	"github.com/rondo-engine/rondo/internal/flow"
	"github.com/rondo-engine/rondo/store"
)

// following is what the fake tells those who follow, and what they asked.
type following struct {
	mark string
	says []engine.Live                   // then the stream ends
	wait func(ctx context.Context) error // or this decides when
}

// look answers for instances that the caller may see.
func (f *fake) look(p rondo.Principal, which rondo.ID) error {
	if err := f.begin(p); err != nil {
		return err
	}
	_, err := f.find(p, which)
	return err
}

func (f *fake) Interventions(_ context.Context, p rondo.Principal, which rondo.ID) ([]rondo.Intervention, error) {
	return []rondo.Intervention{{
		ID: id(12), OrgID: "acme", InstanceID: instanceID, Action: "halt", PerformedBy: "bob", Reason: "wait",
		Before: json.RawMessage(`{"status":"running"}`), After: json.RawMessage(`{"status":"halted"}`), CreatedAt: start,
	}}, f.look(p, which)
}

func (f *fake) PlanMigration(_ context.Context, p rondo.Principal, which rondo.ID, a rondo.Action) (flow.MigrationPlan, error) {
	err := f.look(p, which)
	f.action = a
	return flow.MigrationPlan{
		Verdict: flow.MigrationNeedsMapping, Reason: "ai_again is gone",
		Steps:   []flow.StepMove{{From: "customer_review", To: "customer_review", State: "live", Attempt: 1}, {From: "ai_again", State: "live", Attempt: 2, Reason: "the target has no such step", Possible: []string{"ai_review"}}, {From: "review", To: "review", State: "halted"}},
		Renamed: map[string]string{"first": "fresh"}, Warnings: []string{"step gate finds nothing"},
	}, err
}

func (f *fake) NextStep(_ context.Context, p rondo.Principal, which rondo.ID) (explain.NextStep, error) {
	return explain.NextStep{
		InstanceID: instanceID.String(), CaseID: "case-1", Status: rondo.StatusCompleted,
		Action:     explain.NextAction{Type: explain.NoAction},
		Definition: explain.DefinitionSummary{Name: "flow", Remaining: []string{}}, Others: []explain.OtherStep{},
	}, f.look(p, which)
}

func (f *fake) Why(_ context.Context, p rondo.Principal, which rondo.ID) (explain.Why, error) {
	return explain.Why{
		InstanceID: instanceID.String(), CaseID: "case-1", Status: rondo.StatusCompleted, Mode: rondo.ModeActive, Now: explain.Time(start),
		Summary: "Completed.", Waiting: []explain.Wait{}, Next: []explain.Upcoming{}, Actions: []explain.AllowedAction{}, Parked: []explain.ParkedEvent{},
		Ended: &explain.Ending{Status: rondo.StatusCompleted, At: explain.Time(start)},
	}, f.look(p, which)
}

func (f *fake) Timeline(_ context.Context, p rondo.Principal, which rondo.ID) (explain.Timeline, error) {
	return explain.Timeline{
		InstanceID: instanceID.String(), Open: []explain.Wait{},
		Items: []explain.Entry{{ID: "started", At: explain.Time(start), Kind: explain.EntryStarted, Text: "It began.", Detail: json.RawMessage(`{"a":1}`)}},
	}, f.look(p, which)
}

func (f *fake) FollowInstance(ctx context.Context, p rondo.Principal, which rondo.ID, mark string, say func(engine.Live) error) error {
	if err := f.look(p, which); err != nil {
		return err
	}
	f.following.mark = mark
	return f.follow(ctx, say)
}

func (f *fake) FollowInstances(ctx context.Context, p rondo.Principal, filter store.InstanceFilter, say func(engine.Live) error) error {
	if err := f.begin(p); err != nil {
		return err
	}
	f.filter = filter
	return f.follow(ctx, say)
}

func (f *fake) follow(ctx context.Context, say func(engine.Live) error) error {
	if err := say(engine.Live{}); err != nil {
		return err
	}
	for _, said := range f.following.says {
		if err := say(said); err != nil {
			return err
		}
	}
	if f.following.wait != nil {
		return f.following.wait(ctx)
	}
	return nil
}
