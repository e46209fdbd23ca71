package runs

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/skill"
	"github.com/rondo-engine/rondo/store"
)

// badTrack is a run of a chain whose first step gave something bad, and what to say
// about it.
func (st *stage) badTrack() (run RunView, request TaintRequest) {
	st.t.Helper()
	st.register([]byte(`{"name":"pair","version":"1.0.0","steps":[{"id":"first","skill":"work@1"},
		{"id":"second","skill":"work@1","depends_on":["first"],"input":{"n":{"trigger":"n"},"of":{"step":"first","path":"data"}}}]}`))
	st.workshop.want("first", func(skill.Call) skill.Result { return gives(`"bad"`) })
	run = st.completed(st.trigger("pair", `{"n":1}`))
	synctest.Wait()
	out, err := st.StepOutput(st.t.Context(), anna, run.ID, "first")
	if err != nil {
		st.t.Fatal(err)
	}
	return run, TaintRequest{Key: out.Step.CacheKey, Why: "off key", Rebuild: true, OutputHash: out.Step.OutputHash}
}

func (st *stage) taint(request TaintRequest) Tainted {
	st.t.Helper()
	tainted, err := st.Taint(st.t.Context(), anna, request)
	if err != nil {
		st.t.Fatal(err)
	}
	return tainted
}

func TestTaintingAgainStartsNothingTwice(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		run, request := st.badTrack()
		st.workshop.want("first", func(skill.Call) skill.Result { return gives(`"good"`) })
		listed := request
		listed.Rebuild = false
		if got := st.taint(listed); len(got.Runs) != 1 || got.Runs[0].RebuiltBy != "" || got.Runs[0].NotRebuilt != "" || got.Rebuilds != nil {
			t.Errorf("listed alone: %+v", got)
		}
		started := st.taint(request)
		if len(started.Rebuilds) != 1 {
			t.Fatalf("rebuilds %v", started.Rebuilds)
		}
		again := st.taint(request) // it is under way
		if again.Rebuilds != nil || again.Runs[0].RebuiltBy != started.Rebuilds[0] || again.Recomputed {
			t.Errorf("while it is rebuilt: %+v", again)
		}
		id, err := rondo.ParseID(started.Rebuilds[0])
		if err != nil {
			t.Fatal(err)
		}
		st.completed(st.ended(id))
		synctest.Wait()
		want := Tainted{
			Key: request.Key, Workflow: "pair", StepID: "first", OutputHash: request.OutputHash, Recomputed: true, Artifacts: []string{},
			Runs: []TaintedRun{{RunID: run.ID.String(), Status: "completed", StepIDs: []string{"first", "second"}, RebuiltBy: started.Rebuilds[0]}},
		}
		if diff := cmp.Diff(want, st.taint(request)); diff != "" {
			t.Errorf("when it was rebuilt (-want +got):\n%s", diff)
		}
		entries, err := st.Cache(t.Context(), anna, store.CacheFilter{Key: request.Key}, cachePageOf(1))
		if err != nil || len(entries) != 1 || entries[0].Tainted != "" {
			t.Errorf("the new result: %+v, %v", entries, err)
		}
	})
}

func TestTaintSaysWhyARunIsNotRebuilt(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		_, request := st.badTrack()
		st.workshop.want("second", func(skill.Call) skill.Result { return skill.Fail(rondo.CodeSkillError, "no", false) })
		failed := st.trigger("pair", `{"n":2}`)
		cancelled, err := st.Trigger(t.Context(), anna, Request{WorkflowName: "pair", TriggerPayload: []byte(`{"n":3}`)})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if _, err := st.Cancel(t.Context(), anna, cancelled.ID); err != nil {
			t.Fatal(err)
		}
		running, err := st.Trigger(t.Context(), anna, Request{WorkflowName: "pair", TriggerPayload: []byte(`{"n":4}`)})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		got := map[string]string{}
		for _, run := range st.taint(request).Runs {
			got[run.RunID] = run.NotRebuilt
		}
		for id, want := range map[rondo.ID]string{failed.ID: NotRebuiltFailed, cancelled.ID: NotRebuiltCancelled, running.ID: NotRebuiltRunning} {
			if got[id.String()] != want {
				t.Errorf("a run says %q, want %q", got[id.String()], want)
			}
		}
		st.ended(running.ID)
	})
}

// brokenReads refuses to read the artifacts of one run.
type brokenReads struct {
	store.Runs
	broken rondo.ID
}

func (b *brokenReads) RunArtifacts(ctx context.Context, tenant string, run rondo.ID, step string) ([]rondo.Artifact, error) {
	if run == b.broken {
		return nil, errors.New("disk full of secrets")
	}
	return b.Runs.RunArtifacts(ctx, tenant, run, step)
}

func TestTaintTellsWhatWasStartedWhenSomethingFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads := &brokenReads{}
		st := newStage(t, openMemory(), func(c *Config) { reads.Runs, c.Store = c.Store, reads })
		first, request := st.badTrack()
		other := st.completed(st.trigger("pair", `{"n":2}`))
		reads.broken = other.ID // the newer, it is rebuilt first
		got := st.taint(request)
		if len(got.Rebuilds) != 1 || got.Error != "run "+other.ID.String()+" could not be rebuilt; ask again" || got.Runs[0].NotRebuilt != NotRebuiltError {
			t.Errorf("with a store that fails: %+v", got)
		}
		reads.broken = rondo.ID{}
		again := st.taint(request)
		if len(again.Rebuilds) != 1 || again.Error != "" || again.Runs[0].RebuiltBy != again.Rebuilds[0] {
			t.Errorf("asked again: %+v", again)
		}
		for _, run := range again.Runs {
			if run.RunID == first.ID.String() && run.RebuiltBy != got.Rebuilds[0] {
				t.Errorf("the first one is rebuilt by %s and %s", got.Rebuilds[0], run.RebuiltBy)
			}
			id, _ := rondo.ParseID(run.RebuiltBy)
			st.ended(id)
		}
	})
}
