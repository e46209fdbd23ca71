package httpapi_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/auth"
	"github.com/rondo-engine/rondo/internal/httpapi"
)

var update = flag.Bool("update", false, "rewrite testdata/openapi.json")

func TestOpenAPIIsAsAgreed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, b.OpenAPI(), "", "  "); err != nil {
		t.Fatal(err)
	}
	pretty.WriteByte('\n')
	const golden = "testdata/openapi.json"
	if *update {
		if err := os.WriteFile(golden, pretty.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), pretty.String()); diff != "" {
		t.Errorf("the API changed; if that is meant, run this test with -update (-agreed +now):\n%s", diff)
	}
	if served := b.do("GET", "/openapi.json", ""); served.Body.String() != string(b.OpenAPI()) {
		t.Error("/openapi.json serves another document")
	}
}

func TestOpenAPIKnowsEveryRoute(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var doc struct {
		OpenAPI string
		Paths   map[string]map[string]struct {
			OperationID string
			Security    []map[string][]string
			Parameters  []struct{ Name, In string }
			RequestBody *struct{ Required bool }
			Responses   map[string]any
		}
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal(b.OpenAPI(), &doc); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(doc.OpenAPI, "3.1") {
		t.Errorf("OpenAPI %q, want 3.1", doc.OpenAPI)
	}
	count := 0
	for _, item := range doc.Paths {
		count += len(item)
	}
	if count != len(b.Routes()) {
		t.Errorf("%d operations for %d routes", count, len(b.Routes()))
	}
	for _, route := range b.Routes() {
		op, ok := doc.Paths[route.Path][strings.ToLower(route.Method)]
		if !ok {
			t.Errorf("%s is missing", route.Pattern())
			continue
		}
		securities := len(route.Scopes)
		if route.Chat {
			securities = 1 // a token, whatever its scopes
		}
		if op.OperationID != route.ID || len(op.Security) != securities || (op.RequestBody != nil) != (route.Body != httpapi.BodyNone) {
			t.Errorf("%s: id %q, %d securities, body %v", route.Pattern(), op.OperationID, len(op.Security), op.RequestBody)
		}
		if op.RequestBody != nil && op.RequestBody.Required != (route.Body == httpapi.BodyRequired) {
			t.Errorf("%s: body required %v", route.Pattern(), op.RequestBody.Required)
		}
		op.Parameters = slices.DeleteFunc(op.Parameters, func(p struct{ Name, In string }) bool { return p.In == "header" })
		if want := len(route.Query) + strings.Count(route.Path, "{"); len(op.Parameters) != want {
			t.Errorf("%s: %d parameters, want %d", route.Pattern(), len(op.Parameters), want)
		}
		if _, ok := op.Responses[fmt.Sprint(max(route.Success, 200))]; !ok {
			t.Errorf("%s: no good answer among %v", route.Pattern(), op.Responses)
		}
	}
	if _, there := doc.Components.Schemas["ErrorModel"]; there {
		t.Error("the document still describes another error type")
	}
}

func TestUnknownRoutesAndMethodsAreProblems(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		method, path string
		status       int
		allow        string
	}{
		"unknown path":            {"GET", "/nothing", 404, ""},
		"root":                    {"GET", "/", 404, ""},
		"below a known path":      {"GET", instancePath + "/nothing", 404, ""},
		"trailing slash":          {"GET", "/workflow-instances/", 404, ""},
		"double slash":            {"GET", "//workflow-instances", 404, ""},
		"dots":                    {"GET", "/workflow-templates/../workflow-instances", 404, ""},
		"wrong method":            {"DELETE", instancePath, 405, "GET, HEAD"},
		"wrong method on a post":  {"GET", instancePath + "/cancel", 405, "POST"},
		"both methods":            {"PUT", "/workflow-definitions", 405, "GET, HEAD, POST"},
		"options":                 {"OPTIONS", "/workflow-instances", 405, "GET, HEAD"},
		"made-up method":          {"BREW", "/health", 405, "GET, HEAD"},
		"made-up method, unknown": {"BREW", "/coffee", 404, ""},
		"unknown documentation":   {"GET", "/docs/secret.txt", 404, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rec := newBench(t).do(test.method, test.path, "")
			problemIn(t, rec)
			if rec.Code != test.status || rec.Header().Get("Allow") != test.allow {
				t.Errorf("got %d, Allow %q, want %d, Allow %q", rec.Code, rec.Header().Get("Allow"), test.status, test.allow)
			}
		})
	}
}

