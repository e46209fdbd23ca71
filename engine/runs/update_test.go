package runs

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/skill"
)

const (
	planStepID = "campaign_plan_from_brief"
	image      = "generate_intro_image"
	button     = "segment_start_button"
	intro      = "generate_intro_video_loop"
	bgm        = "generate_bgm_track"
	sfx        = "generate_sfx_pack"
	mix        = "mix_audio_for_game"
	gameConfig = "game_config_from_template"
	bundle     = "bundle_game_template"
	win        = "generate_outcome_video_win"
	lose       = "generate_outcome_video_lose"
	manifest   = "assemble_campaign_manifest"
	validate   = "validate_game_bundle"
)

// The four changes of the reference workflow: what they touch runs again when its
// input is another, the rest of it is found in the cache, everything else is linked.
var referenceUpdates = []struct {
	kind, payload string
	runs          map[string]string // with their reasons
	cached        []string
}{
	{
		"audio.update", `{"music":"wild"}`, map[string]string{
			bgm: "input_changed(mood)", mix: "input_changed(music)", bundle: "input_changed(audio)",
			manifest: "input_changed(game)", validate: "input_changed(game)",
		}, []string{sfx},
	},
	{
		"intro.update", `{"look":"snowy"}`, map[string]string{
			image: "input_changed(look)", button: "input_changed(image)", intro: "input_changed(image)", manifest: "input_changed(button)",
		}, nil,
	},
	{
		"outcome.update", `{"win":"fireworks"}`, map[string]string{win: "input_changed(scene)", manifest: "input_changed(win)"}, []string{lose},
	},
	{
		"game_config.update", `{"difficulty":"hard"}`, map[string]string{
			gameConfig: "input_changed(difficulty)", bundle: "input_changed(config)", manifest: "input_changed(game)", validate: "input_changed(game)",
		}, nil,
	},
}

func TestUpdatesOfTheReferenceWorkflowRedoWhatTheirChangeTouches(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		w := st.campaign()
		base := st.completed(st.trigger(w.Name, brief))
		if done := st.workshop.computed(); len(done) != 13 {
			t.Fatalf("the first run computed %d steps: %v", len(done), done)
		}
		hits, total := 0, 0
		for _, u := range referenceUpdates {
			run := st.completed(st.update(UpdateRequest{BaseRunID: base.ID, Change: change(u.kind, u.payload)}))
			want, computed := map[string]string{}, []string{}
			for _, step := range w.Steps {
				want[step.ID] = "skipped base"
			}
			for id, reason := range u.runs {
				want[id] = "completed " + reason
				computed = append(computed, id)
			}
			for _, id := range u.cached {
				want[id] = "skipped cache_hot"
			}
			if diff := cmp.Diff(want, st.reasons(run.ID)); diff != "" {
				t.Errorf("%s: steps (-want +got):\n%s", u.kind, diff)
			}
			slices.Sort(computed)
			if diff := cmp.Diff(computed, st.workshop.computed()); diff != "" {
				t.Errorf("%s: what was computed (-want +got):\n%s", u.kind, diff)
			}
			if run.TriggerType != rondo.TriggerUpdate || run.BaseRunID != base.ID || run.Change == nil || run.Change.Type != u.kind {
				t.Errorf("%s: the run does not say what it updates: %+v", u.kind, run.Run)
			}
			analysis, err := st.CacheAnalysis(t.Context(), anna, run.ID)
			if err != nil {
				t.Fatal(err)
			}
			hits, total = hits+analysis.CacheHits, total+analysis.TotalSteps
		}
		if rate := float64(hits) / float64(total); rate <= 0.7 {
			t.Errorf("the hit rate of the reference updates is %.2f (%d of %d), not above 0.70", rate, hits, total)
		}
	})
}

