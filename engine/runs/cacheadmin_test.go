package runs

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo/store"
)

func TestInvalidationTakesWhatItNamesFromBothTiers(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		w := st.campaign()
		st.completed(st.trigger(w.Name, brief))
		synctest.Wait()
		st.workshop.computed()
		removed, err := st.InvalidateCache(t.Context(), anna, store.CacheFilter{Workflow: w.Name, Step: mix})
		if err != nil || removed != 1 {
			t.Fatalf("invalidated %d, %v", removed, err)
		}
		run := st.completed(st.trigger(w.Name, brief))
		if diff := cmp.Diff([]string{mix}, st.workshop.computed()); diff != "" {
			t.Errorf("what was computed after one step was invalidated (-want +got):\n%s", diff)
		}
		if reasons := st.reasons(run.ID); reasons[mix] != "completed first_run" || reasons[bundle] != "skipped cache_hot" {
			t.Errorf("reasons %v", reasons)
		}
		synctest.Wait()
		if removed, err = st.InvalidateCache(t.Context(), anna, store.CacheFilter{}); err != nil || removed != 13 {
			t.Errorf("invalidated %d of 13, %v", removed, err)
		}
		if entries, bytes := st.hotTier.Stats(); entries > 0 {
			t.Errorf("the hot tier still has %d entries of %d bytes", entries, bytes)
		}
		if stats, err := st.CacheStats(t.Context(), anna, store.CacheFilter{}); err != nil || stats != (store.CacheStats{}) {
			t.Errorf("the cold tier still has %+v, %v", stats, err)
		}
	})
}

func TestInvalidationGoesThroughManyPages(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		const many = 2*cachePage + 7
		steps := make([]map[string]any, many)
		for i := range steps {
			steps[i] = map[string]any{"id": fmt.Sprintf("s%d", i), "skill": "work@1"}
		}
		wide := workflowModel{name: "wide", steps: steps}
		st.register(wide.document(t))
		st.completed(st.trigger("wide", `{}`))
		synctest.Wait()
		removed, err := st.InvalidateCache(t.Context(), anna, store.CacheFilter{Workflow: "wide"})
		if err != nil || removed != many {
			t.Errorf("invalidated %d of %d, %v", removed, many, err)
		}
		if entries, _ := st.hotTier.Stats(); entries > 0 {
			t.Errorf("the hot tier still has %d entries", entries)
		}
	}, func(c *Config) { c.Slots = 200 })
}
