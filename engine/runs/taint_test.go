package runs

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/skill"
	"github.com/rondo-engine/rondo/store"
)

// keyOf is the cache key that a step had in a run.
func (st *stage) keyOf(run rondo.ID, step string) string {
	st.t.Helper()
	out, err := st.StepOutput(st.t.Context(), anna, run, step)
	if err != nil || out.Step.CacheKey == "" {
		st.t.Fatalf("step %s has no key: %+v, %v", step, out.Step, err)
	}
	return out.Step.CacheKey
}

func TestTaintListsAndRebuildsExactlyWhatUsedAnEntry(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		w := st.campaign()
		voice := "bad"
		st.workshop.want(bgm, func(call skill.Call) skill.Result { return makes(`{"track":"`+voice+`"}`, voice+string(call.Input)) })
		st.workshop.want(mix, func(call skill.Call) skill.Result { return makes(`{"mix":`+string(call.Input)+`}`, string(call.Input)) })

		producer := st.completed(st.trigger(w.Name, brief))
		linked := st.completed(st.update(UpdateRequest{BaseRunID: producer.ID, Change: change("intro.update", `{"look":"snowy"}`)})) // replaces producer
		cached := st.completed(st.trigger(w.Name, strings.Replace(brief, "confetti", "applause", 1)))                                // found it in the cache
		changed := st.completed(st.update(UpdateRequest{BaseRunID: cached.ID, Change: change("audio.update", `{"music":"wild"}`)}))  // replaces cached, without the entry
		other := st.completed(st.trigger(w.Name, strings.Replace(brief, "Summer", "Winter", 1)))                                     // another key
		synctest.Wait()

		key := st.keyOf(producer.ID, bgm)
		voice = "good"
		st.workshop.computed()
		tainted, err := st.Taint(t.Context(), anna, TaintRequest{Key: key, Why: "the track is off key", Rebuild: true})
		if err != nil {
			t.Fatal(err)
		}
		after := []string{bgm, mix, bundle, manifest, validate}
		want := []TaintedRun{
			{RunID: cached.ID.String(), Status: "completed", StepIDs: after, NotRebuilt: NotRebuiltReplaced},
			{RunID: linked.ID.String(), Status: "completed", StepIDs: after},
			{RunID: producer.ID.String(), Status: "completed", StepIDs: after, NotRebuilt: NotRebuiltReplaced},
		}
		if len(tainted.Rebuilds) != 1 {
			t.Fatalf("rebuilds %v: only %s was not replaced", tainted.Rebuilds, linked.ID)
		}
		want[1].RebuiltBy = tainted.Rebuilds[0]
		if diff := cmp.Diff(want, tainted.Runs); diff != "" {
			t.Errorf("runs (-want +got):\n%s", diff)
		}
		var artifacts []string
		for _, step := range []string{bgm, mix} {
			out, err := st.StepOutput(t.Context(), anna, producer.ID, step)
			if err != nil {
				t.Fatal(err)
			}
			artifacts = append(artifacts, out.Step.ArtifactIDs[0].String())
		}
		slices.Sort(artifacts)
		if diff := cmp.Diff(artifacts, tainted.Artifacts); diff != "" {
			t.Errorf("artifacts (-want +got):\n%s", diff)
		}

		id, err := rondo.ParseID(tainted.Rebuilds[0])
		if err != nil {
			t.Fatal(err)
		}
		rebuilt := st.completed(st.ended(id))
		slices.Sort(after)
		if diff := cmp.Diff(after, st.workshop.computed()); diff != "" {
			t.Errorf("what the rebuild computed (-want +got):\n%s", diff)
		}
		if reasons := st.reasons(id); reasons[bgm] != "completed evicted(tainted)" || reasons[image] != "skipped base" || rebuilt.BaseRunID != linked.ID {
			t.Errorf("the rebuild of %s: %v", rebuilt.BaseRunID, reasons)
		}
		if string(rebuilt.TriggerPayload) != string(linked.TriggerPayload) {
			t.Errorf("the rebuild has the payload %s", rebuilt.TriggerPayload)
		}
		// The good entry is used again, and the others were left alone.
		synctest.Wait()
		if reasons := st.reasons(st.completed(st.trigger(w.Name, brief)).ID); reasons[bgm] != "skipped cache_hot" {
			t.Errorf("after the rebuild the track is %s", reasons[bgm])
		}
		for _, run := range []RunView{changed, other} {
			if updates, err := st.Runs(t.Context(), anna, store.RunFilter{Base: run.ID}, store.Page{Limit: 5}); err != nil || len(updates) > 0 {
				t.Errorf("run %s did not use the entry and has %d updates, %v", run.ID, len(updates), err)
			}
		}
	})
}

