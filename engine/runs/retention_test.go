package runs

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/skill"
	"github.com/rondo-engine/rondo/store"
)

// sweepNow is a sweep that must work.
func (st *stage) sweepNow() {
	st.t.Helper()
	synctest.Wait()
	if err := st.sweep(st.t.Context()); err != nil {
		st.t.Fatalf("sweep: %v", err)
	}
}

// words returns the words whose results are kept, oldest first.
func (st *stage) words() string {
	st.t.Helper()
	entries, err := st.Cache(st.t.Context(), anna, store.CacheFilter{}, cachePageOf(100))
	if err != nil {
		st.t.Fatal(err)
	}
	var words []string
	for _, entry := range entries {
		words = append([]string{strings.Trim(string(entry.Data), `"`)}, words...)
	}
	return strings.Join(words, " ")
}

// say runs the one step with a word; its result is the word.
func (st *stage) say(word string) RunView {
	st.t.Helper()
	return st.completed(st.trigger("one", fmt.Sprintf(`{"word":%q}`, word)))
}

func (st *stage) echo(members string) {
	st.register(oneStep("1.0.0", "work@1", members))
	st.workshop.want("only", func(call skill.Call) skill.Result {
		return makes(strings.Split(strings.TrimPrefix(string(call.Input), `{"word":`), "}")[0], string(call.Input))
	})
}

func TestEntriesGoWhenUnusedForLong(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		st.echo("")
		st.say("unused")
		st.say("used")
		time.Sleep(2 * time.Hour)
		st.say("used")
		st.sweepNow()
		if got := st.words(); got != "unused used" {
			t.Errorf("before their time these are kept: %s", got)
		}
		time.Sleep(2 * time.Hour)
		st.sweepNow()
		if got := st.words(); got != "used" {
			t.Errorf("of an entry unused for four hours and one for two, kept for three, these are left: %s", got)
		}
	}, func(c *Config) { c.CacheMaxAge = 3 * time.Hour })
}

func TestUseIsNotedOncePerSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &countedTouches{Store: openMemory()}
		st := newStage(t, db)
		st.echo("")
		st.say("word")
		var last time.Time
		for range 5 {
			last = st.say("word").CompletedAt
		}
		st.sweepNow()
		st.sweepNow()
		if diff := cmp.Diff([]int{1}, db.touched); diff != "" {
			t.Errorf("keys per note after five uses of one (-want +got):\n%s", diff)
		}
		entries, err := st.Cache(t.Context(), anna, store.CacheFilter{}, cachePageOf(10))
		if err != nil || len(entries) != 1 || !entries[0].LastUsedAt.Equal(last) {
			t.Errorf("%d entries, the first last used %v, want %s; %v", len(entries), entries[0].LastUsedAt, last, err)
		}
	})
}

func TestExpiredEntriesStayForADayToBeNamedAsTheReason(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		st.echo(`,"cache":{"ttl":"1h"}`)
		st.say("short")
		time.Sleep(2 * time.Hour)
		st.sweepNow()
		if reasons := st.reasons(st.say("short").ID); reasons["only"] != "completed expired" {
			t.Errorf("an hour after it expired: %v", reasons)
		}
		st.echo("")
		st.say("long")
		time.Sleep(26 * time.Hour)
		st.sweepNow()
		if got := st.words(); got != "long" {
			t.Errorf("a day after it expired these are kept: %s", got)
		}
	})
}

func TestUseIsNotedWhenTheServiceStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t, openMemory())
		st.echo("")
		st.say("word")
		last := st.say("word").CompletedAt
		if err := st.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		entries, err := st.Cache(t.Context(), anna, store.CacheFilter{}, cachePageOf(10))
		if err != nil || len(entries) != 1 || !entries[0].LastUsedAt.Equal(last) {
			t.Errorf("%d entries, the first last used %v, want %s; %v", len(entries), entries[0].LastUsedAt, last, err)
		}
	})
}

