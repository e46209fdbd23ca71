package runs

import (
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/skill"
	"github.com/rondo-engine/rondo/store"
)

func TestARunIsReadWhileItGoesOn(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		w := st.campaign()
		run, err := st.Trigger(t.Context(), anna, Request{WorkflowName: w.Name, TriggerPayload: []byte(brief)})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(workTakes + workTakes/2)
		view, err := st.Run(t.Context(), anna, run.ID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(StepsSummary{Total: 13, Completed: 1, Running: 6, Pending: 6}, view.Summary); diff != "" {
			t.Errorf("after the first step (-want +got):\n%s", diff)
		}
		for status, want := range map[rondo.RunStepStatus][]string{
			"": {
				planStepID, image, button, intro, bgm, sfx, mix, gameConfig, bundle, win, lose, manifest, validate,
			},
			rondo.RunStepCompleted: {planStepID},
			rondo.RunStepRunning:   {image, bgm, sfx, gameConfig, win, lose},
			rondo.RunStepPending:   {button, intro, mix, bundle, manifest, validate},
			rondo.RunStepFailed:    nil,
		} {
			steps, err := st.Steps(t.Context(), anna, run.ID, status)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, step := range steps {
				got = append(got, step.StepID)
				if step.Data != nil || step.Skill == "" || step.RunID != run.ID {
					t.Errorf("a step in a list: %+v", step)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("steps that are %q (-want +got):\n%s", status, diff)
			}
		}
		pending, err := st.StepOutput(t.Context(), anna, run.ID, mix)
		if err != nil || pending.Step.Status != rondo.RunStepPending || pending.Attempts != nil {
			t.Errorf("a pending step: %+v, %v", pending, err)
		}
		explained, err := st.Explain(t.Context(), anna, run.ID)
		if err != nil || len(explained.Steps) != 13 || explained.Steps[6].Text == "" {
			t.Errorf("a run that goes on is explained: %+v, %v", explained, err)
		}
		st.completed(st.ended(run.ID))
	})
}

func TestAttemptsAreKept(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		st.register(oneStep("1.0.0", "work@1", `,"retry":{"max_attempts":3,"backoff":"1s"}`))
		st.workshop.want("only", func(call skill.Call) skill.Result {
			if call.Attempt < 3 {
				return skill.Fail(rondo.CodeSkillError, "not yet", true)
			}
			return gives(`{"done":true}`)
		})
		run := st.completed(st.trigger("one", `{}`))
		out, err := st.StepOutput(t.Context(), anna, run.ID, "only")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, attempt := range out.Attempts {
			got = append(got, string(attempt.Status))
		}
		if diff := cmp.Diff([]string{"failed", "failed", "completed"}, got); diff != "" {
			t.Errorf("attempts (-want +got):\n%s", diff)
		}
		if out.Step.Attempt != 3 || string(out.Step.Data) != `{"done":true}` || out.Attempts[0].Error == nil {
			t.Errorf("the last attempt: %+v; the first: %+v", out.Step, out.Attempts[0])
		}
		if diff := cmp.Diff(StepsSummary{Total: 1, Completed: 1}, run.Summary); diff != "" {
			t.Errorf("a step counts once (-want +got):\n%s", diff)
		}
	})
}

