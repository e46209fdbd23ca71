package runs

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/skill"
)

// explained is what Explain says of a step.
func (st *stage) explained(run rondo.ID, step string) StepExplain {
	st.t.Helper()
	all, err := st.Explain(st.t.Context(), anna, run)
	if err != nil {
		st.t.Fatal(err)
	}
	i := slices.IndexFunc(all.Steps, func(s StepExplain) bool { return s.StepID == step })
	if i < 0 {
		st.t.Fatalf("no step %s in %+v", step, all)
	}
	return all.Steps[i]
}

func TestAKeyThatDidNotChangeIsNotCompared(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		st.register(oneStep("1.0.0", "work@1", ""))
		st.trigger("one", `{"word":"a"}`)
		st.trigger("one", `{"word":"b"}`) // the nearest
		run := st.completed(st.trigger("one", `{"word":"a"}`, func(r *Request) { r.Options.Mode = rondo.CacheRefresh }))
		if step := st.explained(run.ID, "only"); len(step.Changed) > 0 || step.ComparedWith != "" {
			t.Errorf("%s is compared with %s: %+v", step.Reason, step.ComparedWith, step.Changed)
		}
	})
}

func TestARotatedSaltIsNamedAndNotShown(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		st.register(oneStep("1.0.0", "work@1", `,"cache":{"salt":"one"}`))
		st.trigger("one", `{}`)
		st.register(oneStep("1.0.0", "work@1", `,"cache":{"salt":"two"}`))
		run := st.completed(st.trigger("one", `{}`))
		if diff := cmp.Diff([]Difference{{Component: "salt", After: "rotated"}}, st.explained(run.ID, "only").Changed); diff != "" {
			t.Errorf("changed (-want +got):\n%s", diff)
		}
	})
}

func TestAStepThatWasNeverReachedNamesWhatFailed(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		st.register([]byte(`{"name":"row","version":"1.0.0","steps":[{"id":"bad","skill":"work@1","retry":{"max_attempts":1}},
			{"id":"next","skill":"work@1","depends_on":["bad"]},{"id":"last","skill":"work@1","depends_on":["next"]}]}`))
		st.workshop.want("bad", func(skill.Call) skill.Result { return skill.Fail(rondo.CodeSkillError, "no", false) })
		run := st.trigger("row", `{}`)
		for _, step := range []string{"next", "last"} {
			if got := st.explained(run.ID, step); got.Text != "it was never reached: bad failed" || got.Reason.Code != "" {
				t.Errorf("%s: %+v", step, got)
			}
		}
		fast := st.trigger("row", `{}`, func(r *Request) { r.Options.FailurePolicy = rondo.FailureFast })
		if got := st.explained(fast.ID, "last"); got.Text != "the run ended before it was its turn: bad failed" {
			t.Errorf("of a run that fails fast: %+v", got)
		}
	})
}

func TestVerifySaysWhatDiffers(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		st.register(oneStep("1.0.0", "work@1", ""))
		calls := 0
		st.workshop.want("only", func(skill.Call) skill.Result {
			calls++
			return makes(fmt.Sprintf(`{"call":%d,"same":true,"token":"t%d"}`, calls, calls), fmt.Sprint(calls))
		})
		first := st.completed(st.trigger("one", `{}`))
		run := st.completed(st.trigger("one", `{}`, func(r *Request) { r.Options.Mode = rondo.CacheVerify }))
		got := st.explained(run.ID, "only")
		want := []Difference{
			{Component: "data.call", Before: "1", After: "2"},
			{Component: "data.token"},
			{Component: "artifacts[0]", Before: "made.txt, 1 bytes, 6b86b273", After: "made.txt, 1 bytes, d4735e3a"},
		}
		if diff := cmp.Diff(want, got.Changed); diff != "" || got.ComparedWith != first.ID.String() {
			t.Errorf("compared with %s, changed (-want +got):\n%s", got.ComparedWith, diff)
		}
		if want := "it was computed again to compare it with the kept result; what came out is not what came out before"; got.Text != want {
			t.Errorf("it says %q", got.Text)
		}
	})
}
