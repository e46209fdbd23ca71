package runs

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/plan"
	"github.com/rondo-engine/rondo/skill"
	"github.com/rondo-engine/rondo/store"
)

// oneStep is a workflow of one step with something in it that can change.
func oneStep(version, skillName, members string) []byte {
	return fmt.Appendf(nil, `{"name":"one","version":%q,
		"skills":{"llm.say@1":{"type":"llm","config":{"model":"m","prompt":"say %s","temperature":0.%s}}},
		"steps":[{"id":"only","skill":%q,"input":{"word":{"trigger":"word"},"number":{"trigger":"number"}}%s}],"changes":{"word":["only"],"all":"*"}}`,
		version, strings.Map(digitsOnly, skillName), strings.Map(digitsOnly, members)+"1", skillName, members)
}

func digitsOnly(r rune) rune {
	if r < '0' || r > '9' {
		return -1
	}
	return r
}

// Every reason is met by a real run.
func TestEveryReasonIsReached(t *testing.T) {
	const word = `{"word":"hello"}`
	only := func(t *testing.T, st *stage, run RunView) string {
		t.Helper()
		return strings.TrimPrefix(strings.TrimPrefix(st.reasons(run.ID)["only"], "completed "), "skipped ")
	}
	first := func(st *stage) RunView {
		st.register(oneStep("1.0.0", "work@1", ""))
		return st.completed(st.trigger("one", word))
	}
	again := func(st *stage) RunView { return st.completed(st.trigger("one", word)) }
	changed := func(members string) func(*testing.T, *stage) RunView {
		return func(_ *testing.T, st *stage) RunView {
			first(st)
			st.register(oneStep("1.1.0", "work@1", members))
			return again(st)
		}
	}
	for name, c := range map[string]struct {
		want string
		do   func(*testing.T, *stage) RunView
	}{
		"first run":     {"first_run", func(_ *testing.T, st *stage) RunView { return first(st) }},
		"input changed": {"input_changed(word)", func(_ *testing.T, st *stage) RunView { first(st); return st.trigger("one", `{"word":"bye"}`) }},
		"skill changed": {"skill_changed", func(_ *testing.T, st *stage) RunView {
			first(st)
			st.register(oneStep("1.1.0", "work@2", ""))
			return again(st)
		}},
		"output schema changed": {"config_changed(output_schema)", changed(`,"output_schema":{"type":"object"}`)},
		"salt rotated":          {"salt_rotated", changed(`,"cache":{"salt":"pepper"}`)},
		"expired": {"expired", func(_ *testing.T, st *stage) RunView {
			st.register(oneStep("1.0.0", "work@1", `,"cache":{"ttl":"1m"}`))
			again(st)
			time.Sleep(time.Minute)
			return again(st)
		}},
		"evicted": {"evicted", func(t *testing.T, st *stage) RunView {
			base := first(st)
			synctest.Wait()
			if n, err := st.InvalidateCache(t.Context(), anna, store.CacheFilter{Workflow: "one"}); n != 1 || err != nil {
				t.Fatalf("invalidated %d, %v", n, err)
			}
			return st.update(UpdateRequest{BaseRunID: base.ID, Change: change("word", "")})
		}},
		"evicted without a base": {"first_run", func(t *testing.T, st *stage) RunView {
			first(st)
			synctest.Wait()
			if n, err := st.InvalidateCache(t.Context(), anna, store.CacheFilter{Workflow: "one"}); n != 1 || err != nil {
				t.Fatalf("invalidated %d, %v", n, err)
			}
			return again(st)
		}},
		"tainted": {"evicted(tainted)", func(t *testing.T, st *stage) RunView {
			out, err := st.StepOutput(t.Context(), anna, first(st).ID, "only")
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if _, err := st.Taint(t.Context(), anna, TaintRequest{Key: out.Step.CacheKey, Why: "wrong"}); err != nil {
				t.Fatal(err)
			}
			return again(st)
		}},
		"artifact missing": {"artifact_missing", func(t *testing.T, st *stage) RunView {
			st.workshop.want("only", func(skill.Call) skill.Result { return makes(`1`, "bytes") })
			artifacts, err := st.RunArtifacts(t.Context(), anna, first(st).ID, "")
			if err != nil || len(artifacts) != 1 {
				t.Fatalf("artifacts %v, %v", artifacts, err)
			}
			if n, err := st.bytes.DeleteUnused(t.Context(), []string{artifacts[0].ContentHash}, time.Now().Add(time.Hour)); n != 1 || err != nil {
				t.Fatalf("deleted %d, %v", n, err)
			}
			return again(st)
		}},
		"forced": {"forced", func(_ *testing.T, st *stage) RunView {
			return st.update(UpdateRequest{BaseRunID: first(st).ID, Change: change("word", ""), Options: rondo.RunOptions{Force: true}})
		}},
		"rebuilt": {"forced(all)", func(_ *testing.T, st *stage) RunView {
			return st.update(UpdateRequest{BaseRunID: first(st).ID, Change: change("all", "")})
		}},
		"not cached": {"uncacheable(disabled)", func(_ *testing.T, st *stage) RunView {
			st.register(oneStep("1.0.0", "work@1", `,"cache":{"enabled":false}`))
			return again(st)
		}},
		"not canonical": {"uncacheable", func(_ *testing.T, st *stage) RunView {
			first(st)
			return st.trigger("one", `{"word":"hello","number":12345678901234567890}`)
		}},
		"refresh": {"refresh", func(_ *testing.T, st *stage) RunView {
			first(st)
			return st.trigger("one", word, func(r *Request) { r.Options.Mode = rondo.CacheRefresh })
		}},
		"cache hot": {"cache_hot", func(_ *testing.T, st *stage) RunView { first(st); synctest.Wait(); return again(st) }},
		"cache cold": {"cache_cold", func(t *testing.T, st *stage) RunView {
			out, err := st.StepOutput(t.Context(), anna, first(st).ID, "only")
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if err := st.hotTier.Drop(t.Context(), anna.Tenant, []string{out.Step.CacheKey}); err != nil {
				t.Fatal(err)
			}
			return again(st)
		}},
		"in flight": {"inflight", func(t *testing.T, st *stage) RunView {
			st.register(oneStep("1.0.0", "work@1", ""))
			var both [2]RunView
			var all sync.WaitGroup
			for i := range both {
				all.Go(func() { both[i] = again(st) })
			}
			all.Wait()
			if strings.HasPrefix(st.reasons(both[0].ID)["only"], "skipped") {
				return both[0]
			}
			return both[1]
		}},
	} {
		t.Run(name, func(t *testing.T) {
			onStages(t, func(t *testing.T, st *stage) {
				run := st.completed(c.do(t, st))
				if got := only(t, st, run); got != c.want && !(c.want == "uncacheable" && strings.HasPrefix(got, "uncacheable(")) {
					t.Errorf("the step says %q, want %q", got, c.want)
				}
				explained, err := st.Explain(t.Context(), anna, run.ID)
				if err != nil {
					t.Fatal(err)
				}
				if step := explained.Steps[0]; step.Text == "" || step.Text == step.Reason.String() || step.Text != plan.Sentence(step.Reason) {
					t.Errorf("the reason %s is told as %q", step.Reason, step.Text)
				}
			})
		})
	}
}

