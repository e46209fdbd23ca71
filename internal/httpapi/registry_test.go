package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

const (
	reasonCodePath = "/reason-codes/01000000-0000-7000-8000-000000000005"
	reasonCodeJSON = `{"id":"01000000-0000-7000-8000-000000000005","org_id":"acme","scope":"halt","code":"lost","label":"Lost","description":null,
		"requires_note":true,"applicable_step_kinds":["run_ai_review"],"active":true}`
	stepKindJSON = `{"org_id":"acme","name":"weigh","version":2,"contract":{"behaviour":"request"},"status":"active","created_by":"ann","created_at":"2026-03-01T12:00:00.123456Z"}`
	bundleJSON   = `{"format":1,"kind":"case","product_id":"derm","name":"flow","version":4,"definition":{"name":"flow"},
		"step_kinds":[{"name":"weigh","contract":{"behaviour":"request"}}],
		"reason_codes":[{"scope":"halt","code":"lost","label":"Lost","description":"","requires_note":true,"applicable_step_kinds":["run_ai_review"],"active":true}]}`
)

func TestTheRegistryAnswers(t *testing.T) {
	t.Parallel()
	const against = "?against=01000000-0000-7000-8000-000000000003"
	tests := map[string]struct {
		prepare            func(*fake)
		method, path, body string
		status             int
		want               string
	}{
		"change a draft":     {nil, "PATCH", definitionPath, `{"definition":{"name":"flow"}}`, 200, definitionJSON},
		"clone":              {nil, "POST", definitionPath + "/clone", "", 201, definitionJSON},
		"clone under a name": {nil, "POST", definitionPath + "/clone", `{"product_id":"p","name":"n","reason":"r"}`, 201, definitionJSON},
		"revisions":          {nil, "GET", definitionPath + "/revisions", "", 200, `{"items":[{"id":"01000000-0000-7000-8000-00000000000c","workflow_definition_id":"01000000-0000-7000-8000-000000000002","changed_by":"ann","diff":{"before":null,"after":{"status":"draft"},"patch":[]},"reason":null,"created_at":"2026-03-01T12:00:00.123456Z"}],"next_cursor":null}`},
		"diff":               {nil, "GET", definitionPath + "/diff" + against, "", 200, `{"from":{"id":"01000000-0000-7000-8000-000000000003","name":"ai_only","version":4,"status":"active"},"to":{"id":"01000000-0000-7000-8000-000000000002","name":"flow","version":4,"status":"draft"},"changes":[{"pointer":"/a","message":"removed"}],"patch":[{"op":"remove","path":"/a"}]}`},
		"export":             {nil, "GET", definitionPath + "/export", "", 200, bundleJSON},
		"import of what is":  {nil, "POST", "/workflow-definitions/import", bundleJSON, 200, `{"definition":` + definitionJSON + `,"created":false,"created_step_kinds":[],"created_reason_codes":[]}`},
		"import of new": {func(f *fake) {
			f.imported = rondo.Imported{Created: true, StepKinds: []string{"weigh"}, ReasonCodes: []string{"halt/lost"}}
		}, "POST", "/workflow-definitions/import", bundleJSON, 201, `{"definition":` + definitionJSON + `,"created":true,"created_step_kinds":["weigh"],"created_reason_codes":["halt/lost"]}`},
		"list reason codes":   {nil, "GET", "/reason-codes", "", 200, `{"items":[` + reasonCodeJSON + `],"next_cursor":null}`},
		"create reason code":  {nil, "POST", "/reason-codes", `{"scope":"halt","code":"lost","label":"Lost"}`, 201, reasonCodeJSON},
		"change reason code":  {nil, "PATCH", reasonCodePath, `{"label":"Gone"}`, 200, reasonCodeJSON},
		"delete reason code":  {nil, "DELETE", reasonCodePath, "", 200, reasonCodeJSON},
		"list step kinds":     {nil, "GET", "/step-kinds", "", 200, `{"items":[{"org_id":null,"name":"halt","version":1,"contract":{},"status":"active","created_by":null,"created_at":null},` + stepKindJSON + `],"next_cursor":null}`},
		"publish a step kind": {nil, "POST", "/step-kinds", `{"name":"weigh","contract":{"behaviour":"request"}}`, 201, stepKindJSON},
		"versions of a kind":  {nil, "GET", "/step-kinds/weigh", "", 200, `{"items":[` + stepKindJSON + `],"next_cursor":null}`},
		"archive a step kind": {nil, "DELETE", "/step-kinds/weigh", "", 200, stepKindJSON},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			if test.prepare != nil {
				test.prepare(b.engine)
			}
			rec := b.do(test.method, test.path, test.body, "If-Match", `"7"`)
			if rec.Code != test.status {
				t.Fatalf("status %d, want %d: %s", rec.Code, test.status, rec.Body)
			}
			if diff := cmp.Diff(asAny(t, test.want), asAny(t, rec.Body.String())); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			checkDocumented(t, b.OpenAPI(), test.method, strings.Replace(test.path, "/step-kinds/weigh", "/step-kinds/{name}", 1), rec)
		})
	}
}

