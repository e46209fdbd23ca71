package runs

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/skill"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/memory"
)

func TestARunDoesWhatItsPlanSaid(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		seeds := uint64(25)
		if _, quick := st.runs.(*memory.Store); !quick {
			seeds = 8
		}
		for seed := range seeds {
			r := rand.New(rand.NewPCG(seed, 7))
			random := randomWorkflow(r, int(seed))
			st.register(random.document(t))
			for _, id := range random.constant {
				st.workshop.want(id, func(skill.Call) skill.Result { return gives(`{"v":"always"}`) })
			}
			request := Request{WorkflowName: random.name, TriggerPayload: randomPayload(r)}
			base := st.asPlanned(seed, request)
			for range 4 {
				if r.IntN(3) == 0 {
					time.Sleep(time.Hour) // some entries expire
				}
				switch {
				case r.IntN(4) == 0:
					again := request
					again.Options = randomOptions(r, random)
					if r.IntN(2) == 0 {
						again.TriggerPayload = randomPayload(r)
					}
					st.asPlanned(seed, again)
				default:
					if next := st.updatedAsPlanned(seed, UpdateRequest{
						BaseRunID: base, Change: rondo.ChangeRequest{Type: "some", Payload: randomPayload(r)}, Options: randomOptions(r, random),
					}); !next.IsZero() && r.IntN(2) == 0 {
						base = next
					}
				}
			}
			for _, id := range random.constant {
				st.workshop.want(id, nil)
			}
		}
	})
}

// asPlanned plans a run, starts it and compares; it returns the run.
func (st *stage) asPlanned(seed uint64, request Request) rondo.ID {
	st.t.Helper()
	planned, err := st.Plan(st.t.Context(), anna, request)
	if err != nil {
		st.t.Fatalf("seed %d: plan: %v", seed, err)
	}
	run, err := st.Trigger(st.t.Context(), anna, request)
	if err != nil {
		st.t.Fatalf("seed %d: trigger: %v", seed, err)
	}
	st.compare(seed, planned, st.ended(run.ID))
	return run.ID
}

// updatedAsPlanned does so with an update run; zero when it failed, as planned.
func (st *stage) updatedAsPlanned(seed uint64, request UpdateRequest) rondo.ID {
	st.t.Helper()
	planned, err := st.PlanUpdate(st.t.Context(), anna, request)
	if err != nil {
		st.t.Fatalf("seed %d: plan: %v", seed, err)
	}
	run, err := st.Update(st.t.Context(), anna, request)
	if err != nil {
		st.t.Fatalf("seed %d: update: %v", seed, err)
	}
	view := st.ended(run.ID)
	st.compare(seed, planned, view)
	if view.Status != rondo.RunCompleted {
		return rondo.ID{}
	}
	return run.ID
}

// compare holds a run against its plan, more strictly than ComparePlan does.
func (st *stage) compare(seed uint64, planned Plan, run RunView) {
	st.t.Helper()
	synctest.Wait() // what was computed is on its way to the hot tier
	steps, err := st.Steps(st.t.Context(), anna, run.ID, "")
	if err != nil {
		st.t.Fatal(err)
	}
	if deviations := ComparePlan(planned, steps); len(deviations) > 0 {
		st.t.Errorf("seed %d, %s run %s: deviations %+v", seed, run.TriggerType, run.Status, deviations)
	}
	for i, step := range steps {
		p := planned.Steps[i]
		if p.StepID != step.StepID || p.StaleInput != step.StaleInput {
			st.t.Errorf("seed %d: step %s (stale %v) was planned as %s (stale %v)", seed, step.StepID, step.StaleInput, p.StepID, p.StaleInput)
		}
		if p.Decision == WouldRun && p.Reason != step.Reason {
			st.t.Errorf("seed %d: step %s ran for %s, planned was %s", seed, step.StepID, step.Reason, p.Reason)
		}
		if (p.Error != nil) != (step.Status == rondo.RunStepFailed) && p.Decision != UnknownUntil {
			st.t.Errorf("seed %d: step %s is %s, planned error %+v", seed, step.StepID, step.Status, p.Error)
		}
		if p.Decision == UnknownUntil && len(p.Until) == 0 {
			st.t.Errorf("seed %d: step %s is not known until nothing", seed, step.StepID)
		}
	}
	if run.Status != rondo.RunCompleted && run.Options.Mode != rondo.CacheOnly {
		st.t.Errorf("seed %d: the run is %s: %+v", seed, run.Status, run.Error)
	}
	if sum := planned.Summary; sum.WouldRun+sum.Reuse+sum.Unknown+sum.Fails+sum.NeverReached != len(steps) {
		st.t.Errorf("seed %d: the summary %+v does not add up to %d steps", seed, sum, len(steps))
	}
}

