package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine"
	"github.com/rondo-engine/rondo/engine/runs"
	"github.com/rondo-engine/rondo/internal/metrics"
	"github.com/rondo-engine/rondo/internal/plan"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/memory"
)

var _ runs.Observer = metrics.Runs{}

// report is the source of a run with one step, whose title makes the content.
func report(version, title string) string {
	return fmt.Sprintf(`{"name":"report","version":%q,"steps":[{"id":"write","skill":"write@1","input":{"title":{"const":%q}}}],
		"skills":{"write@1":{"type":"template","config":{"text":"{{.title}}"}}}}`, version, title)
}

func publishRun(t *testing.T, e *engine.Engine, source string) rondo.Definition {
	t.Helper()
	draft := must(e.CreateDefinition(t.Context(), author, rondo.NewDefinition{Kind: rondo.KindRun, Source: []byte(source)}))(t)
	return must(e.PublishDefinition(t.Context(), author, draft.ID, "test"))(t)
}

func TestWorkflowsAreFoundByNameAndVersionAndStayWhatTheyWere(t *testing.T) {
	t.Parallel()
	onEveryKindOfStore(t, func(t *testing.T, e *engine.Engine) {
		ctx, found := t.Context(), e.RunDefinitions()
		first := publishRun(t, e, report("1.9.0", "a"))
		publishRun(t, e, report("1.10.0", "b"))
		publishRun(t, e, report("1.10.0-rc.1", "c"))
		publishRun(t, e, strings.Replace(report("0.1.0", "d"), `"report"`, `"audit"`, 1))
		for version, want := range map[string]string{"": "1.10.0", "1.9.0": "1.9.0", "1.10.0-rc.1": "1.10.0-rc.1"} {
			if w := must(found.Named(ctx, author.Tenant, "report", version))(t); w.Version != want || w.Hash == "" {
				t.Errorf("version %q is %s with hash %q, want %s", version, w.Version, w.Hash, want)
			}
		}
		var listed []string
		for _, w := range must(found.List(ctx, author.Tenant))(t) {
			listed = append(listed, w.Name+" "+w.Version)
		}
		if diff := cmp.Diff([]string{"audit 0.1.0", "report 1.10.0", "report 1.10.0-rc.1", "report 1.9.0"}, listed); diff != "" {
			t.Errorf("the workflows (-want +got):\n%s", diff)
		}
		then := must(found.Named(ctx, author.Tenant, "report", "1.9.0"))(t)
		if then.Hash != first.SnapshotHash {
			t.Errorf("the workflow has the hash %s, its definition was published with %s", then.Hash, first.SnapshotHash)
		}
		must(e.ArchiveDefinition(ctx, author, first.ID, "old"))(t)
		_, err := found.Named(ctx, author.Tenant, "report", "1.9.0")
		refused(t, rondo.CodeWorkflowNotFound, err, "an archived version")
		fresh := e.RunDefinitions() // knows nothing yet
		again := must(fresh.Frozen(ctx, author.Tenant, then.Hash))(t)
		if again.Version != "1.9.0" || again.Hash != then.Hash || must(fresh.Frozen(ctx, author.Tenant, then.Hash))(t) != again {
			t.Errorf("a run goes on with version %s, want 1.9.0, compiled once", again.Version)
		}
		for name, ask := range map[string]func() (*plan.Workflow, error){
			"a name that is not there":     func() (*plan.Workflow, error) { return found.Named(ctx, author.Tenant, "nothing", "") },
			"of another organisation":      func() (*plan.Workflow, error) { return found.Named(ctx, stranger.Tenant, "report", "") },
			"of no organisation":           func() (*plan.Workflow, error) { return found.Named(ctx, "", "report", "") },
			"a version that never existed": func() (*plan.Workflow, error) { return found.Named(ctx, author.Tenant, "report", "3.0.0") },
		} {
			_, err := ask()
			refused(t, rondo.CodeWorkflowNotFound, err, name)
			if told, ok := errors.AsType[*rondo.Error](err); !ok || told.Hint == "" {
				t.Errorf("%s: %v has no way out", name, err)
			}
		}
		_, err = found.Frozen(ctx, author.Tenant, strings.Repeat("0", 64))
		refused(t, rondo.CodeNotFound, err, "a hash that never was")
	})
}

func TestAnEngineStartsAmongFrozenRuns(t *testing.T) {
	t.Parallel()
	s := memory.Open(memory.Options{Embedded: true})
	publishRun(t, begin(t, s), report("1.0.0", "a"))
	begin(t, s) // it reads every snapshot for event types
}

