package worker_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/store/memory"
	"github.com/rondo-engine/rondo/worker"
)

// A module answers requests; here the whole orchestrator runs beside it, in
// memory. Against a server only the bus differs: see examples/module.
func Example() {
	ctx := context.Background()
	completed := make(completions, 1)
	orchestrator, err := engine.New(engine.Config{Store: memory.Open(memory.Options{Embedded: true}), Observer: completed})
	if err != nil {
		log.Fatal(err)
	}
	if err := orchestrator.Start(ctx); err != nil {
		log.Fatal(err)
	}
	defer orchestrator.Stop(ctx)

	module := worker.New(worker.Config{
		Group: "ai-review",
		Bus:   orchestrator.Bus(),
		Handlers: map[string]worker.Handler{
			event.TypeAIReviewRequested: func(_ context.Context, request *event.Envelope) (any, error) {
				fmt.Println("asked about", request.CaseID)
				return map[string]any{"confidence": 0.91, "diagnoses": []string{"D22.5"}}, nil
			},
		},
	})
	if err := module.Start(ctx); err != nil {
		log.Fatal(err)
	}
	defer func() { _ = module.Stop(ctx) }()

	if err := startCase(ctx, orchestrator, "case-1"); err != nil {
		log.Fatal(err)
	}
	instance := <-completed
	fmt.Println(instance.CaseID, "is", instance.Status)
	fmt.Println("the context has", string(instance.Context["ai_review"]))
	// Output:
	// asked about case-1
	// case-1 is completed
	// the context has {"confidence":0.91,"diagnoses":["D22.5"]}
}

// startCase publishes a definition and a case of it.
func startCase(ctx context.Context, e *engine.Engine, caseID string) error {
	me := rondo.Principal{Tenant: "acme", User: "ann", Scopes: []string{rondo.ScopeAdmin}}
	draft, err := e.CreateDefinition(ctx, me, rondo.NewDefinition{Source: []byte(`
name: Just the AI
start_step: ai_review
steps:
  ai_review: {kind: run_ai_review, timeout_seconds: 60, transitions: {on_complete: done}}
  done: {kind: emit_final, transitions: {on_complete: TERMINAL}}
`)})
	if err != nil {
		return err
	}
	if _, err := e.PublishDefinition(ctx, me, draft.ID, "example"); err != nil {
		return err
	}
	created := event.Envelope{
		EventID: rondo.NewIDs(time.Now).New(), Type: event.TypeCaseCreated, SchemaVersion: event.SchemaVersion,
		OccurredAt: time.Now(), CorrelationID: caseID, CaseID: caseID, OrgID: me.Tenant, ProductID: "skin",
	}
	_, err = e.PublishEvent(ctx, me, created.Encode())
	return err
}

// completions passes on every case that completes.
type completions chan *rondo.Instance

func (c completions) Committed(commit engine.Commit) {
	for _, change := range commit.Changes {
		if change.After.Status == rondo.StatusCompleted {
			c <- change.After
		}
	}
}
