package runs

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/skill"
)

func TestWhatTheBaseHasNotWholeIsComputedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(t *testing.T, st *stage, base rondo.ID)
		want  string
	}{
		"bytes that are gone": {func(t *testing.T, st *stage, base rondo.ID) {
			artifacts, err := st.RunArtifacts(t.Context(), anna, base, "file")
			if err != nil || len(artifacts) != 1 {
				t.Fatalf("artifacts %v, %v", artifacts, err)
			}
			if n, err := st.bytes.DeleteUnused(t.Context(), []string{artifacts[0].ContentHash}, time.Now().Add(time.Hour)); n != 1 || err != nil {
				t.Fatalf("deleted %d, %v", n, err)
			}
		}, "artifact_missing"},
		"a result that was marked bad": {func(t *testing.T, st *stage, base rondo.ID) {
			if _, err := st.Taint(t.Context(), anna, TaintRequest{Key: st.keyOf(base, "file"), Why: "wrong"}); err != nil {
				t.Fatal(err)
			}
		}, "evicted(tainted)"},
	} {
		t.Run(name, func(t *testing.T) {
			onStages(t, func(t *testing.T, st *stage) {
				st.register([]byte(`{"name":"parts","version":"1.0.0","steps":[
					{"id":"file","skill":"work@1"},{"id":"whole","skill":"work@1"},
					{"id":"seed","skill":"work@1","input":{"n":{"trigger":"n"}}}],"changes":{"n":["seed"]}}`))
				st.workshop.want("file", func(skill.Call) skill.Result { return makes(`1`, "bytes") })
				base := st.completed(st.trigger("parts", `{"n":1}`))
				synctest.Wait()
				c.spoil(t, st, base.ID)
				request := UpdateRequest{BaseRunID: base.ID, Change: change("n", `{"n":2}`)}
				planned, err := st.PlanUpdate(t.Context(), anna, request)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff([]string{"file", "seed"}, planned.Candidates); diff != "" {
					t.Errorf("candidates (-want +got):\n%s", diff)
				}
				if step := planned.Steps[0]; step.Decision != WouldRun || step.Reason.String() != c.want {
					t.Errorf("planned %s for %s, want %s", step.Decision, step.Reason, c.want)
				}
				st.workshop.computed()
				got := st.reasons(st.completed(st.update(request)).ID)
				if got["file"] != "completed "+c.want || got["whole"] != "skipped base" {
					t.Errorf("happened %v", got)
				}
				if done := st.workshop.computed(); !slices.Equal(done, []string{"file", "seed"}) {
					t.Errorf("computed %v", done)
				}
			})
		})
	}
}

func TestAnEntryThatWasComputedAnewLeavesTheBaseLinked(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		st.register([]byte(`{"name":"parts","version":"1.0.0","steps":[{"id":"old","skill":"work@1"},{"id":"seed","skill":"work@1","input":{"n":{"trigger":"n"}}}],"changes":{"n":["seed"]}}`))
		base := st.completed(st.trigger("parts", `{"n":1}`))
		st.workshop.want("old", func(skill.Call) skill.Result { return gives(`"new"`) })
		fresh := st.completed(st.trigger("parts", `{"n":1}`, func(r *Request) { r.Options.Mode = rondo.CacheRefresh }))
		synctest.Wait()
		if _, err := st.Taint(t.Context(), anna, TaintRequest{Key: st.keyOf(fresh.ID, "old"), Why: "wrong"}); err != nil {
			t.Fatal(err)
		}
		if got := st.reasons(st.completed(st.update(UpdateRequest{BaseRunID: base.ID, Change: change("n", `{"n":2}`)})).ID); got["old"] != "skipped base" {
			t.Errorf("the bad result is another one, but the step is %s", got["old"])
		}
	})
}