func TestAVersionOfARunIsTheSameForEver(t *testing.T) {
	t.Parallel()
	onEveryKindOfStore(t, func(t *testing.T, e *engine.Engine) {
		ctx := t.Context()
		first := publishRun(t, e, report("1.0.0", "a"))
		must(e.ArchiveDefinition(ctx, author, first.ID, "gone"))(t)
		unused := must(e.CreateDefinition(ctx, author, rondo.NewDefinition{Kind: rondo.KindRun, Source: []byte(report("1.0.0", "never published"))}))(t)
		must(e.ArchiveDefinition(ctx, author, unused.ID, "discarded"))(t)
		other := must(e.CreateDefinition(ctx, author, rondo.NewDefinition{Kind: rondo.KindRun, Source: []byte(report("1.0.0", "b"))}))(t)
		_, err := e.PublishDefinition(ctx, author, other.ID, "")
		refused(t, rondo.CodeConflict, err, "another content under a version that was published")
		if told, ok := errors.AsType[*rondo.Error](err); !ok || !strings.Contains(told.Hint, "raise the version") {
			t.Errorf("the refusal is %v: it does not say how to go on", err)
		}
		back := publishRun(t, e, strings.Replace(report("1.0.0", "a"), `"name":"report",`, `"name" : "report", `, 1))
		if back.Status != rondo.DefinitionActive || back.SnapshotHash != first.SnapshotHash {
			t.Errorf("the same content, written with other spaces, is %s with hash %s, want active with %s", back.Status, back.SnapshotHash, first.SnapshotHash)
		}
	})
}

// shelf is an environment with one skill and one prompt.
type shelf struct{}

func (shelf) Skill(name string) (plan.SkillSpec, bool) {
	return plan.SkillSpec{Type: "go"}, name == "known@1"
}

func (shelf) Prompt(id, version string) (json.RawMessage, bool) {
	return json.RawMessage(`"say it"`), id == "say" && version == "1"
}

func (shelf) Config(string, string) (json.RawMessage, bool) { return nil, false }

func TestRunsAreJudgedByWhatTheServerHas(t *testing.T) {
	t.Parallel()
	const source = `{"name":"mixed","version":"1.0.0","steps":[
		{"id":"a","skill":"known@1","input":{"p":{"registry":{"prompt":"say","version":"1"}}}},
		{"id":"b","skill":"unknown@1","depends_on":["gone"]},
		{"id":"c","skill":"unknown@2","input":{"p":{"registry":{"prompt":"say","version":"2"}}}}]}`
	want := map[string][]string{
		"with": {"/steps/1/depends_on/0", "/steps/1/skill", "/steps/2/input/p/registry", "/steps/2/skill"},
		"without": {
			"/steps/0/input/p/registry", "/steps/0/skill",
			"/steps/1/depends_on/0", "/steps/1/skill", "/steps/2/input/p/registry", "/steps/2/skill",
		},
	}
	for name, env := range map[string]plan.Environment{"with": shelf{}, "without": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := must(engine.New(engine.Config{Store: memory.Open(memory.Options{Embedded: true}), RunEnvironment: env}))(t)
			ctx := t.Context()
			draft := must(e.CreateDefinition(ctx, author, rondo.NewDefinition{Kind: rondo.KindRun, Source: []byte(source)}))(t)
			_, err := e.PublishDefinition(ctx, author, draft.ID, "")
			refused(t, rondo.CodeInvalidDef, err, "a run of unknown skills")
			told, _ := errors.AsType[*rondo.Error](err)
			var pointers []string
			for _, f := range told.Fields {
				pointers = append(pointers, f.Pointer)
			}
			slices.Sort(pointers)
			if diff := cmp.Diff(want[name], pointers); diff != "" {
				t.Errorf("what is wrong (-want +got):\n%s\n%v", diff, told.Fields)
			}
			if report := must(e.ValidateDefinition(ctx, author, draft.ID))(t); len(report.Errors) != len(want[name]) {
				t.Errorf("validating finds %d problems, publishing %d", len(report.Errors), len(want[name]))
			}
		})
	}
}

