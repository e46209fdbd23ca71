package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

const (
	instancePath   = "/workflow-instances/01000000-0000-7000-8000-000000000001"
	definitionPath = "/workflow-definitions/01000000-0000-7000-8000-000000000002"
	templatePath   = "/workflow-templates/01000000-0000-7000-8000-000000000003"
)

const instanceJSON = `"id":"01000000-0000-7000-8000-000000000001","case_id":"case-1","org_id":"acme","product_id":"derm",
	"definition_id":"01000000-0000-7000-8000-000000000002","definition_snapshot_hash":"abc123","mode":"active","status":"running",
	"halt_reason":null,"halt_note":null,"halt_step_id":null,"cancelled_by":null,"cancelled_reason":null,"deadline_exceeded":false,
	"supersedes_id":null,"superseded_by_id":null,"started_at":"2026-03-01T12:00:00.123456Z","deadline_at":"2026-03-01T13:00:00.123456Z",
	"completed_at":null,"context":{"case_id":"case-1","ai_review":{"confidence":0.61}},"version":3,
	"current_steps":[
		{"step_id":"customer_review","kind":"request_human_review","status":"in_progress","attempt":1,"started_at":"2026-03-01T12:00:00.123456Z","timeout_at":"2026-03-01T12:01:00.123456Z"},
		{"step_id":"ai_again","kind":"run_ai_review","status":"pending","attempt":2,"started_at":null,"timeout_at":null}]`

const definitionJSON = `{"id":"01000000-0000-7000-8000-000000000002","org_id":"acme","product_id":"derm","kind":"case","name":"flow","version":4,
	"is_template":false,"status":"draft","default_mode":"active","definition":{"name":"flow"},"workflow_timeout_seconds":3600,
	"created_by":"ann","created_at":"2026-03-01T12:00:00.123456Z","updated_at":"2026-03-01T12:00:00.123456Z","published_at":null}`

const templateJSON = `{"id":"01000000-0000-7000-8000-000000000003","org_id":null,"product_id":null,"kind":"case","name":"ai_only","version":4,
	"is_template":true,"status":"active","default_mode":"active","definition":{"name":"flow"},"workflow_timeout_seconds":3600,
	"created_by":"ann","created_at":"2026-03-01T12:00:00.123456Z","updated_at":"2026-03-01T12:00:00.123456Z","published_at":"2026-03-01T12:00:00.123456Z"}`

