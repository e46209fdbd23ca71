package httpapi_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine"
	"github.com/rondo-engine/rondo/internal/httpapi"
	"github.com/rondo-engine/rondo/store/memory"
)

// byHeader knows callers by the header Caller: "org" or "org admin".
type byHeader struct{}

func (byHeader) Authenticate(r *http.Request) (rondo.Principal, error) {
	org, admin, _ := strings.Cut(r.Header.Get("Caller"), " ")
	p := rondo.Principal{Tenant: org, User: "user of " + org, Scopes: []string{rondo.ScopeRead, rondo.ScopeWrite, rondo.ScopePublish}}
	if admin != "" {
		p.Scopes = []string{rondo.ScopeAdmin}
	}
	return p, nil
}

// desk is the API over a real engine, and what people wrote down of its answers.
type desk struct {
	t     *testing.T
	api   *httpapi.API
	notes map[string]string
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	s := memory.Open(memory.Options{Embedded: true})
	e, err := engine.New(engine.Config{Store: s})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Stop(context.Background()) })
	api, err := httpapi.New(httpapi.Config{
		Cases: e, Definitions: e, Events: e, Trials: e, Jobs: e, Retention: e, Health: e, Auth: byHeader{},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &desk{t: t, api: api, notes: map[string]string{}}
}

// ask sends a request, in which $NAME stands for what was noted, and checks the
// status and, of a problem, the code. It returns the answer.
func (d *desk) ask(who, method, path, body string, status int, code string, headers ...string) map[string]any {
	d.t.Helper()
	for name, value := range d.notes {
		path, body = strings.ReplaceAll(path, "$"+name, value), strings.ReplaceAll(body, "$"+name, value)
	}
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Caller", who)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	rec := httptest.NewRecorder()
	d.api.ServeHTTP(rec, r)
	var answer map[string]any
	if strings.Contains(rec.Header().Get("Content-Type"), "json") {
		if err := json.Unmarshal(rec.Body.Bytes(), &answer); err != nil {
			d.t.Fatal(err)
		}
	}
	if got, _ := answer["code"].(string); rec.Code != status || status >= 400 && got != code {
		d.t.Errorf("%s: %s %s answers %d %s, want %d %s\n%s", who, method, path, rec.Code, got, status, code, rec.Body)
	}
	d.notes["ETAG"] = rec.Header().Get("ETag")
	return answer
}

// note keeps the id of an answer under a name.
func (d *desk) note(name string, answer map[string]any) {
	d.t.Helper()
	id, ok := answer["id"].(string)
	if !ok {
		d.t.Fatalf("no id to note as %s in %v", name, answer)
	}
	d.notes[name] = id
}

const (
	flowA = `{"name":"Flow","start_step":"ai","steps":{"ai":{"kind":"run_ai_review","timeout_seconds":60,"transitions":{"on_complete":"done"}},"done":{"kind":"emit_final","transitions":{"on_complete":"TERMINAL"}}}}`
	flowB = `{"name":"Flow","start_step":"ai","steps":{"ai":{"kind":"run_ai_review","timeout_seconds":90,"transitions":{"on_complete":"gone"}},"done":{"kind":"emit_final","transitions":{"on_complete":"TERMINAL"}}}}`
)

func TestTheLifeOfADefinitionOverREST(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	const at = "/workflow-definitions"
	d.note("A", d.ask("acme", "POST", at, `{"product_id":"eye","definition":`+flowA+`}`, 201, ""))
	first := d.notes["ETAG"]
	d.ask("acme", "POST", at, `{"definition":{"name":5}}`, 400, "invalid")
	d.ask("acme", "POST", at, `{"template_id":"$A"}`, 404, "not_found")

	d.ask("acme", "PATCH", at+"/$A", `{"definition":`+flowB+`}`, 428, "precondition_required")
	d.ask("acme", "PATCH", at+"/$A", `{"definition":`+flowB+`}`, 200, "", "If-Match", first)
	d.ask("acme", "PATCH", at+"/$A", `{"product_id":null}`, 412, "precondition_failed", "If-Match", first)
	d.ask("acme", "PATCH", at+"/$A", `{"product_id":null}`, 412, "precondition_failed", "If-Match", "W/"+first)
	d.ask("acme", "PATCH", at+"/$A", `{"definition":[]}`, 400, "invalid", "If-Match", "*")
	d.ask("beta", "PATCH", at+"/$A", `{"product_id":null}`, 404, "not_found", "If-Match", "*")

	if report := d.ask("acme", "POST", at+"/$A/validate", "", 200, ""); report["valid"] != false {
		t.Errorf("a broken draft is valid: %v", report)
	}
	d.ask("acme", "POST", at+"/$A/publish", "", 422, "invalid_definition")
	d.ask("acme", "GET", at+"/$A/graph?format=mermaid", "", 200, "")
	d.ask("acme", "PATCH", at+"/$A", `{"definition":`+flowA+`,"reason":"mended"}`, 200, "", "If-Match", "*")
	d.ask("acme", "POST", at+"/$A/publish", `{"reason":"ready"}`, 200, "")
	d.ask("acme", "POST", at+"/$A/publish", "", 409, "wrong_state")
	d.ask("acme", "PATCH", at+"/$A", `{"product_id":null}`, 409, "wrong_state", "If-Match", "*")

	d.note("B", d.ask("acme", "POST", at+"/$A/clone", `{"name":"Next"}`, 201, ""))
	d.ask("beta", "POST", at+"/$A/clone", "", 404, "not_found")
	d.ask("acme", "POST", at+"/$B/publish", "", 200, "")
	if replaced := d.ask("acme", "GET", at+"/$A", "", 200, ""); replaced["status"] != "archived" {
		t.Errorf("the replaced one is %v", replaced["status"])
	}
	d.ask("acme", "POST", at+"/$A/archive", "", 409, "wrong_state")
	d.note("C", d.ask("acme", "POST", at+"/$A/clone", `{"product_id":null}`, 201, ""))
	d.ask("acme", "POST", at+"/$C/archive", "", 200, "")

	if diff := d.ask("acme", "GET", at+"/$B/diff?against=$A", "", 200, ""); len(diff["changes"].([]any)) != 1 {
		t.Errorf("the diff is %v", diff)
	}
	d.ask("beta", "GET", at+"/$B/diff?against=$A", "", 404, "not_found")
	if revisions := d.ask("acme", "GET", at+"/$A/revisions", "", 200, ""); len(revisions["items"].([]any)) != 5 {
		t.Errorf("there are %d revisions, want 5: made, changed twice, published, replaced", len(revisions["items"].([]any)))
	}
	for query, want := range map[string]int{"": 3, "?name=Next": 1, "?status=archived": 2, "?product_id=eye": 2, "?kind=run": 0, "?product_id=eye&status=active": 1} {
		if list := d.ask("acme", "GET", at+query, "", 200, ""); len(list["items"].([]any)) != want {
			t.Errorf("%q lists %d, want %d", query, len(list["items"].([]any)), want)
		}
	}
	if list := d.ask("root admin", "GET", at+"?org_id=acme", "", 200, ""); len(list["items"].([]any)) != 3 {
		t.Errorf("an admin lists %v", list)
	}
	d.ask("beta", "GET", at+"?org_id=acme", "", 403, "forbidden")
}

func TestTemplatesOverREST(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	const at = "/workflow-definitions"
	templates := d.ask("acme", "GET", "/workflow-templates", "", 200, "")["items"].([]any)
	d.note("T", templates[0].(map[string]any))
	d.ask("acme", "POST", at+"/$T/archive", "", 403, "forbidden")
	d.ask("acme", "POST", at+"/$T/publish", "", 403, "forbidden")
	d.ask("acme", "PATCH", at+"/$T", `{"product_id":null}`, 403, "forbidden", "If-Match", "*")
	d.ask("acme", "POST", at, `{"is_template":true,"definition":`+flowA+`}`, 403, "forbidden")
	if copied := d.ask("acme", "POST", at+"/$T/clone", `{"product_id":"eye"}`, 201, ""); copied["org_id"] != "acme" || copied["status"] != "draft" {
		t.Errorf("the clone is %v", copied)
	}
	d.note("N", d.ask("root admin", "POST", at, `{"is_template":true,"definition":`+flowA+`}`, 201, ""))
	d.ask("acme", "GET", "/workflow-templates/$N", "", 404, "not_found")
	d.ask("root admin", "PATCH", at+"/$N", `{"product_id":"eye"}`, 400, "invalid", "If-Match", "*")
	d.ask("root admin", "POST", at+"/$N/publish", "", 200, "")
	d.ask("acme", "GET", "/workflow-templates/$N", "", 200, "")
	d.ask("root admin", "POST", at+"/$N/archive", "", 200, "")
	d.ask("root admin", "POST", at+"/$T/publish", "", 409, "wrong_state")
}

func TestTheCatalogueOverREST(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	const contract = `{"behaviour":"request","outcomes":[{"outcome":"on_complete"}],"events":{"requested":"ext.weigh.requested","completed":"ext.weigh.completed","failed":"ext.weigh.failed"}}`
	d.ask("acme", "POST", "/step-kinds", `{"name":"weigh","contract":`+contract+`}`, 201, "")
	d.ask("acme", "POST", "/step-kinds", `{"name":"weigh","contract":{"behaviour":"dream"}}`, 400, "invalid")
	d.ask("acme", "POST", "/step-kinds", `{"name":"halt","contract":`+contract+`}`, 400, "invalid")
	if again := d.ask("acme", "POST", "/step-kinds", `{"name":"weigh","contract":`+contract+`}`, 201, ""); again["version"] != 2.0 {
		t.Errorf("the next version is %v", again["version"])
	}
	d.ask("beta", "GET", "/step-kinds/weigh", "", 404, "not_found")
	d.ask("beta", "DELETE", "/step-kinds/weigh", "", 404, "not_found")
	d.ask("acme", "DELETE", "/step-kinds/halt", "", 403, "forbidden")

	lost := `{"scope":"halt","code":"lost","label":"Lost","applicable_step_kinds":["weigh"]}`
	d.note("R", d.ask("acme", "POST", "/reason-codes", lost, 201, ""))
	d.ask("acme", "POST", "/reason-codes", lost, 409, "conflict")
	d.ask("beta", "POST", "/reason-codes", lost, 400, "invalid") // it has no such kind
	d.ask("acme", "POST", "/reason-codes", `{"scope":"halt","code":"Lost!","label":"Lost"}`, 400, "invalid")
	all := d.ask("acme", "POST", "/reason-codes", `{"scope":"nowhere","code":"Lost!","requires_note":"yes","applicable_step_kinds":["nobody"],"colour":1}`, 400, "invalid")
	var pointers []string
	for _, field := range all["errors"].([]any) {
		pointers = append(pointers, field.(map[string]any)["pointer"].(string))
	}
	slices.Sort(pointers)
	if want := []string{"", "/applicable_step_kinds/0", "/code", "/label", "/requires_note", "/scope"}; !slices.Equal(pointers, want) {
		t.Errorf("of several mistakes %q are told, want %q", pointers, want)
	}
	d.ask("acme", "POST", "/reason-codes", `{"scope":"halt","code":"x","label":"X","system":true}`, 403, "forbidden")
	d.note("S", d.ask("root admin", "POST", "/reason-codes", `{"scope":"halt","code":"x","label":"X","system":true}`, 201, ""))
	d.ask("acme", "DELETE", "/reason-codes/$S", "", 403, "forbidden")
	d.ask("beta", "PATCH", "/reason-codes/$R", `{"label":"Mine"}`, 404, "not_found")
	d.ask("acme", "PATCH", "/reason-codes/$R", `{"label":""}`, 400, "invalid")
	if gone := d.ask("acme", "DELETE", "/reason-codes/$R", "", 200, ""); gone["active"] != false {
		t.Errorf("deleted: %v", gone)
	}
	if list := d.ask("acme", "GET", "/reason-codes?scope=halt&active=false", "", 200, ""); len(list["items"].([]any)) != 1 {
		t.Errorf("unusable codes: %v", list)
	}

	flow := `{"name":"W","start_step":"weigh","steps":{"weigh":{"kind":"weigh","transitions":{"on_complete":"done"}},"done":{"kind":"emit_final","transitions":{"on_complete":"TERMINAL"}}}}`
	d.note("W", d.ask("acme", "POST", "/workflow-definitions", `{"definition":`+flow+`}`, 201, ""))
	export := d.ask("acme", "GET", "/workflow-definitions/$W/export", "", 200, "")
	file, err := json.Marshal(export)
	if err != nil {
		t.Fatal(err)
	}
	d.ask("beta", "GET", "/workflow-definitions/$W/export", "", 404, "not_found")
	d.ask("beta", "POST", "/workflow-definitions/import", string(file), 201, "")
	d.ask("beta", "POST", "/workflow-definitions/import", string(file), 200, "")
	d.ask("gamma", "POST", "/step-kinds", `{"name":"weigh","contract":`+strings.Replace(contract, "{", `{"description":"other",`, 1)+`}`, 201, "")
	d.ask("gamma", "POST", "/workflow-definitions/import", string(file), 409, "conflict")
	d.ask("acme", "DELETE", "/step-kinds/weigh", "", 200, "")
	d.ask("acme", "POST", "/workflow-definitions/$W/publish", "", 422, "invalid_definition")
}