func TestAFileThatIsRunReplacesWhatItsVersionWas(t *testing.T) {
	t.Parallel()
	onEveryKindOfStore(t, func(t *testing.T, e *engine.Engine) {
		ctx := t.Context()
		first := must(e.RegisterLocal(ctx, author.Tenant, []byte(report("1.0.0", "a"))))(t)
		same := must(e.RegisterLocal(ctx, author.Tenant, []byte(report("1.0.0", "a"))))(t)
		if same.ID != first.ID {
			t.Error("the same file was registered twice")
		}
		second := must(e.RegisterLocal(ctx, author.Tenant, []byte(report("1.0.0", "b"))))(t)
		third := must(e.RegisterLocal(ctx, author.Tenant, []byte(report("1.0.0", "a"))))(t)
		now := must(e.RunDefinitions().Named(ctx, author.Tenant, "report", "1.0.0"))(t)
		if second.SnapshotHash == first.SnapshotHash || now.Hash != third.SnapshotHash || third.SnapshotHash != first.SnapshotHash {
			t.Errorf("registered %s, %s, %s; active is %s", first.SnapshotHash, second.SnapshotHash, third.SnapshotHash, now.Hash)
		}
		if _, err := e.RunDefinitions().Frozen(ctx, author.Tenant, second.SnapshotHash); err != nil {
			t.Errorf("a run of the replaced file cannot go on: %v", err)
		}
		_, err := e.RegisterLocal(ctx, author.Tenant, []byte(strings.Replace(report("1.0.0", "c"), `"skill":"write@1"`, `"skill":"wright@1"`, 1)))
		refused(t, rondo.CodeInvalidDef, err, "a file with an unknown skill")
		if now := must(e.RunDefinitions().Named(ctx, author.Tenant, "report", ""))(t); now.Hash != third.SnapshotHash {
			t.Error("a file that was refused has replaced the one before")
		}
		_, err = e.RegisterLocal(ctx, author.Tenant, []byte(`{"name":"report"}`))
		refused(t, rondo.CodeInvalid, err, "what is no definition")
	})
}

func TestOneFileCanBeRunByManyAtOnce(t *testing.T) {
	t.Parallel()
	onEveryKindOfStore(t, func(t *testing.T, e *engine.Engine) {
		ctx := t.Context()
		var all sync.WaitGroup
		hashes := make([]string, 8)
		for i := range hashes {
			all.Go(func() {
				d, err := e.RegisterLocal(ctx, author.Tenant, []byte(report("1.0.0", "a")))
				if err != nil {
					t.Errorf("registering beside others: %v", err)
				}
				hashes[i] = d.SnapshotHash
			})
		}
		all.Wait()
		if len(slices.Compact(hashes)) != 1 {
			t.Errorf("one file has the hashes %v", hashes)
		}
		active := must(e.DefinitionList(ctx, author, store.DefinitionFilter{Kind: rondo.KindRun, Status: rondo.DefinitionActive}, store.Page{}))(t)
		drafts := must(e.DefinitionList(ctx, author, store.DefinitionFilter{Kind: rondo.KindRun, Status: rondo.DefinitionDraft}, store.Page{}))(t)
		if len(active) != 1 || len(drafts) != 0 {
			t.Errorf("there are %d active definitions and %d drafts, want one and none", len(active), len(drafts))
		}
	})
}

// TestRunsPublishedBeforeTheyWereFrozenStayUsable plays an upgrade: what was active
// has no frozen form.
func TestRunsPublishedBeforeTheyWereFrozenStayUsable(t *testing.T) {
	t.Parallel()
	s := memory.Open(memory.Options{Embedded: true})
	e, ctx := begin(t, s), t.Context()
	draft := must(e.CreateDefinition(ctx, author, rondo.NewDefinition{Kind: rondo.KindRun, Source: []byte(report("1.0.0", "a"))}))(t)
	old := must(s.ChangeDefinition(ctx, author.Tenant, draft.ID, func(d rondo.Definition) (store.DefinitionChange, error) {
		d.Status, d.PublishedAt = rondo.DefinitionActive, d.CreatedAt
		return store.DefinitionChange{Definition: d, Revision: rondo.DefinitionRevision{ID: rondo.ID{1}, DefinitionID: d.ID, OrgID: d.OrgID}}, nil
	}))(t)
	w := must(e.RunDefinitions().Named(ctx, author.Tenant, "report", ""))(t)
	if again, err := e.RunDefinitions().Frozen(ctx, author.Tenant, w.Hash); err != nil || again.Hash != w.Hash {
		t.Errorf("a run of it cannot go on: %v", err)
	}
	_, err := e.RunDefinitions().Frozen(ctx, stranger.Tenant, w.Hash)
	refused(t, rondo.CodeNotFound, err, "read another organisation's")
	must(e.ArchiveDefinition(ctx, author, old.ID, "gone"))(t)
	other := must(e.CreateDefinition(ctx, author, rondo.NewDefinition{Kind: rondo.KindRun, Source: []byte(report("1.0.0", "b"))}))(t)
	_, err = e.PublishDefinition(ctx, author, other.ID, "")
	refused(t, rondo.CodeConflict, err, "another content under its version")
	publishRun(t, e, report("1.0.0", "a"))
}