func TestArtifactsAreReadAndChecked(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		st.register(oneStep("1.0.0", "work@1", ""))
		st.workshop.want("only", func(skill.Call) skill.Result {
			result := makes(`1`, "the bytes")
			result.Artifacts = append(result.Artifacts, skill.Artifact{Type: "text/html", Name: "elsewhere", URI: "https://example.org/page"})
			return result
		})
		run := st.completed(st.trigger("one", `{}`))
		artifacts, err := st.RunArtifacts(t.Context(), anna, run.ID, "only")
		if err != nil || len(artifacts) != 2 {
			t.Fatalf("artifacts %+v, %v", artifacts, err)
		}
		slices.SortFunc(artifacts, func(a, b rondo.Artifact) int { return strings.Compare(b.Type, a.Type) })
		one, err := st.Artifact(t.Context(), anna, artifacts[0].ID)
		if err != nil || one.Filename != "made.txt" || one.Size != int64(len("the bytes")) {
			t.Errorf("artifact %+v, %v", one, err)
		}
		content, about, err := st.OpenArtifact(t.Context(), anna, artifacts[0].ID)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(content)
		if err != nil || string(text) != "the bytes" || about.ID != one.ID {
			t.Errorf("content %q of %s, %v", text, about.ID, err)
		}
		if err := content.Close(); err != nil {
			t.Error(err)
		}
		if none, err := st.RunArtifacts(t.Context(), anna, run.ID, "another"); err != nil || len(none) > 0 {
			t.Errorf("artifacts of a step that has none: %v, %v", none, err)
		}
		if _, _, err := st.OpenArtifact(t.Context(), anna, artifacts[1].ID); rondo.CodeOf(err) != rondo.CodeNotFound || !strings.Contains(err.Error(), "not stored here") {
			t.Errorf("bytes that are elsewhere: %v", err)
		}
		if _, err := st.bytes.DeleteUnused(t.Context(), []string{one.ContentHash}, time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := st.OpenArtifact(t.Context(), anna, artifacts[0].ID); rondo.CodeOf(err) != rondo.CodeNotFound || !strings.Contains(err.Error(), "gone") {
			t.Errorf("bytes that are gone: %v", err)
		}
	})
}

func TestTenantsReadNothingOfEachOther(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		st.register(oneStep("1.0.0", "work@1", ""))
		st.workshop.want("only", func(skill.Call) skill.Result { return makes(`1`, "bytes") })
		run := st.completed(st.trigger("one", `{}`))
		synctest.Wait()
		artifacts, err := st.RunArtifacts(t.Context(), anna, run.ID, "")
		if err != nil || len(artifacts) != 1 {
			t.Fatalf("artifacts %v, %v", artifacts, err)
		}
		ctx, eve := t.Context(), rondo.Principal{Tenant: "other", User: "eve"}
		for name, read := range map[string]func() error{
			"Run":           func() error { _, err := st.Run(ctx, eve, run.ID); return err },
			"Steps":         func() error { _, err := st.Steps(ctx, eve, run.ID, ""); return err },
			"StepOutput":    func() error { _, err := st.StepOutput(ctx, eve, run.ID, "only"); return err },
			"RunArtifacts":  func() error { _, err := st.RunArtifacts(ctx, eve, run.ID, ""); return err },
			"Artifact":      func() error { _, err := st.Artifact(ctx, eve, artifacts[0].ID); return err },
			"OpenArtifact":  func() error { _, _, err := st.OpenArtifact(ctx, eve, artifacts[0].ID); return err },
			"Explain":       func() error { _, err := st.Explain(ctx, eve, run.ID); return err },
			"CacheAnalysis": func() error { _, err := st.CacheAnalysis(ctx, eve, run.ID); return err },
		} {
			if err := read(); rondo.CodeOf(err) != rondo.CodeNotFound {
				t.Errorf("%s by another tenant: %v", name, err)
			}
		}
		filter := store.RunFilter{TenantID: anna.Tenant}
		if runs, err := st.Runs(ctx, eve, filter, store.Page{Limit: 5}); err != nil || len(runs) > 0 {
			t.Errorf("another tenant lists %d runs, %v", len(runs), err)
		}
		cache := store.CacheFilter{TenantID: anna.Tenant}
		if entries, err := st.Cache(ctx, eve, cache, cachePageOf(5)); err != nil || len(entries) > 0 {
			t.Errorf("another tenant lists %d entries, %v", len(entries), err)
		}
		if stats, err := st.CacheStats(ctx, eve, cache); err != nil || stats.Entries > 0 {
			t.Errorf("another tenant sums %+v, %v", stats, err)
		}
		if n, err := st.InvalidateCache(ctx, eve, cache); err != nil || n > 0 {
			t.Errorf("another tenant invalidated %d, %v", n, err)
		}
		if again := st.trigger("one", `{}`); st.reasons(again.ID)["only"] != "skipped cache_hot" {
			t.Errorf("the entry after all that: %v", st.reasons(again.ID))
		}
	})
}

