package engine_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/memory"
	"github.com/rondo-engine/rondo/store/sqlite"
)

var (
	author   = rondo.Principal{Tenant: "acme", User: "ann", Scopes: []string{rondo.ScopeRead, rondo.ScopeWrite, rondo.ScopePublish, rondo.ScopeIntervene, rondo.ScopeEvents}}
	stranger = rondo.Principal{Tenant: "beta", User: "bob", Scopes: author.Scopes}
	admin    = rondo.Principal{Tenant: "acme", User: "root", Scopes: []string{rondo.ScopeAdmin}}
)

const plainFlow = `{"name":"Plain","start_step":"ai","steps":{
	"ai":{"kind":"run_ai_review","timeout_seconds":60,"transitions":{"on_complete":"done"}},
	"done":{"kind":"emit_final","transitions":{"on_complete":"TERMINAL"}}}}`

// begin starts an engine on a store and stops it with the test.
func begin(t *testing.T, s store.Store) *engine.Engine {
	t.Helper()
	e, err := engine.New(engine.Config{Store: s})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Stop(context.Background()) })
	return e
}

func inMemory(t *testing.T) *engine.Engine {
	t.Helper()
	return begin(t, memory.Open(memory.Options{Embedded: true}))
}

// onEveryKindOfStore runs a test on memory and on a real file.
func onEveryKindOfStore(t *testing.T, test func(t *testing.T, e *engine.Engine)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) { test(t, inMemory(t)) })
	t.Run("sqlite", func(t *testing.T) {
		s, err := sqlite.Open(filepath.Join(t.TempDir(), "test.db"), sqlite.Options{Embedded: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		if err := s.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		test(t, begin(t, s))
	})
}

// must returns what a call gave, or ends the test.
func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatalf("unexpected error: %v %+v", err, fields(err))
		}
		return v
	}
}

func fields(err error) []rondo.FieldError {
	for e, ok := err.(*rondo.Error); ok; e, ok = e.Err.(*rondo.Error) {
		if len(e.Fields) > 0 {
			return e.Fields
		}
	}
	return nil
}

// refused checks the code of an error.
func refused(t *testing.T, want rondo.Code, err error, doing string) {
	t.Helper()
	if got := rondo.CodeOf(err); got != want {
		t.Errorf("%s: %v (code %q), want %s", doing, err, got, want)
	}
}

func draftOf(t *testing.T, e *engine.Engine, p rondo.Principal, product, source string) rondo.Definition {
	t.Helper()
	return must(e.CreateDefinition(t.Context(), p, rondo.NewDefinition{ProductID: product, Source: []byte(source)}))(t)
}

func publishOf(t *testing.T, e *engine.Engine, p rondo.Principal, product, source string) rondo.Definition {
	t.Helper()
	return must(e.PublishDefinition(t.Context(), p, draftOf(t, e, p, product, source).ID, ""))(t)
}

