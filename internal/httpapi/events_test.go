package httpapi_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/httpapi"
	"github.com/rondo-engine/rondo/store"
)

const (
	eventPath  = "/events/01000000-0000-7000-8000-000000000004"
	letterPath = "/events/dead-letters/01000000-0000-7000-8000-00000000000c"

	eventJSON = `{"id":"01000000-0000-7000-8000-00000000000b","org_id":"acme","event_id":"01000000-0000-7000-8000-000000000004","instance_id":null,
		"event_type":"case.created","envelope":{"event_type":"case.created"},"received_at":"2026-03-01T12:00:00.123456Z","processed":true,"outcome":"unmatched",
		"duplicates":0,"verdict":null,"error":"no_definition"}`
	letterCore = `"id":"01000000-0000-7000-8000-00000000000c","org_id":null,"stream":"ai_review.completed","entry_id":"17-0","reason":"it is not JSON","size":14,
		"received_at":"2026-03-01T12:00:00.123456Z"`
	letterJSON  = letterCore + `,"status":"open","settled_by":null,"settled_at":null,"note":null`
	settledJSON = `,"settled_by":"ann","settled_at":"2026-03-01T13:00:00.123456Z"`
	schemaJSON  = `{"event_type":"case.created","published_by":"modules","schema":{"type":"object"}}`
)

var (
	eventIDs   = regexp.MustCompile(`^/events/(dead-letters/)?(nothing|[0-9a-f-]{36})`)
	eventNames = regexp.MustCompile(`^/events/(schemas|groups)/.*`)
)

// templated is the pattern of the route that a path is for.
func templated(path string) string {
	path, _, _ = strings.Cut(path, "?")
	return eventNames.ReplaceAllString(eventIDs.ReplaceAllString(path, "/events/$1{id}"), "/events/$1/{name}")
}

// nobody lets no one in.
type nobody struct{}

func (nobody) Authenticate(*http.Request) (rondo.Principal, error) {
	return rondo.Principal{}, &rondo.Error{Code: rondo.CodeUnauthorized, Message: "who?"}
}

