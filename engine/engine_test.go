package engine_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/modules"
	"github.com/rondo-engine/rondo/store/memory"
)

func user() rondo.Principal {
	return rondo.Principal{Tenant: "acme", User: "ann", Scopes: []string{rondo.ScopeAdmin}}
}

// publishTemplate makes a shipped template the active definition of acme.
func publishTemplate(t *testing.T, e *engine.Engine, name string) rondo.Definition {
	t.Helper()
	templates, err := e.Templates(t.Context(), user())
	if err != nil {
		t.Fatal(err)
	}
	for _, template := range templates {
		if template.Name != name {
			continue
		}
		draft, err := e.CreateDefinition(t.Context(), user(), rondo.NewDefinition{TemplateID: template.ID})
		if err != nil {
			t.Fatal(err)
		}
		active, err := e.PublishDefinition(t.Context(), user(), draft.ID, "test")
		if err != nil {
			t.Fatal(err)
		}
		return active
	}
	t.Fatalf("no template %s among %d", name, len(templates))
	return rondo.Definition{}
}

func caseCreated(caseID string) []byte {
	ids := rondo.NewIDs(time.Now)
	e := event.Envelope{
		EventID: ids.New(), Type: event.TypeCaseCreated, SchemaVersion: event.SchemaVersion, OccurredAt: time.Now().UTC(),
		CorrelationID: caseID, CaseID: caseID, OrgID: "acme", ProductID: "skin",
		Payload: json.RawMessage(`{"patient_id":"p1","images":[{"id":"i1","type":"DERMOSCOPIC"}]}`),
	}
	return e.Encode()
}

// ended signals the status of every case that leaves running.
type ended chan rondo.Instance

func (c ended) Committed(commit engine.Commit) {
	for _, change := range commit.Changes {
		if change.After.Status != rondo.StatusRunning {
			c <- *change.After
		}
	}
}

func TestACaseGoesThroughItsTemplateOnTheEmbeddedBus(t *testing.T) {
	s := memory.Open(memory.Options{Embedded: true})
	done := make(ended, 16)
	e, err := engine.New(engine.Config{Store: s, Observer: done})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer e.Stop(context.WithoutCancel(t.Context()))
	suite := modules.New(e.Bus(), modules.Config{})
	if err := suite.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer suite.Stop(context.WithoutCancel(t.Context()))
	publishTemplate(t, e, "ai_with_confidence_escalation")
	receipt, err := e.PublishEvent(t.Context(), user(), caseCreated("c1"))
	if err != nil {
		t.Fatal(err)
	}
	if receipt.Outcome != rondo.OutcomeApplied {
		t.Fatalf("case.created was %s", receipt.Outcome)
	}
	select {
	case i := <-done:
		if i.Status != rondo.StatusCompleted {
			t.Fatalf("the case ended %s (%s at %s)", i.Status, i.HaltReason, i.HaltStepID)
		}
		steps, _, err := e.Steps(t.Context(), user(), i.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range steps {
			t.Logf("%d %s %s %s", step.Seq, step.StepID, step.Status, step.Output)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the case did not end")
	}
}