func TestTheCacheShrinksToItsSize(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		st.echo("")
		for i := range 8 {
			st.say(fmt.Sprint("w", i))
		}
		st.say("w0") // the oldest is used last
		synctest.Wait()
		all, err := st.CacheStats(t.Context(), anna, store.CacheFilter{})
		if err != nil || all.Entries != 8 {
			t.Fatalf("stats %+v, %v", all, err)
		}
		st.cfg.CacheMaxBytes = all.Bytes / 2
		st.sweepNow()
		left, err := st.CacheStats(t.Context(), anna, store.CacheFilter{})
		if err != nil || left.Bytes > all.Bytes/2 || left.Entries < 3 {
			t.Errorf("of %+v, allowed half, these are left: %+v, %v", all, left, err)
		}
		if got := st.words(); !strings.HasPrefix(got, "w0 ") || !strings.HasSuffix(got, "w7") {
			t.Errorf("what was used longest ago goes first; left are %s", got)
		}
	})
}

func TestRunsGoWhenTheirTimeIsOver(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		st.echo("")
		old := st.say("old")
		artifacts, err := st.RunArtifacts(t.Context(), anna, old.ID, "")
		if err != nil || len(artifacts) != 1 {
			t.Fatalf("artifacts %v, %v", artifacts, err)
		}
		keptRun, goneRun := st.other("kept"), st.other("gone")
		time.Sleep(time.Hour)
		young := st.say("young")
		for tenant, keep := range map[string]time.Duration{"kept": 0, "gone": 30 * time.Minute} {
			if err := st.retention.PutRetentionPolicy(t.Context(), rondo.RetentionPolicy{OrgID: tenant, KeepFinished: keep, UpdatedAt: time.Now()}); err != nil {
				t.Fatal(err)
			}
		}
		st.cfg.RunRetention = 45 * time.Minute
		st.sweepNow()
		for name, c := range map[string]struct {
			as   string
			id   rondo.ID
			gone bool
		}{
			"older than the configuration":    {anna.Tenant, old.ID, true},
			"younger than the configuration":  {anna.Tenant, young.ID, false},
			"of a tenant that keeps for ever": {"kept", keptRun, false},
			"older than its tenant's policy":  {"gone", goneRun, true},
		} {
			_, err := st.Run(t.Context(), rondo.Principal{Tenant: c.as}, c.id)
			if gone := rondo.CodeOf(err) == rondo.CodeNotFound; gone != c.gone || err != nil && !gone {
				t.Errorf("a run %s: %v", name, err)
			}
		}
		// The cache still has the file.
		if has, err := st.bytes.Has(t.Context(), []string{artifacts[0].ContentHash}); err != nil || !has[artifacts[0].ContentHash] {
			t.Errorf("the bytes of an artifact that the cache has: %v, %v", has, err)
		}
		if again := st.say("old"); st.reasons(again.ID)["only"] != "skipped cache_hot" {
			t.Errorf("the result outlives its run: %v", st.reasons(again.ID))
		}
	})
}

func TestBytesThatNothingNamesGo(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		st.echo(`,"cache":{"enabled":false}`)
		first := st.say("word")
		artifacts, err := st.RunArtifacts(t.Context(), anna, first.ID, "")
		if err != nil || len(artifacts) != 1 {
			t.Fatalf("artifacts %v, %v", artifacts, err)
		}
		hash := artifacts[0].ContentHash
		has := func() bool {
			found, err := st.bytes.Has(t.Context(), []string{hash})
			if err != nil {
				t.Fatal(err)
			}
			return found[hash]
		}
		st.cfg.RunRetention = time.Hour
		time.Sleep(40 * time.Minute)
		st.say("word") // the same bytes again, another artifact
		time.Sleep(40 * time.Minute)
		st.sweepNow()
		if !has() {
			t.Fatal("bytes went that an artifact of a run names")
		}
		st.cfg.RunRetention = 30 * time.Minute
		st.sweepNow()
		if !has() {
			t.Fatal("bytes went that were put less than an hour ago")
		}
		time.Sleep(30 * time.Minute)
		st.sweepNow()
		if has() {
			t.Error("bytes stay although nothing names them and they are older than an hour")
		}
	})
}

func TestBytesThatOnlyAnEntryNamedGoWithIt(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		st.echo("")
		artifacts, err := st.RunArtifacts(t.Context(), anna, st.say("word").ID, "")
		if err != nil || len(artifacts) != 1 {
			t.Fatalf("artifacts %v, %v", artifacts, err)
		}
		has := func() bool {
			found, err := st.bytes.Has(t.Context(), []string{artifacts[0].ContentHash})
			if err != nil {
				t.Fatal(err)
			}
			return found[artifacts[0].ContentHash]
		}
		st.cfg.RunRetention, st.cfg.CacheMaxAge = time.Hour, 4*time.Hour
		time.Sleep(2 * time.Hour)
		st.sweepNow()
		if !has() {
			t.Fatal("bytes went that an entry names")
		}
		time.Sleep(2 * time.Hour)
		st.sweepNow()
		if has() {
			t.Error("bytes stay although their run and their entry are gone")
		}
	})
}