func TestRegistryRequestsReachTheEngineWhole(t *testing.T) {
	t.Parallel()
	text := func(s string) *string { return &s }
	yes, no := true, false
	tests := map[string]struct {
		method, path, body string
		got                func(*fake) any
		want               any
	}{
		"draft, whole":        {"PATCH", definitionPath, `{"definition":"name: x","product_id":"p","reason":"r"}`, func(f *fake) any { return f.draft }, rondo.DefinitionPatch{Source: []byte("name: x"), ProductID: text("p"), Reason: "r", Match: []int64{7}}},
		"draft, no product":   {"PATCH", definitionPath, `{"product_id":null}`, func(f *fake) any { return f.draft }, rondo.DefinitionPatch{ProductID: text(""), Match: []int64{7}}},
		"clone, as it is":     {"POST", definitionPath + "/clone", `{}`, func(f *fake) any { return f.copied }, rondo.DefinitionCopy{}},
		"clone, whole":        {"POST", definitionPath + "/clone", `{"product_id":"p","name":"n","reason":"r"}`, func(f *fake) any { return f.copied }, rondo.DefinitionCopy{ProductID: text("p"), Name: "n", Reason: "r"}},
		"clone, no product":   {"POST", definitionPath + "/clone", `{"product_id":null}`, func(f *fake) any { return f.copied }, rondo.DefinitionCopy{ProductID: text("")}},
		"diff":                {"GET", definitionPath + "/diff?against=01000000-0000-7000-8000-000000000003", "", func(f *fake) any { return f.compared }, [2]rondo.ID{templateID, definitionID}},
		"name filter":         {"GET", "/workflow-definitions?name=My%20flow", "", func(f *fake) any { return f.defFilter }, store.DefinitionFilter{OrgID: "acme", Name: "My flow"}},
		"template":            {"POST", "/workflow-definitions", `{"definition":{"name":"x"},"is_template":true}`, func(f *fake) any { return f.wanted }, rondo.NewDefinition{Kind: rondo.KindCase, Source: []byte(`{"name":"x"}`), Template: true}},
		"bundle":              {"POST", "/workflow-definitions/import", bundleJSON, func(f *fake) any { return f.bundle }, rondo.Bundle{Kind: rondo.KindCase, ProductID: "derm", Source: []byte(`{"name":"flow"}`), StepKinds: []rondo.StepKind{{Name: "weigh", Contract: []byte(`{"behaviour":"request"}`)}}, ReasonCodes: []rondo.ReasonCode{{Scope: "halt", Code: "lost", Label: "Lost", RequiresNote: true, ApplicableStepKinds: []string{"run_ai_review"}, Active: true}}}},
		"reason code filters": {"GET", "/reason-codes?scope=halt&active=false", "", func(f *fake) any { return f.codeFilter }, rondo.ReasonCodeFilter{Scope: "halt", Active: &no}},
		"reason code":         {"POST", "/reason-codes", `{"scope":"halt","code":"c","label":"l","description":"d","requires_note":true,"applicable_step_kinds":["a","b"],"active":false,"system":true}`, func(f *fake) any { return []any{f.code, f.system} }, []any{rondo.ReasonCode{Scope: "halt", Code: "c", Label: "l", Description: "d", RequiresNote: true, ApplicableStepKinds: []string{"a", "b"}}, true}},
		"reason code change":  {"PATCH", reasonCodePath, `{"label":"l","description":null,"requires_note":true,"applicable_step_kinds":null,"active":false}`, func(f *fake) any { return f.codePatch }, rondo.ReasonCodePatch{Label: text("l"), Description: text(""), RequiresNote: &yes, ApplicableStepKinds: new([]string), Active: &no}},
		"reason code delete":  {"DELETE", reasonCodePath, "", func(f *fake) any { return f.codePatch }, rondo.ReasonCodePatch{Active: &no}},
		"step kind":           {"POST", "/step-kinds", `{"name":"weigh","contract":{"behaviour": "request"}}`, func(f *fake) any { return []string{f.kindName, f.contract} }, []string{"weigh", `{"behaviour": "request"}`}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, asUser(rondo.ScopeAdmin))
			if rec := b.do(test.method, test.path, test.body, "If-Match", `"7"`); rec.Code >= 300 {
				t.Fatalf("status %d: %s", rec.Code, rec.Body)
			}
			if diff := cmp.Diff(test.want, test.got(b.engine)); diff != "" {
				t.Errorf("what the engine was asked (-want +got):\n%s", diff)
			}
		})
	}
}

