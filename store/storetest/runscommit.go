package storetest

import (
	"context"
	"encoding/json"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

var runCommitTests = []runTest{
	{name: "a new run is stored with everything about it", run: func(d *runDB) {
		run := d.newRun()
		steps := []rondo.RunStep{d.newAttempt(run, "a", 1, 1), d.newAttempt(run, "b", 0, 2)}
		d.commitAs(ann, store.RunWrite{Run: run, Insert: true, Steps: steps})
		same(d.t, "run", d.stored(run), run)
		same(d.t, "steps", d.stepsOf(run), steps)
	}},
	{name: "a run with nothing but what it needs", run: func(d *runDB) {
		run := &rondo.Run{
			ID: d.ids.New(), TenantID: "acme", WorkflowName: "w", WorkflowVersion: "1.0.0", TriggerType: rondo.TriggerInitial,
			TriggerPayload: json.RawMessage(`{}`), Status: rondo.RunQueued, CreatedAt: d.now,
		}
		step := rondo.RunStep{RunID: run.ID, StepID: "a", Status: rondo.RunStepCancelled, Seq: 1}
		d.commitAs(ann, store.RunWrite{Run: run, Insert: true, Steps: []rondo.RunStep{step}})
		same(d.t, "run", d.stored(run), run)
		same(d.t, "steps", d.stepsOf(run), []rondo.RunStep{step})
		if got := d.stepsOf(run)[0]; got.Data != nil || got.Manifest != nil || got.Debug != nil || got.Error != nil || got.Deterministic != nil {
			d.t.Fatalf("what was absent came back as something: %+v", got)
		}
	}},
	{name: "a later write replaces the run and the same attempts, and adds others", run: func(d *runDB) {
		run := d.newRun()
		first, kept := d.newAttempt(run, "a", 1, 1), d.newAttempt(run, "b", 1, 1)
		d.commitAs(ann, store.RunWrite{Run: run, Insert: true, Steps: []rondo.RunStep{first, kept}})
		w := d.next(run)
		run.Status, run.TotalSteps = rondo.RunFailed, 14
		run.Error = &rondo.RunError{Code: "SKILL_ERROR", Message: "ü", FailedStepID: "a"}
		run.StartedAt, run.CompletedAt = d.now.Add(time.Second), d.now.Add(2*time.Second)
		first = d.newAttempt(run, "a", 1, 2)
		first.Status, first.Data, first.Manifest, first.Debug, first.ArtifactIDs = rondo.RunStepFailed, nil, nil, nil, nil
		second := d.newAttempt(run, "a", 2, 3)
		w.Steps = []rondo.RunStep{first, second}
		d.commitAs(ann, w)
		same(d.t, "run", d.stored(run), run)
		same(d.t, "steps", d.stepsOf(run), []rondo.RunStep{kept, first, second})
	}},
	{name: "what is fixed when a run is inserted stays", run: func(d *runDB) {
		run := d.start(nil)
		changed := *run
		changed.WorkflowName, changed.WorkflowVersion, changed.DefinitionHash, changed.CreatedBy = "x", "9.9.9", "x", "x"
		changed.TriggerPayload, changed.Options, changed.Case, changed.Seq = json.RawMessage(`{"x":1}`), rondo.RunOptions{}, nil, 7
		d.commitAs(ann, store.RunWrite{Run: &changed, Fence: 1})
		run.Seq = 7
		same(d.t, "run", d.stored(run), run)
	}},
	{name: "what a caller changes afterwards is not stored", run: func(d *runDB) {
		run := d.newRun()
		steps := []rondo.RunStep{d.newAttempt(run, "a", 1, 1)}
		d.commitAs(ann, store.RunWrite{Run: run, Insert: true, Steps: steps})
		before, attempts := d.stored(run), d.stepsOf(run)
		run.Change.Type, run.Case.CaseID, run.Options.StepModes["bgm"], run.Options.ChangedSteps[0] = "x", "x", "x", "x"
		steps[0].ArtifactIDs[0], steps[0].Error.Code, *steps[0].Deterministic = rondo.ID{}, "x", false
		got := d.stored(run)
		same(d.t, "run", got, before)
		same(d.t, "steps", d.stepsOf(run), attempts)
		got.Change.Type, got.Case.CaseID, got.Options.StepModes["bgm"] = "x", "x", "x"
		same(d.t, "run", d.stored(run), before)
	}},
	{name: "an id that is taken is a conflict, also of another tenant", run: func(d *runDB) {
		run := d.start(nil)
		for _, tenant := range []string{"acme", "globex"} {
			other := d.newRun()
			other.ID, other.TenantID, other.CreatedBy = run.ID, tenant, "x"
			result := d.tryAs(bob, store.RunWrite{Run: other, Insert: true, Steps: []rondo.RunStep{d.newAttempt(other, "a", 1, 1)}})[0]
			wantCode(d.t, result.Err, rondo.CodeConflict)
		}
		same(d.t, "run", d.stored(run), run)
		same(d.t, "steps", d.stepsOf(run), []rondo.RunStep(nil))
		d.commitAs(ann, d.next(run))
	}},
	{name: "an older fence is refused, and so is a run that is not there", run: func(d *runDB) {
		run := d.start(nil)
		w := d.next(run)
		w.Fence = 0
		d.wantLost("a write with fence 0", d.tryAs(ann, w)[0].Err)
		w.Fence = 2
		d.wantLost("a write with a fence that nobody gave", d.tryAs(ann, w)[0].Err)
		d.wantLost("a write of a run that is not there", d.tryAs(ann, store.RunWrite{Run: d.newRun(), Fence: 1})[0].Err)
		foreign := *run
		foreign.TenantID = "globex"
		d.wantLost("a write of another tenant", d.tryAs(ann, store.RunWrite{Run: &foreign, Fence: 1})[0].Err)
	}},
	{name: "a refused write among good ones leaves nothing behind", run: func(d *runDB) {
		good, stale, fresh := d.start(nil), d.start(nil), d.newRun()
		flight := d.flyKey(ann, "a")
		before := *stale
		refused := d.next(stale)
		refused.Fence, stale.Status = 7, rondo.RunFailed
		refused.Steps = []rondo.RunStep{d.newAttempt(stale, "a", 1, 2)}
		refused.Takeoffs = []store.Takeoff{d.takeoff(stale, "b")}
		refused.Landings = []store.Landing{{Name: digest("a"), Fence: flight.Fence, Entry: d.newEntry("a")}}
		refused.Artifacts = []rondo.Artifact{d.newArtifact(stale, "a")}
		refused.Outbox = d.outgoing("run.failed", 1)
		refused.Raised = []rondo.RaisedEvent{{EventID: "e-1", Type: "x", Payload: json.RawMessage(`{}`), OccurredAt: d.now}}
		w := d.next(good)
		w.Takeoffs = []store.Takeoff{d.takeoff(good, "c")}
		results := d.tryAs(ann, w, refused, store.RunWrite{Run: fresh, Insert: true, Steps: []rondo.RunStep{d.newAttempt(fresh, "a", 1, 1)}})
		d.ok("the first", results[0].Err)
		d.wantLost("the second", results[1].Err)
		d.ok("the third", results[2].Err)
		if !results[0].Flights[0].Taken || results[2].Fence != 1 {
			d.t.Fatalf("what is good is not as alone: %+v", results)
		}
		same(d.t, "the first", d.stored(good), good)
		same(d.t, "the third", d.stored(fresh), fresh)
		same(d.t, "the refused run", d.stored(&before), &before)
		same(d.t, "its steps", d.stepsOf(stale), []rondo.RunStep(nil))
		same(d.t, "its landing", d.cached("a"), store.CacheLookup{Flying: true, Fence: 1})
		same(d.t, "its takeoff", d.cached("b"), store.CacheLookup{})
		same(d.t, "its artifact", must(d.Artifacts(d.ctx(), "acme", []rondo.ID{refused.Artifacts[0].ID}))(d.t), []rondo.Artifact(nil))
		same(d.t, "its events", must(d.RaisedByRuns(d.ctx(), 10))(d.t), []store.RunRaised(nil))
		if n, _, err := d.Backlog(d.ctx()); err != nil || n != 0 {
			d.t.Fatalf("%d events of a refused write were sent (%v)", n, err)
		}
	}},
	{name: "a run that ended is resumed with a higher fence", run: func(d *runDB) {
		run := d.start(nil)
		d.end(run, rondo.RunFailed, d.now)
		again := *run
		again.Status, again.CompletedAt, again.Error, again.Seq = rondo.RunRunning, time.Time{}, nil, 9
		result := d.commitAs(bob, store.RunWrite{Run: &again, Resume: rondo.RunFailed})
		if result.Fence != 2 {
			d.t.Fatalf("fence %d, want 2", result.Fence)
		}
		same(d.t, "run", d.stored(run), &again)
		d.wantLost("a write with the fence from before", d.tryAs(ann, store.RunWrite{Run: &again, Fence: 1})[0].Err)
		d.commitAs(bob, store.RunWrite{Run: &again, Fence: 2})
		d.die(ann)
		d.ok("the resumer owned it", claimedOne(d.ClaimRuns(d.ctx(), ann, d.now, store.Claim{Limit: 1})))
	}},
	{name: "only the status that is named is resumed, and once", run: func(d *runDB) {
		run := d.start(nil)
		resume := func(tenant string, id rondo.ID) error {
			again := *run
			again.ID, again.TenantID, again.Status = id, tenant, rondo.RunRunning
			return d.tryAs(bob, store.RunWrite{Run: &again, Resume: rondo.RunFailed})[0].Err
		}
		wantCode(d.t, resume("acme", run.ID), rondo.CodeWrongState)
		d.end(run, rondo.RunCompleted, d.now)
		wantCode(d.t, resume("acme", run.ID), rondo.CodeWrongState)
		d.end(run, rondo.RunFailed, d.now)
		wantCode(d.t, resume("globex", run.ID), rondo.CodeNotFound)
		wantCode(d.t, resume("acme", d.ids.New()), rondo.CodeNotFound)
		d.ok("resume", resume("acme", run.ID))
		wantCode(d.t, resume("acme", run.ID), rondo.CodeWrongState)
	}},
	{name: "a commit of nothing", run: func(d *runDB) {
		same(d.t, "results", d.tryAs(ann), []store.RunResult{})
	}},
	{name: "a call that is cancelled writes nothing", run: func(d *runDB) {
		ctx, cancel := context.WithCancel(d.ctx())
		cancel()
		run := d.newRun()
		if _, err := d.CommitRuns(ctx, store.RunCommit{Owner: ann, At: d.now, Writes: []store.RunWrite{{Run: run, Insert: true}}}); err == nil {
			d.t.Fatal("a cancelled call succeeded")
		}
		_, err := d.Run(d.ctx(), "acme", run.ID)
		wantCode(d.t, err, rondo.CodeNotFound)
	}},
}
