package storetest

import (
	"fmt"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

var runReadTests = []runTest{
	{name: "what is not there is not found", run: func(d *runDB) {
		_, err := d.Run(d.ctx(), "acme", d.ids.New())
		wantCode(d.t, err, rondo.CodeNotFound)
		_, err = d.Artifact(d.ctx(), "acme", d.ids.New())
		wantCode(d.t, err, rondo.CodeNotFound)
		same(d.t, "steps", d.stepsOf(d.newRun()), []rondo.RunStep(nil))
		same(d.t, "counts", len(must(d.CountRunSteps(d.ctx(), []rondo.ID{d.ids.New()}))(d.t)), 0)
		same(d.t, "counts of nothing", len(must(d.CountRunSteps(d.ctx(), nil))(d.t)), 0)
	}},
	{name: "runs are listed newest first, filtered and by pages", run: func(d *runDB) {
		base := d.ids.New()
		var all []rondo.ID
		for i := range 12 {
			run := d.start(func(run *rondo.Run) {
				run.WorkflowName = fmt.Sprint("w-", i%2)
				run.TriggerType, run.BaseRunID = rondo.TriggerInitial, rondo.ID{}
				if i%3 == 0 {
					run.TriggerType, run.BaseRunID = rondo.TriggerUpdate, base
				}
			})
			if i%4 == 0 {
				d.end(run, rondo.RunCompleted, d.now)
			}
			all = append([]rondo.ID{run.ID}, all...)
		}
		chosen := func(keep func(i int) bool) (ids []rondo.ID) {
			for n, id := range all {
				if keep(len(all) - 1 - n) {
					ids = append(ids, id)
				}
			}
			return ids
		}
		for _, c := range []struct {
			what   string
			filter store.RunFilter
			want   []rondo.ID
		}{
			{"all", store.RunFilter{}, all},
			{"of a workflow", store.RunFilter{Workflow: "w-1"}, chosen(func(i int) bool { return i%2 == 1 })},
			{"that completed", store.RunFilter{Status: rondo.RunCompleted}, chosen(func(i int) bool { return i%4 == 0 })},
			{"that run", store.RunFilter{Status: rondo.RunRunning, Workflow: "w-0"}, chosen(func(i int) bool { return i%4 == 2 })},
			{"updates", store.RunFilter{Trigger: rondo.TriggerUpdate}, chosen(func(i int) bool { return i%3 == 0 })},
			{"of a base", store.RunFilter{Base: base}, chosen(func(i int) bool { return i%3 == 0 })},
			{"of another base", store.RunFilter{Base: d.ids.New()}, nil},
		} {
			c.filter.TenantID = "acme"
			same(d.t, c.what, idsOf(must(d.RunList(d.ctx(), c.filter, store.Page{}))(d.t)), c.want)
			var paged []rondo.ID
			page := store.Page{Limit: 2}
			for range 20 {
				found := idsOf(must(d.RunList(d.ctx(), c.filter, page))(d.t))
				if len(found) == 0 {
					break
				}
				paged = append(paged, found...)
				page.After = found[len(found)-1]
			}
			same(d.t, c.what+" by pages", paged, c.want)
		}
	}},
	{name: "steps are read by their number, with or without what is large", run: func(d *runDB) {
		run := d.newRun()
		steps := []rondo.RunStep{d.newAttempt(run, "z", 1, 3), d.newAttempt(run, "a", 2, 7), d.newAttempt(run, "a", 1, 5)}
		d.commitAs(ann, store.RunWrite{Run: run, Insert: true, Steps: steps})
		other := d.newRun()
		d.commitAs(ann, store.RunWrite{Run: other, Insert: true, Steps: []rondo.RunStep{d.newAttempt(other, "z", 1, 9)}})
		want := []rondo.RunStep{steps[0], steps[2], steps[1]}
		same(d.t, "all", d.stepsOf(run), want)
		same(d.t, "after 3", must(d.RunSteps(d.ctx(), run.ID, 3, true))(d.t), want[1:])
		same(d.t, "of one step", must(d.RunStepData(d.ctx(), run.ID, "a"))(d.t), want[1:])
		same(d.t, "of a step that is not there", must(d.RunStepData(d.ctx(), run.ID, "b"))(d.t), []rondo.RunStep(nil))
		same(d.t, "of a run that is not there", must(d.RunStepData(d.ctx(), d.ids.New(), "a"))(d.t), []rondo.RunStep(nil))
		same(d.t, "after the last", must(d.RunSteps(d.ctx(), run.ID, 7, true))(d.t), []rondo.RunStep(nil))
		for i := range want {
			want[i].Data, want[i].Manifest, want[i].Debug = nil, nil, nil
		}
		same(d.t, "without data", must(d.RunSteps(d.ctx(), run.ID, 0, false))(d.t), want)
	}},
	{name: "steps are counted by their last attempt", run: func(d *runDB) {
		run, other, empty := d.newRun(), d.newRun(), d.newRun()
		attempt := func(of *rondo.Run, step string, nr int, status rondo.RunStepStatus) rondo.RunStep {
			return rondo.RunStep{RunID: of.ID, StepID: step, Attempt: nr, Status: status, Seq: 1}
		}
		d.commitAs(ann, store.RunWrite{Run: run, Insert: true, Steps: []rondo.RunStep{
			attempt(run, "a", 1, rondo.RunStepFailed), attempt(run, "a", 2, rondo.RunStepFailed), attempt(run, "a", 10, rondo.RunStepCompleted),
			attempt(run, "b", 0, rondo.RunStepSkipped), attempt(run, "c", 1, rondo.RunStepCompleted), attempt(run, "d", 1, rondo.RunStepRunning),
		}})
		d.commitAs(ann, store.RunWrite{Run: other, Insert: true, Steps: []rondo.RunStep{attempt(other, "a", 1, rondo.RunStepFailed)}})
		d.commitAs(ann, store.RunWrite{Run: empty, Insert: true})
		same(d.t, "counts", must(d.CountRunSteps(d.ctx(), []rondo.ID{run.ID, other.ID, empty.ID}))(d.t), map[rondo.ID]map[rondo.RunStepStatus]int{
			run.ID:   {rondo.RunStepCompleted: 2, rondo.RunStepSkipped: 1, rondo.RunStepRunning: 1},
			other.ID: {rondo.RunStepFailed: 1},
		})
	}},
}

func idsOf(runs []rondo.Run) []rondo.ID {
	var ids []rondo.ID
	for i := range runs {
		ids = append(ids, runs[i].ID)
	}
	return ids
}

var runArtifactTests = []runTest{
	{name: "artifacts are read by id, and by the run and step that have them", run: func(d *runDB) {
		maker, user := d.newRun(), d.newRun()
		made := []rondo.Artifact{d.newArtifact(maker, "a"), d.newArtifact(maker, "a"), d.newArtifact(maker, "b")}
		made[1].Metadata, made[1].Filename, made[1].ContentHash, made[1].Size = nil, "", "", -1
		steps := []rondo.RunStep{d.newAttempt(maker, "a", 1, 1), d.newAttempt(maker, "b", 1, 1)}
		steps[0].ArtifactIDs, steps[1].ArtifactIDs = []rondo.ID{made[1].ID, made[0].ID}, []rondo.ID{made[2].ID}
		d.commitAs(ann, store.RunWrite{Run: maker, Insert: true, Steps: steps, Artifacts: made})
		reused := d.newAttempt(user, "a", 0, 1)
		reused.ArtifactIDs = []rondo.ID{made[0].ID}
		d.commitAs(ann, store.RunWrite{Run: user, Insert: true, Steps: []rondo.RunStep{reused}})
		same(d.t, "one", must(d.Artifact(d.ctx(), "acme", made[1].ID))(d.t), made[1])
		same(d.t, "some", must(d.Artifacts(d.ctx(), "acme", []rondo.ID{made[2].ID, d.ids.New(), made[0].ID, made[2].ID}))(d.t), []rondo.Artifact{made[0], made[2]})
		same(d.t, "none", must(d.Artifacts(d.ctx(), "acme", nil))(d.t), []rondo.Artifact(nil))
		same(d.t, "of the run", must(d.RunArtifacts(d.ctx(), "acme", maker.ID, ""))(d.t), made)
		same(d.t, "of the step", must(d.RunArtifacts(d.ctx(), "acme", maker.ID, "a"))(d.t), made[:2])
		same(d.t, "reused", must(d.RunArtifacts(d.ctx(), "acme", user.ID, ""))(d.t), made[:1])
		same(d.t, "of a step that has none", must(d.RunArtifacts(d.ctx(), "acme", user.ID, "b"))(d.t), []rondo.Artifact(nil))
		same(d.t, "in use", must(d.BlobsInUse(d.ctx(), []string{made[0].ContentHash, digest("other"), made[2].ContentHash}))(d.t),
			map[string]bool{made[0].ContentHash: true, made[2].ContentHash: true})
		same(d.t, "in use of nothing", must(d.BlobsInUse(d.ctx(), nil))(d.t), map[string]bool{})
	}},
}

var runUserTests = []runTest{
	{name: "the users of an entry are the runs whose step has its output, newest first", run: func(d *runDB) {
		entry := d.keep(d.newEntry("a"))
		var users []store.CacheUser
		for i := range 5 {
			run := d.newRun()
			step := d.newAttempt(run, "a", i%2, 1)
			step.CacheKey = entry.Key
			if i > 0 {
				step.Status = rondo.RunStepSkipped
			}
			failed := step
			failed.Attempt, failed.Status = 7, rondo.RunStepFailed
			d.commitAs(ann, store.RunWrite{Run: run, Insert: true, Steps: []rondo.RunStep{step, failed, d.newAttempt(run, "b", 1, 1)}})
			users = append([]store.CacheUser{{RunID: run.ID, Workflow: run.WorkflowName, Status: run.Status, StepID: "a", ArtifactIDs: step.ArtifactIDs}}, users...)
		}
		same(d.t, "users", must(d.CacheUsers(d.ctx(), "acme", entry.Key, store.Page{}))(d.t), users)
		same(d.t, "first page", must(d.CacheUsers(d.ctx(), "acme", entry.Key, store.Page{Limit: 2}))(d.t), users[:2])
		same(d.t, "next page", must(d.CacheUsers(d.ctx(), "acme", entry.Key, store.Page{Limit: 2, After: users[1].RunID}))(d.t), users[2:4])
		same(d.t, "of another key", must(d.CacheUsers(d.ctx(), "acme", digest("x"), store.Page{}))(d.t), []store.CacheUser(nil))
		if n := must(d.EvictCache(d.ctx(), store.CacheFilter{TenantID: "acme", Key: entry.Key}, d.now, 1))(d.t); n != 1 {
			d.t.Fatalf("%d entries went, want 1", n)
		}
		same(d.t, "users of an entry that is gone", must(d.CacheUsers(d.ctx(), "acme", entry.Key, store.Page{}))(d.t), users)
	}},
}

var runPurgeTests = []runTest{
	{name: "runs that ended before go, oldest first, with their steps", run: func(d *runDB) {
		old, older, young, live := d.start(nil), d.start(nil), d.start(nil), d.start(nil)
		for i, run := range []*rondo.Run{older, old, young} {
			w := d.next(run)
			w.Steps = []rondo.RunStep{d.newAttempt(run, "a", 1, 1)}
			d.commitAs(ann, w)
			d.end(run, rondo.RunCompleted, d.now.Add(time.Duration(i)*time.Hour))
		}
		before := d.now.Add(2 * time.Hour)
		d.purged("with no limit", "acme", before, 0, 0)
		d.purged("of another tenant", "globex", before, 10, 0)
		d.purged("the oldest", "acme", before, 1, 1)
		same(d.t, "left", idsOf(must(d.RunList(d.ctx(), store.RunFilter{TenantID: "acme"}, store.Page{}))(d.t)), []rondo.ID{live.ID, young.ID, old.ID})
		same(d.t, "its steps", d.stepsOf(older), []rondo.RunStep(nil))
		d.purged("the rest", "acme", before, 10, 1)
		d.purged("again", "acme", before, 10, 0)
		same(d.t, "steps of what stays", len(d.stepsOf(young)), 1)
	}},
	{name: "the base of a run that has not ended stays", run: func(d *runDB) {
		base := d.start(nil)
		d.end(base, rondo.RunCompleted, d.now)
		update := d.start(func(run *rondo.Run) { run.BaseRunID = base.ID })
		d.purged("while it runs", "acme", d.now.Add(time.Hour), 10, 0)
		d.end(update, rondo.RunFailed, d.now.Add(2*time.Hour))
		d.purged("when it has ended", "acme", d.now.Add(time.Hour), 10, 1)
	}},
	{name: "artifacts go when neither a run nor the cache refers to them", run: func(d *runDB) {
		maker, user := d.newRun(), d.newRun()
		alone, shared, cached, nowhere := d.newArtifact(maker, "a"), d.newArtifact(maker, "a"), d.newArtifact(maker, "a"), d.newArtifact(maker, "a")
		step, reuse, entry := d.newAttempt(maker, "a", 1, 1), d.newAttempt(user, "a", 0, 1), d.newEntry("a")
		step.ArtifactIDs, reuse.ArtifactIDs, entry.ArtifactIDs = []rondo.ID{alone.ID, shared.ID, cached.ID}, []rondo.ID{shared.ID}, []rondo.ID{cached.ID}
		d.commitAs(ann, store.RunWrite{Run: maker, Insert: true, Steps: []rondo.RunStep{step}, Artifacts: []rondo.Artifact{alone, shared, cached, nowhere}})
		d.commitAs(ann, store.RunWrite{Run: user, Insert: true, Steps: []rondo.RunStep{reuse}})
		d.keep(entry)
		d.end(maker, rondo.RunCompleted, d.now)
		wantHashes := func(what string, got []string, want ...rondo.Artifact) {
			d.t.Helper()
			hashes := map[string]bool{}
			for _, hash := range got {
				hashes[hash] = true
			}
			if len(got) != len(want) {
				d.t.Fatalf("%s: %d hashes, want %d", what, len(got), len(want))
			}
			for _, artifact := range want {
				if !hashes[artifact.ContentHash] {
					d.t.Fatalf("%s: %s is not among what went", what, artifact.Filename)
				}
			}
		}
		wantHashes("the maker", d.purged("the maker", "acme", d.now.Add(time.Hour), 10, 1), alone, nowhere)
		same(d.t, "left", must(d.Artifacts(d.ctx(), "acme", []rondo.ID{alone.ID, shared.ID, cached.ID, nowhere.ID}))(d.t), []rondo.Artifact{shared, cached})
		d.end(user, rondo.RunCompleted, d.now)
		wantHashes("the user", d.purged("the user", "acme", d.now.Add(time.Hour), 10, 1), shared)
		same(d.t, "in the cache", must(d.Artifacts(d.ctx(), "acme", []rondo.ID{cached.ID}))(d.t), []rondo.Artifact{cached})
		must(d.EvictCache(d.ctx(), store.CacheFilter{TenantID: "acme"}, d.now, 100))(d.t)
		same(d.t, "after eviction", must(d.Artifacts(d.ctx(), "acme", []rondo.ID{cached.ID}))(d.t), []rondo.Artifact(nil))
		same(d.t, "blobs in use", must(d.BlobsInUse(d.ctx(), []string{alone.ContentHash, shared.ContentHash, cached.ContentHash}))(d.t), map[string]bool{})
	}},
	{name: "what an entry referred to before it was replaced is free", run: func(d *runDB) {
		maker := d.newRun()
		before, after := d.newArtifact(maker, "a"), d.newArtifact(maker, "a")
		d.commitAs(ann, store.RunWrite{Run: maker, Insert: true, Artifacts: []rondo.Artifact{before, after}})
		for _, artifact := range []rondo.Artifact{before, after} {
			entry := d.newEntry("a")
			entry.ArtifactIDs = []rondo.ID{artifact.ID}
			d.keep(entry)
		}
		d.end(maker, rondo.RunCompleted, d.now)
		same(d.t, "freed", d.purged("the maker", "acme", d.now.Add(time.Hour), 10, 1), []string{before.ContentHash})
	}},
	{name: "every tenant without a policy of its own", run: func(d *runDB) {
		for _, tenant := range []string{"acme", "globex", "initech"} {
			run := d.start(func(run *rondo.Run) { run.TenantID = tenant })
			d.end(run, rondo.RunCompleted, d.now)
		}
		for _, org := range []string{"", "globex"} {
			d.ok("policy", d.PutRetentionPolicy(d.ctx(), rondo.RetentionPolicy{OrgID: org, KeepFinished: time.Hour, UpdatedAt: d.now}))
		}
		d.purged("those without", "", d.now.Add(time.Hour), 10, 2)
		same(d.t, "the one with", len(must(d.RunList(d.ctx(), store.RunFilter{TenantID: "globex"}, store.Page{}))(d.t)), 1)
		d.purged("the one with, by name", "globex", d.now.Add(time.Hour), 10, 1)
	}},
}

// purged checks how many runs go and returns the hashes of what went with them.
func (d *runDB) purged(what, tenant string, before time.Time, limit, want int) []string {
	d.t.Helper()
	n, hashes, err := d.PurgeRuns(d.ctx(), tenant, before, limit)
	d.ok("purge "+what, err)
	if n != want {
		d.t.Fatalf("purge %s: %d runs went, want %d", what, n, want)
	}
	return hashes
}
