package storetest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// Names of processes in tests, and how long a heartbeat lasts.
const (
	ann       = "owner-ann"
	bob       = "owner-bob"
	heartbeat = 15 * time.Second
)

// runDB is a migrated store of runs under test with the few verbs that tests need.
type runDB struct {
	*db
	store.Runs
	now time.Time
}

// openRuns opens a store in which ann and bob are alive.
func openRuns(t *testing.T, h Harness, opts Options) *runDB {
	t.Helper()
	d := &runDB{db: open(t, h, opts), now: epoch}
	d.Runs = runsOf(t, d.Store)
	for _, owner := range []string{ann, bob} {
		d.ok("heartbeat", d.Heartbeat(d.ctx(), owner, d.now, heartbeat))
	}
	return d
}

func runsOf(t *testing.T, s store.Store) store.Runs {
	t.Helper()
	runs, ok := s.(store.Runs)
	if !ok {
		t.Fatalf("%T does not keep runs", s)
	}
	return runs
}

// other is the same database as another process has it.
func (d *runDB) other() *runDB {
	d.t.Helper()
	second := &runDB{db: d.again(), now: d.now}
	second.Runs = runsOf(d.t, second.Store)
	return second
}

func (d *runDB) ok(what string, err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatalf("%s: %v", what, err)
	}
}

func (d *runDB) wantLost(what string, err error) {
	d.t.Helper()
	if !errors.Is(err, store.ErrLeaseLost) {
		d.t.Fatalf("%s: %v, want ErrLeaseLost", what, err)
	}
	wantCode(d.t, err, rondo.CodeLeaseLost)
}

// die lets the time of every owner but those named run out.
func (d *runDB) die(alive ...string) {
	d.t.Helper()
	for range 2 {
		d.now = d.now.Add(heartbeat - time.Second)
		for _, owner := range alive {
			d.ok("heartbeat", d.Heartbeat(d.ctx(), owner, d.now, heartbeat))
		}
	}
}

// newRun is a running run in which every kind of field is used.
func (d *runDB) newRun() *rondo.Run {
	return &rondo.Run{
		ID: d.ids.New(), TenantID: "acme", WorkflowName: "campaign.build.v1", WorkflowVersion: "1.2.0", DefinitionHash: "5feceb66",
		TriggerType: rondo.TriggerUpdate, TriggerPayload: json.RawMessage(`{"brief":{"title":"Sommer – ☀ <&>","level":1.50}}`),
		BaseRunID: d.ids.New(), Change: &rondo.ChangeRequest{Type: "audio.update", Payload: json.RawMessage(`{"a":1.0}`)},
		Options: rondo.RunOptions{
			Mode: rondo.CacheUse, StepModes: map[string]rondo.CacheMode{"bgm": rondo.CacheRefresh}, FailurePolicy: rondo.FailureFast,
			ChangedSteps: []string{"sfx"}, Force: true, Strict: true,
		},
		Status: rondo.RunRunning, TotalSteps: 13, CorrelationID: "corr-1", CreatedBy: "u-1", CreatedAt: d.now, StartedAt: d.now.Add(time.Millisecond),
		Case:      &rondo.CaseLink{OrgID: "acme", CaseID: "c-1", CorrelationID: "corr-2", RequestID: "r-1", DeadlineAt: d.now.Add(time.Hour), CompletedType: "x.done"},
		ProductID: "derma", Seq: 1,
	}
}