func TestWhatIsNotThereIsNotFound(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		st.register(oneStep("1.0.0", "work@1", ""))
		run := st.completed(st.trigger("one", `{}`))
		if _, err := st.StepOutput(t.Context(), anna, run.ID, "nothing"); rondo.CodeOf(err) != rondo.CodeNotFound || !strings.Contains(err.Error(), `"nothing"`) {
			t.Errorf("a step that is not there: %v", err)
		}
		if _, err := st.Workflow(t.Context(), anna, "nothing", ""); rondo.CodeOf(err) != rondo.CodeWorkflowNotFound {
			t.Errorf("a workflow that is not there: %v", err)
		}
		if _, err := st.Artifact(t.Context(), anna, rondo.ID{1}); rondo.CodeOf(err) != rondo.CodeNotFound {
			t.Errorf("an artifact that is not there: %v", err)
		}
	})
}

func TestWorkflowsAreShown(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		st.campaign()
		view, err := st.Workflow(t.Context(), anna, "campaign.build", "")
		if err != nil {
			t.Fatal(err)
		}
		all, err := st.Workflows(t.Context(), anna)
		if err != nil || len(all) != 1 {
			t.Fatalf("workflows %v, %v", all, err)
		}
		if diff := cmp.Diff(view, all[0]); diff != "" {
			t.Errorf("the list and the one differ:\n%s", diff)
		}
		if len(view.Steps) != 13 || len(view.InputSchema) == 0 || view.DefinitionHash == "" {
			t.Errorf("the workflow: %+v", view)
		}
		want := WorkflowStep{StepID: mix, Skill: "simulated.mix@1", DependsOn: []string{bgm, sfx}, Class: "deterministic"}
		if diff := cmp.Diff(want, view.Steps[6]); diff != "" {
			t.Errorf("the mix (-want +got):\n%s", diff)
		}
		changes := map[string][]string{
			"audio.update": {bgm, sfx, mix}, "intro.update": {image, button, intro}, "outcome.update": {win, lose},
			"game_config.update": {gameConfig}, "full_rebuild": {"*"},
		}
		if diff := cmp.Diff(changes, view.ChangeRequestMappings); diff != "" {
			t.Errorf("changes (-want +got):\n%s", diff)
		}
	})
}

func TestRunsAreListedByFilter(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		w := st.campaign()
		base := st.completed(st.trigger(w.Name, brief))
		update := st.completed(st.update(UpdateRequest{BaseRunID: base.ID, Change: change("audio.update", "")}))
		for name, c := range map[string]struct {
			filter store.RunFilter
			want   []rondo.ID
		}{
			"all":      {store.RunFilter{}, []rondo.ID{update.ID, base.ID}},
			"updates":  {store.RunFilter{Trigger: rondo.TriggerUpdate}, []rondo.ID{update.ID}},
			"of a run": {store.RunFilter{Base: base.ID}, []rondo.ID{update.ID}},
			"failed":   {store.RunFilter{Status: rondo.RunFailed}, nil},
			"another":  {store.RunFilter{Workflow: "another"}, nil},
		} {
			views, err := st.Runs(t.Context(), anna, c.filter, store.Page{Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			var got []rondo.ID
			for _, view := range views {
				got = append(got, view.ID)
				if view.Summary.Total != 13 || view.Summary.Completed+view.Summary.Skipped != 13 {
					t.Errorf("%s: summary %+v", name, view.Summary)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%s: %v, want %v", name, got, c.want)
			}
		}
	})
}