// makesOnce is a step that makes other bytes each time; it returns what the bytes of
// the first time are and whether the store still has them.
func (st *stage) makesOnce() (run func(mode rondo.CacheMode) RunView, has func() bool) {
	st.t.Helper()
	st.register(oneStep("1.0.0", "work@1", ""))
	times, first := 0, ""
	st.workshop.want("only", func(skill.Call) skill.Result {
		times++
		return makes(fmt.Sprint(times), fmt.Sprint("bytes of time ", times))
	})
	run = func(mode rondo.CacheMode) RunView {
		st.t.Helper()
		view := st.completed(st.trigger("one", `{}`, func(r *Request) { r.Options.Mode = mode }))
		artifacts, err := st.RunArtifacts(st.t.Context(), anna, view.ID, "")
		if err != nil || len(artifacts) != 1 {
			st.t.Fatalf("artifacts %v, %v", artifacts, err)
		}
		if first == "" {
			first = artifacts[0].ContentHash
		}
		return view
	}
	return run, func() bool {
		st.t.Helper()
		found, err := st.bytes.Has(st.t.Context(), []string{first})
		if err != nil {
			st.t.Fatal(err)
		}
		return found[first]
	}
}

func TestBytesGoWithWhateverWasTheLastToNameThem(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *stage, func(rondo.CacheMode) RunView){
		"size":    func(_ *testing.T, st *stage, _ func(rondo.CacheMode) RunView) { st.cfg.CacheMaxBytes = 1 },
		"refresh": func(_ *testing.T, _ *stage, run func(rondo.CacheMode) RunView) { run(rondo.CacheRefresh) },
		"verify":  func(_ *testing.T, _ *stage, run func(rondo.CacheMode) RunView) { run(rondo.CacheVerify) },
		"invalidation": func(t *testing.T, st *stage, _ func(rondo.CacheMode) RunView) {
			if n, err := st.InvalidateCache(t.Context(), anna, store.CacheFilter{}); n != 1 || err != nil {
				t.Fatalf("invalidated %d, %v", n, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			onStages(t, func(t *testing.T, st *stage) {
				run, has := st.makesOnce()
				run(rondo.CacheUse)
				st.cfg.RunRetention = time.Hour
				time.Sleep(2 * time.Hour)
				st.sweepNow()
				if !has() {
					t.Fatal("bytes went that an entry names")
				}
				end(t, st, run)
				st.sweepNow()
				if has() {
					t.Error("bytes stay although nothing names them")
				}
			})
		})
	}
}

func TestBytesThatWereTooYoungGoAfterARestart(t *testing.T) {
	onStages(t, func(t *testing.T, st *stage) {
		run, has := st.makesOnce()
		run(rondo.CacheUse)
		st.cfg.RunRetention, st.cfg.CacheMaxBytes = time.Minute, 1
		time.Sleep(10 * time.Minute)
		st.sweepNow()
		if !has() {
			t.Fatal("bytes went that were put ten minutes ago")
		}
		again, err := New(st.cfg)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if err := again.sweep(t.Context()); err != nil || has() {
			t.Errorf("another process leaves the bytes: %v", err)
		}
		time.Sleep(time.Hour)
		if err := again.sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if loose, err := st.runs.LooseBlobs(t.Context(), time.Now(), 10); err != nil || len(loose) > 0 {
			t.Errorf("what was removed is still to be removed: %v, %v", loose, err)
		}
	})
}

// other runs something for another tenant.
func (st *stage) other(tenant string) rondo.ID {
	st.t.Helper()
	as := rondo.Principal{Tenant: tenant}
	run, err := st.Trigger(st.t.Context(), as, Request{WorkflowName: "one", TriggerPayload: json.RawMessage(`{"word":"other"}`)})
	if err != nil {
		st.t.Fatal(err)
	}
	time.Sleep(2 * workTakes)
	if view, err := st.Run(st.t.Context(), as, run.ID); err != nil || view.Status != rondo.RunCompleted {
		st.t.Fatalf("run of %s: %s, %v", tenant, view.Status, err)
	}
	return run.ID
}
