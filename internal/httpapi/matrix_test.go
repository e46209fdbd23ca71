package httpapi_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/auth"
	"github.com/rondo-engine/rondo/internal/auth/authtest"
	"github.com/rondo-engine/rondo/internal/httpapi"
)

// tokenBench is an API that checks real tokens of a real issuer.
func tokenBench(t *testing.T) (*bench, *authtest.Issuer) {
	t.Helper()
	is := authtest.NewIssuer(t)
	verifier, err := auth.New(is.Config("acme"))
	if err != nil {
		t.Fatal(err)
	}
	return newBench(t, func(c *httpapi.Config) { c.Auth = verifier }), is
}

// requestFor is a request that the route accepts, but for the caller.
func requestFor(route httpapi.Route) *http.Request {
	which := instanceID
	switch route.Noun {
	case "workflow definition":
		which = definitionID
	case "workflow template":
		which = templateID
	case "reason code":
		which = reasonCodeID
	case "job":
		which = jobID
	case "event":
		which = eventID
	case "dead letter":
		which = letterID
	case "run", "step of a run":
		which = runID
	case "artifact":
		which = artifactOf(route)
	}
	name := "weigh"
	if route.Noun == "event type" {
		name = "case.created"
	}
	id := which.String()
	if route.Chat {
		id = chatID
	}
	target := strings.NewReplacer("{id}", id, "{number}", "1", "{name}", name, "{asset}", "docs.js", "{stepId}", "mix", "{artifactId}", artifactID.String(), "{key}", cacheKey).Replace(route.Path)
	r := httptest.NewRequest(route.Method, target, strings.NewReader(bodyFor(route)))
	if bodyFor(route) != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("If-Match", "*")
	if route.ID == "diff-definitions" {
		r.URL.RawQuery = "against=" + templateID.String()
	}
	switch route.ID {
	case "search-events":
		r.URL.RawQuery = "outcome=parked"
	case "invalidate-cache":
		r.URL.RawQuery = "step=mix"
	case "stream-events":
		r.URL.RawQuery = "group=mine&types=case.created"
	}
	return r
}

// artifactOf is what {id} is in a route to an artifact.
func artifactOf(route httpapi.Route) rondo.ID {
	if strings.Contains(route.Path, "{artifactId}") {
		return runID
	}
	return artifactID
}

func TestEveryRouteTakesExactlyItsScopes(t *testing.T) {
	t.Parallel()
	b, is := tokenBench(t)
	callers := map[string][]string{
		"no scope":             nil,
		"a scope that extends": {rondo.ScopeRead + "s", rondo.ScopeAdmin + ".x", "orchestrator:"},
		"a scope in upper case": {
			strings.ToUpper(rondo.ScopeRead), strings.ToUpper(rondo.ScopeAdmin), strings.ToUpper(rondo.ScopeEvents),
		},
		"a wildcard": {"orchestrator:*", "runs:*", "*"},
	}
	for _, scope := range auth.AllScopes() {
		callers[scope] = []string{scope}
	}
	for _, route := range b.Routes() {
		for name, scopes := range callers {
			t.Run(route.ID+"/"+name, func(t *testing.T) {
				r := requestFor(route)
				r.Header.Set("Authorization", "Bearer "+is.Token("acme", "ann", scopes))
				rec := httptest.NewRecorder()
				b.ServeHTTP(rec, r)
				allowed := route.Public() || route.Chat || slices.Contains(scopes, rondo.ScopeAdmin) ||
					slices.ContainsFunc(route.Scopes, func(s string) bool { return slices.Contains(scopes, s) })
				if allowed && rec.Code >= 400 {
					t.Errorf("refused with %d: %s", rec.Code, rec.Body)
				}
				if !allowed {
					if p := problemIn(t, rec); rec.Code != http.StatusForbidden || p.Code != "forbidden" {
						t.Errorf("got %d %s, want 403 forbidden", rec.Code, p.Code)
					}
				}
			})
		}
	}
}