// workflowModel is a random workflow.
type workflowModel struct {
	name     string
	steps    []map[string]any
	constant []string // steps that always give the same
}

func randomWorkflow(r *rand.Rand, n int) workflowModel {
	w := workflowModel{name: fmt.Sprintf("random.w%d", n)}
	for i := range 1 + r.IntN(12) {
		id := fmt.Sprintf("s%d", i)
		input := map[string]any{"own": map[string]any{"const": i}}
		if r.IntN(2) == 0 {
			input["given"] = map[string]any{"trigger": fmt.Sprintf("m%d", r.IntN(3))}
		}
		if r.IntN(8) == 0 {
			input["why"] = map[string]any{"change": "payload"}
		}
		var needs []string
		for before := range i {
			if r.IntN(3) > 0 {
				continue
			}
			need := fmt.Sprintf("s%d", before)
			needs = append(needs, need)
			if r.IntN(4) > 0 {
				input["of_"+need] = map[string]any{"step": need, "path": "data"}
			}
		}
		step := map[string]any{"id": id, "skill": "work@1", "input": input}
		if needs != nil {
			step["depends_on"] = needs
		}
		switch r.IntN(12) {
		case 0:
			step["cache"] = map[string]any{"enabled": false}
		case 1:
			step["cache"] = map[string]any{"scope": "run_only"}
		case 2:
			step["cache"] = map[string]any{"ttl": "1h"}
		}
		if r.IntN(3) == 0 {
			w.constant = append(w.constant, id)
		}
		w.steps = append(w.steps, step)
	}
	return w
}