// newAttempt is a completed attempt in which every kind of field is used.
func (d *runDB) newAttempt(run *rondo.Run, step string, attempt int, seq int64) rondo.RunStep {
	same := true
	return rondo.RunStep{
		RunID: run.ID, StepID: step, Attempt: attempt, Skill: "audio.mix@2", Status: rondo.RunStepCompleted, InputHash: digest("input " + step),
		CacheKey: digest("key " + step), Manifest: json.RawMessage(`{"v":1,"inputs":{"brief":"…"}}`), Reason: rondo.Reason{Code: rondo.ReasonInputChanged, Detail: "brief"},
		Data: json.RawMessage("{\"uri\": \"<&>\\u00e9\",  \"n\":1.0}"), OutputHash: digest("output " + step), ArtifactIDs: []rondo.ID{d.ids.New(), d.ids.New()},
		Error: &rondo.StepError{Code: "SKILL_ERROR", Message: "é", Retryable: true}, RetryAt: d.now.Add(time.Second), Correlation: d.ids.New(),
		StartedAt: d.now, CompletedAt: d.now.Add(time.Microsecond), Debug: json.RawMessage(`{"cost":0.10}`), SourceRunID: d.ids.New(),
		StaleInput: true, Deterministic: &same, CacheHit: true, Seq: seq,
	}
}

// newEntry is an entry in which every kind of field is used; its key is a digest of
// the name.
func (d *runDB) newEntry(name string) *rondo.CacheEntry {
	return &rondo.CacheEntry{
		Key: digest(name), TenantID: "acme", WorkflowName: "campaign.build.v1", StepID: name, InputHash: digest("input " + name),
		Manifest: json.RawMessage(`{"v":1,"skill":"audio.mix@2"}`), Data: json.RawMessage("{\"uri\": \"<&>\\u00e9\",  \"n\":1.0}"),
		ArtifactIDs: []rondo.ID{d.ids.New()}, OutputHash: digest("output " + name), RunID: d.ids.New(), Class: "llm",
		CreatedAt: d.now, LastUsedAt: d.now, ExpiresAt: d.now.Add(720 * time.Hour), DurationMs: 1500, Cost: 0.25,
	}
}

func (d *runDB) newArtifact(run *rondo.Run, step string) rondo.Artifact {
	id := d.ids.New()
	return rondo.Artifact{
		ID: id, TenantID: run.TenantID, RunID: run.ID, StepID: step, Skill: "audio.mix@2", Type: "audio/ogg", URI: "blob:" + id.String(),
		ContentHash: digest("content " + id.String()), Size: 1 << 40, Filename: "mix – 1.ogg", Metadata: json.RawMessage(`{"bpm":120.0}`), CreatedAt: d.now,
	}
}

// digest is a hex SHA-256, as keys and hashes are.
func digest(of string) string {
	sum := sha256.Sum256([]byte(of))
	return hex.EncodeToString(sum[:])
}

// tryAs commits writes as an owner.
func (d *runDB) tryAs(owner string, writes ...store.RunWrite) []store.RunResult {
	d.t.Helper()
	results := must(d.CommitRuns(d.ctx(), store.RunCommit{Owner: owner, At: d.now, Writes: writes}))(d.t)
	if len(results) != len(writes) {
		d.t.Fatalf("%d results of %d writes", len(results), len(writes))
	}
	return results
}

// commitAs is tryAs for a write that must succeed.
func (d *runDB) commitAs(owner string, write store.RunWrite) store.RunResult {
	d.t.Helper()
	result := d.tryAs(owner, write)[0]
	d.ok("commit", result.Err)
	return result
}

// start stores a new run of ann; edit may be nil.
func (d *runDB) start(edit func(*rondo.Run)) *rondo.Run {
	d.t.Helper()
	run := d.newRun()
	if edit != nil {
		edit(run)
	}
	if result := d.commitAs(ann, store.RunWrite{Run: run, Insert: true}); result.Fence != 1 {
		d.t.Fatalf("the fence of a new run is %d, want 1", result.Fence)
	}
	return run
}

// next is a write that changes a run which ann has had from its start.
func (d *runDB) next(run *rondo.Run) store.RunWrite {
	run.Seq++
	return store.RunWrite{Run: run, Fence: 1}
}

// end stores how a run ended.
func (d *runDB) end(run *rondo.Run, status rondo.RunStatus, at time.Time) {
	d.t.Helper()
	run.Status, run.CompletedAt = status, at
	d.commitAs(ann, d.next(run))
}

// running is the row of an attempt that begins.
func (d *runDB) running(run *rondo.Run, step string) rondo.RunStep {
	return rondo.RunStep{RunID: run.ID, StepID: step, Attempt: 1, Skill: "s@1", Status: rondo.RunStepRunning, CacheKey: digest(step), StartedAt: d.now, Seq: run.Seq}
}

