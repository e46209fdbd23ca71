package steps_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/blob/file"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/engine"
	"github.com/rondo-engine/rondo/engine/runs"
	"github.com/rondo-engine/rondo/internal/httpapi"
	"github.com/rondo-engine/rondo/skill"
	"github.com/rondo-engine/rondo/skill/skills"
	"github.com/rondo-engine/rondo/store/memory"
	"github.com/rondo-engine/rondo/worker/httpbus"
	"github.com/rondo-engine/rondo/worker/steps"
)

const workflow = `
name: paint
version: 1.0.0
steps:
  - {id: draw, skill: draw@1, retry: {max_attempts: 3, backoff: 100ms}, input: {colour: {trigger: colour}}}
  - {id: frame, skill: frame@1, depends_on: [draw], input: {picture: {step: draw, path: data.picture}}}
skills:
  draw@1: {type: remote}
  frame@1: {type: template, config: {template: "[{{.picture}}]"}}
`

var ann = rondo.Principal{Tenant: "acme", User: "ann", Scopes: []string{rondo.ScopeAdmin, rondo.ScopeEvents, rondo.ScopeRunsRead, rondo.ScopeRunsWrite}}

type onlyAnn struct{}

func (onlyAnn) Authenticate(*http.Request) (rondo.Principal, error) { return ann, nil }

// orchestrator is Rondo in memory, with runs.
func orchestrator(t *testing.T) (*engine.Engine, *runs.Service) {
	t.Helper()
	kept := memory.Open(memory.Options{Embedded: true})
	e, err := engine.New(engine.Config{Store: kept})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	blobs, err := file.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	service, err := runs.New(runs.Config{Store: kept, Definitions: e.RunDefinitions(), Skills: skills.ForRuns{Set: skills.New(skills.Options{})}, Blobs: blobs})
	if err != nil {
		t.Fatal(err)
	}
	if err := service.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.OnRunAnswer(service.Deliver)
	forRuns := e.RunWorker(service)
	if err := forRuns.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.Background()
		_ = forRuns.Stop()
		_ = service.Stop(ctx)
		e.Stop(ctx)
	})
	draft, err := e.CreateDefinition(t.Context(), ann, rondo.NewDefinition{Kind: rondo.KindRun, Source: []byte(workflow)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.PublishDefinition(t.Context(), ann, draft.ID, ""); err != nil {
		t.Fatal(err)
	}
	return e, service
}

// One worker, on the bus inside of the program and over HTTP.
func TestARemoteStepOfARunIsDone(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T, *engine.Engine) bus.Bus{
		"embedded": func(_ *testing.T, e *engine.Engine) bus.Bus { return e.Bus() },
		"http": func(t *testing.T, e *engine.Engine) bus.Bus {
			t.Helper()
			api, err := httpapi.New(httpapi.Config{Cases: e, Definitions: e, Events: e, Trials: e, Jobs: e, Retention: e, Health: e, Auth: onlyAnn{}})
			if err != nil {
				t.Fatal(err)
			}
			server := httptest.NewServer(api)
			t.Cleanup(func() {
				api.EndStreams()
				server.Close()
			})
			b, err := httpbus.New(httpbus.Options{URL: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			return b
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, service := orchestrator(t)
			attempts := make(chan int, 10)
			w := steps.New(steps.Config{Group: "painters", Bus: open(t, e), Skills: map[string]skill.Skill{
				"draw@1": skill.Func(func(ctx context.Context, call skill.Call) (skill.Result, error) {
					attempts <- call.Attempt
					if call.Attempt == 1 {
						return skill.Fail(rondo.CodeSkillError, "the brush broke", true), nil
					}
					return skill.Result{OK: true, Data: json.RawMessage(`{"picture":"a <red> one"}`), Artifacts: []skill.Artifact{{Type: "text/plain", Name: "p.txt", Bytes: []byte("red")}}}, nil
				}),
			}})
			if err := w.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			run, err := service.Trigger(t.Context(), ann, runs.Request{WorkflowName: "paint", TriggerPayload: json.RawMessage(`{"colour":"red"}`)})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			if err := service.Watch(ctx, ann, run.ID, 0, func(runs.Event) error { return nil }); err != nil {
				t.Fatal(err)
			}
			seen, err := service.Run(t.Context(), ann, run.ID)
			if err != nil || seen.Run.Status != rondo.RunCompleted {
				t.Fatalf("%+v, %v, want it completed", seen, err)
			}
			output, err := service.StepOutput(t.Context(), ann, run.ID, "frame")
			if err != nil || string(output.Step.Data) != `"[a <red> one]"` {
				t.Errorf("the frame is %s, %v", output.Step.Data, err)
			}
			if artifacts, err := service.RunArtifacts(t.Context(), ann, run.ID, "draw"); err != nil || len(artifacts) != 1 || artifacts[0].Size != 3 {
				t.Errorf("artifacts are %+v, %v", artifacts, err)
			}
			if first, second := <-attempts, <-attempts; first != 1 || second != 2 {
				t.Errorf("attempts are %d and %d", first, second)
			}
			if err := w.Stop(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
	}
}