func TestEveryAnswerHasSafeHeaders(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, target := range []string{"/health", "/nothing", "/workflow-instances?limit=0", "/openapi.json", "/docs", "/metrics"} {
		rec := b.do("GET", target, "")
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := rec.Header().Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", target, name, got, want)
			}
		}
		policy := rec.Header().Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") {
			t.Errorf("%s: policy %q", target, policy)
		}
	}
}

func TestRequestIDsAndTracesComeBack(t *testing.T) {
	t.Parallel()
	const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	tests := map[string]struct{ id, trace, wantTrace string }{
		"given":             {"abc-1.2_3", trace, trace},
		"none":              {"", "", ""},
		"too long":          {strings.Repeat("x", 65), "00-short", ""},
		"with a space":      {"a b", strings.ToUpper(trace), ""},
		"with a quote":      {`a"b`, "ff" + trace[2:], ""},
		"with other script": {"é", "00-00000000000000000000000000000000-00f067aa0ba902b7-01", ""},
		"with a slash":      {"a/b", "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			rec := b.do("GET", "/nothing", "", "X-Request-Id", test.id, "Traceparent", test.trace)
			got := problemIn(t, rec).RequestID
			if name == "given" && got != test.id {
				t.Errorf("request id %q, want %q", got, test.id)
			}
			if name != "given" {
				if _, err := rondo.ParseID(got); err != nil {
					t.Errorf("request id %q is not a new one", got)
				}
			}
			if got := rec.Header().Get("Traceparent"); got != test.wantTrace {
				t.Errorf("traceparent %q, want %q", got, test.wantTrace)
			}
			if !strings.Contains(b.log.String(), `"request_id":"`+got+`"`) {
				t.Errorf("the log does not know the request: %s", b.log)
			}
		})
	}
}

func TestPanicsAreProblemsAndTheServerGoesOn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.engine.panic = "secret state"
	rec := b.do("GET", instancePath, "")
	if p := problemIn(t, rec); rec.Code != 500 || p.Code != "internal" || strings.Contains(rec.Body.String(), "secret") {
		t.Errorf("got %d: %s", rec.Code, rec.Body)
	}
	if !strings.Contains(b.log.String(), "secret state") {
		t.Errorf("the log does not tell the cause: %s", b.log)
	}
	b.engine.panic = rondo.WrongState("thrown, not returned")
	if rec := b.do("GET", instancePath, ""); rec.Code != 500 {
		t.Errorf("a thrown error with a code answers %d, want 500", rec.Code)
	}
	b.engine.panic = nil
	if rec := b.do("GET", instancePath, ""); rec.Code != 200 {
		t.Errorf("afterwards: %d", rec.Code)
	}
}

func TestAnAnswerThatBreaksMidwayIsCutOff(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	broken := knownInstance()
	broken.Context["ai_review"] = json.RawMessage(`{"half":`)
	b.engine.instances = []*rondo.Instance{broken}
	server := httptest.NewUnstartedServer(b)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.Start()
	defer server.Close()
	res, err := http.Get(server.URL + "/workflow-instances")
	if err == nil {
		_, err = io.ReadAll(res.Body)
		_ = res.Body.Close()
	}
	if err == nil {
		t.Error("the client took a broken answer for whole")
	}
	server.Close()
	if !strings.Contains(b.log.String(), `"level":"ERROR"`) || !strings.Contains(b.log.String(), `"status":500`) {
		t.Errorf("the log does not tell: %s", b.log)
	}
}

