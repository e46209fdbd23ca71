package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/httpapi"
)

func TestServiceErrorsBecomeProblems(t *testing.T) {
	t.Parallel()
	fields := []rondo.FieldError{{Code: "cycle", Pointer: "/steps/a", Message: "break the cycle"}}
	const secret = "pq: password of secret-host"
	tests := map[string]struct {
		err    error
		status int
		code   string
		detail string
		retry  bool
	}{
		"invalid":               {rondo.Invalid("that is wrong"), 400, "invalid", "that is wrong", false},
		"invalid definition":    {&rondo.Error{Code: rondo.CodeInvalidDef, Message: "it breaks rules", Fields: fields}, 422, "invalid_definition", "it breaks rules", false},
		"unauthorized":          {&rondo.Error{Code: rondo.CodeUnauthorized, Message: "who?"}, 401, "unauthorized", "who?", false},
		"forbidden":             {&rondo.Error{Code: rondo.CodeForbidden, Message: "no"}, 403, "forbidden", "no", false},
		"not found":             {&rondo.Error{Code: rondo.CodeNotFound, Message: secret}, 404, "not_found", "no such workflow instance", false},
		"wrong state":           {rondo.WrongState("the instance is completed"), 409, "wrong_state", "the instance is completed", false},
		"conflict":              {&rondo.Error{Code: rondo.CodeConflict, Message: "clash"}, 409, "conflict", "clash", false},
		"precondition":          {&rondo.Error{Code: rondo.CodePrecondition, Message: "stale"}, 412, "precondition_failed", "stale", false},
		"precondition required": {&rondo.Error{Code: rondo.CodePreconditionRequired, Message: "If-Match"}, 428, "precondition_required", "If-Match", false},
		"too large":             {&rondo.Error{Code: rondo.CodeTooLarge, Message: "big"}, 413, "too_large", "big", false},
		"overloaded":            {&rondo.Error{Code: rondo.CodeOverloaded, Message: "later"}, 429, "overloaded", "later", true},
		"unavailable":           {&rondo.Error{Code: rondo.CodeUnavailable, Message: "down", Err: errors.New(secret)}, 503, "unavailable", "down", true},
		"wrapped":               {rondo.Op("outer "+secret, rondo.Op("inner", rondo.WrongState("it is halted"))), 409, "wrong_state", "it is halted", false},
		"wrapped by fmt":        {fmt.Errorf("outer %s: %w", secret, rondo.WrongState("it is halted")), 409, "wrong_state", "it is halted", false},
		"wrapped without words": {rondo.Op("outer", &rondo.Error{Code: rondo.CodeConflict, Err: errors.New(secret)}), 409, "conflict", "It clashes with something else", false},
		"deadline":              {context.DeadlineExceeded, 503, "unavailable", "Not available right now", true},
		"internal":              {&rondo.Error{Code: rondo.CodeInternal, Message: secret, Hint: secret, Fields: fields}, 500, "internal", "something went wrong inside the server", false},
		"unknown code":          {&rondo.Error{Code: "made_up", Message: secret}, 500, "internal", "something went wrong inside the server", false},
		"any other error":       {errors.New(secret), 500, "internal", "something went wrong inside the server", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.engine.err = test.err
			rec := b.do("POST", instancePath+"/cancel", `{"reason":"x"}`)
			p := problemIn(t, rec)
			if rec.Code != test.status || p.Code != test.code || p.Detail != test.detail {
				t.Errorf("got %d %s %q, want %d %s %q", rec.Code, p.Code, p.Detail, test.status, test.code, test.detail)
			}
			if test.status != 412 && test.status != 428 && test.status != 422 { // not of this route
				checkDocumented(t, b.OpenAPI(), "POST", instancePath+"/cancel", rec)
			}
			if got := rec.Header().Get("Retry-After") != ""; got != test.retry {
				t.Errorf("Retry-After %v, want %v", got, test.retry)
			}
			if strings.Contains(rec.Body.String(), "secret") {
				t.Errorf("the cause leaks: %s", rec.Body)
			}
			if test.code == "invalid_definition" {
				if diff := cmp.Diff(fields, p.Errors); diff != "" {
					t.Errorf("errors (-want +got):\n%s", diff)
				}
			}
			if logged := strings.Contains(b.log.String(), `"error":`); logged != (test.status >= 500) {
				t.Errorf("cause logged: %v, for status %d: %s", logged, test.status, b.log)
			}
		})
	}
}

