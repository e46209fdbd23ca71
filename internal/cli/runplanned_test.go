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
	source := runSource{body: []byte(`{"steps": []}`)}
	if err := c.planMemory(ask).keep(client.RunPlan{WorkflowName: "flow", Steps: []client.RunPlanStep{{StepID: "a", Decision: "would_run"}}}, source); err != nil {
		t.Fatal(err)
	}
	if kept, _, err := c.planMemory(other).take(source); kept != nil || err != nil {
		t.Errorf("another base has the plan %+v (%v)", kept, err)
	}
	kept, changed, err := c.planMemory(ask).take(runSource{body: []byte(`{}`)})
	if err != nil || kept == nil || len(kept.Steps) != 1 {
		t.Fatalf("kept %+v (%v), want the plan", kept, err)
	}
	if !changed {
		t.Error("another file counts as the one that was planned")
	}
	if again, _, err := c.planMemory(ask).take(source); again != nil || err != nil {
		t.Errorf("the plan is there after it was taken: %+v (%v)", again, err)
	}
	if held := hold(kept, false, []client.RunStep{{StepID: "a", Status: rondo.RunStepCompleted}}); !held.AsPlanned {
		t.Errorf("a step that ran as planned deviates: %+v", held.Deviations)
	}
	if held := hold(kept, false, []client.RunStep{{StepID: "a", Status: rondo.RunStepSkipped, CacheHit: true, Reason: &rondo.Reason{Code: rondo.ReasonCacheHot}}}); held.AsPlanned {
		t.Error("a step that was reused although it was to run is as planned")
	}
	if files, _ := filepath.Glob(filepath.Join(c.Data, "plans", "*")); len(files) != 0 {
		t.Errorf("%v is left", files)
	}
}
