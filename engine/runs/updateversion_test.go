package runs

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

func TestAnUpdateCanNameItsVersion(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		st.register(oneStep("1.0.0", "work@1", ""))
		base := st.completed(st.trigger("one", `{}`))
		st.register(oneStep("1.1.0", "work@2", ""))
		st.register(oneStep("2.0.0", "work@3", ""))
		for version, want := range map[string]string{"1.1.0": "1.1.0", "": "2.0.0"} {
			request := UpdateRequest{BaseRunID: base.ID, Definition: DefinitionLatest, WorkflowVersion: version}
			planned, err := st.PlanUpdate(t.Context(), anna, request)
			if err != nil || planned.WorkflowVersion != want {
				t.Errorf("version %q is planned as %s, %v; want %s", version, planned.WorkflowVersion, err, want)
			}
			if run := st.completed(st.update(request)); run.WorkflowVersion != want {
				t.Errorf("version %q runs as %s, want %s", version, run.WorkflowVersion, want)
			}
		}
		_, err := st.Update(t.Context(), anna, UpdateRequest{BaseRunID: base.ID, WorkflowVersion: "1.1.0", Options: rondo.RunOptions{ChangedSteps: []string{"only"}}})
		if pointerOf(err) != "/workflowVersion" {
			t.Errorf("a version of a pinned definition: %v", err)
		}
	})
}

// pointerOf is the place of the first thing that an error finds wrong.
func pointerOf(err error) string {
	if e, ok := err.(*rondo.Error); ok && e.Code == rondo.CodeInvalid && len(e.Fields) > 0 {
		return e.Fields[0].Pointer
	}
	return ""
}

func TestAPlanOfADocumentRegistersNothing(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		st.register(oneStep("1.0.0", "work@1", ""))
		base := st.completed(st.trigger("one", `{}`))
		document := json.RawMessage(oneStep("3.0.0", "work@9", ""))
		initial, err := st.Plan(t.Context(), anna, Request{Document: document})
		if err != nil || initial.WorkflowVersion != "3.0.0" || initial.Steps[0].Decision != WouldRun {
			t.Errorf("the plan of a document: %+v, %v", initial, err)
		}
		update, err := st.PlanUpdate(t.Context(), anna, UpdateRequest{BaseRunID: base.ID, Document: document})
		if err != nil || update.WorkflowVersion != "3.0.0" {
			t.Fatalf("the plan of an update with a document: %+v, %v", update, err)
		}
		if diff := cmp.Diff(PlanStep{StepID: "only", Skill: "work@9", Decision: WouldRun, Reason: rondo.Reason{Code: rondo.ReasonSkillChanged}}, update.Steps[0], ignoreEstimates); diff != "" {
			t.Errorf("its step (-want +got):\n%s", diff)
		}
		if _, err := st.Workflow(t.Context(), anna, "one", "3.0.0"); rondo.CodeOf(err) != rondo.CodeWorkflowNotFound {
			t.Errorf("the document is registered: %v", err)
		}
		if runs, err := st.Runs(t.Context(), anna, store.RunFilter{}, store.Page{Limit: 10}); err != nil || len(runs) != 1 {
			t.Errorf("plans started runs: %d, %v", len(runs), err)
		}
		for name, err := range map[string]error{
			"a run of it":                    second(st.Trigger(t.Context(), anna, Request{Document: document})),
			"an update of it":                second(st.Update(t.Context(), anna, UpdateRequest{BaseRunID: base.ID, Document: document})),
			"the plan of another's document": second(st.Plan(t.Context(), anna, Request{WorkflowName: "two", Document: document})),
		} {
			if rondo.CodeOf(err) != rondo.CodeInvalid {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := st.Plan(t.Context(), anna, Request{Document: json.RawMessage(`{"name":"one","version":"1.0.0","steps":[]}`)}); rondo.CodeOf(err) != rondo.CodeInvalidDef {
			t.Errorf("a document without steps: %v", err)
		}
	}, func(c *Config) { c.Environment = goSkills{} })
}

func second[T any](_ T, err error) error { return err }

var ignoreEstimates = cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".EstimatedMs" || p.Last().String() == ".Cost" }, cmp.Ignore())

func TestStepsThatAreNotThereAreRefused(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		st.register([]byte(`{"name":"two","version":"1.0.0","steps":[{"id":"stays","skill":"work@1"},{"id":"goes","skill":"work@1"}],"changes":{"some":["stays"]}}`))
		base := st.completed(st.trigger("two", `{}`))
		st.register([]byte(`{"name":"two","version":"2.0.0","steps":[{"id":"stays","skill":"work@1"}],"changes":{"some":["stays"]}}`))
		modes := func(step string) rondo.RunOptions {
			return rondo.RunOptions{StepModes: map[string]rondo.CacheMode{step: rondo.CacheRefresh}}
		}
		if err := second(st.Trigger(t.Context(), anna, Request{WorkflowName: "two", Options: modes("goes")})); pointerOf(err) != "/stepModes/goes" {
			t.Errorf("a mode of a step that is not there: %v", err)
		}
		if err := second(st.Plan(t.Context(), anna, Request{WorkflowName: "two", Options: modes("goes")})); pointerOf(err) != "/stepModes/goes" {
			t.Errorf("its plan: %v", err)
		}
		for name, c := range map[string]struct {
			definition string
			options    rondo.RunOptions
			want       string
		}{
			"a mode":                         {"", modes("nowhere"), "/stepModes/nowhere"},
			"a seed of a pinned definition":  {"", rondo.RunOptions{ChangedSteps: []string{"goes", "nowhere"}}, "/changedSteps/1"},
			"a seed of the latest":           {DefinitionLatest, rondo.RunOptions{ChangedSteps: []string{"nowhere"}}, "/changedSteps/0"},
			"a seed that the base knew":      {DefinitionLatest, rondo.RunOptions{ChangedSteps: []string{"goes"}}, ""},
			"a seed that the definition has": {"", rondo.RunOptions{ChangedSteps: []string{"goes"}}, ""},
		} {
			request := UpdateRequest{BaseRunID: base.ID, Change: change("some", ""), Definition: c.definition, Options: c.options}
			_, err := st.PlanUpdate(t.Context(), anna, request)
			if pointerOf(err) != c.want || (err == nil) != (c.want == "") {
				t.Errorf("%s: %v, want %q", name, err, c.want)
			}
		}
	})
}