func TestPayloadsAppearInNoLogMetricOrError(t *testing.T) {
	t.Parallel()
	const canary = "CANARY7f3a"
	b, is := tokenBench(t)
	token := "Bearer " + is.Token("acme", "ann", auth.AllScopes())
	send := func(method, target, body string, headers ...string) string {
		rec := b.do(method, target, body, append([]string{"Authorization", token}, headers...)...)
		return rec.Body.String()
	}
	answers := []string{
		send("POST", "/events", `{"payload":{"name":"`+canary+`"}}`),
		send("POST", "/events", `{"payload":"`+canary+``),
		send("POST", "/events", `{"a":1,"a":"`+canary+`"}`),
		send("POST", "/events", canary),
		send("POST", "/events", `{"x":"`+canary+`"}`, "Content-Type", "text/"+canary),
		send("POST", instancePath+"/halt", `{"reason_code":"`+canary+`","note":5}`),
		send("POST", instancePath+"/halt", `{"`+canary+`":1}`),
		send("POST", instancePath+"/cancel", `{"reason":"`+canary+`"}`),
		send("POST", "/workflow-definitions", `{"kind":"`+canary+`","definition":{}}`),
		send("POST", "/workflow-definitions", `{"template_id":"`+canary+`"}`),
		send("POST", "/workflow-definitions", `{"definition":"`+canary+`","template_id":"x"}`),
		send("GET", "/workflow-instances?case_id="+canary, ""),
		send("GET", "/workflow-instances?status="+canary, ""),
		send("GET", "/workflow-instances?"+canary+"=1", ""),
		send("GET", "/workflow-instances/"+canary, ""),
		send("GET", "/"+canary, ""),
		send(canary, "/health", ""),
		send("GET", "/workflow-instances", "", "Authorization", "Bearer "+canary),
		send("GET", "/workflow-instances", "", "X-Request-Id", canary+"!", "Traceparent", canary, "User-Agent", canary),
	}
	b.engine.err = errors.New("the database is gone")
	answers = append(answers, send("POST", "/events", `{"payload":{"name":"`+canary+`"}}`))
	for i, answer := range answers {
		if strings.Contains(answer, canary) {
			t.Errorf("answer %d shows it: %s", i, answer)
		}
	}
	if strings.Contains(b.log.String(), canary) {
		t.Errorf("the log shows it:\n%s", b.log)
	}
	if strings.Contains(b.log.String(), token[10:40]) {
		t.Error("the log shows the token")
	}
	if got := strings.Count(b.log.String(), "\n"); got != len(answers) {
		t.Errorf("%d log lines for %d requests", got, len(answers))
	}
	rec := httptest.NewRecorder()
	b.metrics.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if strings.Contains(rec.Body.String(), canary) || !strings.Contains(rec.Body.String(), `method="OTHER"`) {
		t.Errorf("the metrics show it, or miss the odd method:\n%s", rec.Body)
	}
}

func TestAccessLineSaysWhatAnOperatorNeeds(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.do("GET", instancePath, "", "X-Request-Id", "r1")
	var line map[string]any
	if err := json.Unmarshal(b.log.Bytes(), &line); err != nil {
		t.Fatalf("want one JSON line: %v: %s", err, b.log)
	}
	for name, want := range map[string]any{
		"msg": "request", "level": "INFO", "request_id": "r1", "method": "GET", "route": "/workflow-instances/{id}",
		"status": 200.0, "org": "acme", "id": instanceID.String(),
	} {
		if line[name] != want {
			t.Errorf("%s is %v, want %v", name, line[name], want)
		}
	}
}

func TestDocumentationWorksOffline(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for target, kind := range map[string]string{"/docs": "text/html", "/docs/docs.js": "text/javascript", "/docs/docs.css": "text/css"} {
		rec := b.do("GET", target, "")
		if rec.Code != 200 || !strings.HasPrefix(rec.Header().Get("Content-Type"), kind) {
			t.Errorf("%s: %d %s", target, rec.Code, rec.Header().Get("Content-Type"))
		}
		for _, foreign := range []string{"http://", "https://", "//cdn", "innerHTML", "eval(", "onclick=", "style="} {
			if strings.Contains(rec.Body.String(), foreign) {
				t.Errorf("%s contains %q", target, foreign)
			}
		}
	}
}

func TestHeadIsAnsweredLikeGet(t *testing.T) {
	t.Parallel()
	if rec := newBench(t).do("HEAD", "/health", ""); rec.Code != 200 {
		t.Errorf("status %d", rec.Code)
	}
}

func TestServerRefusesOversizedHeaders(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := httpapi.NewServer("", newBench(t))
	server.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	defer func() {
		_ = server.Close()
		<-done
	}()
	for size, want := range map[int]int{8 << 10: 200, 20 << 10: 431} {
		req, err := http.NewRequest(http.MethodGet, "http://"+listener.Addr().String()+"/health", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Padding", strings.Repeat("x", size))
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%d bytes of header: %d, want %d", size, res.StatusCode, want)
		}
	}
	if server.ReadHeaderTimeout != 5*time.Second || server.ReadTimeout != 15*time.Second || server.IdleTimeout != 60*time.Second {
		t.Errorf("timeouts are %v, %v, %v", server.ReadHeaderTimeout, server.ReadTimeout, server.IdleTimeout)
	}
}

func TestNewAsksForWhatItNeeds(t *testing.T) {
	t.Parallel()
	if _, err := httpapi.New(httpapi.Config{}); err == nil {
		t.Error("an empty configuration was accepted")
	}
}