func TestIfMatchIsReadAsTheStandardSays(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		header string
		status int
		match  []int64
	}{
		"missing":      {"", 428, nil},
		"one":          {`"7"`, 200, []int64{7}},
		"several":      {`"7", "8"`, 200, []int64{7, 8}},
		"any":          {"*", 200, nil},
		"weak":         {`W/"7"`, 200, []int64{}},
		"not ours":     {`"abc"`, 200, []int64{}},
		"not a number": {"7", 400, nil},
		"half quoted":  {`"7`, 400, nil},
		"one quote":    {`"`, 400, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			rec := b.do("PATCH", definitionPath, `{"definition":{}}`, "If-Match", test.header)
			if rec.Code != test.status {
				t.Fatalf("status %d, want %d: %s", rec.Code, test.status, rec.Body)
			}
			if diff := cmp.Diff(test.match, b.engine.draft.Match); diff != "" {
				t.Errorf("revisions (-want +got):\n%s", diff)
			}
			checkDocumented(t, b.OpenAPI(), "PATCH", definitionPath, rec)
		})
	}
}

func TestBadRegistryRequestsAreRefusedBeforeTheEngine(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		method, path, body string
		pointers           []string
	}{
		"empty patch":               {"PATCH", definitionPath, `{"reason":"x"}`, []string{""}},
		"patch of the kind":         {"PATCH", definitionPath, `{"definition":{},"kind":"run"}`, []string{""}},
		"patch of the status":       {"PATCH", definitionPath, `{"definition":{},"status":"active"}`, []string{""}},
		"patch, product a number":   {"PATCH", definitionPath, `{"product_id":5}`, []string{"/product_id"}},
		"patch, definition a list":  {"PATCH", definitionPath, `{"definition":[]}`, []string{"/definition"}},
		"clone, product empty":      {"POST", definitionPath + "/clone", `{"product_id":""}`, []string{"/product_id"}},
		"clone into an org":         {"POST", definitionPath + "/clone", `{"org_id":"beta"}`, []string{""}},
		"diff with nothing":         {"GET", definitionPath + "/diff", "", []string{"query/against"}},
		"diff with no id":           {"GET", definitionPath + "/diff?against=x", "", []string{"query/against"}},
		"graph as a picture":        {"GET", definitionPath + "/graph?format=png", "", []string{"query/format"}},
		"is_template a text":        {"POST", "/workflow-definitions", `{"definition":{},"is_template":"yes"}`, []string{"/is_template"}},
		"import without format":     {"POST", "/workflow-definitions/import", `{"definition":{}}`, []string{"/format"}},
		"import of another format":  {"POST", "/workflow-definitions/import", `{"format":2,"definition":{}}`, []string{"/format"}},
		"import of no definition":   {"POST", "/workflow-definitions/import", `{"format":1}`, []string{"/definition"}},
		"import of odd lists":       {"POST", "/workflow-definitions/import", `{"format":1,"kind":"x","definition":{},"step_kinds":{},"reason_codes":[5]}`, []string{"/kind", "/step_kinds", "/reason_codes/0"}},
		"import of odd items":       {"POST", "/workflow-definitions/import", `{"format":1,"definition":{},"step_kinds":[{"contract":[]}],"reason_codes":[{"scope":"halt","code":"c"}]}`, []string{"/step_kinds/0/contract", "/step_kinds/0/name", "/reason_codes/0/label"}},
		"reason code of nothing":    {"POST", "/reason-codes", `{}`, []string{"/scope", "/code", "/label"}},
		"reason code, wrong types":  {"POST", "/reason-codes", `{"scope":"halt","code":"c","label":"l","requires_note":1,"applicable_step_kinds":[null],"active":"no"}`, []string{"/requires_note", "/applicable_step_kinds", "/active"}},
		"reason code, other scope":  {"PATCH", reasonCodePath, `{"scope":"halt"}`, []string{""}},
		"reason code, label number": {"PATCH", reasonCodePath, `{"label":1}`, []string{"/label"}},
		"reason codes, odd filters": {"GET", "/reason-codes?scope=x&active=maybe", "", []string{"query/scope", "query/active"}},
		"step kind of nothing":      {"POST", "/step-kinds", `{}`, []string{"/name", "/contract"}},
		"step kind, contract text":  {"POST", "/step-kinds", `{"name":"x","contract":"{}"}`, []string{"/contract"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			rec := b.do(test.method, test.path, test.body, "If-Match", "*")
			p := problemIn(t, rec)
			if rec.Code != http.StatusBadRequest {
				t.Fatalf("status %d: %s", rec.Code, rec.Body)
			}
			var got []string
			for _, e := range p.Errors {
				got = append(got, e.Pointer)
			}
			if diff := cmp.Diff(test.pointers, got); diff != "" {
				t.Errorf("pointers (-want +got):\n%s\n%s", diff, rec.Body)
			}
			if b.engine.principal.Tenant != "" {
				t.Error("the engine was called")
			}
		})
	}
}