func TestALinkedStepHasEverythingOfTheBase(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		w := st.campaign()
		st.workshop.want(image, func(skill.Call) skill.Result { return makes(`{"image":1}`, "pixels") })
		base := st.completed(st.trigger(w.Name, brief))
		first := st.completed(st.update(UpdateRequest{BaseRunID: base.ID, Change: change("outcome.update", `{"win":"fireworks"}`)}))
		second := st.completed(st.update(UpdateRequest{BaseRunID: first.ID, Change: change("outcome.update", `{"lose":"snow"}`)}))
		was, err := st.StepOutput(t.Context(), anna, base.ID, image)
		if err != nil {
			t.Fatal(err)
		}
		for _, run := range []RunView{first, second} {
			out, err := st.StepOutput(t.Context(), anna, run.ID, image)
			if err != nil {
				t.Fatal(err)
			}
			is := out.Step
			if string(is.Data) != string(was.Step.Data) || is.OutputHash != was.Step.OutputHash || is.CacheKey != was.Step.CacheKey ||
				is.InputHash != was.Step.InputHash || !slices.Equal(is.ArtifactIDs, was.Step.ArtifactIDs) || len(is.ArtifactIDs) != 1 {
				t.Errorf("a linked step is not what it was in the base:\nwas %+v\nis  %+v", was.Step, is)
			}
			if is.SourceRunID != base.ID || !is.CacheHit || is.StaleInput || is.Attempt != 0 {
				t.Errorf("a linked step says source %s, hit %v, stale %v, attempt %d; it was computed in %s", is.SourceRunID, is.CacheHit, is.StaleInput, is.Attempt, base.ID)
			}
			artifacts, err := st.RunArtifacts(t.Context(), anna, run.ID, image)
			if err != nil || len(artifacts) != 1 || artifacts[0].RunID != base.ID {
				t.Errorf("artifacts of the linked step: %+v, %v", artifacts, err)
			}
		}
		if got := string(second.TriggerPayload); !strings.Contains(got, "fireworks") || !strings.Contains(got, "snow") || !strings.Contains(got, "Summer") {
			t.Errorf("the payload of an update of an update has not all that was changed: %s", got)
		}
	})
}

func TestEqualResultsCutOffWhatFollows(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		w := st.campaign()
		st.workshop.want(mix, func(skill.Call) skill.Result { return gives(`{"mixed":true}`) })
		base := st.completed(st.trigger(w.Name, brief))
		st.workshop.computed()
		run := st.completed(st.update(UpdateRequest{BaseRunID: base.ID, Change: change("audio.update", `{"music":"wild"}`)}))
		if diff := cmp.Diff([]string{bgm, mix}, st.workshop.computed()); diff != "" {
			t.Errorf("what was computed (-want +got):\n%s", diff)
		}
		reasons := st.reasons(run.ID)
		for _, id := range []string{bundle, manifest, validate} {
			if reasons[id] != "skipped cutoff" {
				t.Errorf("%s: %s; the mix is what it was", id, reasons[id])
			}
		}
	})
}

func TestAChangeOutsideTheSeedsLeavesStaleInputs(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		w := st.campaign()
		base := st.completed(st.trigger(w.Name, brief))
		st.workshop.computed()
		// The look is none of the audio's business.
		request := UpdateRequest{BaseRunID: base.ID, Change: change("audio.update", `{"look":"snowy"}`)}
		run := st.completed(st.update(request))
		explained, err := st.Explain(t.Context(), anna, run.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range explained.Steps {
			if step.StaleInput != (step.StepID == image) {
				t.Errorf("%s: staleInput %v", step.StepID, step.StaleInput)
			}
		}
		if done := st.workshop.computed(); len(done) > 0 {
			t.Errorf("nothing that the change names has another input, but these were computed: %v", done)
		}
		request.Options.Strict = true
		st.completed(st.update(request))
		if diff := cmp.Diff([]string{manifest, image, intro, button}, st.workshop.computed()); diff != "" {
			t.Errorf("a strict update computes what is stale and what follows (-want +got):\n%s", diff)
		}
	})
}