func TestBadBodiesAreRefusedBeforeTheEngine(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300<<10)
	tests := map[string]struct {
		path, body string
		headers    []string
		status     int
		pointers   []string
	}{
		"no body":                        {instancePath + "/halt", "", nil, 400, nil},
		"not JSON":                       {instancePath + "/halt", `{"reason_code":`, nil, 400, []string{"/reason_code"}},
		"trailing data":                  {instancePath + "/halt", `{"reason_code":"x"} {}`, nil, 400, []string{""}},
		"a list":                         {instancePath + "/halt", `[]`, nil, 400, []string{""}},
		"duplicate member":               {instancePath + "/halt", `{"reason_code":"x","reason_code":"y"}`, nil, 400, []string{"/reason_code"}},
		"duplicate member by escape":     {instancePath + "/halt", `{"reason_code":"x","\u0072eason_code":"y"}`, nil, 400, []string{"/reason_code"}},
		"member in another case":         {instancePath + "/halt", `{"Reason_Code":"x"}`, nil, 400, []string{"/reason_code", "/reason_code"}},
		"unknown member":                 {instancePath + "/halt", `{"reason_code":"x","extra":1}`, nil, 400, []string{""}},
		"mass assignment":                {instancePath + "/resume", `{"reason":"x","org_id":"beta","status":"completed"}`, nil, 400, []string{"", ""}},
		"wrong type":                     {instancePath + "/halt", `{"reason_code":5,"note":{}}`, nil, 400, []string{"/reason_code", "/note"}},
		"null where required":            {instancePath + "/resume", `{"reason":null}`, nil, 400, []string{"/reason"}},
		"blank where required":           {instancePath + "/cancel", `{"reason":"  "}`, nil, 400, []string{"/reason"}},
		"NUL in text":                    {instancePath + "/cancel", `{"reason":"a\u0000b"}`, nil, 400, []string{"/reason"}},
		"too long a reason":              {instancePath + "/cancel", `{"reason":"` + strings.Repeat("x", 4097) + `"}`, nil, 400, []string{"/reason"}},
		"huge integer":                   {"/events", `{"payload":{"n":9007199254740993}}`, nil, 400, []string{"/payload/n"}},
		"too deep":                       {"/events", strings.Repeat(`{"a":`, 33) + "1" + strings.Repeat("}", 33), nil, 400, []string{"*"}},
		"invalid UTF-8":                  {"/events", "{\"a\":\"\xff\"}", nil, 400, []string{"/a"}},
		"too large":                      {"/events", `{"a":"` + long + `"}`, nil, 413, nil},
		"definition too large":           {"/workflow-definitions", `{"definition":{"a":"` + strings.Repeat("x", 1<<20) + `"}}`, nil, 413, nil},
		"content type missing":           {"/events", `{}`, []string{"Content-Type", ""}, 415, nil},
		"content type of a form":         {"/events", `{}`, []string{"Content-Type", "text/plain"}, 415, nil},
		"content type of a variant":      {"/events", `{}`, []string{"Content-Type", "application/json-patch+json"}, 415, nil},
		"content encoding":               {"/events", `{}`, []string{"Content-Encoding", "gzip"}, 415, nil},
		"content encoding identity":      {"/events", `{}`, []string{"Content-Encoding", "identity"}, 415, nil},
		"neither source nor template":    {"/workflow-definitions", `{"reason":"x"}`, nil, 400, []string{""}},
		"both source and template":       {"/workflow-definitions", `{"definition":{},"template_id":"01000000-0000-7000-8000-000000000003"}`, nil, 400, []string{""}},
		"template id not a UUID":         {"/workflow-definitions", `{"template_id":"x"}`, nil, 400, []string{"/template_id"}},
		"unknown kind":                   {"/workflow-definitions", `{"kind":"poem","definition":{}}`, nil, 400, []string{"/kind"}},
		"definition a number":            {"/workflow-definitions", `{"definition":5}`, nil, 400, []string{"/definition"}},
		"product empty":                  {"/workflow-definitions", `{"definition":{},"product_id":""}`, nil, 400, []string{"/product_id"}},
		"template id empty":              {"/workflow-definitions", `{"definition":{},"template_id":""}`, nil, 400, []string{"/template_id"}},
		"kind empty":                     {"/workflow-definitions", `{"definition":{},"kind":""}`, nil, 400, []string{"/kind"}},
		"product too long":               {"/workflow-definitions", `{"definition":{},"product_id":"` + strings.Repeat("x", 129) + `"}`, nil, 400, []string{"/product_id"}},
		"reason of publish not a string": {definitionPath + "/publish", `{"reason":1}`, nil, 400, []string{"/reason"}},
		"validate takes no member":       {definitionPath + "/validate", `{"reason":"x"}`, nil, 400, []string{""}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			rec := b.do("POST", test.path, test.body, test.headers...)
			p := problemIn(t, rec)
			if rec.Code != test.status {
				t.Fatalf("status %d, want %d: %s", rec.Code, test.status, rec.Body)
			}
			var got []string
			for _, e := range p.Errors {
				got = append(got, e.Pointer)
				if e.Code == "" || e.Message == "" {
					t.Errorf("an error without code or message: %+v", e)
				}
			}
			if diff := cmp.Diff(test.pointers, got); diff != "" && !(len(test.pointers) == 1 && test.pointers[0] == "*" && len(got) == 1) {
				t.Errorf("pointers (-want +got):\n%s\n%s", diff, rec.Body)
			}
			if b.engine.principal.Tenant != "" {
				t.Error("the engine was called")
			}
		})
	}
}