// takeoff asks for the flight of newEntry(name).
func (d *runDB) takeoff(run *rondo.Run, name string) store.Takeoff {
	return store.Takeoff{Name: digest(name), Key: true, Step: d.running(run, name)}
}

// fly takes off as an owner in a run of its own.
func (d *runDB) fly(owner string, t func(*rondo.Run) store.Takeoff) store.Flight {
	d.t.Helper()
	run := d.newRun()
	result := d.commitAs(owner, store.RunWrite{Run: run, Insert: true, Takeoffs: []store.Takeoff{t(run)}})
	if len(result.Flights) != 1 {
		d.t.Fatalf("%d flights of one takeoff", len(result.Flights))
	}
	return result.Flights[0]
}

// flyKey is fly for the key of newEntry(name).
func (d *runDB) flyKey(owner, name string) store.Flight {
	d.t.Helper()
	return d.fly(owner, func(run *rondo.Run) store.Takeoff { return d.takeoff(run, name) })
}

// land ends a flight as an owner in a run of its own.
func (d *runDB) land(owner, name string, fence int64, entry *rondo.CacheEntry) bool {
	d.t.Helper()
	result := d.commitAs(owner, store.RunWrite{Run: d.newRun(), Insert: true, Landings: []store.Landing{{Name: name, Fence: fence, Entry: entry}}})
	if len(result.Landed) != 1 {
		d.t.Fatalf("%d answers to one landing", len(result.Landed))
	}
	return result.Landed[0]
}

// keep stores an entry.
func (d *runDB) keep(entry *rondo.CacheEntry) *rondo.CacheEntry {
	d.t.Helper()
	run := d.newRun()
	run.TenantID = entry.TenantID
	w := store.RunWrite{Run: run, Insert: true, Takeoffs: []store.Takeoff{{Name: entry.Key, Key: true, Again: true, Step: d.running(run, entry.StepID)}}}
	flight := d.commitAs(ann, w).Flights[0]
	w = d.next(run)
	w.Landings = []store.Landing{{Name: entry.Key, Fence: flight.Fence, Entry: entry}}
	if !flight.Taken || !d.commitAs(ann, w).Landed[0] {
		d.t.Fatalf("entry %q was not stored", entry.StepID)
	}
	return entry
}

// keepAll stores an entry for each name, a second apart.
func (d *runDB) keepAll(names ...string) []*rondo.CacheEntry {
	d.t.Helper()
	entries := make([]*rondo.CacheEntry, len(names))
	for i, name := range names {
		entries[i] = d.newEntry(name)
		entries[i].CreatedAt = d.now.Add(time.Duration(i) * time.Second)
		entries[i].LastUsedAt = entries[i].CreatedAt
		d.keep(entries[i])
	}
	return entries
}

// cached is what is stored under the key of newEntry(name).
func (d *runDB) cached(name string) store.CacheLookup {
	d.t.Helper()
	return must(d.LookupCache(d.ctx(), "acme", []string{digest(name)}, d.now))(d.t)[digest(name)]
}

// stepsOf is every attempt of a run.
func (d *runDB) stepsOf(run *rondo.Run) []rondo.RunStep {
	d.t.Helper()
	return must(d.RunSteps(d.ctx(), run.ID, 0, true))(d.t)
}

// stored is a run as it is stored.
func (d *runDB) stored(run *rondo.Run) *rondo.Run {
	d.t.Helper()
	return must(d.Run(d.ctx(), run.TenantID, run.ID))(d.t)
}

// names are the steps of entries.
func names(entries []rondo.CacheEntry) []string {
	var found []string
	for i := range entries {
		found = append(found, entries[i].StepID)
	}
	return found
}

// manyNames is n names.
func manyNames(prefix string, n int) []string {
	found := make([]string, n)
	for i := range found {
		found[i] = fmt.Sprintf("%s-%03d", prefix, i)
	}
	return found
}
