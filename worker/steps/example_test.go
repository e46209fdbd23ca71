package steps_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine"
	"github.com/rondo-engine/rondo/engine/runs"
	"github.com/rondo-engine/rondo/skill"
	"github.com/rondo-engine/rondo/skill/skills"
	"github.com/rondo-engine/rondo/store/memory"
	"github.com/rondo-engine/rondo/worker/steps"
)

// A worker does the steps of a skill that a workflow declares as remote. Here Rondo
// runs beside it, in memory; against a server only the bus differs: bus/redis, or
// worker/httpbus.
func Example() {
	ctx := context.Background()
	orchestrator, service, stop := inMemory(ctx)
	defer stop()

	w := steps.New(steps.Config{
		Group: "greeters",
		Bus:   orchestrator.Bus(),
		Skills: map[string]skill.Skill{
			"greet@1": skill.Func(func(_ context.Context, call skill.Call) (skill.Result, error) {
				var input struct {
					Name string `json:"name"`
				}
				if err := json.Unmarshal(call.Input, &input); err != nil {
					return skill.Fail(rondo.CodeSkillError, "the input has no name", false), nil //nolint:nilerr // told as the attempt's failure
				}
				data, err := json.Marshal("Hello, " + input.Name + "!")
				return skill.Result{OK: true, Data: data}, err
			}),
		},
	})
	if err := w.Start(ctx); err != nil {
		log.Fatal(err)
	}
	defer func() { _ = w.Stop(ctx) }()

	run, err := service.Trigger(ctx, ann, runs.Request{WorkflowName: "greeting", TriggerPayload: json.RawMessage(`{"name":"Ann"}`)})
	if err != nil {
		log.Fatal(err)
	}
	if err := service.Watch(ctx, ann, run.ID, 0, func(runs.Event) error { return nil }); err != nil {
		log.Fatal(err)
	}
	output, err := service.StepOutput(ctx, ann, run.ID, "greet")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(output.Step.Data))
	// Output: "Hello, Ann!"
}

// inMemory is Rondo with one workflow.
func inMemory(ctx context.Context) (*engine.Engine, *runs.Service, func()) {
	check := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	kept := memory.Open(memory.Options{Embedded: true})
	e, err := engine.New(engine.Config{Store: kept})
	check(err)
	check(e.Start(ctx))
	service, err := runs.New(runs.Config{Store: kept, Definitions: e.RunDefinitions(), Skills: skills.ForRuns{Set: skills.New(skills.Options{})}})
	check(err)
	check(service.Start(ctx))
	e.OnRunAnswer(service.Deliver)
	draft, err := e.CreateDefinition(ctx, ann, rondo.NewDefinition{Kind: rondo.KindRun, Source: []byte(`
name: greeting
version: 1.0.0
steps:
  - {id: greet, skill: greet@1, input: {name: {trigger: name}}}
skills:
  greet@1: {type: remote}
`)})
	check(err)
	_, err = e.PublishDefinition(ctx, ann, draft.ID, "example")
	check(err)
	return e, service, func() {
		_ = service.Stop(ctx)
		e.Stop(ctx)
	}
}
