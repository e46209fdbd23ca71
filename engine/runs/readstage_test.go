package runs

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/blob"
	"github.com/rondo-engine/rondo/blob/file"
	"github.com/rondo-engine/rondo/internal/plan"
	"github.com/rondo-engine/rondo/skill"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/hot"
	"github.com/rondo-engine/rondo/store/memory"
	"github.com/rondo-engine/rondo/store/sqlite"
)

// anna asks in these tests.
var anna = rondo.Principal{Tenant: "acme", User: "anna"}

// stage is a real service on a real store with skills that count.
type stage struct {
	*Service
	t         *testing.T
	runs      store.Runs
	retention store.Retention
	hotTier   *hot.Cache
	bytes     blob.Store
	library   *library
	workshop  *workshop
}

// onStages runs a test on every store, in fake time.
func onStages(t *testing.T, test func(*testing.T, *stage), change ...func(*Config)) {
	t.Helper()
	stores := map[string]func(*testing.T) store.Store{
		"memory": func(*testing.T) store.Store { return memory.Open(memory.Options{}) },
		"sqlite": func(t *testing.T) store.Store {
			s, err := sqlite.Open(filepath.Join(t.TempDir(), "runs.db"), sqlite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			return s
		},
	}
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := open(t)
				t.Cleanup(func() { _ = db.Close() })
				test(t, newStage(t, db, change...))
			})
		})
	}
}

func newStage(t *testing.T, db store.Store, change ...func(*Config)) *stage {
	t.Helper()
	runs, ok := db.(store.Runs)
	if !ok {
		t.Fatalf("%T keeps no runs", db)
	}
	blobs, err := file.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	st := &stage{
		t: t, runs: runs, retention: db, hotTier: hot.New(hot.Options{}), bytes: blobs,
		library: &library{named: map[string]*plan.Workflow{}, frozen: map[string]*plan.Workflow{}}, workshop: &workshop{},
	}
	cfg := Config{
		Store: runs, Definitions: st.library, Skills: st.workshop, Blobs: blobs, Hot: st.hotTier, Retention: db,
		SweepEvery: 1000 * time.Hour,                  // tests sweep by hand
		OwnerLease: 1000 * time.Hour, Poll: time.Hour, // there is nobody else, and hours pass
	}
	for _, c := range change {
		c(&cfg)
	}
	if st.Service, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	if err := st.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Stop(context.Background()); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return st
}

// library is Definitions of compiled workflows.
type library struct {
	mu     sync.Mutex
	named  map[string]*plan.Workflow
	frozen map[string]*plan.Workflow
}

func (l *library) Named(_ context.Context, _, name, version string) (*plan.Workflow, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w := l.named[name]; w != nil && (version == "" || version == w.Version) {
		return w, nil
	}
	for _, w := range l.frozen {
		if w.Name == name && w.Version == version {
			return w, nil
		}
	}
	return nil, &rondo.Error{Code: rondo.CodeWorkflowNotFound, Message: "there is no workflow " + name}
}

func (l *library) Frozen(_ context.Context, _, hash string) (*plan.Workflow, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w := l.frozen[hash]; w != nil {
		return w, nil
	}
	return nil, &rondo.Error{Code: rondo.CodeWorkflowNotFound, Message: "there is no workflow of that hash"}
}

func (l *library) List(context.Context, string) ([]*plan.Workflow, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Values(l.named)), nil
}

// register compiles a document and makes it the latest of its name.
func (st *stage) register(document []byte) *plan.Workflow {
	st.t.Helper()
	w, err := plan.Compile(document, goSkills{})
	if err != nil {
		st.t.Fatalf("compile: %v", err)
	}
	st.library.mu.Lock()
	defer st.library.mu.Unlock()
	st.library.named[w.Name], st.library.frozen[w.Hash] = w, w
	return w
}

// campaign registers the reference workflow.
func (st *stage) campaign() *plan.Workflow {
	st.t.Helper()
	document, err := os.ReadFile("../../internal/plan/testdata/campaign.json")
	if err != nil {
		st.t.Fatal(err)
	}
	return st.register(document)
}

// goSkills is an environment in which every skill is a Go function.
type goSkills struct{}

func (goSkills) Skill(string) (plan.SkillSpec, bool)           { return plan.SkillSpec{Type: "go"}, true }
func (goSkills) Prompt(string, string) (json.RawMessage, bool) { return nil, false }
func (goSkills) Config(string, string) (json.RawMessage, bool) { return nil, false }

// workshop does the work of every step: it takes ten seconds and gives what is
// known of its input, or what a test wants of a step.
type workshop struct {
	mu     sync.Mutex
	done   []string // steps that were computed, in order
	wanted map[string]func(skill.Call) skill.Result
}

const workTakes = 10 * time.Second

