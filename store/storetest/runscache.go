package storetest

import (
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

var runLookupTests = []runTest{
	{name: "a lookup finds entries and flights of many keys, absent ones left out", run: func(d *runDB) {
		entries := d.keepAll("a", "b")
		d.flyKey(ann, "c")
		d.fly(bob, d.takeoffAgain("b"))
		keys := []string{digest("a"), digest("b"), digest("c"), digest("d"), digest("a")}
		for _, name := range manyNames("absent", 600) {
			keys = append(keys, digest(name))
		}
		same(d.t, "lookup", must(d.LookupCache(d.ctx(), "acme", keys, d.now))(d.t), map[string]store.CacheLookup{
			digest("a"): {Entry: entries[0]}, digest("b"): {Entry: entries[1], Flying: true, Fence: 2}, digest("c"): {Flying: true, Fence: 1},
		})
		same(d.t, "lookup of nothing", len(must(d.LookupCache(d.ctx(), "acme", nil, d.now))(d.t)), 0)
		d.die(bob)
		same(d.t, "when one has died", must(d.LookupCache(d.ctx(), "acme", keys, d.now))(d.t), map[string]store.CacheLookup{
			digest("a"): {Entry: entries[0]}, digest("b"): {Entry: entries[1], Flying: true, Fence: 2},
		})
	}},
	{name: "tainted and expired entries are returned as they are", run: func(d *runDB) {
		expired := d.newEntry("a")
		expired.ExpiresAt = d.now.Add(-time.Hour)
		d.keep(expired)
		same(d.t, "expired", d.cached("a").Entry, expired)
		expired.Tainted = "wrong – voice\x00"
		same(d.t, "tainted", must(d.TaintCache(d.ctx(), "acme", expired.Key, expired.Tainted))(d.t), *expired)
		same(d.t, "tainted, looked up", d.cached("a").Entry, expired)
		_, err := d.TaintCache(d.ctx(), "acme", digest("b"), "x")
		wantCode(d.t, err, rondo.CodeNotFound)
		d.flyKey(ann, "c")
		_, err = d.TaintCache(d.ctx(), "acme", digest("c"), "x")
		wantCode(d.t, err, rondo.CodeNotFound)
	}},
	{name: "a new entry under a tainted key is good again", run: func(d *runDB) {
		d.keep(d.newEntry("a"))
		must(d.TaintCache(d.ctx(), "acme", digest("a"), "x"))(d.t)
		fresh := d.keepOver("a")
		same(d.t, "entry", d.cached("a").Entry, fresh)
	}},
}

// keepOver replaces the entry of a name.
func (d *runDB) keepOver(name string) *rondo.CacheEntry {
	d.t.Helper()
	return d.keep(d.newEntry(name))
}

var runCacheTests = []runTest{
	{name: "the nearest entry of a step is its youngest, without data", run: func(d *runDB) {
		older, younger, other, elsewhere := d.newEntry("a"), d.newEntry("a"), d.newEntry("b"), d.newEntry("a")
		younger.Key, younger.CreatedAt = digest("a2"), d.now.Add(time.Second)
		elsewhere.Key, elsewhere.WorkflowName, elsewhere.CreatedAt = digest("a3"), "another.v1", d.now.Add(time.Hour)
		for _, entry := range []*rondo.CacheEntry{younger, older, other, elsewhere} {
			d.keep(entry)
		}
		steps := append(manyNames("absent", 120), "a", "b")
		nearest := must(d.NearestEntries(d.ctx(), "acme", "campaign.build.v1", steps))(d.t)
		want := map[string]rondo.CacheEntry{"a": *younger, "b": *other}
		for step, entry := range want {
			entry.Data = nil
			want[step] = entry
		}
		same(d.t, "nearest", nearest, want)
		same(d.t, "only what is asked for", len(must(d.NearestEntries(d.ctx(), "acme", "campaign.build.v1", []string{"b"}))(d.t)), 1)
		same(d.t, "none asked for", len(must(d.NearestEntries(d.ctx(), "acme", "campaign.build.v1", nil))(d.t)), 0)
	}},
	{name: "the history of steps is that of their youngest entries", run: func(d *runDB) {
		older, younger, other, elsewhere := d.newEntry("a"), d.newEntry("a"), d.newEntry("b"), d.newEntry("c")
		younger.Key, younger.CreatedAt, younger.DurationMs, younger.Cost = digest("a2"), d.now.Add(time.Second), 20, 0.1
		other.DurationMs, other.Cost, elsewhere.WorkflowName = 1<<40, 0, "another.v1"
		for _, entry := range []*rondo.CacheEntry{younger, older, other, elsewhere} {
			d.keep(entry)
		}
		same(d.t, "history", must(d.StepHistory(d.ctx(), "acme", "campaign.build.v1"))(d.t),
			map[string]store.StepCost{"a": {DurationMs: 20, Cost: 0.1}, "b": {DurationMs: 1 << 40}})
		same(d.t, "of a workflow without any", len(must(d.StepHistory(d.ctx(), "acme", "x"))(d.t)), 0)
	}},
	{name: "a use is noted, and never moved back", run: func(d *runDB) {
		entry := d.keep(d.newEntry("a"))
		for _, c := range []struct{ used, want time.Duration }{{time.Minute, time.Minute}, {time.Second, time.Minute}, {time.Hour, time.Hour}} {
			d.ok("touch", d.TouchCache(d.ctx(), "acme", map[string]time.Time{entry.Key: d.now.Add(c.used), digest("absent"): d.now}))
			entry.LastUsedAt = d.now.Add(c.want)
			same(d.t, "entry", d.cached("a").Entry, entry)
		}
		d.ok("touch nothing", d.TouchCache(d.ctx(), "acme", nil))
	}},
	{name: "entries are listed newest first, filtered and by pages", run: func(d *runDB) {
		entries := d.keepAll("a", "b", "c", "d", "e")
		twin := d.newEntry("f")
		twin.CreatedAt, twin.WorkflowName = entries[4].CreatedAt, "another.v1"
		d.keep(twin)
		d.flyKey(ann, "flying")
		last := []string{"f", "e"}
		if entries[4].Key > twin.Key {
			last = []string{"e", "f"}
		}
		want := append(last, "d", "c", "b", "a")
		list := func(filter store.CacheFilter, page store.CachePage) []rondo.CacheEntry {
			d.t.Helper()
			filter.TenantID = "acme"
			return must(d.CacheList(d.ctx(), filter, page))(d.t)
		}
		same(d.t, "all", names(list(store.CacheFilter{}, store.CachePage{})), want)
		same(d.t, "a whole entry", list(store.CacheFilter{Step: "a"}, store.CachePage{}), []rondo.CacheEntry{*entries[0]})
		same(d.t, "of a workflow", names(list(store.CacheFilter{Workflow: "another.v1"}, store.CachePage{})), []string{"f"})
		same(d.t, "of a key", names(list(store.CacheFilter{Key: digest("c")}, store.CachePage{})), []string{"c"})
		same(d.t, "not used since", names(list(store.CacheFilter{Before: d.now.Add(time.Second)}, store.CachePage{})), without(want, "b", "c", "d", "e"))
		same(d.t, "expired", names(list(store.CacheFilter{Expired: d.now.Add(719 * time.Hour)}, store.CachePage{})), []string(nil))
		same(d.t, "expired later", len(list(store.CacheFilter{Expired: d.now.Add(720 * time.Hour)}, store.CachePage{})), len(want))
		var paged []string
		page := store.CachePage{Limit: 1}
		for range 10 {
			found := list(store.CacheFilter{}, page)
			if len(found) == 0 {
				break
			}
			paged = append(paged, found[0].StepID)
			page.Before, page.BeforeKey = found[0].CreatedAt, found[0].Key
		}
		same(d.t, "by pages", paged, want)
	}},
	{name: "entries are summed", run: func(d *runDB) {
		entries := d.keepAll("a", "b", "c")
		each := int64(len(entries[0].Data) + len(entries[0].Manifest))
		d.flyKey(ann, "flying")
		foreign := d.newEntry("a")
		foreign.TenantID = "globex"
		d.keep(foreign)
		for _, c := range []struct {
			filter store.CacheFilter
			want   int64
		}{
			{store.CacheFilter{}, 4},
			{store.CacheFilter{TenantID: "acme"}, 3},
			{store.CacheFilter{TenantID: "acme", Step: "a"}, 1},
			{store.CacheFilter{TenantID: "acme", Workflow: "x"}, 0},
			{store.CacheFilter{Step: "a"}, 2},
			{store.CacheFilter{Before: d.now.Add(time.Second)}, 2},
		} {
			same(d.t, "sum", must(d.CacheStats(d.ctx(), c.filter))(d.t), store.CacheStats{Entries: c.want, Bytes: c.want * each})
		}
		d.keepOver("a")
		same(d.t, "sum after one was replaced", must(d.CacheStats(d.ctx(), store.CacheFilter{TenantID: "acme"}))(d.t), store.CacheStats{Entries: 3, Bytes: 3 * each})
	}},
}

func without(all []string, some ...string) []string {
	var left []string
	for _, name := range all {
		if indexOf(some, name) < 0 {
			left = append(left, name)
		}
	}
	return left
}

var runEvictionTests = []runTest{
	{name: "eviction takes the oldest used first, of those that are meant, up to its limit", run: func(d *runDB) {
		entries := d.keepAll(manyNames("e", 8)...)
		d.ok("touch", d.TouchCache(d.ctx(), "acme", map[string]time.Time{entries[0].Key: d.now.Add(time.Hour)}))
		evict := func(filter store.CacheFilter, limit, want int) {
			d.t.Helper()
			if n := must(d.EvictCache(d.ctx(), filter, d.now, limit))(d.t); n != want {
				d.t.Fatalf("%d entries went, want %d", n, want)
			}
		}
		left := func(want ...int) {
			d.t.Helper()
			var steps []string
			for _, w := range slices.Backward(want) {
				steps = append(steps, entries[w].StepID)
			}
			same(d.t, "left", names(must(d.CacheList(d.ctx(), store.CacheFilter{TenantID: "acme"}, store.CachePage{}))(d.t)), steps)
		}
		evict(store.CacheFilter{TenantID: "acme"}, 0, 0)
		evict(store.CacheFilter{TenantID: "globex"}, 10, 0)
		evict(store.CacheFilter{TenantID: "acme", Expired: d.now}, 10, 0)
		evict(store.CacheFilter{TenantID: "acme"}, 2, 2)
		left(0, 3, 4, 5, 6, 7)
		evict(store.CacheFilter{Before: entries[5].LastUsedAt}, 10, 2)
		left(0, 5, 6, 7)
		evict(store.CacheFilter{TenantID: "acme", Workflow: "campaign.build.v1", Step: entries[6].StepID}, 10, 1)
		left(0, 5, 7)
		evict(store.CacheFilter{TenantID: "acme", Key: entries[0].Key}, 10, 1)
		left(5, 7)
		evict(store.CacheFilter{Expired: d.now.Add(720 * time.Hour)}, 100, 2)
		left()
		same(d.t, "lookup", d.cached(entries[5].StepID), store.CacheLookup{})
		d.wantTaken("a takeoff of what is gone", d.flyKey(ann, entries[5].StepID), 1, false)
	}},
	{name: "a live flight of an entry stays, and lands", run: func(d *runDB) {
		d.keep(d.newEntry("a"))
		flight := d.fly(ann, d.takeoffAgain("a"))
		if n := must(d.EvictCache(d.ctx(), store.CacheFilter{TenantID: "acme"}, d.now, 10))(d.t); n != 1 {
			d.t.Fatalf("%d entries went, want 1", n)
		}
		same(d.t, "lookup", d.cached("a"), store.CacheLookup{Flying: true, Fence: 2})
		d.wantHeld("bob", d.flyKey(bob, "a"))
		if !d.land(ann, digest("a"), flight.Fence, d.newEntry("a")) {
			d.t.Fatal("it did not land")
		}
	}},
	{name: "flights of the dead go, those of the living stay", run: func(d *runDB) {
		d.flyKey(ann, "a")
		d.fly(ann, d.execution("exec:1:a:x"))
		d.flyKey(bob, "b")
		d.die(bob)
		if n := must(d.EvictCache(d.ctx(), store.CacheFilter{}, d.now, 10))(d.t); n != 0 {
			d.t.Fatalf("%d entries went, want none", n)
		}
		d.wantTaken("what the dead held", d.flyKey(bob, "a"), 1, false)
		d.wantTaken("an execution of the dead", d.fly(bob, d.execution("exec:1:a:x")), 1, false)
		if !d.land(bob, digest("b"), 1, nil) {
			d.t.Fatal("the flight of one alive is gone")
		}
	}},
}
