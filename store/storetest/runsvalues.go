package storetest

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

var runValueTests = []runTest{
	{name: "data comes back byte by byte, large and odd", run: func(d *runDB) {
		for name, data := range map[string]string{
			"spaces": "{ \"b\" : 1.0,\n\t\"a\":[1e5 , 10000000000000001] }", "unicode": `"é\u00e9 ☃ 😀 \ud83d\ude00 <&>"`, "escapes": `"\\ \" \/ \u0000 ' ; -- ?"`,
			"null": "null", "string": `""`, "large": `"` + strings.Repeat("0123456789abcdef", 1<<15) + `"`,
		} {
			run, entry := d.newRun(), d.newEntry(name)
			entry.Data, entry.Manifest = json.RawMessage(data), json.RawMessage(data)
			step := d.newAttempt(run, name, 1, 1)
			step.Data = json.RawMessage(data)
			d.commitAs(ann, store.RunWrite{Run: run, Insert: true, Steps: []rondo.RunStep{step}})
			d.keep(entry)
			sameBytes(d.t, "data of the step", d.stepsOf(run)[0].Data, step.Data)
			sameBytes(d.t, "data of the entry", d.cached(name).Entry.Data, entry.Data)
			same(d.t, "manifest", d.cached(name).Entry.Manifest, entry.Manifest)
		}
	}},
	{name: "an entry without anything to keep is one all the same", run: func(d *runDB) {
		entry := &rondo.CacheEntry{Key: digest("a"), TenantID: "acme", WorkflowName: "w", StepID: "a", CreatedAt: d.now, LastUsedAt: d.now}
		d.keep(entry)
		same(d.t, "lookup", d.cached("a"), store.CacheLookup{Entry: entry})
		if got := d.cached("a").Entry; got.Data != nil || got.Manifest != nil || !got.ExpiresAt.IsZero() || !got.RunID.IsZero() {
			d.t.Fatalf("what was absent came back as something: %+v", got)
		}
	}},
	{name: "times keep microseconds, in UTC", run: func(d *runDB) {
		zone := time.FixedZone("elsewhere", 3*3600)
		precise := time.Date(2026, 3, 1, 9, 30, 0, 123456789, zone)
		want := time.Date(2026, 3, 1, 6, 30, 0, 123456000, time.UTC)
		run := d.newRun()
		run.CreatedAt, run.StartedAt, run.CompletedAt, run.Status = precise, precise, precise, rondo.RunCompleted
		step := d.newAttempt(run, "a", 1, 1)
		step.RetryAt, step.StartedAt, step.CompletedAt = precise, precise, precise
		artifact := d.newArtifact(run, "a")
		artifact.CreatedAt = precise
		d.commitAs(ann, store.RunWrite{Run: run, Insert: true, Steps: []rondo.RunStep{step}, Artifacts: []rondo.Artifact{artifact}})
		entry := d.newEntry("a")
		entry.CreatedAt, entry.LastUsedAt, entry.ExpiresAt = precise, precise, precise
		d.keep(entry)
		gotRun, gotStep, gotEntry := d.stored(run), d.stepsOf(run)[0], d.cached("a").Entry
		same(d.t, "times", []time.Time{
			gotRun.CreatedAt, gotRun.StartedAt, gotRun.CompletedAt, gotStep.RetryAt, gotStep.StartedAt, gotStep.CompletedAt,
			must(d.Artifact(d.ctx(), "acme", artifact.ID))(d.t).CreatedAt, gotEntry.CreatedAt, gotEntry.LastUsedAt, gotEntry.ExpiresAt,
		}, []time.Time{want, want, want, want, want, want, want, want, want, want})
	}},
	{name: "names and hashes that are not digests come back as they are", run: func(d *runDB) {
		for _, name := range []string{"k", "K", "exactly-thirty-one-bytes-of-te", "exactly-thirty-one-bytes-of-tex", "exactly-thirty-two-bytes-of-text", strings.ToUpper(digest("x")), "☃"} {
			run, entry := d.newRun(), d.newEntry("step")
			entry.Key, entry.InputHash, entry.OutputHash = name, name, name
			step := d.newAttempt(run, "a", 1, 1)
			step.CacheKey, step.InputHash, step.OutputHash, step.Reason.Detail = name, name, name, name+"\x00"
			d.commitAs(ann, store.RunWrite{Run: run, Insert: true, Steps: []rondo.RunStep{step}})
			d.keep(entry)
			same(d.t, "step", d.stepsOf(run), []rondo.RunStep{step})
			same(d.t, "lookup", must(d.LookupCache(d.ctx(), "acme", []string{name}, d.now))(d.t), map[string]store.CacheLookup{name: {Entry: entry}})
		}
	}},
	{name: "strings compare bytewise", run: func(d *runDB) {
		run := d.newRun()
		d.commitAs(ann, store.RunWrite{Run: run, Insert: true, Steps: []rondo.RunStep{d.newAttempt(run, "a", 1, 1), d.newAttempt(run, "A", 1, 2), d.newAttempt(run, "a ", 1, 3), d.newAttempt(run, "ä", 1, 4)}})
		same(d.t, "steps", len(d.stepsOf(run)), 4)
		d.start(func(run *rondo.Run) { run.WorkflowName = "W" })
		same(d.t, "runs", len(must(d.RunList(d.ctx(), store.RunFilter{TenantID: "acme", Workflow: "w"}, store.Page{}))(d.t)), 0)
		same(d.t, "runs of a tenant", len(must(d.RunList(d.ctx(), store.RunFilter{TenantID: "ACME"}, store.Page{}))(d.t)), 0)
	}},
	{name: "a commit of a thousand steps", run: func(d *runDB) {
		run := d.newRun()
		w := store.RunWrite{Run: run, Insert: true}
		for _, name := range manyNames("step", 1000) {
			w.Takeoffs = append(w.Takeoffs, d.takeoff(run, name))
		}
		flights := d.commitAs(ann, w).Flights
		w = d.next(run)
		for i, name := range manyNames("step", 1000) {
			if !flights[i].Taken {
				d.t.Fatalf("flight %d was not taken", i)
			}
			w.Steps = append(w.Steps, d.newAttempt(run, name, 1, 2))
			w.Landings = append(w.Landings, store.Landing{Name: digest(name), Fence: flights[i].Fence, Entry: d.newEntry(name)})
		}
		for i, ok := range d.commitAs(ann, w).Landed {
			if !ok {
				d.t.Fatalf("landing %d failed", i)
			}
		}
		same(d.t, "counts", must(d.CountRunSteps(d.ctx(), []rondo.ID{run.ID}))(d.t)[run.ID], map[rondo.RunStepStatus]int{rondo.RunStepCompleted: 1000})
		same(d.t, "entries", must(d.CacheStats(d.ctx(), store.CacheFilter{TenantID: "acme"}))(d.t).Entries, int64(1000))
	}},
}