func TestForceRunsTheSeeds(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		w := st.campaign()
		base := st.completed(st.trigger(w.Name, brief))
		for name, request := range map[string]UpdateRequest{
			"of the change type": {Change: change("outcome.update", "")},
			"named one by one":   {Options: rondo.RunOptions{ChangedSteps: []string{win, lose}}},
		} {
			st.workshop.computed()
			request.BaseRunID, request.Options.Force = base.ID, true
			run := st.completed(st.update(request))
			if diff := cmp.Diff([]string{lose, win}, st.workshop.computed()); diff != "" {
				t.Errorf("%s: what was computed (-want +got):\n%s", name, diff)
			}
			reasons := st.reasons(run.ID)
			if reasons[win] != "completed forced" || reasons[manifest] != "skipped cutoff" {
				t.Errorf("%s: %v", name, reasons)
			}
		}
	})
}

func TestAFullRebuildReadsNoCacheAndWritesIt(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		w := st.campaign()
		base := st.completed(st.trigger(w.Name, brief))
		st.workshop.computed()
		rebuilt := st.completed(st.update(UpdateRequest{BaseRunID: base.ID, Change: change("full_rebuild", "")}))
		if done := st.workshop.computed(); len(done) != 13 {
			t.Errorf("a full rebuild computed %v", done)
		}
		entries, err := st.Cache(t.Context(), anna, store13, cachePageOf(100))
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			if entry.RunID != rebuilt.ID {
				t.Errorf("the entry of %s is still that of run %s", entry.StepID, entry.RunID)
			}
		}
		if len(entries) != 13 {
			t.Errorf("%d entries after a full rebuild of 13 steps", len(entries))
		}
	})
}

func TestTheLatestDefinitionMakesWhatDiffersACandidate(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		const v1 = `{"name":"site","version":"1.0.0","steps":[
			{"id":"read","skill":"read@1","input":{"from":{"trigger":"from"}}},
			{"id":"page","skill":"page@1","depends_on":["read"],"input":{"text":{"step":"read","path":"data"}}},
			{"id":"feed","skill":"feed@1","depends_on":["read"],"input":{"text":{"step":"read","path":"data"}}}],
			"changes":{"text.update":["read"]}}`
		st.register([]byte(v1))
		base := st.completed(st.trigger("site", `{"from":"a"}`))
		v2 := strings.ReplaceAll(strings.ReplaceAll(v1, "page@1", "page@2"), "1.0.0", "1.1.0")
		v2 = strings.Replace(v2, `],
			"changes"`, `,{"id":"index","skill":"index@1","depends_on":["page"]}],
			"changes"`, 1)
		st.register([]byte(v2))
		st.workshop.computed()
		pinned := st.completed(st.update(UpdateRequest{BaseRunID: base.ID, Change: change("text.update", "")}))
		if pinned.WorkflowVersion != "1.0.0" || len(st.workshop.computed()) != 0 {
			t.Errorf("a pinned update without another input: version %s, reasons %v", pinned.WorkflowVersion, st.reasons(pinned.ID))
		}
		latest := st.completed(st.update(UpdateRequest{BaseRunID: base.ID, Definition: DefinitionLatest}))
		want := map[string]string{"read": "skipped base", "feed": "skipped base", "page": "completed skill_changed", "index": "completed first_run"}
		if diff := cmp.Diff(want, st.reasons(latest.ID)); diff != "" || latest.WorkflowVersion != "1.1.0" {
			t.Errorf("an update to %s (-want +got):\n%s", latest.WorkflowVersion, diff)
		}
	})
}