func (w *workflowModel) document(t *testing.T) []byte {
	t.Helper()
	seeds := []string{}
	for i, step := range w.steps {
		if i%3 == 0 {
			seeds = append(seeds, step["id"].(string))
		}
	}
	document, err := json.Marshal(map[string]any{
		"name": w.name, "version": "1.0.0", "steps": w.steps, "changes": map[string]any{"some": seeds, "all": "*"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return document
}

func randomPayload(r *rand.Rand) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"m%d":%d}`, r.IntN(3), r.IntN(3)))
}

func randomOptions(r *rand.Rand, w workflowModel) rondo.RunOptions {
	modes := []rondo.CacheMode{"", "", "", rondo.CacheUse, rondo.CacheRefresh, rondo.CacheBypass, rondo.CacheOnly, rondo.CacheVerify}
	options := rondo.RunOptions{Mode: modes[r.IntN(len(modes))], Force: r.IntN(5) == 0, Strict: r.IntN(3) == 0}
	if r.IntN(4) == 0 {
		id := w.steps[r.IntN(len(w.steps))]["id"].(string)
		options.StepModes = map[string]rondo.CacheMode{id: rondo.CacheRefresh}
		options.ChangedSteps = []string{id}
	}
	return options
}

func TestAPlanEstimatesFromHistory(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		w := st.campaign()
		request := Request{WorkflowName: w.Name, TriggerPayload: json.RawMessage(brief)}
		fresh, err := st.Plan(t.Context(), anna, request)
		if err != nil {
			t.Fatal(err)
		}
		if fresh.Summary.EstimatedMs != 0 || fresh.Steps[0].EstimatedMs != nil || fresh.Summary.WouldRun != 1 || fresh.Summary.Unknown != 12 {
			t.Errorf("a first run knows one step that runs, and no times: %+v", fresh.Summary)
		}
		base := st.completed(st.trigger(w.Name, brief))
		again, err := st.Plan(t.Context(), anna, request)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(PlanSummary{Reuse: 13}, again.Summary); diff != "" {
			t.Errorf("the same run again (-want +got):\n%s", diff)
		}
		update, err := st.PlanUpdate(t.Context(), anna, UpdateRequest{BaseRunID: base.ID, Change: change("audio.update", `{"music":"wild"}`)})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{bgm, sfx, mix}, update.Seeds); diff != "" {
			t.Errorf("seeds (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{bgm, sfx, mix, bundle, manifest, validate}, update.Candidates); diff != "" {
			t.Errorf("candidates (-want +got):\n%s", diff)
		}
		// The music, the mix, the bundle, and after that two at once.
		want := PlanSummary{WouldRun: 1, Reuse: 8, Unknown: 4, EstimatedMs: 4 * workTakes.Milliseconds(), EstimatedCost: 5 * 0.5}
		if diff := cmp.Diff(want, update.Summary); diff != "" {
			t.Errorf("an update (-want +got):\n%s", diff)
		}
		if update.BaseRunID != base.ID.String() || update.TriggerType != "update" || again.TriggerType != "initial" {
			t.Errorf("the plans are of type %s and %s, base %s", again.TriggerType, update.TriggerType, update.BaseRunID)
		}
		if runs, err := st.Runs(t.Context(), anna, store.RunFilter{}, store.Page{Limit: 10}); err != nil || len(runs) != 1 {
			t.Errorf("plans started runs: %d, %v", len(runs), err)
		}
	})
}

func TestAPlanSaysWhatWouldFailAndWhatIsNeverReached(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		st.register([]byte(`{"name":"row","version":"1.0.0","steps":[{"id":"kept","skill":"work@1"},
			{"id":"missing","skill":"work@1","input":{"n":{"trigger":"n"}}},{"id":"behind","skill":"work@1","depends_on":["missing"]},
			{"id":"merged","skill":"work@1","input":{"n":{"merge":[{"trigger":"m"}]}}}]}`))
		st.completed(st.trigger("row", `{"n":1,"m":{}}`))
		request := Request{WorkflowName: "row", TriggerPayload: json.RawMessage(`{"n":2,"m":5}`), Options: rondo.RunOptions{Mode: rondo.CacheOnly}}
		planned, err := st.Plan(t.Context(), anna, request)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(PlanSummary{Reuse: 1, Fails: 2, NeverReached: 1}, planned.Summary); diff != "" {
			t.Errorf("summary (-want +got):\n%s", diff)
		}
		for i, want := range []struct {
			decision string
			code     rondo.Code
		}{{WouldReuse, ""}, {WouldFail, rondo.CodeCacheOnlyMiss}, {NeverReached, ""}, {WouldFail, rondo.CodeInputSelector}} {
			step := planned.Steps[i]
			var code rondo.Code
			if step.Error != nil {
				code = rondo.Code(step.Error.Code)
			}
			if step.Decision != want.decision || code != want.code || step.EstimatedMs != nil || step.Cost != nil {
				t.Errorf("%s: %+v, want %s %s", step.StepID, step, want.decision, want.code)
			}
		}
		run := st.trigger("row", string(request.TriggerPayload), func(r *Request) { r.Options = request.Options })
		steps, err := st.Steps(t.Context(), anna, run.ID, "")
		if deviations := ComparePlan(planned, steps); err != nil || len(deviations) > 0 {
			t.Errorf("deviations %+v, %v", deviations, err)
		}
		again := st.completed(st.trigger("row", `{"n":2,"m":{}}`))
		if steps, err = st.Steps(t.Context(), anna, again.ID, ""); err != nil || len(ComparePlan(planned, steps)) != 3 {
			t.Errorf("a run that does not fail keeps to the plan: %+v, %v", ComparePlan(planned, steps), err)
		}
	})
}

func TestPlansThatCannotBe(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		w := st.campaign()
		for name, bad := range map[string]struct {
			request Request
			code    rondo.Code
		}{
			"a workflow that is not there": {Request{WorkflowName: "nothing"}, rondo.CodeWorkflowNotFound},
			"a version that is not there":  {Request{WorkflowName: w.Name, WorkflowVersion: "9.9.9"}, rondo.CodeWorkflowNotFound},
			"no payload":                   {Request{WorkflowName: w.Name}, rondo.CodeInvalid},
			"a mode that is not known":     {Request{WorkflowName: w.Name, TriggerPayload: json.RawMessage(brief), Options: rondo.RunOptions{Mode: "x"}}, rondo.CodeInvalid},
		} {
			if _, err := st.Plan(t.Context(), anna, bad.request); rondo.CodeOf(err) != bad.code {
				t.Errorf("%s: plan says %v, want %s", name, err, bad.code)
			}
			if _, err := st.Trigger(t.Context(), anna, bad.request); rondo.CodeOf(err) != bad.code {
				t.Errorf("%s: trigger says %v, want %s", name, err, bad.code)
			}
		}
	})
}

func TestTheUpdateOfALongChainIsPlannedInFewLookups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &countedLookups{Store: openMemory()}
		st := newStage(t, db, func(c *Config) { c.Hot = nil })
		const length = 2*readAhead + 88
		steps := make([]map[string]any, length)
		for i := range steps {
			steps[i] = map[string]any{"id": fmt.Sprintf("s%d", i), "skill": "work@1"}
			if i > 0 {
				before := fmt.Sprintf("s%d", i-1)
				steps[i]["depends_on"] = []string{before}
				steps[i]["input"] = map[string]any{"before": map[string]any{"step": before, "path": "data"}}
			}
		}
		chain := workflowModel{name: "chain", steps: steps}
		st.register(chain.document(t))
		run, err := st.Trigger(t.Context(), anna, Request{WorkflowName: "chain"})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * length * workTakes)
		st.completed(st.ended(run.ID))
		db.lookups = 0
		planned, err := st.PlanUpdate(t.Context(), anna, UpdateRequest{BaseRunID: run.ID, Options: rondo.RunOptions{ChangedSteps: []string{"s0"}}})
		if err != nil || planned.Summary.Reuse != length || len(planned.Candidates) != length {
			t.Fatalf("plan of a cached chain: %+v, %v", planned.Summary, err)
		}
		if most := length/readAhead + 1; db.lookups > most {
			t.Errorf("planning %d steps in a row asked the cache %d times, more than %d", length, db.lookups, most)
		}
	})
}

func TestComparePlan(t *testing.T) {
	t.Parallel()
	planned := Plan{Steps: []PlanStep{
		{StepID: "runs", Decision: WouldRun},
		{StepID: "based", Decision: WouldReuse, Reason: rondo.Reason{Code: rondo.ReasonBase}},
		{StepID: "cached", Decision: WouldReuse, Reason: rondo.Reason{Code: rondo.ReasonCacheHot}},
		{StepID: "open", Decision: UnknownUntil},
	}}
	step := func(id string, status rondo.RunStepStatus, why rondo.ReasonWord) rondo.RunStep {
		return rondo.RunStep{StepID: id, Status: status, Reason: rondo.Reason{Code: why}}
	}
	asPlanned := []rondo.RunStep{
		step("runs", rondo.RunStepCompleted, rondo.ReasonFirstRun), step("based", rondo.RunStepSkipped, rondo.ReasonBase),
		step("cached", rondo.RunStepSkipped, rondo.ReasonCacheCold), step("open", rondo.RunStepSkipped, rondo.ReasonCutoff),
	}
	for name, c := range map[string]struct {
		instead []rondo.RunStep // of the steps of asPlanned with the same ids
		without string
		want    []Deviation
	}{
		"as planned":         {},
		"a failure ran":      {instead: []rondo.RunStep{step("runs", rondo.RunStepFailed, "")}},
		"what was open runs": {instead: []rondo.RunStep{step("open", rondo.RunStepCompleted, "")}},
		"reused instead": {
			instead: []rondo.RunStep{step("runs", rondo.RunStepSkipped, rondo.ReasonInflight)},
			want:    []Deviation{{StepID: "runs", Planned: WouldRun, Happened: "skipped", Reason: rondo.Reason{Code: rondo.ReasonInflight}}},
		},
		"ran instead": {
			instead: []rondo.RunStep{step("cached", rondo.RunStepCompleted, rondo.ReasonEvicted)},
			want:    []Deviation{{StepID: "cached", Planned: "reuse: cache_hot", Happened: "completed", Reason: rondo.Reason{Code: rondo.ReasonEvicted}}},
		},
		"from the cache and not the base": {
			instead: []rondo.RunStep{step("based", rondo.RunStepSkipped, rondo.ReasonCacheHot)},
			want:    []Deviation{{StepID: "based", Planned: "reuse: base", Happened: "skipped", Reason: rondo.Reason{Code: rondo.ReasonCacheHot}}},
		},
		"never reached": {
			instead: []rondo.RunStep{step("runs", rondo.RunStepPending, "")},
			want:    []Deviation{{StepID: "runs", Planned: WouldRun, Happened: "pending"}},
		},
		"not there": {without: "runs", want: []Deviation{{StepID: "runs", Planned: WouldRun, Happened: "absent"}}},
		"one more": {
			instead: []rondo.RunStep{step("more", rondo.RunStepCompleted, rondo.ReasonFirstRun)},
			want:    []Deviation{{StepID: "more", Planned: "absent", Happened: "completed", Reason: rondo.Reason{Code: rondo.ReasonFirstRun}}},
		},
	} {
		var steps []rondo.RunStep
		instead := lastByStep(c.instead)
		for _, s := range asPlanned {
			if other, here := instead[s.StepID]; here {
				s = other
				delete(instead, s.StepID)
			}
			if s.StepID != c.without {
				steps = append(steps, s)
			}
		}
		for _, s := range instead {
			steps = append(steps, s)
		}
		if diff := cmp.Diff(c.want, ComparePlan(planned, steps)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
