package storetest

import (
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

var runStampTests = []runTest{
	{name: "stamps say which results entries are", run: func(d *runDB) {
		entries := d.keepAll("a", "b")
		d.flyKey(ann, "c")
		keys := []string{digest("a"), digest("b"), digest("c"), digest("a")}
		for _, name := range manyNames("absent", 600) {
			keys = append(keys, digest(name))
		}
		stamp := func(e *rondo.CacheEntry, tainted bool) store.CacheStamp {
			return store.CacheStamp{CreatedAt: e.CreatedAt, OutputHash: e.OutputHash, RunID: e.RunID, ExpiresAt: e.ExpiresAt, Tainted: tainted}
		}
		want := map[string]store.CacheStamp{digest("a"): stamp(entries[0], false), digest("b"): stamp(entries[1], false)}
		stamps := func(tenant string) map[string]store.CacheStamp {
			d.t.Helper()
			return must(d.CacheStamps(d.ctx(), tenant, keys))(d.t)
		}
		same(d.t, "stamps", stamps("acme"), want)
		same(d.t, "stamps of another tenant", len(stamps("globex")), 0)
		same(d.t, "stamps of nothing", len(must(d.CacheStamps(d.ctx(), "acme", nil))(d.t)), 0)
		must(d.TaintCache(d.ctx(), "acme", digest("a"), "wrong"))(d.t)
		fresh := d.newEntry("b")
		fresh.CreatedAt, fresh.OutputHash, fresh.ExpiresAt = d.now.Add(time.Hour), digest("new"), time.Time{}
		d.keep(fresh)
		want[digest("a")], want[digest("b")] = stamp(entries[0], true), stamp(fresh, false)
		same(d.t, "after a taint and a new result", stamps("acme"), want)
		must(d.EvictCache(d.ctx(), store.CacheFilter{TenantID: "acme", Key: digest("a")}, d.now, 1))(d.t)
		delete(want, digest("a"))
		same(d.t, "after an eviction", stamps("acme"), want)
	}},
}

// loose checks what content is loose, whoever asks.
func (d *runDB) loose(what string, at time.Time, want ...store.LooseBlob) {
	d.t.Helper()
	slices.SortFunc(want, func(a, b store.LooseBlob) int {
		if c := a.Since.Compare(b.Since); c != 0 {
			return c
		}
		return slices.Compare([]byte(a.Hash), []byte(b.Hash))
	})
	same(d.t, what, must(d.LooseBlobs(d.ctx(), at, 100))(d.t), want)
}

var runBlobTests = []runTest{
	{name: "the content of what was evicted and purged is loose until it is forgotten", run: func(d *runDB) {
		maker := d.newRun()
		cached, alone := d.newArtifact(maker, "a"), d.newArtifact(maker, "a")
		entry := d.newEntry("a")
		entry.ArtifactIDs = []rondo.ID{cached.ID}
		d.commitAs(ann, store.RunWrite{Run: maker, Insert: true, Artifacts: []rondo.Artifact{cached, alone}})
		d.keep(entry)
		d.end(maker, rondo.RunCompleted, d.now)
		d.loose("while all is used", d.now)
		d.purged("the maker", "acme", d.now.Add(time.Hour), 10, 1)
		first := store.LooseBlob{Hash: alone.ContentHash, Since: d.now}
		d.loose("after the purge", d.now, first)
		must(d.EvictCache(d.ctx(), store.CacheFilter{TenantID: "acme"}, d.now, 100))(d.t)
		later := d.now.Add(time.Minute)
		second := store.LooseBlob{Hash: cached.ContentHash, Since: later}
		d.loose("after the eviction", later, first, second)
		same(d.t, "at most one", must(d.LooseBlobs(d.ctx(), later, 1))(d.t), []store.LooseBlob{first})
		d.ok("forget", d.ForgetBlobs(d.ctx(), []string{first.Hash, digest("unknown")}))
		d.ok("forget nothing", d.ForgetBlobs(d.ctx(), nil))
		d.loose("after one is forgotten", later.Add(time.Minute), second)
	}},
	{name: "content that an artifact names again is not loose, until that goes as well", run: func(d *runDB) {
		runs := []*rondo.Run{d.newRun(), d.newRun()}
		content := ""
		for i, run := range runs {
			artifact := d.newArtifact(run, "a")
			if content == "" {
				content = artifact.ContentHash
			}
			artifact.ContentHash = content
			d.commitAs(ann, store.RunWrite{Run: run, Insert: true, Artifacts: []rondo.Artifact{artifact}})
			d.end(run, rondo.RunCompleted, d.now.Add(time.Duration(i)*time.Hour))
		}
		d.purged("the first", "acme", d.now.Add(time.Minute), 10, 1)
		d.loose("while another has it", d.now)
		d.purged("the second", "acme", d.now.Add(2*time.Hour), 10, 1)
		d.loose("when none has it", d.now.Add(time.Hour), store.LooseBlob{Hash: content, Since: d.now.Add(time.Hour)})
		again := d.newRun()
		artifact := d.newArtifact(again, "a")
		artifact.ContentHash = content
		d.commitAs(ann, store.RunWrite{Run: again, Insert: true, Artifacts: []rondo.Artifact{artifact}})
		d.loose("when it was made again", d.now.Add(time.Hour))
		d.end(again, rondo.RunCompleted, d.now)
		d.purged("that", "acme", d.now.Add(time.Hour), 10, 1)
		d.loose("since it went again", d.now.Add(2*time.Hour), store.LooseBlob{Hash: content, Since: d.now.Add(2 * time.Hour)})
	}},
	{name: "what a replaced entry had is loose, unless a run has it", run: func(d *runDB) {
		maker, user := d.newRun(), d.newRun()
		shared, alone, last := d.newArtifact(maker, "a"), d.newArtifact(maker, "a"), d.newArtifact(maker, "a")
		reuse := d.newAttempt(user, "a", 0, 1)
		reuse.ArtifactIDs = []rondo.ID{shared.ID}
		d.commitAs(ann, store.RunWrite{Run: maker, Insert: true, Artifacts: []rondo.Artifact{shared, alone, last}})
		d.commitAs(ann, store.RunWrite{Run: user, Insert: true, Steps: []rondo.RunStep{reuse}})
		for _, has := range [][]rondo.ID{{shared.ID, alone.ID}, {last.ID}} {
			entry := d.newEntry("a")
			entry.ArtifactIDs = has
			d.keep(entry)
			if len(has) == 2 {
				d.end(maker, rondo.RunCompleted, d.now)
				same(d.t, "purged while the entry has all but one", d.purged("the maker", "acme", d.now.Add(time.Hour), 10, 1), []string{last.ContentHash})
				d.ok("forget", d.ForgetBlobs(d.ctx(), []string{last.ContentHash}))
			}
		}
		d.loose("after the entry was replaced", d.now, store.LooseBlob{Hash: alone.ContentHash, Since: d.now})
		same(d.t, "left", must(d.Artifacts(d.ctx(), "acme", []rondo.ID{shared.ID, alone.ID}))(d.t), []rondo.Artifact{shared})
		d.end(user, rondo.RunCompleted, d.now)
		same(d.t, "with its last user", d.purged("the user", "acme", d.now.Add(time.Hour), 10, 1), []string{shared.ContentHash})
	}},
	{name: "an entry without artifacts replaces one with some", run: func(d *runDB) {
		maker := d.newRun()
		artifact := d.newArtifact(maker, "a")
		d.commitAs(ann, store.RunWrite{Run: maker, Insert: true, Artifacts: []rondo.Artifact{artifact}})
		with, without := d.newEntry("a"), d.newEntry("a")
		with.ArtifactIDs, without.ArtifactIDs = []rondo.ID{artifact.ID}, nil
		d.keep(with)
		d.end(maker, rondo.RunCompleted, d.now)
		d.purged("the maker", "acme", d.now.Add(time.Hour), 10, 1)
		d.loose("while the entry has it", d.now)
		d.keep(without)
		d.loose("after it was replaced", d.now, store.LooseBlob{Hash: artifact.ContentHash, Since: d.now})
	}},
}