func TestUpdatesThatCannotBe(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		w := st.campaign()
		base := st.completed(st.trigger(w.Name, brief))
		st.completed(st.update(UpdateRequest{BaseRunID: base.ID, Change: change("audio.update", "")}))
		st.workshop.want(planStepID, func(skill.Call) skill.Result { return skill.Fail(rondo.CodeSkillError, "no", false) })
		failed := st.trigger(w.Name, `{"brief":{"title":"another"}}`)
		if failed.Status != rondo.RunFailed {
			t.Fatalf("the run is %s", failed.Status)
		}
		audio := change("audio.update", "")
		stranger := rondo.Principal{Tenant: "other", User: "eve"}
		for name, bad := range map[string]struct {
			as      rondo.Principal
			request UpdateRequest
			code    rondo.Code
			says    string
		}{
			"a base that is not there":       {anna, UpdateRequest{BaseRunID: rondo.ID{1}, Change: audio}, rondo.CodeNotFound, ""},
			"a base of another tenant":       {stranger, UpdateRequest{BaseRunID: base.ID, Change: audio}, rondo.CodeNotFound, ""},
			"a base that failed":             {anna, UpdateRequest{BaseRunID: failed.ID, Change: audio}, rondo.CodeBaseRunNotCompleted, "failed"},
			"a base that was replaced":       {anna, UpdateRequest{BaseRunID: base.ID, Change: audio, IfLatest: true}, rondo.CodeStaleBaseRun, "replaced"},
			"a change that is not known":     {anna, UpdateRequest{BaseRunID: base.ID, Change: change("video.update", "")}, rondo.CodeInvalid, "video.update"},
			"no change at all":               {anna, UpdateRequest{BaseRunID: base.ID}, rondo.CodeInvalid, ""},
			"steps that are not there":       {anna, UpdateRequest{BaseRunID: base.ID, Options: rondo.RunOptions{ChangedSteps: []string{"nothing"}}}, rondo.CodeInvalid, ""},
			"a payload that is no object":    {anna, UpdateRequest{BaseRunID: base.ID, Change: change("audio.update", `[1]`)}, rondo.CodeInvalid, "object"},
			"a payload of null":              {anna, UpdateRequest{BaseRunID: base.ID, Change: change("audio.update", `null`)}, rondo.CodeInvalid, "object"},
			"a payload against the schema":   {anna, UpdateRequest{BaseRunID: base.ID, Change: change("audio.update", `{"difficulty":"absurd"}`)}, rondo.CodeInvalid, "input_schema"},
			"a definition that is no choice": {anna, UpdateRequest{BaseRunID: base.ID, Change: audio, Definition: "newest"}, rondo.CodeInvalid, "newest"},
			"a mode that is not known":       {anna, UpdateRequest{BaseRunID: base.ID, Change: audio, Options: rondo.RunOptions{Mode: "maybe"}}, rondo.CodeInvalid, "maybe"},
			"a policy that is not known":     {anna, UpdateRequest{BaseRunID: base.ID, Change: audio, Options: rondo.RunOptions{FailurePolicy: "hope"}}, rondo.CodeInvalid, "hope"},
		} {
			run, err := st.Update(t.Context(), bad.as, bad.request)
			if rondo.CodeOf(err) != bad.code || !strings.Contains(err.Error(), bad.says) {
				t.Errorf("%s: run %v, error %v (%s); want %s that says %q", name, run, err, rondo.CodeOf(err), bad.code, bad.says)
			}
			if _, err := st.PlanUpdate(t.Context(), bad.as, bad.request); rondo.CodeOf(err) != bad.code {
				t.Errorf("%s: a plan says %v, the update %s", name, err, bad.code)
			}
		}
	})
}

func TestMergePayload(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ base, change, want string }{
		"nothing":         {`{"a":1}`, ``, `{"a":1}`},
		"a member more":   {`{"a":1}`, `{"b":2}`, `{"a":1,"b":2}`},
		"the change wins": {`{"a":{"x":1,"y":2}}`, `{"a":{"x":3}}`, `{"a":{"x":3}}`},
		"null is a value": {`{"a":1}`, `{"a":null}`, `{"a":null}`},
		"large numbers":   {`{"a":12345678901234567890}`, `{"b":0.10}`, `{"a":12345678901234567890,"b":0.10}`},
	} {
		got, err := mergePayload(json.RawMessage(c.base), json.RawMessage(c.change))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v; want %s", name, got, err, c.want)
		}
	}
}