func TestASecondResultOfAKeyHasUsersOfItsOwn(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		st.register(oneStep("1.0.0", "work@1", ""))
		say := `"old"`
		st.workshop.want("only", func(skill.Call) skill.Result { return gives(say) })
		st.completed(st.trigger("one", `{}`))
		say = `"new"`
		fresh := st.completed(st.trigger("one", `{}`, func(r *Request) { r.Options.Mode = rondo.CacheRefresh }))
		tainted, err := st.Taint(t.Context(), anna, TaintRequest{Key: st.keyOf(fresh.ID, "only"), Why: "wrong"})
		if err != nil {
			t.Fatal(err)
		}
		if len(tainted.Runs) != 1 || tainted.Runs[0].RunID != fresh.ID.String() || tainted.Rebuilds != nil {
			t.Errorf("the refreshed entry is used by one run: %+v", tainted)
		}
	})
}

func TestTaintOfARunThatHadAChangeKeepsTheChange(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		st.register([]byte(`{"name":"why","version":"1.0.0","steps":[
			{"id":"first","skill":"work@1"},
			{"id":"second","skill":"work@1","depends_on":["first"],"input":{"why":{"change":"type"}}}],
			"changes":{"small":["second"],"large":"*"}}`))
		base := st.completed(st.trigger("why", `{}`))
		// A change that rebuilds everything is left out: the second step is again what
		// it was in a run without one.
		for kind, second := range map[string]string{"small": "skipped cutoff", "large": "skipped cache_hot"} {
			update := st.completed(st.update(UpdateRequest{BaseRunID: base.ID, Change: change(kind, "")}))
			synctest.Wait()
			st.workshop.computed()
			tainted, err := st.Taint(t.Context(), anna, TaintRequest{Key: st.keyOf(update.ID, "first"), Why: "wrong", Rebuild: true})
			if err != nil {
				t.Fatal(err)
			}
			index := slices.IndexFunc(tainted.Runs, func(r TaintedRun) bool { return r.RunID == update.ID.String() })
			if index < 0 || tainted.Runs[index].RebuiltBy == "" {
				t.Fatalf("%s: %+v", kind, tainted)
			}
			id, err := rondo.ParseID(tainted.Runs[index].RebuiltBy)
			if err != nil {
				t.Fatal(err)
			}
			st.completed(st.ended(id))
			if reasons := st.reasons(id); reasons["first"] != "completed evicted(tainted)" || reasons["second"] != second {
				t.Errorf("%s: %v", kind, reasons)
			}
			for _, id := range tainted.Rebuilds {
				parsed, _ := rondo.ParseID(id)
				st.ended(parsed)
			}
		}
	})
}

func TestTaintsThatCannotBe(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		st.register(oneStep("1.0.0", "work@1", ""))
		key := st.keyOf(st.completed(st.trigger("one", `{}`)).ID, "only")
		for name, c := range map[string]struct {
			as       rondo.Principal
			key, why string
			code     rondo.Code
		}{
			"an entry that is not there": {anna, strings.Repeat("0", 64), "wrong", rondo.CodeNotFound},
			"another tenant's":           {rondo.Principal{Tenant: "other"}, key, "wrong", rondo.CodeNotFound},
			"no reason":                  {anna, key, "", rondo.CodeInvalid},
		} {
			if _, err := st.Taint(t.Context(), c.as, TaintRequest{Key: c.key, Why: c.why, Rebuild: true}); rondo.CodeOf(err) != c.code {
				t.Errorf("%s: %v, want %s", name, err, c.code)
			}
		}
		if entries, err := st.Cache(t.Context(), anna, store.CacheFilter{Key: key}, cachePageOf(1)); err != nil || len(entries) != 1 || entries[0].Tainted != "" {
			t.Errorf("the entry after refused taints: %+v, %v", entries, err)
		}
	})
}