var runTenantTests = []runTest{
	{name: "tenants never see each other", run: func(d *runDB) {
		run := d.newRun()
		artifact, entry := d.newArtifact(run, "a"), d.newEntry("a")
		step := d.newAttempt(run, "a", 1, 1)
		step.ArtifactIDs, step.CacheKey, entry.ArtifactIDs = []rondo.ID{artifact.ID}, entry.Key, []rondo.ID{artifact.ID}
		d.commitAs(ann, store.RunWrite{Run: run, Insert: true, Steps: []rondo.RunStep{step}, Artifacts: []rondo.Artifact{artifact}})
		d.keep(entry)
		const other = "globex"
		_, err := d.Run(d.ctx(), other, run.ID)
		wantCode(d.t, err, rondo.CodeNotFound)
		_, err = d.Artifact(d.ctx(), other, artifact.ID)
		wantCode(d.t, err, rondo.CodeNotFound)
		_, err = d.TaintCache(d.ctx(), other, entry.Key, "x")
		wantCode(d.t, err, rondo.CodeNotFound)
		d.ok("touch", d.TouchCache(d.ctx(), other, map[string]time.Time{entry.Key: d.now.Add(time.Hour)}))
		filter := store.CacheFilter{TenantID: other}
		for what, n := range map[string]int{
			"runs":          len(must(d.RunList(d.ctx(), store.RunFilter{TenantID: other}, store.Page{}))(d.t)),
			"runs of all":   len(must(d.RunList(d.ctx(), store.RunFilter{}, store.Page{}))(d.t)),
			"artifacts":     len(must(d.Artifacts(d.ctx(), other, []rondo.ID{artifact.ID}))(d.t)),
			"run artifacts": len(must(d.RunArtifacts(d.ctx(), other, run.ID, ""))(d.t)),
			"lookup":        len(must(d.LookupCache(d.ctx(), other, []string{entry.Key}, d.now))(d.t)),
			"nearest":       len(must(d.NearestEntries(d.ctx(), other, entry.WorkflowName, []string{"a"}))(d.t)),
			"history":       len(must(d.StepHistory(d.ctx(), other, entry.WorkflowName))(d.t)),
			"list":          len(must(d.CacheList(d.ctx(), filter, store.CachePage{}))(d.t)),
			"stats":         int(must(d.CacheStats(d.ctx(), filter))(d.t).Entries),
			"evicted":       must(d.EvictCache(d.ctx(), filter, d.now, 10))(d.t),
			"users":         len(must(d.CacheUsers(d.ctx(), other, entry.Key, store.Page{}))(d.t)),
		} {
			if n != 0 {
				d.t.Errorf("%s: another tenant sees %d", what, n)
			}
		}
		same(d.t, "entry", d.cached("a").Entry, entry)
	}},
	{name: "one key in two tenants is two entries and two flights", run: func(d *runDB) {
		mine, theirs := d.keep(d.newEntry("a")), d.newEntry("a")
		theirs.TenantID, theirs.Data = "globex", json.RawMessage(`"theirs"`)
		d.keep(theirs)
		same(d.t, "mine", d.cached("a").Entry, mine)
		same(d.t, "theirs", must(d.LookupCache(d.ctx(), "globex", []string{theirs.Key}, d.now))(d.t), map[string]store.CacheLookup{theirs.Key: {Entry: theirs}})
		d.flyKey(ann, "b")
		run := d.newRun()
		run.TenantID = "globex"
		d.wantTaken("theirs", d.commitAs(bob, store.RunWrite{Run: run, Insert: true, Takeoffs: []store.Takeoff{d.takeoff(run, "b")}}).Flights[0], 1, false)
		if n := must(d.EvictCache(d.ctx(), store.CacheFilter{TenantID: "globex"}, d.now, 10))(d.t); n != 1 {
			d.t.Fatalf("%d entries went, want 1", n)
		}
		same(d.t, "mine", d.cached("a").Entry, mine)
	}},
}