func TestScopesOfTheRouteTable(t *testing.T) {
	t.Parallel()
	// What the table must say, written apart from it.
	want := map[string]string{
		"GET /health":                                     "",
		"GET /health/ready":                               "",
		"GET /metrics":                                    "admin",
		"POST /workflow-definitions":                      "write",
		"GET /workflow-definitions":                       "read",
		"GET /workflow-definitions/{id}":                  "read",
		"POST /workflow-definitions/{id}/validate":        "read write publish",
		"POST /workflow-definitions/{id}/publish":         "publish",
		"POST /workflow-definitions/{id}/test":            "read write publish",
		"POST /workflow-definitions/{id}/backtest":        "read",
		"POST /workflow-definitions/{id}/archive":         "publish",
		"PATCH /workflow-definitions/{id}":                "write",
		"POST /workflow-definitions/import":               "write",
		"POST /workflow-definitions/{id}/clone":           "write",
		"GET /workflow-definitions/{id}/revisions":        "read",
		"GET /workflow-definitions/{id}/diff":             "read",
		"GET /workflow-definitions/{id}/graph":            "read",
		"GET /workflow-definitions/{id}/export":           "read",
		"GET /reason-codes":                               "read",
		"POST /reason-codes":                              "write",
		"PATCH /reason-codes/{id}":                        "write",
		"DELETE /reason-codes/{id}":                       "write",
		"GET /step-kinds":                                 "read",
		"POST /step-kinds":                                "write",
		"GET /step-kinds/{name}":                          "read",
		"DELETE /step-kinds/{name}":                       "write",
		"GET /workflow-templates":                         "read",
		"GET /workflow-templates/{id}":                    "read",
		"GET /workflow-instances":                         "read read-instances",
		"GET /workflow-instances/{id}":                    "read read-instances",
		"GET /workflow-instances/{id}/steps":              "read read-instances",
		"GET /workflow-instances/{id}/events":             "read read-instances",
		"POST /workflow-instances/{id}/halt":              "intervene",
		"POST /workflow-instances/{id}/resume":            "intervene",
		"POST /workflow-instances/{id}/cancel":            "intervene",
		"POST /workflow-instances/{id}/retry-step":        "intervene",
		"POST /workflow-instances/{id}/set-mode":          "intervene",
		"POST /workflow-instances/{id}/supersede":         "intervene",
		"POST /workflow-instances/{id}/skip-step":         "intervene",
		"POST /workflow-instances/{id}/complete-step":     "intervene read read-instances write publish events", // the step's assignees too
		"POST /workflow-instances/{id}/migrate":           "intervene",
		"GET /workflow-instances/{id}/interventions":      "read read-instances",
		"GET /workflow-instances/{id}/next-step":          "read read-instances",
		"GET /workflow-instances/{id}/why":                "read read-instances",
		"GET /workflow-instances/{id}/timeline":           "read read-instances",
		"GET /workflow-instances/{id}/stream":             "read read-instances",
		"GET /workflow-instances/stream":                  "read read-instances",
		"POST /workflow-instances/bulk":                   "intervene",
		"GET /jobs":                                       "read read-instances intervene",
		"GET /retention-policies":                         "read",
		"PUT /retention-policies":                         "admin",
		"GET /jobs/{id}":                                  "read read-instances intervene",
		"GET /jobs/{id}/results":                          "read read-instances intervene",
		"POST /events":                                    "events",
		"GET /events":                                     "read read-instances",
		"GET /events/{id}":                                "read read-instances",
		"POST /events/{id}/replay":                        "admin",
		"GET /events/schemas":                             "read events",
		"GET /events/schemas/{name}":                      "read events",
		"GET /events/stream":                              "events",
		"POST /events/acks":                               "events",
		"GET /events/groups":                              "admin",
		"DELETE /events/groups/{name}":                    "admin",
		"GET /events/dead-letters":                        "read",
		"GET /events/dead-letters/{id}":                   "read",
		"POST /events/dead-letters/{id}/replay":           "intervene",
		"POST /events/dead-letters/{id}/discard":          "intervene",
		"POST /api/chat/start":                            "anyone",
		"POST /api/chat/send":                             "anyone",
		"POST /api/chat/card-action":                      "anyone",
		"POST /api/chat/orchestrate":                      "anyone",
		"GET /api/chat/conversations":                     "anyone",
		"GET /api/chat/conversations/{id}":                "anyone",
		"DELETE /api/chat/conversations/{id}":             "anyone",
		"GET /api/chat/conversations/{id}/turns":          "anyone",
		"GET /api/chat/conversations/{id}/turns/{number}": "anyone",
		"POST /api/chat/conversations/{id}/end":           "anyone",
		"POST /api/chat/conversations/{id}/replay":        "anyone",
		"POST /runs":                                      "runs:write",
		"GET /runs":                                       "runs:read",
		"POST /runs/plan":                                 "runs:read runs:write",
		"GET /runs/{id}":                                  "runs:read",
		"POST /runs/{id}/update":                          "runs:write",
		"POST /runs/{id}/cancel":                          "runs:write",
		"POST /runs/{id}/retry":                           "runs:write",
		"GET /runs/{id}/steps":                            "runs:read",
		"GET /runs/{id}/steps/{stepId}":                   "runs:read",
		"GET /runs/{id}/artifacts":                        "runs:read",
		"GET /runs/{id}/artifacts/{artifactId}/content":   "runs:read",
		"GET /artifacts/{id}/content":                     "runs:read",
		"GET /runs/{id}/explain":                          "runs:read",
		"GET /runs/{id}/cache-analysis":                   "runs:read",
		"GET /runs/{id}/stream":                           "runs:read",
		"GET /workflows":                                  "runs:read",
		"GET /workflows/{name}":                           "runs:read",
		"GET /cache":                                      "runs:admin",
		"GET /cache/stats":                                "runs:admin",
		"DELETE /cache":                                   "runs:admin",
		"POST /cache/{key}/taint":                         "runs:admin",
		"GET /asyncapi.json":                              "",
		"GET /openapi.json":                               "",
		"GET /docs":                                       "",
		"GET /docs/{asset}":                               "",
	}
	seen := map[string]bool{}
	for _, route := range newBench(t).Routes() {
		seen[route.Pattern()] = true
		scopes, known := want[route.Pattern()]
		if !known {
			t.Errorf("%s has no line here: decide who may call it", route.Pattern())
		}
		got := strings.ReplaceAll(strings.Join(route.Scopes, " "), "orchestrator:", "")
		if route.Chat {
			got += "anyone" // who is known
		}
		if got != scopes {
			t.Errorf("%s takes %q, want %q", route.Pattern(), got, scopes)
		}
	}
	for pattern := range want {
		if !seen[pattern] {
			t.Errorf("%s is gone from the table", pattern)
		}
	}
}