func TestDrawingsComeAsAsked(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ query, accept, format, kind string }{
		"default":           {"", "", "svg", "image/svg+xml"},
		"anything":          {"", "*/*", "svg", "image/svg+xml"},
		"a browser":         {"", "text/html,application/xhtml+xml,image/webp,*/*;q=0.8", "svg", "image/svg+xml"},
		"text by header":    {"", "text/plain", "mermaid", "text/plain; charset=utf-8"},
		"picture or text":   {"", "image/svg+xml, text/plain;q=0.5", "svg", "image/svg+xml"},
		"asked by name":     {"?format=mermaid", "image/svg+xml", "mermaid", "text/plain; charset=utf-8"},
		"asked for picture": {"?format=svg", "text/plain", "svg", "image/svg+xml"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			rec := b.do("GET", definitionPath+"/graph"+test.query, "", "Accept", test.accept)
			if rec.Code != 200 || rec.Body.String() != "drawn as "+test.format || rec.Header().Get("Content-Type") != test.kind {
				t.Errorf("got %d %q %q", rec.Code, rec.Header().Get("Content-Type"), rec.Body)
			}
		})
	}
}

func TestARunShowsItsSemanticVersion(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.engine.semver = "1.4.0-rc.1"
	rec := b.do("GET", definitionPath, "")
	if !strings.Contains(rec.Body.String(), `"version":"1.4.0-rc.1"`) {
		t.Errorf("the version is not shown: %s", rec.Body)
	}
	checkDocumented(t, b.OpenAPI(), "GET", definitionPath, rec)
}

func TestWhatCannotBeAKindIsNotThere(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, name := range []string{"unknown", "a%00b", strings.Repeat("x", 129), "%ff"} {
		rec := b.do("GET", "/step-kinds/"+name, "")
		if p := problemIn(t, rec); rec.Code != 404 || p.Detail != "no such step kind" {
			t.Errorf("%q answers %d %q", name, rec.Code, p.Detail)
		}
	}
}