func TestBodiesAtTheLimitAreTaken(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	frame := `{"a":""}`
	if rec := b.do("POST", "/events", `{"a":"`+strings.Repeat("x", 256<<10-len(frame))+`"}`); rec.Code != 202 {
		t.Errorf("256 KiB exactly: %d %s", rec.Code, rec.Body)
	}
	frame = `{"definition":{"a":""}}`
	if rec := b.do("POST", "/workflow-definitions", `{"definition":{"a":"`+strings.Repeat("x", 1<<20-len(frame))+`"}}`); rec.Code != 201 {
		t.Errorf("1 MiB exactly: %d %s", rec.Code, rec.Body)
	}
}

func TestGetWithABodyIsRefused(t *testing.T) {
	t.Parallel()
	if rec := newBench(t).do("GET", "/workflow-instances", `{}`); rec.Code != 400 {
		t.Errorf("status %d: %s", rec.Code, rec.Body)
	}
}

func TestBadQueriesAreRefused(t *testing.T) {
	t.Parallel()
	for name, query := range map[string]string{
		"unknown":               "colour=red",
		"in another case":       "Status=running",
		"repeated":              "status=running&status=halted",
		"limit zero":            "limit=0",
		"limit over 200":        "limit=201",
		"limit not a number":    "limit=ten",
		"limit with a sign":     "limit=-1",
		"limit empty":           "limit=",
		"status unknown":        "status=sleeping",
		"mode unknown":          "mode=passive",
		"definition not a UUID": "definition_id=7",
		"time not a time":       "started_from=yesterday",
		"time without a zone":   "started_to=2026-01-01T00:00:00",
		"case empty":            "case_id=",
		"case too long":         "case_id=" + strings.Repeat("x", 129),
		"case with NUL":         "case_id=a%00b",
		"case not UTF-8":        "case_id=%ff",
		"bad escape":            "case_id=%zz",
		"semicolon":             "case_id=a;limit=3",
		"cursor nonsense":       "cursor=abc",
		"cursor empty":          "cursor=",
		"cursor of zero":        "cursor=aQAAAAAAAAAAAAAAAAAAAAA",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			rec := b.do("GET", "/workflow-instances?"+query, "")
			if p := problemIn(t, rec); rec.Code != 400 || p.Code != "invalid" {
				t.Errorf("got %d %s, want 400 invalid", rec.Code, p.Code)
			}
			if b.engine.principal.Tenant != "" {
				t.Error("the engine was called")
			}
		})
	}
}