func TestGoodRequestsAreAnswered(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		prepare      func(*fake)
		method, path string
		body         string
		status       int
		want         string
	}{
		"health": {nil, "GET", "/health", "", 200, `{"status":"ok","version":"test","provider":"scripted","model":"demo","authRequired":true,"redis":false}`},
		"ready": {func(f *fake) {
			f.components = []rondo.Component{{Name: "database"}, {Name: "migrations"}, {Name: "bus", Lag: 4}}
		}, "GET", "/health/ready", "", 200, `{"status":"ok","components":{"database":{"status":"ok","lag":0},"migrations":{"status":"ok","lag":0},"bus":{"status":"ok","lag":4}}}`},
		"not migrated": {func(f *fake) {
			f.components = []rondo.Component{{Name: "database"}, {Name: "migrations", Err: rondo.Invalid("secret version")}}
		}, "GET", "/health/ready", "", 503, `{"status":"unavailable","components":{"database":{"status":"ok","lag":0},"migrations":{"status":"unavailable","lag":0}}}`},
		"not ready": {func(f *fake) {
			f.components = []rondo.Component{{Name: "database", Err: rondo.Invalid("secret-host:5432 refused")}}
		}, "GET", "/health/ready", "", 503, `{"status":"unavailable","components":{"database":{"status":"unavailable","lag":0}}}`},

		"create a definition":        {nil, "POST", "/workflow-definitions", `{"definition":{"name":"flow"}}`, 201, definitionJSON},
		"list definitions":           {nil, "GET", "/workflow-definitions", "", 200, `{"items":[` + definitionJSON + `],"next_cursor":null}`},
		"read a definition":          {nil, "GET", definitionPath, "", 200, definitionJSON},
		"publish without a body":     {nil, "POST", definitionPath + "/publish", "", 200, definitionJSON},
		"publish with a reason":      {nil, "POST", definitionPath + "/publish", `{"reason":"ready"}`, 200, definitionJSON},
		"archive":                    {nil, "POST", definitionPath + "/archive", `{"reason":null}`, 200, definitionJSON},
		"validate a good definition": {func(f *fake) { f.report.Valid = true }, "POST", definitionPath + "/validate", "", 200, `{"valid":true,"errors":[],"warnings":[]}`},
		"validate a bad definition": {func(f *fake) {
			f.report.Errors = []rondo.FieldError{{Code: "cycle", Pointer: "/steps/a", Message: "break the cycle"}}
		}, "POST", definitionPath + "/validate", "{}", 200, `{"valid":false,"errors":[{"code":"cycle","pointer":"/steps/a","message":"break the cycle"}],"warnings":[]}`},
		"list templates":              {nil, "GET", "/workflow-templates", "", 200, `{"items":[` + templateJSON + `],"next_cursor":null}`},
		"read a template":             {nil, "GET", templatePath, "", 200, templateJSON},
		"list instances, none":        {nil, "GET", "/workflow-instances", "", 200, `{"items":[],"next_cursor":null}`},
		"list instances, one":         {func(f *fake) { f.instances = []*rondo.Instance{knownInstance()} }, "GET", "/workflow-instances?limit=1", "", 200, `{"items":[{` + instanceJSON + `}],"next_cursor":null}`},
		"read an instance":            {nil, "GET", instancePath, "", 200, `{` + instanceJSON + `,"definition_snapshot":{"frozen":true}}`},
		"id in upper case":            {nil, "GET", "/workflow-templates/01000000-0000-7000-8000-00000000000" + "3", "", 200, templateJSON},
		"halt":                        {nil, "POST", instancePath + "/halt", `{"reason_code":"manual_halt","note":"wait"}`, 200, `{` + instanceJSON + `}`},
		"resume":                      {nil, "POST", instancePath + "/resume", `{"reason":"go on"}`, 200, `{` + instanceJSON + `}`},
		"cancel":                      {nil, "POST", instancePath + "/cancel", `{"reason":"withdrawn"}`, 200, `{` + instanceJSON + `}`},
		"publish an event":            {nil, "POST", "/events", `{"event_type":"case.created"}`, 202, `{"event_id":"01000000-0000-7000-8000-000000000004","outcome":"applied","verdict":null,"error":null}`},
		"publish a known event again": {func(f *fake) { f.duplicate = true }, "POST", "/events", `{}`, 200, `{"event_id":"01000000-0000-7000-8000-000000000004","outcome":"applied","verdict":null,"error":null}`},
		"publish a rejected event":    {func(f *fake) { f.refusal = "images must be a list" }, "POST", "/events", `{"event_type":"case.created"}`, 202, `{"event_id":"01000000-0000-7000-8000-000000000004","outcome":"rejected","verdict":null,"error":"images must be a list"}`},
		"steps": {nil, "GET", instancePath + "/steps", "", 200, `{"items":[
			{"id":"01000000-0000-7000-8000-000000000008","instance_id":"01000000-0000-7000-8000-000000000001","step_id":"consent_gate","step_kind":"gate_on_consent","status":"completed","attempt":1,"started_at":"2026-03-01T12:00:00.123456Z","completed_at":"2026-03-01T12:00:01.123456Z","timeout_at":null,"input":{},"output":{"granted":true},"error":null,"correlation_id":"corr-1","delivery":null},
			{"id":"01000000-0000-7000-8000-000000000009","instance_id":"01000000-0000-7000-8000-000000000001","step_id":"customer_review","step_kind":"request_human_review","status":"in_progress","attempt":1,"started_at":"2026-03-01T12:00:00.123456Z","completed_at":null,"timeout_at":"2026-03-01T12:01:00.123456Z","input":{"tier":"sa_qa"},"output":null,"error":null,"correlation_id":"corr-2","delivery":null},
			{"id":"01000000-0000-7000-8000-00000000000a","instance_id":"01000000-0000-7000-8000-000000000001","step_id":"ai_again","step_kind":"run_ai_review","status":"pending","attempt":2,"started_at":null,"completed_at":null,"timeout_at":null,"input":null,"output":null,"error":null,"correlation_id":"corr-3","delivery":null}],"next_cursor":null}`},
		"a step that was delivered": {func(f *fake) { f.delivered = true }, "GET", instancePath + "/steps?limit=1", "", 200, `{"items":[
			{"id":"01000000-0000-7000-8000-000000000008","instance_id":"01000000-0000-7000-8000-000000000001","step_id":"consent_gate","step_kind":"gate_on_consent","status":"completed","attempt":1,"started_at":"2026-03-01T12:00:00.123456Z","completed_at":"2026-03-01T12:00:01.123456Z","timeout_at":null,"input":{},"output":{"granted":true},"error":null,"correlation_id":"corr-1",
			"delivery":{"event_id":"01000000-0000-7000-8000-000000000007","received_at":"2026-03-01T12:00:00.123456Z","delivery_id":"d-1","payload":{"delivery_id":"d-1"}}}],"next_cursor":"cwEwMTAwMDAwMC0wMDAwLTcwMDAtODAwMC0wMDAwMDAwMDAwMDg"}`},
		"events": {nil, "GET", instancePath + "/events", "", 200, `{"items":[{"id":"01000000-0000-7000-8000-00000000000b","org_id":"acme","event_id":"01000000-0000-7000-8000-000000000004","instance_id":"01000000-0000-7000-8000-000000000001",
			"event_type":"case.created","envelope":{"event_type":"case.created"},"received_at":"2026-03-01T12:00:00.123456Z","processed":true,"outcome":"applied","duplicates":2,"verdict":null,"error":null}],"next_cursor":null}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			if test.prepare != nil {
				test.prepare(b.engine)
			}
			rec := b.do(test.method, test.path, test.body)
			if rec.Code != test.status {
				t.Fatalf("status %d, want %d: %s", rec.Code, test.status, rec.Body)
			}
			if got := rec.Header().Get("Content-Type"); got != "application/json" {
				t.Errorf("Content-Type %q", got)
			}
			if diff := cmp.Diff(asAny(t, test.want), asAny(t, rec.Body.String())); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			checkDocumented(t, b.OpenAPI(), test.method, test.path, rec)
		})
	}
}

func TestRequestsReachTheEngineWhole(t *testing.T) {
	t.Parallel()
	admin := rondo.Principal{Tenant: "acme", User: "ann", Scopes: []string{rondo.ScopeAdmin}}
	tests := map[string]struct {
		method, path, body string
		got                func(*fake) any
		want               any
	}{
		"every instance filter": {
			"GET", "/workflow-instances?case_id=c%201&product_id=p&status=halted&mode=active&definition_id=01000000-0000-7000-8000-000000000002&reason_code=r&step_id=s&started_from=2026-01-01T00:00:00Z&started_to=2026-01-02T00:00:00%2B01:00&limit=7", "",
			func(f *fake) any { return []any{f.filter, f.page} },
			[]any{store.InstanceFilter{
				OrgID: "acme", CaseID: "c 1", ProductID: "p", Status: rondo.StatusHalted, Mode: rondo.ModeActive, DefinitionID: definitionID, ReasonCode: "r", StepID: "s",
				StartedFrom: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), StartedTo: time.Date(2026, 1, 1, 23, 0, 0, 0, time.UTC),
			}, store.Page{Limit: 8}},
		},
		"default page":             {"GET", "/workflow-instances", "", func(f *fake) any { return f.page }, store.Page{Limit: 51}},
		"org of an admin":          {"GET", "/workflow-instances?org_id=beta", "", func(f *fake) any { return []any{f.filter.OrgID, f.principal.Tenant, f.principal.User} }, []any{"beta", "beta", "ann"}},
		"own org":                  {"GET", "/workflow-instances?org_id=acme", "", func(f *fake) any { return f.filter.OrgID }, "acme"},
		"every definition filter":  {"GET", "/workflow-definitions?product_id=p&status=active&kind=case&limit=200", "", func(f *fake) any { return []any{f.defFilter, f.page.Limit} }, []any{store.DefinitionFilter{OrgID: "acme", ProductID: "p", Status: rondo.DefinitionActive, Kind: rondo.KindCase}, 201}},
		"definition as an object":  {"POST", "/workflow-definitions", `{"kind":"case","product_id":"p","definition":{"name": "x"},"reason":"r"}`, func(f *fake) any { return f.wanted }, rondo.NewDefinition{Kind: rondo.KindCase, ProductID: "p", Source: []byte(`{"name": "x"}`), Reason: "r"}},
		"definition as YAML":       {"POST", "/workflow-definitions", `{"definition":"name: x\n# a comment\n"}`, func(f *fake) any { return f.wanted }, rondo.NewDefinition{Kind: rondo.KindCase, Source: []byte("name: x\n# a comment\n")}},
		"definition of a template": {"POST", "/workflow-definitions", `{"template_id":"01000000-0000-7000-8000-000000000003"}`, func(f *fake) any { return f.wanted }, rondo.NewDefinition{Kind: rondo.KindCase, TemplateID: templateID}},
		"reason of publish":        {"POST", definitionPath + "/publish", `{"reason":"ready"}`, func(f *fake) any { return f.reason }, "ready"},
		"halt":                     {"POST", instancePath + "/halt", `{"reason_code":"manual_halt","note":"wait"}`, func(f *fake) any { return f.action }, rondo.Action{Name: rondo.ActionHalt, ReasonCode: "manual_halt", Note: "wait"}},
		"resume":                   {"POST", instancePath + "/resume", `{"reason":"go"}`, func(f *fake) any { return f.action }, rondo.Action{Name: rondo.ActionResume, Reason: "go"}},
		"cancel":                   {"POST", instancePath + "/cancel", `{"reason":"stop"}`, func(f *fake) any { return f.action }, rondo.Action{Name: rondo.ActionCancel, Reason: "stop"}},
		"event, byte for byte":     {"POST", "/events", `{"a" : 1, "z":[ ]}`, func(f *fake) any { return string(f.raw) }, `{"a" : 1, "z":[ ]}`},
		"principal":                {"GET", instancePath, "", func(f *fake) any { return f.principal }, admin},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, asUser(rondo.ScopeAdmin))
			if rec := b.do(test.method, test.path, test.body); rec.Code >= 300 {
				t.Fatalf("status %d: %s", rec.Code, rec.Body)
			}
			if diff := cmp.Diff(test.want, test.got(b.engine)); diff != "" {
				t.Errorf("what the engine was asked (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDefinitionsCarryTheirRevisionAndPlace(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	rec := b.do("POST", "/workflow-definitions", `{"definition":{}}`)
	if got := rec.Header().Get("Location"); got != definitionPath {
		t.Errorf("Location %q, want %q", got, definitionPath)
	}
	if got := b.do("GET", definitionPath, "").Header().Get("ETag"); got != `"7"` {
		t.Errorf("ETag %q, want the revision", got)
	}
}

func TestPagesFollowEachOther(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for n := range byte(3) {
		i := knownInstance()
		i.ID = id(100 - n)
		b.engine.instances = append(b.engine.instances, i)
	}
	rec := b.do("GET", "/workflow-instances?limit=2", "")
	var got struct {
		Items []struct{ ID string }
		Next  string `json:"next_cursor"`
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Items) != 2 || got.Next == "" {
		t.Fatalf("want two items and a cursor, got %s", rec.Body)
	}
	if rec = b.do("GET", "/workflow-instances?limit=2&cursor="+got.Next, ""); rec.Code != 200 {
		t.Fatalf("status %d: %s", rec.Code, rec.Body)
	}
	if want := (store.Page{After: id(99), Limit: 3}); b.engine.page != want {
		t.Errorf("the next page asks for %+v, want %+v", b.engine.page, want)
	}
	// A cursor belongs to its list.
	if rec = b.do("GET", "/workflow-definitions?cursor="+got.Next, ""); rec.Code != http.StatusBadRequest {
		t.Errorf("another list took the cursor: %d", rec.Code)
	}
}

// checkDocumented holds an answer against the schema that the OpenAPI document
// gives for it.
func checkDocumented(t *testing.T, openapi []byte, method, target string, rec *httptest.ResponseRecorder) {
	t.Helper()
	path, _, _ := strings.Cut(target, "?")
	for _, id := range []rondo.ID{instanceID, definitionID, templateID, reasonCodeID, jobID, runID, id(0xff)} {
		path = strings.Replace(path, id.String(), "{id}", 1)
	}
	kind, _, _ := strings.Cut(rec.Header().Get("Content-Type"), ";")
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	pointer := fmt.Sprintf("openapi.json#/paths/%s/%s/responses/%d/content/%s/schema", escape.Replace(path), strings.ToLower(method), rec.Code, escape.Replace(kind))
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(openapi))
	if err != nil {
		t.Fatal(err)
	}
	if err := compiler.AddResource("openapi.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile(pointer)
	if err != nil {
		t.Fatalf("%s %s %d is not documented: %v", method, path, rec.Code, err)
	}
	answer, err := jsonschema.UnmarshalJSON(bytes.NewReader(rec.Body.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(answer); err != nil {
		t.Errorf("the answer is not as documented: %v", err)
	}
}

func asAny(t *testing.T, raw string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(raw), &v); err != nil {
		t.Fatalf("not JSON: %v: %s", err, raw)
	}
	return v
}