func (w *workshop) Skill(string, plan.SkillSpec) (skill.Skill, error) { return skill.Func(w.do), nil }

func (w *workshop) do(ctx context.Context, call skill.Call) (skill.Result, error) {
	select {
	case <-time.After(workTakes):
	case <-ctx.Done():
		return skill.Result{}, ctx.Err()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done = append(w.done, call.StepID)
	if wanted := w.wanted[call.StepID]; wanted != nil {
		return wanted(call), nil
	}
	return gives(fmt.Sprintf(`{"made":%q,"of":"%x"}`, call.StepID, sha256.Sum256(call.Input))), nil
}

// want makes a step do something of its own.
func (w *workshop) want(step string, do func(skill.Call) skill.Result) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.wanted == nil {
		w.wanted = map[string]func(skill.Call) skill.Result{}
	}
	w.wanted[step] = do
}

// computed returns what was computed since it was last asked.
func (w *workshop) computed() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	done := w.done
	w.done = nil
	slices.Sort(done)
	return done
}

// gives is a good result that cost something.
func gives(data string) skill.Result {
	return skill.Result{OK: true, Data: json.RawMessage(data), Debug: &skill.Debug{Cost: 0.5}}
}

// makes is a good result with a file.
func makes(data, content string) skill.Result {
	result := gives(data)
	result.Artifacts = []skill.Artifact{{Type: "text/plain", Name: "made.txt", Bytes: []byte(content)}}
	return result
}

// brief is a payload for the reference workflow.
const brief = `{"brief":{"title":"Summer Sale Campaign","style":"energetic"},"look":"sunny","music":"calm","effects":["ding"],"win":"confetti","lose":"rain","difficulty":"easy"}`

// trigger starts a run and waits until it has ended.
func (st *stage) trigger(workflow, payload string, change ...func(*Request)) RunView {
	st.t.Helper()
	request := Request{WorkflowName: workflow, TriggerPayload: json.RawMessage(payload)}
	for _, c := range change {
		c(&request)
	}
	run, err := st.Trigger(st.t.Context(), anna, request)
	if err != nil {
		st.t.Fatalf("trigger %s: %v", workflow, err)
	}
	return st.ended(run.ID)
}

// update starts an update run and waits until it has ended.
func (st *stage) update(request UpdateRequest) RunView {
	st.t.Helper()
	run, err := st.Update(st.t.Context(), anna, request)
	if err != nil {
		st.t.Fatalf("update: %v", err)
	}
	return st.ended(run.ID)
}

// ended waits until a run has ended.
func (st *stage) ended(id rondo.ID) RunView {
	st.t.Helper()
	for range 1000 {
		view, err := st.Run(st.t.Context(), anna, id)
		if err != nil {
			st.t.Fatal(err)
		}
		if view.Status.Ended() {
			return view
		}
		time.Sleep(time.Second) // of the bubble
	}
	st.t.Fatalf("run %s does not end", id)
	return RunView{}
}

// completed is ended, and well.
func (st *stage) completed(view RunView) RunView {
	st.t.Helper()
	if view.Status != rondo.RunCompleted {
		st.t.Fatalf("run is %s: %+v", view.Status, view.Error)
	}
	return view
}

// reasons reads why the steps of a run did what they did, as "status reason".
func (st *stage) reasons(id rondo.ID) map[string]string {
	st.t.Helper()
	steps, err := st.Steps(st.t.Context(), anna, id, "")
	if err != nil {
		st.t.Fatal(err)
	}
	reasons := map[string]string{}
	for _, step := range steps {
		reasons[step.StepID] = strings.TrimSpace(string(step.Status) + " " + step.Reason.String())
	}
	return reasons
}

// change is a change request.
func change(kind, payload string) rondo.ChangeRequest {
	c := rondo.ChangeRequest{Type: kind}
	if payload != "" {
		c.Payload = json.RawMessage(payload)
	}
	return c
}

// store13 names every entry of the reference workflow.
var store13 = store.CacheFilter{Workflow: "campaign.build"}

func cachePageOf(limit int) store.CachePage { return store.CachePage{Limit: limit} }

func openMemory() *memory.Store { return memory.Open(memory.Options{}) }

// countedLookups counts questions to the cache.
type countedLookups struct {
	*memory.Store
	lookups int
}

func (c *countedLookups) LookupCache(ctx context.Context, tenant string, keys []string, at time.Time) (map[string]store.CacheLookup, error) {
	c.lookups++
	return c.Store.LookupCache(ctx, tenant, keys, at)
}

// countedTouches counts the keys of every note of use.
type countedTouches struct {
	*memory.Store
	touched []int
}

func (c *countedTouches) TouchCache(ctx context.Context, tenant string, used map[string]time.Time) error {
	c.touched = append(c.touched, len(used))
	return c.Store.TouchCache(ctx, tenant, used)
}