func TestGoodEventRequestsAreAnswered(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		method, path string
		body         string
		want         string
	}{
		"events with an outcome": {"GET", "/events?outcome=unmatched", "", `{"items":[` + eventJSON + `],"next_cursor":null}`},
		"events of a case":       {"GET", "/events?case_id=case-1&event_type=case.created&limit=5", "", `{"items":[` + eventJSON + `],"next_cursor":null}`},
		"an event":               {"GET", eventPath, "", eventJSON},
		"replay an event":        {"POST", eventPath + "/replay", "", `{"event_id":"01000000-0000-7000-8000-000000000004","outcome":"applied","verdict":null,"error":null}`},
		"event schemas":          {"GET", "/events/schemas", "", `{"items":[` + schemaJSON + `],"next_cursor":null}`},
		"an event schema":        {"GET", "/events/schemas/case.created", "", schemaJSON},
		"dead letters":           {"GET", "/events/dead-letters?status=open", "", `{"items":[{` + letterJSON + `}],"next_cursor":null}`},
		"a dead letter":          {"GET", letterPath, "", `{` + letterJSON + `,"body":"{\"event_type\":","body_encoding":"text","truncated":false}`},
		"replay a dead letter": {
			"POST", letterPath + "/replay", "",
			`{"dead_letter":{` + letterCore + `,"status":"replayed","note":"parked"` + settledJSON + `},"receipt":{"event_id":"01000000-0000-7000-8000-000000000004","outcome":"parked","verdict":null,"error":null}}`,
		},
		"discard a dead letter": {"POST", letterPath + "/discard", `{"reason":"a test of ours"}`, `{` + letterCore + `,"status":"discarded","note":"a test of ours"` + settledJSON + `}`},
		"ack events": {
			"POST", "/events/acks", `{"group":"mine","event_ids":["01000000-0000-7000-8000-000000000004","01000000-0000-7000-8000-000000000005"]}`,
			`{"acked":1,"unknown":["01000000-0000-7000-8000-000000000004"]}`,
		},
		"ack nothing": {"POST", "/events/acks", `{"group":"mine","event_ids":[]}`, `{"acked":0,"unknown":[]}`},
		"consumer groups": {
			"GET", "/events/groups", "",
			`{"items":[{"name":"http:acme:mine","lag":6,"streams":[{"stream":"a","unread":3,"pending":1},{"stream":"b","unread":null,"pending":2}]}],"next_cursor":null}`,
		},
		"retire a group": {"DELETE", "/events/groups/http:acme:mine", "", `{"name":"http:acme:mine","retired":true}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			rec := b.do(test.method, test.path, test.body)
			if rec.Code != 200 {
				t.Fatalf("status %d: %s", rec.Code, rec.Body)
			}
			if diff := cmp.Diff(asAny(t, test.want), asAny(t, rec.Body.String())); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			checkDocumented(t, b.OpenAPI(), test.method, templated(test.path), rec)
		})
	}
}

func TestEventRequestsReachTheEngineWhole(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		method, path, body string
		got                func(*fake) any
		want               any
	}{
		"an event search": {
			"GET", "/events?outcome=parked&case_id=c&event_type=t&org_id=other&limit=7", "",
			func(f *fake) any { return []any{f.happenings.filter, f.page.Limit, f.principal.Tenant} },
			[]any{store.EventFilter{OrgID: "other", CaseID: "c", Outcome: rondo.OutcomeParked, Type: "t"}, 8, "other"},
		},
		"a list of dead letters": {
			"GET", "/events/dead-letters?status=replayed&stream=s&org_id=other", "",
			func(f *fake) any { return f.happenings.letters },
			store.DeadLetterFilter{OrgID: "other", Status: rondo.DeadLetterReplayed, Stream: "s"},
		},
		"dead letters of everyone": {
			"GET", "/events/dead-letters", "", func(f *fake) any { return f.happenings.letters }, store.DeadLetterFilter{},
		},
		"a discard": {
			"POST", letterPath + "/discard?org_id=acme", `{"reason":"why"}`,
			func(f *fake) any { return []string{f.happenings.org, f.happenings.note} },
			[]string{"acme", "why"},
		},
		"acks": {
			"POST", "/events/acks", `{"group":"my.group-1","event_ids":["01000000-0000-7000-8000-000000000004"]}`,
			func(f *fake) any { return []any{f.happenings.group, f.happenings.acked} },
			[]any{"my.group-1", []rondo.ID{eventID}},
		},
		"a stream": {
			"GET", "/events/stream?group=mine&types=workflow.halted,case.created,workflow.halted", "",
			func(f *fake) any { return []any{f.happenings.group, f.happenings.types} },
			[]any{"mine", []string{"case.created", "workflow.halted"}},
		},
		"a group with an odd name": {
			"DELETE", "/events/groups/http:a%252Fb:mine", "", func(f *fake) any { return f.happenings.retired }, "http:a%2Fb:mine",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			if rec := b.do(test.method, test.path, test.body); rec.Code >= 400 {
				t.Fatalf("status %d: %s", rec.Code, rec.Body)
			}
			if diff := cmp.Diff(test.want, test.got(b.engine)); diff != "" {
				t.Errorf("the engine was asked (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBadEventRequestsAreRefused(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		method, path, body string
		status             int
		pointer            string
	}{
		"the whole ledger":           {"GET", "/events", "", 400, "query/case_id"},
		"the ledger by type alone":   {"GET", "/events?event_type=case.created", "", 400, "query/case_id"},
		"an outcome of no interest":  {"GET", "/events?outcome=applied", "", 400, "query/outcome"},
		"a cursor of another list":   {"GET", "/events?outcome=parked&cursor=aQEAAAAAAHAAgAAAAAAAAAE", "", 400, "query/cursor"},
		"an unknown event":           {"GET", "/events/01000000-0000-7000-8000-0000000000ff", "", 404, ""},
		"an event that is no id":     {"GET", "/events/nothing", "", 404, ""},
		"replay an unknown event":    {"POST", "/events/01000000-0000-7000-8000-0000000000ff/replay", "", 404, ""},
		"replay with a body":         {"POST", eventPath + "/replay", `{}`, 400, ""},
		"an unknown schema":          {"GET", "/events/schemas/ext.nothing", "", 404, ""},
		"an unknown letter":          {"GET", "/events/dead-letters/01000000-0000-7000-8000-0000000000ff", "", 404, ""},
		"a state that is none":       {"GET", "/events/dead-letters?status=lost", "", 400, "query/status"},
		"a discard without a reason": {"POST", letterPath + "/discard", `{}`, 400, "/reason"},
		"a discard without a body":   {"POST", letterPath + "/discard", "", 400, ""},
		"a stream of nothing":        {"GET", "/events/stream?group=mine", "", 400, "query/types"},
		"a stream without a group":   {"GET", "/events/stream?types=case.created", "", 400, "query/group"},
		"a group that is no name":    {"GET", "/events/stream?group=a:b&types=case.created", "", 400, "query/group"},
		"types that are none":        {"GET", "/events/stream?group=a&types=case.created,,x", "", 400, "query/types"},
		"too many types":             {"GET", "/events/stream?group=a&types=" + strings.Repeat("x,", 64) + "x", "", 400, "query/types"},
		"a stream of another org":    {"GET", "/events/stream?group=a&types=case.created&org_id=other", "", 400, "query"},
		"acks of no group":           {"POST", "/events/acks", `{"event_ids":[]}`, 400, "/group"},
		"acks of a bad group":        {"POST", "/events/acks", `{"group":"a b","event_ids":[]}`, 400, "/group"},
		"acks of a group of number":  {"POST", "/events/acks", `{"group":5,"event_ids":[]}`, 400, "/group"},
		"acks without ids":           {"POST", "/events/acks", `{"group":"a"}`, 400, "/event_ids"},
		"acks of no ids":             {"POST", "/events/acks", `{"group":"a","event_ids":["x"]}`, 400, "/event_ids/0"},
		"acks of a text":             {"POST", "/events/acks", `{"group":"a","event_ids":"x"}`, 400, "/event_ids"},
		"acks of too many":           {"POST", "/events/acks", `{"group":"a","event_ids":["` + strings.Repeat(`","`, 1000) + `"]}`, 400, "/event_ids"},
		"a document of no role":      {"GET", "/asyncapi.json?role=nobody", "", 400, "query/role"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			rec := b.do(test.method, test.path, test.body)
			p := problemIn(t, rec)
			if rec.Code != test.status {
				t.Fatalf("status %d, want %d: %s", rec.Code, test.status, rec.Body)
			}
			if test.pointer != "" && (len(p.Errors) == 0 || p.Errors[0].Pointer != test.pointer) {
				t.Errorf("errors %+v, want one at %s", p.Errors, test.pointer)
			}
			checkDocumented(t, b.OpenAPI(), test.method, templated(test.path), rec)
		})
	}
}

func TestWrongStatesOfEventsAre409(t *testing.T) {
	t.Parallel()
	fields := []rondo.FieldError{{Code: "required", Pointer: "/case_id", Message: "case_id is required"}}
	for _, request := range []struct{ method, path, body string }{
		{"POST", eventPath + "/replay", ""},
		{"POST", letterPath + "/replay", ""},
		{"POST", letterPath + "/discard", `{"reason":"why"}`},
		{"DELETE", "/events/groups/orchestrator", ""},
	} {
		b := newBench(t)
		b.engine.err = &rondo.Error{Code: rondo.CodeWrongState, Message: "its state does not allow this", Fields: fields}
		rec := b.do(request.method, request.path, request.body)
		p := problemIn(t, rec)
		if rec.Code != 409 || p.Code != "wrong_state" || cmp.Diff(fields, p.Errors) != "" {
			t.Errorf("%s %s: %d %s", request.method, request.path, rec.Code, rec.Body)
		}
		checkDocumented(t, b.OpenAPI(), request.method, templated(request.path), rec)
	}
}

func TestABodyThatIsNotTextIsShownInBase64(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		body, want, encoding string
		truncated            bool
	}{
		"text":     {"{\n}", "{\n}", "text", false},
		"nothing":  {"", "", "text", false},
		"bytes":    {"\xff\x00", "/wA=", "base64", false},
		"NUL":      {"a\x00b", "YQBi", "base64", false},
		"too long": {strings.Repeat("x", 300<<10), strings.Repeat("x", 256<<10), "text", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.engine.happenings.letter = rondo.DeadLetter{ID: letterID, Body: []byte(test.body), Status: rondo.DeadLetterOpen}
			rec := b.do("GET", letterPath, "")
			var got struct {
				Body      string
				Encoding  string `json:"body_encoding"`
				Truncated bool
				Size      int
			}
			if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil {
				t.Fatalf("%v: %s", err, rec.Body)
			}
			if got.Body != test.want || got.Encoding != test.encoding || got.Truncated != test.truncated || got.Size != len(test.body) {
				t.Errorf("got %d bytes in %s, truncated %v, size %d", len(got.Body), got.Encoding, got.Truncated, got.Size)
			}
		})
	}
}

func TestAStreamCarriesEventsAsServerSentEvents(t *testing.T) {
	t.Parallel()
	b := newBench(t, asUser(rondo.ScopeEvents))
	feed := &fakeFeed{events: []rondo.Delivered{
		{EventID: eventID, Type: "ai_review.requested", Envelope: []byte("{\"a\":1,\n\"b\":2}"), Attempt: 1},
		{EventID: id(5), Type: "workflow.halted", Envelope: []byte(`{}`), Attempt: 2},
	}}
	b.engine.happenings.feed = feed
	rec := b.do("GET", "/events/stream?group=mine&types=ai_review.requested,workflow.halted", "")
	if rec.Code != 200 || rec.Header().Get("Content-Type") != "text/event-stream" {
		t.Fatalf("status %d, Content-Type %q: %s", rec.Code, rec.Header().Get("Content-Type"), rec.Body)
	}
	want := ": alive\n\n" +
		"id: 01000000-0000-7000-8000-000000000004\nevent: ai_review.requested\ndata: {\"a\":1,\ndata: \"b\":2}\n\n" +
		"id: 01000000-0000-7000-8000-000000000005\nevent: workflow.halted\ndata: {}\n\n"
	if diff := cmp.Diff(want, rec.Body.String()); diff != "" {
		t.Errorf("the stream (-want +got):\n%s", diff)
	}
	if !feed.closed {
		t.Error("the feed was left open")
	}
}

func TestAStreamThatCannotBeginIsAProblem(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err    error
		status int
	}{
		"too many":      {&rondo.Error{Code: rondo.CodeOverloaded, Message: "too many event streams are open"}, 429},
		"unknown types": {rondo.Invalid("an event type is not known here"), 400},
		"no bus":        {&rondo.Error{Code: rondo.CodeUnavailable, Message: "Redis did not do it"}, 503},
		"a defect":      {errors.New("boom"), 500},
	} {
		b := newBench(t, asUser(rondo.ScopeEvents))
		b.engine.err = test.err
		rec := b.do("GET", "/events/stream?group=mine&types=case.created", "")
		if problemIn(t, rec); rec.Code != test.status {
			t.Errorf("%s: status %d, want %d", name, rec.Code, test.status)
		}
		checkDocumented(t, b.OpenAPI(), "GET", "/events/stream", rec)
	}
}

// cutWriter is a reader that has gone away after a few bytes.
type cutWriter struct {
	*httptest.ResponseRecorder
	left int
}

func (w *cutWriter) Write(b []byte) (int, error) {
	if w.left -= len(b); w.left < 0 {
		return 0, errors.New("broken pipe")
	}
	return w.ResponseRecorder.Write(b)
}

func TestAReaderThatIsGoneEndsItsStream(t *testing.T) {
	t.Parallel()
	b := newBench(t, asUser(rondo.ScopeEvents))
	feed := &fakeFeed{events: []rondo.Delivered{{EventID: eventID, Type: "t", Envelope: []byte(`{}`)}, {EventID: id(5), Type: "t", Envelope: []byte(`{}`)}}}
	b.engine.happenings.feed = feed
	w := &cutWriter{ResponseRecorder: httptest.NewRecorder(), left: 100}
	b.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/events/stream?group=mine&types=t", nil))
	if !feed.closed {
		t.Error("the feed was left open: its unacked events would wait for a minute")
	}
}

// How long a stream was open says nothing of how fast Rondo answers.
func TestStreamsAreCountedButNotTimed(t *testing.T) {
	t.Parallel()
	b := newBench(t, asUser(rondo.ScopeEvents))
	b.engine.happenings.feed = &fakeFeed{events: []rondo.Delivered{{EventID: eventID, Type: "t", Envelope: []byte(`{}`)}}}
	w := &cutWriter{ResponseRecorder: httptest.NewRecorder(), left: 0}
	b.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/events/stream?group=mine&types=t", nil))
	b.do("GET", "/workflow-instances/stream", "") // refused: an answer like any other
	rec := httptest.NewRecorder()
	b.metrics.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for line, want := range map[string]bool{
		`rondo_http_requests_total{method="GET",route="/events/stream",status="200"} 1`:             true,
		`rondo_http_request_duration_seconds_count{route="/events/stream"}`:                         false,
		`rondo_http_request_duration_seconds_count{route="/workflow-instances/stream"} 1`:           true,
		`rondo_http_requests_total{method="GET",route="/workflow-instances/stream",status="403"} 1`: true,
	} {
		if strings.Contains(rec.Body.String(), line) != want {
			t.Errorf("%s: want %v in\n%s", line, want, rec.Body)
		}
	}
}

func TestTheAsyncAPIDocumentIsServedToEveryone(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *httpapi.Config) { c.Auth = nobody{} })
	for target, title := range map[string]string{
		"/asyncapi.json":                "Rondo events: orchestrator",
		"/asyncapi.json?role=ai-review": "Rondo events: ai-review",
	} {
		rec := b.do("GET", target, "")
		var document struct {
			AsyncAPI string
			Info     struct{ Title, Version string }
		}
		if err := json.Unmarshal(rec.Body.Bytes(), &document); err != nil || rec.Code != 200 {
			t.Fatalf("%s: status %d, %v", target, rec.Code, err)
		}
		if document.AsyncAPI != "3.0.0" || document.Info.Title != title || document.Info.Version != "test" {
			t.Errorf("%s: %+v", target, document)
		}
	}
}