func TestForgedTokensOpenNoRoute(t *testing.T) {
	t.Parallel()
	b, is := tokenBench(t)
	forgeries := authtest.Forgeries(t, is, "acme", "ann")
	if len(forgeries) < 60 {
		t.Fatalf("%d forgeries, want at least 60", len(forgeries))
	}
	for _, route := range b.Routes() {
		if route.Public() {
			continue
		}
		t.Run(route.ID, func(t *testing.T) {
			for _, f := range forgeries {
				r := requestFor(route)
				maps.Copy(r.Header, f.Header)
				rec := httptest.NewRecorder()
				b.ServeHTTP(rec, r)
				status := http.StatusUnauthorized
				if f.Code == auth.CodeTenantNotAllowed {
					status = http.StatusForbidden
				}
				if p := problemIn(t, rec); rec.Code != status || p.Code != string(f.Code) {
					t.Errorf("%s: got %d %s, want %d %s", f.Name, rec.Code, p.Code, status, f.Code)
				}
				challenge := rec.Header().Get("WWW-Authenticate")
				if !strings.HasPrefix(challenge, `Bearer realm="rondo"`) {
					t.Errorf("%s: WWW-Authenticate %q", f.Name, challenge)
				}
				if named := strings.Contains(challenge, "error="); named != (f.Code != auth.CodeTokenMissing) {
					t.Errorf("%s: WWW-Authenticate %q", f.Name, challenge)
				}
			}
			if b.engine.principal.Tenant != "" {
				t.Error("the engine was called")
			}
		})
	}
}

func TestKeysOutOfReachAre503(t *testing.T) {
	t.Parallel()
	b, is := tokenBench(t)
	is.AnswerKeysWith(func() (int, string) { return 500, "" })
	r := httptest.NewRequest(http.MethodGet, "/workflow-instances", nil)
	r.Header.Set("Authorization", "Bearer "+is.Token("acme", "ann", auth.AllScopes()))
	rec := httptest.NewRecorder()
	b.ServeHTTP(rec, r)
	if p := problemIn(t, rec); rec.Code != 503 || p.Code != "unavailable" || rec.Header().Get("Retry-After") == "" {
		t.Errorf("got %d %s, Retry-After %q", rec.Code, p.Code, rec.Header().Get("Retry-After"))
	}
}

func TestMetricsCanBeOpenedToAll(t *testing.T) {
	t.Parallel()
	open := newBench(t, asUser(), func(c *httpapi.Config) { c.PublicMetrics = true })
	open.do("GET", "/health", "")
	rec := open.do("GET", "/metrics", "")
	if rec.Code != 200 || !strings.Contains(rec.Body.String(), `rondo_http_requests_total{method="GET",route="/health",status="200"} 1`) {
		t.Errorf("status %d:\n%s", rec.Code, rec.Body)
	}
	if rec := newBench(t, asUser(rondo.ScopeRead)).do("GET", "/metrics", ""); rec.Code != 403 {
		t.Errorf("by default a reader got %d, want 403", rec.Code)
	}
}
