package httpapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/httpapi"
)

// openAPI is what these tests read of the document.
type openAPI struct {
	Info  struct{ Title string }
	Tags  []struct{ Name, Description string }
	Paths map[string]map[string]struct {
		OperationID string `json:"operationId"`
		Tags        []string
		Parameters  []struct{ Name, In string }
		RequestBody *struct {
			Content map[string]struct{ Example json.RawMessage }
		} `json:"requestBody"`
	}
}

func readOpenAPI(t *testing.T, api *httpapi.API) openAPI {
	t.Helper()
	var doc openAPI
	if err := json.Unmarshal(api.OpenAPI(), &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// exampleOf returns the example of an operation's body, empty when it takes none.
func exampleOf(t *testing.T, doc openAPI, id string) string {
	t.Helper()
	for _, item := range doc.Paths {
		for _, op := range item {
			if op.OperationID == id && op.RequestBody != nil {
				return string(op.RequestBody.Content["application/json"].Example)
			}
		}
	}
	return ""
}

func TestExamplesOfBodiesAreAccepted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	doc, tried := readOpenAPI(t, b.API), 0
	for _, route := range b.Routes() {
		body := exampleOf(t, doc, route.ID)
		if (body != "") != (route.Body != httpapi.BodyNone) {
			t.Errorf("%s: the example is %q", route.ID, body)
		}
		if body == "" {
			continue
		}
		tried++
		id, ok := map[string]rondo.ID{"workflow definition": definitionID, "reason code": reasonCodeID, "dead letter": letterID, "run": runID}[route.Noun]
		if !ok {
			id = instanceID
		}
		target := strings.NewReplacer("{id}", id.String(), "{key}", cacheKey).Replace(route.Path)
		if route.Chat {
			target = strings.ReplaceAll(route.Path, "{id}", chatID)
		}
		if rec := b.do(route.Method, target, body, "If-Match", "*"); rec.Code >= 300 {
			t.Errorf("%s: the example is refused: %d %s", route.ID, rec.Code, rec.Body)
		}
	}
	if tried < 20 {
		t.Errorf("only %d examples were tried", tried)
	}
}

func TestExamplesWorkOnARealEngine(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	doc := readOpenAPI(t, d.api)
	ask := func(id, method, path string, status int) map[string]any {
		t.Helper()
		return d.ask("demo admin", method, path, exampleOf(t, doc, id), status, "", "If-Match", "*")
	}
	draft, _ := ask("create-definition", "POST", "/workflow-definitions", 201)["id"].(string)
	at := "/workflow-definitions/" + draft
	if report := ask("validate-definition", "POST", at+"/validate", 200); report["valid"] != true || len(report["warnings"].([]any)) > 0 {
		t.Errorf("the example definition: %v", report)
	}
	if report := ask("test-definition", "POST", at+"/test", 200); report["failed"] != 0.0 || report["passed"] != 1.0 {
		t.Errorf("the example test: %v", report)
	}
	ask("change-definition", "PATCH", at, 200)
	ask("publish-definition", "POST", at+"/publish", 200)
	ask("backtest-definition", "POST", at+"/backtest", 200)
	ask("clone-definition", "POST", at+"/clone", 201)
	ask("import-definition", "POST", "/workflow-definitions/import", 201)
	ask("publish-step-kind", "POST", "/step-kinds", 201)
	ask("create-reason-code", "POST", "/reason-codes", 201)
	ask("put-retention-policy", "PUT", "/retention-policies?org_id=demo", 200)
	event := strings.Replace(exampleOf(t, doc, "publish-event"), "2026-03-01T12:00:00Z", time.Now().Add(time.Minute).Format(time.RFC3339), 1)
	if receipt := d.ask("demo admin", "POST", "/events", event, 202, ""); receipt["outcome"] != "applied" {
		t.Errorf("the example event: %v", receipt)
	}
	ask("act-on-many", "POST", "/workflow-instances/bulk", 200)
}

func TestGroupsAreInReadingOrder(t *testing.T) {
	t.Parallel()
	doc := readOpenAPI(t, newBench(t).API)
	if doc.Info.Title != "Rondo API" {
		t.Errorf("the title is %q", doc.Info.Title)
	}
	used := map[string]bool{}
	for _, item := range doc.Paths {
		for _, op := range item {
			used[op.Tags[0]] = true
		}
	}
	var names []string
	for _, tag := range doc.Tags {
		names = append(names, tag.Name)
		if !used[tag.Name] || tag.Description == "" {
			t.Errorf("the group %s has no operation or no description", tag.Name)
		}
	}
	if len(names) != len(used) {
		t.Errorf("groups %v are used, %v are ordered", used, names)
	}
	if diff := cmp.Diff([]string{"instances", "documentation"}, []string{names[0], names[len(names)-1]}); diff != "" {
		t.Errorf("the first and the last group: %s", diff)
	}
}

func TestThePageSendsEveryPlaceOfParameters(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	script := b.do(http.MethodGet, "/docs/docs.js", "").Body.String()
	for path, item := range readOpenAPI(t, b.API).Paths {
		for method, op := range item {
			for _, p := range op.Parameters {
				if !strings.Contains(script, `p.in === "`+p.In+`"`) {
					t.Errorf("%s %s takes %s in the %s, which the page does not send", method, path, p.Name, p.In)
				}
			}
		}
	}
}

func TestThePageLeadsToBothDocuments(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	page := b.do(http.MethodGet, "/docs", "").Body.String()
	operations := map[string]bool{}
	for _, route := range b.Routes() {
		operations[route.ID] = true
	}
	for _, link := range []string{"/openapi.json", "/asyncapi.json"} {
		if !strings.Contains(page, `href="`+link+`"`) {
			t.Errorf("the page does not link to %s", link)
		}
	}
	for _, part := range strings.Split(page, `href="#`)[1:] {
		if id, _, _ := strings.Cut(part, `"`); !operations[id] {
			t.Errorf("the page links to the operation %q, which is not there", id)
		}
	}
}