func TestPromptsAndConfigsOfSkillsAreNamed(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		document := func(prompt, temperature string) []byte {
			return fmt.Appendf(nil, `{"name":"say","version":"1.0.0",
				"skills":{"llm.say@1":{"type":"llm","config":{"model":"m","prompt":%q,"temperature":%s}}},
				"steps":[{"id":"only","skill":"llm.say@1"}]}`, prompt, temperature)
		}
		for _, c := range []struct{ prompt, temperature, want, component string }{
			{"say it", "0.1", "first_run", ""},
			{"say it well", "0.1", "prompt_changed(prompt)", "prompt.prompt"},
			{"say it well", "0.2", "config_changed(temperature)", "config.temperature"},
		} {
			st.register(document(c.prompt, c.temperature))
			run := st.completed(st.trigger("say", `{}`))
			explained, err := st.Explain(t.Context(), anna, run.ID)
			if err != nil {
				t.Fatal(err)
			}
			step := explained.Steps[0]
			if step.Reason.String() != c.want {
				t.Errorf("prompt %q at %s: %s, want %s", c.prompt, c.temperature, step.Reason, c.want)
			}
			if c.component == "" && len(step.Changed) > 0 || c.component != "" && (len(step.Changed) != 1 || step.Changed[0].Component != c.component) {
				t.Errorf("prompt %q at %s: changed %+v, want %s", c.prompt, c.temperature, step.Changed, c.component)
			}
		}
	})
}