func TestAllThatIsWrongWithAQueryIsToldAtOnce(t *testing.T) {
	t.Parallel()
	p := problemIn(t, newBench(t).do("GET", "/workflow-instances?limit=0&status=x&colour=red&mode=active&mode=active", ""))
	if len(p.Errors) != 4 {
		t.Errorf("want 4 errors, got %+v", p.Errors)
	}
}

func TestForeignIDsLookExactlyLikeUnknownOnes(t *testing.T) {
	t.Parallel()
	unknown := "01000000-0000-7000-8000-0000000000ff"
	foreign := newBench(t, func(c *httpapi.Config) {
		c.Auth = as{Tenant: "beta", User: "bob", Scopes: []string{rondo.ScopeRead, rondo.ScopeWrite, rondo.ScopeIntervene, rondo.ScopePublish, rondo.ScopeRunsRead, rondo.ScopeRunsWrite}}
	})
	for _, route := range foreign.Routes() {
		if !strings.Contains(route.Path, "{id}") {
			continue
		}
		t.Run(route.ID, func(t *testing.T) {
			known := instanceID
			switch route.Noun {
			case "conversation", "turn":
				known, _ = rondo.ParseID(chatID)
			case "workflow definition":
				known = definitionID
			case "workflow template":
				known = definitionID // a definition is no template
			case "reason code":
				known = reasonCodeID
			case "job":
				known = jobID
			case "event":
				known = eventID
			case "dead letter":
				known = letterID
			case "run", "step of a run":
				known = runID
			case "artifact":
				known = artifactOf(route)
			}
			foreign := foreign
			if slices.Equal(route.Scopes, []string{rondo.ScopeAdmin}) {
				foreign = newBench(t, func(c *httpapi.Config) { c.Auth = as{Tenant: "beta", User: "bob", Scopes: []string{rondo.ScopeAdmin}} })
			}
			query := ""
			if route.ID == "diff-definitions" {
				query = "?against=" + templateID.String()
			}
			ask := func(id string) *httptest.ResponseRecorder {
				return foreign.do(route.Method, strings.NewReplacer("{id}", id, "{number}", "1", "{stepId}", "mix", "{artifactId}", artifactID.String()).Replace(route.Path)+query, bodyFor(route), "X-Request-Id", "same", "If-Match", "*")
			}
			want := ask(unknown)
			noun := route.Noun
			if route.Chat {
				noun = "conversation"
			}
			if p := problemIn(t, want); want.Code != 404 || p.Detail != "no such "+noun {
				t.Fatalf("an unknown id answers %d %q", want.Code, p.Detail)
			}
			for name, id := range map[string]string{"foreign": known.String(), "malformed": "not-an-id", "zero": rondo.ID{}.String()} {
				got := ask(id)
				if got.Code != want.Code || got.Body.String() != want.Body.String() {
					t.Errorf("a %s id answers %d %s, an unknown one %d %s", name, got.Code, got.Body, want.Code, want.Body)
				}
				if diff := cmp.Diff(want.Header(), got.Header()); diff != "" {
					t.Errorf("headers differ for a %s id:\n%s", name, diff)
				}
			}
		})
	}
}

