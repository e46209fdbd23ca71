package cli

import (
	"path/filepath"
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/client"
)

func TestAPlanIsKeptForTheSameQuestionAlone(t *testing.T) {
	t.Parallel()
	c := runCommand{File: "flow.yaml"}
	c.Data = t.TempDir()
	ask := runAsk{Workflow: "flow", Base: "b", Update: client.RunUpdate{ChangeRequest: &rondo.ChangeRequest{Type: "x"}}}
	other := ask
	other.Base = "c"
	if err := c.planMemory(ask).keep(client.RunPlan{WorkflowName: "flow", Steps: []client.RunPlanStep{{StepID: "a", Decision: "would_run"}}}); err != nil {
		t.Fatal(err)
	}
	if kept, err := c.planMemory(other).take(); kept != nil || err != nil {
		t.Errorf("another base has the plan %+v (%v)", kept, err)
	}
	kept, err := c.planMemory(ask).take()
	if err != nil || kept == nil || len(kept.Steps) != 1 {
		t.Fatalf("kept %+v (%v), want the plan", kept, err)
	}
	if again, err := c.planMemory(ask).take(); again != nil || err != nil {
		t.Errorf("the plan is there after it was taken: %+v (%v)", again, err)
	}
	if held := hold(kept, []client.RunStep{{StepID: "a", Status: rondo.RunStepCompleted}}); !held.AsPlanned {
		t.Errorf("a step that ran as planned deviates: %+v", held.Deviations)
	}
	if held := hold(kept, []client.RunStep{{StepID: "a", Status: rondo.RunStepSkipped, CacheHit: true, Reason: &rondo.Reason{Code: rondo.ReasonCacheHot}}}); held.AsPlanned {
		t.Error("a step that was reused although it was to run is as planned")
	}
	if files, _ := filepath.Glob(filepath.Join(c.Data, "plans", "*")); len(files) != 0 {
		t.Errorf("%v is left", files)
	}
}