func TestADraftIsEditedByThoseWhoSawIt(t *testing.T) {
	t.Parallel()
	e, ctx := inMemory(t), t.Context()
	d := draftOf(t, e, author, "", plainFlow)
	longer := strings.Replace(plainFlow, "60", "90", 1)

	changed := must(e.ChangeDraft(ctx, author, d.ID, rondo.DefinitionPatch{Source: []byte(longer), Match: []int64{d.Revision}, Reason: "more time"}))(t)
	if changed.Revision != d.Revision+1 || changed.Version != d.Version {
		t.Errorf("revision %d, version %d", changed.Revision, changed.Version)
	}
	_, err := e.ChangeDraft(ctx, author, d.ID, rondo.DefinitionPatch{Source: []byte(plainFlow), Match: []int64{d.Revision}})
	refused(t, rondo.CodePrecondition, err, "change what somebody else changed")
	_, err = e.ChangeDraft(ctx, author, d.ID, rondo.DefinitionPatch{Source: []byte(plainFlow), Match: []int64{}})
	refused(t, rondo.CodePrecondition, err, "match nothing")
	_, err = e.ChangeDraft(ctx, author, d.ID, rondo.DefinitionPatch{Source: []byte(`{"name":5}`)})
	refused(t, rondo.CodeInvalid, err, "write what is no definition")

	product := "eye"
	moved := must(e.ChangeDraft(ctx, author, d.ID, rondo.DefinitionPatch{ProductID: &product}))(t)
	if moved.ProductID != "eye" || string(moved.Body) != string(changed.Body) {
		t.Errorf("moved to %q with body %s", moved.ProductID, moved.Body)
	}
	must(e.PublishDefinition(ctx, author, d.ID, "ready"))(t)
	_, err = e.ChangeDraft(ctx, author, d.ID, rondo.DefinitionPatch{ProductID: &product})
	refused(t, rondo.CodeWrongState, err, "change what is published")

	type change struct {
		Before, After map[string]any
		Patch         []map[string]any
	}
	var got []change
	for _, r := range must(e.Revisions(ctx, author, d.ID))(t) {
		var c change
		if err := json.Unmarshal(r.Diff, &c); err != nil {
			t.Fatal(err)
		}
		delete(c.Before, "definition")
		delete(c.After, "definition")
		if len(got) == 0 { // the whole definition
			c.Patch = nil
		}
		got = append(got, c)
	}
	want := []change{
		{nil, map[string]any{"status": "draft", "product_id": nil}, nil},
		{map[string]any{"status": "draft", "product_id": nil}, map[string]any{"status": "draft", "product_id": nil}, []map[string]any{{"op": "replace", "path": "/definition/steps/ai/timeout_seconds", "value": 90.0}}},
		{map[string]any{"status": "draft", "product_id": nil}, map[string]any{"status": "draft", "product_id": "eye"}, []map[string]any{{"op": "replace", "path": "/product_id", "value": "eye"}}},
		{map[string]any{"status": "draft", "product_id": "eye"}, map[string]any{"status": "active", "product_id": "eye"}, []map[string]any{{"op": "replace", "path": "/status", "value": "active"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("revisions (-want +got):\n%s", diff)
	}
}

func TestOneCaseDefinitionOfAProductIsActiveAndNeverChanges(t *testing.T) {
	t.Parallel()
	onEveryKindOfStore(t, func(t *testing.T, e *engine.Engine) {
		ctx := t.Context()
		first := publishOf(t, e, author, "eye", plainFlow)
		other := publishOf(t, e, author, "", plainFlow)
		second := publishOf(t, e, author, "eye", plainFlow)
		if first.Version != 1 || second.Version != 2 || other.Version != 1 {
			t.Errorf("versions %d, %d, %d", first.Version, second.Version, other.Version)
		}
		var active []rondo.ID
		for _, d := range must(e.DefinitionList(ctx, author, store.DefinitionFilter{Status: rondo.DefinitionActive}, store.Page{}))(t) {
			active = append(active, d.ID)
		}
		if diff := cmp.Diff([]rondo.ID{second.ID, other.ID}, active); diff != "" {
			t.Errorf("active (-want +got):\n%s", diff)
		}
		_, err := e.PublishDefinition(ctx, author, second.ID, "")
		refused(t, rondo.CodeWrongState, err, "publish twice")
		_, err = e.PublishDefinition(ctx, author, first.ID, "")
		refused(t, rondo.CodeWrongState, err, "publish what is archived")
		_, err = e.ArchiveDefinition(ctx, author, first.ID, "")
		refused(t, rondo.CodeWrongState, err, "archive twice")
		_, err = e.ChangeDraft(ctx, author, second.ID, rondo.DefinitionPatch{Source: []byte(plainFlow)})
		refused(t, rondo.CodeWrongState, err, "change what is active")
		revisions := must(e.Revisions(ctx, author, first.ID))(t)
		if last := revisions[len(revisions)-1]; last.Reason != "replaced by version 2" {
			t.Errorf("the last revision of the replaced one says %q", last.Reason)
		}
	})
}

func TestConversationsAndRunsHaveTheirOwnRules(t *testing.T) {
	t.Parallel()
	onEveryKindOfStore(t, func(t *testing.T, e *engine.Engine) {
		ctx := t.Context()
		publish := func(kind rondo.DefinitionKind, source string) rondo.Definition {
			t.Helper()
			d := must(e.CreateDefinition(ctx, author, rondo.NewDefinition{Kind: kind, Source: []byte(source)}))(t)
			return must(e.PublishDefinition(ctx, author, d.ID, ""))(t)
		}
		const chat = `{"name":"pay","steps":["ask","done"],"machine":{"id":"pay","initial":"ask","states":{"ask":{"on":{"NEXT":"done"}},"done":{"type":"final"}}}}`
		one, two := publish(rondo.KindConversation, chat), publish(rondo.KindConversation, chat)
		if got := must(e.Definition(ctx, author, one.ID))(t).Status; got != rondo.DefinitionArchived || two.Version != 2 {
			t.Errorf("the first conversation is %s, the second has version %d", got, two.Version)
		}
		run := func(version string) string {
			return `{"name":"build","version":"` + version + `","steps":[{"id":"plan","skill":"llm.plan@1"}],"skills":{"llm.plan@1":{"type":"remote"}}}`
		}
		first, next := publish(rondo.KindRun, run("1.0.0")), publish(rondo.KindRun, run("1.1.0"))
		if got := must(e.Definition(ctx, author, first.ID))(t).Status; got != rondo.DefinitionActive || next.Semver != "1.1.0" {
			t.Errorf("version 1.0.0 is %s, the other %q", got, next.Semver)
		}
		again := must(e.CreateDefinition(ctx, author, rondo.NewDefinition{Kind: rondo.KindRun, Source: []byte(run("1.0.0"))}))(t)
		_, err := e.PublishDefinition(ctx, author, again.ID, "")
		refused(t, rondo.CodeConflict, err, "publish a version of a run twice")
		_, err = e.CreateDefinition(ctx, author, rondo.NewDefinition{Kind: rondo.KindRun, Source: []byte(run("one"))})
		refused(t, rondo.CodeInvalid, err, "a run of no version")
		for _, d := range []rondo.Definition{two, next, again} {
			if svg := must(e.DrawDefinition(ctx, author, d.ID, "svg"))(t); !strings.HasPrefix(svg, "<svg ") {
				t.Errorf("the drawing of a %s is %s", d.Kind, svg)
			}
		}
		if drawn := must(e.DrawDefinition(ctx, author, next.ID, "mermaid"))(t); !strings.Contains(drawn, "llm.plan@1") {
			t.Errorf("the run is drawn as %s", drawn)
		}
	})
}

func TestTemplatesAreForAdminsToWriteAndForAllToClone(t *testing.T) {
	t.Parallel()
	s := memory.Open(memory.Options{Embedded: true})
	e, ctx := begin(t, s), t.Context()
	templates := must(e.Templates(ctx, author))(t)
	at := slices.IndexFunc(templates, func(d rondo.Definition) bool { return d.Name == "ai_only" })
	shipped := templates[at]
	_, err := e.ArchiveDefinition(ctx, author, shipped.ID, "")
	refused(t, rondo.CodeForbidden, err, "archive a template")
	_, err = e.PublishDefinition(ctx, author, shipped.ID, "")
	refused(t, rondo.CodeForbidden, err, "publish a template")
	_, err = e.ChangeDraft(ctx, author, shipped.ID, rondo.DefinitionPatch{})
	refused(t, rondo.CodeForbidden, err, "change a template")
	_, err = e.CreateDefinition(ctx, author, rondo.NewDefinition{Source: []byte(plainFlow), Template: true})
	refused(t, rondo.CodeForbidden, err, "make a template")

	product := "eye"
	copied := must(e.CloneDefinition(ctx, author, shipped.ID, rondo.DefinitionCopy{ProductID: &product, Name: "Ours <1>"}))(t)
	if copied.OrgID != "acme" || copied.IsTemplate || copied.Name != "Ours <1>" || copied.ProductID != "eye" || copied.Status != rondo.DefinitionDraft {
		t.Errorf("the clone is %+v", copied)
	}
	must(e.PublishDefinition(ctx, author, copied.ID, ""))(t)

	mine := must(e.CreateDefinition(ctx, admin, rondo.NewDefinition{Source: []byte(plainFlow), Template: true}))(t)
	if mine.OrgID != "" || !mine.IsTemplate {
		t.Errorf("the template is %+v", mine)
	}
	_, err = e.Template(ctx, author, mine.ID)
	refused(t, rondo.CodeNotFound, err, "see a template that is a draft")
	_, err = e.CreateDefinition(ctx, admin, rondo.NewDefinition{Source: []byte(plainFlow), Template: true, ProductID: "eye"})
	refused(t, rondo.CodeInvalid, err, "make a template of one product")
	must(e.PublishDefinition(ctx, admin, mine.ID, ""))(t)
	must(e.Template(ctx, author, mine.ID))(t)
	must(e.ArchiveDefinition(ctx, admin, shipped.ID, "old"))(t)
	if slices.ContainsFunc(must(e.Templates(ctx, author))(t), func(d rondo.Definition) bool { return d.Name == "ai_only" }) {
		t.Error("an archived template is still offered")
	}

	// What an admin did outlives the next start.
	before := must(e.Templates(ctx, admin))(t)
	e.Stop(ctx)
	again := begin(t, s)
	if diff := cmp.Diff(before, must(again.Templates(ctx, admin))(t)); diff != "" {
		t.Errorf("templates after a restart (-before +after):\n%s", diff)
	}
}

func TestTemplatesReferToTheSystemOnly(t *testing.T) {
	t.Parallel()
	e, ctx := inMemory(t), t.Context()
	must(e.CreateReasonCode(ctx, admin, rondo.ReasonCode{Scope: "halt", Code: "ours", Label: "Ours", Active: true}, false))(t)
	source := `{"name":"T","start_step":"ai","steps":{
		"ai":{"kind":"run_ai_review","transitions":{"on_complete":"done","on_failure":"stop"}},
		"stop":{"kind":"halt","params":{"reason_code":"ours"}},
		"done":{"kind":"emit_final","transitions":{"on_complete":"TERMINAL"}}}}`
	must(e.PublishDefinition(ctx, admin, draftOf(t, e, admin, "", source).ID, ""))(t)
	template := must(e.CreateDefinition(ctx, admin, rondo.NewDefinition{Source: []byte(source), Template: true}))(t)
	_, err := e.PublishDefinition(ctx, admin, template.ID, "")
	refused(t, rondo.CodeInvalidDef, err, "publish a template with an org's reason code")
}

func TestDefinitionsOfOthersAreNotThere(t *testing.T) {
	t.Parallel()
	e, ctx := inMemory(t), t.Context()
	d, own := draftOf(t, e, author, "", plainFlow), draftOf(t, e, stranger, "", plainFlow)
	calls := map[string]func() error{
		"read":     func() error { _, err := e.Definition(ctx, stranger, d.ID); return err },
		"change":   func() error { _, err := e.ChangeDraft(ctx, stranger, d.ID, rondo.DefinitionPatch{}); return err },
		"validate": func() error { _, err := e.ValidateDefinition(ctx, stranger, d.ID); return err },
		"publish":  func() error { _, err := e.PublishDefinition(ctx, stranger, d.ID, ""); return err },
		"archive":  func() error { _, err := e.ArchiveDefinition(ctx, stranger, d.ID, ""); return err },
		"clone":    func() error { _, err := e.CloneDefinition(ctx, stranger, d.ID, rondo.DefinitionCopy{}); return err },
		"revise":   func() error { _, err := e.Revisions(ctx, stranger, d.ID); return err },
		"diff to":  func() error { _, err := e.DiffDefinitions(ctx, stranger, own.ID, d.ID); return err },
		"diff of":  func() error { _, err := e.DiffDefinitions(ctx, stranger, d.ID, own.ID); return err },
		"draw":     func() error { _, err := e.DrawDefinition(ctx, stranger, d.ID, "svg"); return err },
		"export":   func() error { _, _, err := e.ExportDefinition(ctx, stranger, d.ID); return err },
		"copy": func() error {
			_, err := e.CreateDefinition(ctx, stranger, rondo.NewDefinition{TemplateID: d.ID})
			return err
		},
	}
	for name, call := range calls {
		refused(t, rondo.CodeNotFound, call(), name)
	}
	if list := must(e.DefinitionList(ctx, stranger, store.DefinitionFilter{OrgID: "acme"}, store.Page{}))(t); len(list) != 1 || list[0].ID != own.ID {
		t.Errorf("a stranger lists %+v", list)
	}
}

func TestAnyTwoDefinitionsCanBeCompared(t *testing.T) {
	t.Parallel()
	e, ctx := inMemory(t), t.Context()
	old := publishOf(t, e, author, "", plainFlow)
	draft := draftOf(t, e, author, "", strings.Replace(plainFlow, "60", "90", 1))
	diff := must(e.DiffDefinitions(ctx, author, old.ID, draft.ID))(t)
	if len(diff.Changes) != 1 || diff.Changes[0].Pointer != "/steps/ai/timeout_seconds" || string(diff.Patch) == "[]" {
		t.Errorf("changes %+v, patch %s", diff.Changes, diff.Patch)
	}
	template := must(e.Templates(ctx, author))(t)[0]
	must(e.DiffDefinitions(ctx, author, template.ID, draft.ID))(t)
	if same := must(e.DiffDefinitions(ctx, author, old.ID, old.ID))(t); len(same.Changes) != 0 || string(same.Patch) != "[]" {
		t.Errorf("a definition differs from itself: %+v", same)
	}
}

func storeFilter(caseID string) store.InstanceFilter { return store.InstanceFilter{CaseID: caseID} }

func onePage() store.Page { return store.Page{Limit: 10} }