func TestOnlyAnAdminActsForAnotherOrganisation(t *testing.T) {
	t.Parallel()
	user := newBench(t, asUser(rondo.ScopeRead, rondo.ScopeReadInstances, rondo.ScopeWrite, rondo.ScopePublish, rondo.ScopeIntervene, rondo.ScopeEvents, rondo.ScopeRunsRead, rondo.ScopeRunsWrite, rondo.ScopeRunsAdmin))
	admin := newBench(t, asUser(rondo.ScopeAdmin))
	for _, route := range user.Routes() {
		takes := false
		for _, p := range route.Query {
			takes = takes || p.Name == "org_id"
		}
		if !takes {
			continue
		}
		target := strings.NewReplacer("{id}", instanceID.String(), "{name}", "weigh", "{stepId}", "mix", "{artifactId}", artifactID.String(), "{key}", cacheKey).Replace(route.Path) + "?org_id=beta"
		if route.ID == "invalidate-cache" {
			target += "&all=true"
		}
		if route.ID == "diff-definitions" {
			target += "&against=" + templateID.String()
		}
		rec := user.do(route.Method, target, bodyFor(route), "If-Match", "*")
		if p := problemIn(t, rec); rec.Code != http.StatusForbidden || p.Code != "forbidden" {
			t.Errorf("%s: a user got %d %s", route.Pattern(), rec.Code, p.Code)
		}
		if user.engine.principal.Tenant != "" {
			t.Errorf("%s: the engine was called", route.Pattern())
		}
		admin.do(route.Method, target, bodyFor(route), "If-Match", "*")
		if got := admin.engine.principal.Tenant; got != "beta" {
			t.Errorf("%s: the admin acts for %q, want beta", route.Pattern(), got)
		}
	}
}

// bodyFor is a body that the route accepts.
func bodyFor(route httpapi.Route) string {
	switch {
	case route.Body != httpapi.BodyRequired:
		return ""
	case route.ID == "send-chat":
		return `{"conversationId":"` + chatID + `","text":"hello"}`
	case route.ID == "submit-card":
		return `{"conversationId":"` + chatID + `","cardId":"c","userSummary":"Yes","submitData":{"action":"Action.Submit"}}`
	case route.ID == "start-run" || route.ID == "plan-run":
		return `{"workflowName":"campaign.build"}`
	case route.ID == "update-run":
		return `{"changeRequest":{"type":"audio.update"}}`
	case route.ID == "orchestrate-chat":
		return `{"query":"hello"}`
	case route.ID == "replay-conversation":
		return `{"definition":"default"}`
	case route.ID == "create-definition":
		return `{"definition":{}}`
	case route.ID == "halt-instance":
		return `{"reason_code":"manual_halt"}`
	case route.ID == "set-mode":
		return `{"mode":"active","reason":"because"}`
	case route.ID == "skip-step":
		return `{"step_id":"a","outcome":"on_complete","reason":"because"}`
	case route.ID == "complete-step":
		return `{"step_id":"a","outcome":"approved"}`
	case route.ID == "change-definition":
		return `{"definition":{}}`
	case route.ID == "import-definition":
		return `{"format":1,"definition":{}}`
	case route.ID == "create-reason-code":
		return `{"scope":"halt","code":"lost","label":"Lost"}`
	case route.ID == "change-reason-code":
		return `{"label":"Lost"}`
	case route.ID == "publish-step-kind":
		return `{"name":"weigh","contract":{}}`
	case route.ID == "publish-event":
		return `{}`
	case route.ID == "act-on-many":
		return `{"filter":{"status":"running"},"action":"cancel","params":{"reason":"because"}}`
	case route.ID == "put-retention-policy":
		return `{"keep_finished_days":30}`
	case route.ID == "ack-events":
		return `{"group":"mine","event_ids":[]}`
	}
	return `{"reason":"because"}`
}