func TestExplainComparesWithTheBaseElseWithTheNearest(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		w := st.campaign()
		base := st.completed(st.trigger(w.Name, brief))
		update := st.completed(st.update(UpdateRequest{BaseRunID: base.ID, Change: change("audio.update", `{"music":"wild"}`)}))
		other := st.completed(st.trigger(w.Name, strings.Replace(brief, "calm", "slow", 1)))
		for name, c := range map[string]struct {
			run  rondo.ID
			with rondo.ID
			want Difference
		}{
			"an update":        {update.ID, base.ID, Difference{Component: "input.mood", Before: `"calm"`, After: `"wild"`}},
			"a run of its own": {other.ID, update.ID, Difference{Component: "input.mood", Before: `"wild"`, After: `"slow"`}},
		} {
			explained, err := st.Explain(t.Context(), anna, c.run)
			if err != nil {
				t.Fatal(err)
			}
			for _, step := range explained.Steps {
				if step.StepID != bgm {
					continue
				}
				if step.ComparedWith != c.with.String() {
					t.Errorf("%s: compared with %s, want %s", name, step.ComparedWith, c.with)
				}
				if diff := cmp.Diff([]Difference{c.want}, step.Changed); diff != "" {
					t.Errorf("%s: what changed (-want +got):\n%s", name, diff)
				}
			}
		}
		explained, err := st.Explain(t.Context(), anna, update.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range explained.Steps {
			if linked := step.Reason.Code == rondo.ReasonBase; linked && (step.SourceRunID != base.ID.String() || len(step.Changed) > 0) {
				t.Errorf("%s is linked: source %s, changed %+v", step.StepID, step.SourceRunID, step.Changed)
			}
		}
	})
}

func TestVerifyIsExplained(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		st.register(oneStep("1.0.0", "work@1", ""))
		calls := 0
		st.workshop.want("only", func(skill.Call) skill.Result {
			calls++
			return gives(fmt.Sprint(calls / 3)) // the third differs
		})
		verify := func(r *Request) { r.Options.Mode = rondo.CacheVerify }
		st.trigger("one", `{}`)
		for _, want := range []bool{true, false} {
			run := st.completed(st.trigger("one", `{}`, verify))
			explained, err := st.Explain(t.Context(), anna, run.ID)
			if err != nil {
				t.Fatal(err)
			}
			if got := explained.Steps[0].Deterministic; got == nil || *got != want {
				t.Errorf("verify found %v, want %v", got, want)
			}
		}
	})
}

func TestCacheAnalysisSaysWhatWasSaved(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		w := st.campaign()
		base := st.completed(st.trigger(w.Name, brief))
		update := st.completed(st.update(UpdateRequest{BaseRunID: base.ID, Change: change("outcome.update", `{"win":"fireworks"}`)}))
		first, err := st.CacheAnalysis(t.Context(), anna, base.ID)
		if err != nil {
			t.Fatal(err)
		}
		if first.TotalSteps != 13 || first.CacheHits != 0 || first.CacheMisses != 13 || first.TimeSavedMs != 0 {
			t.Errorf("a first run: %+v", first)
		}
		second, err := st.CacheAnalysis(t.Context(), anna, update.ID)
		if err != nil {
			t.Fatal(err)
		}
		if second.CacheHits != 11 || second.CacheMisses != 2 || second.TimeSavedMs != 11*workTakes.Milliseconds() || second.CostSaved != 11*0.5 {
			t.Errorf("an update that computes 2 of 13: hits %d, misses %d, saved %d ms and %v", second.CacheHits, second.CacheMisses, second.TimeSavedMs, second.CostSaved)
		}
		for _, step := range second.Steps {
			if ran := step.StepID == win || step.StepID == manifest; step.CacheHit == ran || ran && step.DurationMs != workTakes.Milliseconds() {
				t.Errorf("%s: %+v", step.StepID, step)
			}
		}
	})
}
