package httpapi_test

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine"
	"github.com/rondo-engine/rondo/internal/explain"
	"github.com/rondo-engine/rondo/internal/httpapi"
	"github.com/rondo-engine/rondo/store"
)

func TestStreamsSayWhatHappens(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.engine.following.says = []engine.Live{
		{Entry: &explain.Entry{ID: "started", At: explain.Time(start), Kind: explain.EntryStarted, Text: "It\nbegan"}, Mark: "started~abc"},
		{Instance: knownInstance()},
	}
	rec := b.do("GET", instancePath+"/stream", "", "Last-Event-ID", "end-7")
	if rec.Code != http.StatusOK || rec.Header().Get("Content-Type") != "text/event-stream" {
		t.Fatalf("status %d, %s: %s", rec.Code, rec.Header().Get("Content-Type"), rec.Body)
	}
	parts := strings.Split(rec.Body.String(), "\n\n")
	want := []string{
		": alive",
		"id: started~abc\nevent: timeline\ndata: " + `{"id":"started","at":"2026-03-01T12:00:00.123456Z","kind":"started","step_id":null,"text":"It\nbegan","detail":null}`,
	}
	if diff := cmp.Diff(want, parts[:2]); diff != "" {
		t.Errorf("stream (-want +got):\n%s", diff)
	}
	data, found := strings.CutPrefix(parts[2], "event: instance\ndata: ")
	if diff := cmp.Diff(asAny(t, `{`+instanceJSON+`}`), asAny(t, data)); !found || diff != "" {
		t.Errorf("instance (-want +got):\n%s", diff)
	}
	if b.engine.following.mark != "end-7" {
		t.Errorf("the stream begins at %q", b.engine.following.mark)
	}
}

func TestStreamsOfAnOrganisationTakeFilters(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	rec := b.do("GET", "/workflow-instances/stream?status=halted&mode=active&product_id=p&definition_id="+definitionID.String(), "")
	if rec.Code != http.StatusOK {
		t.Fatalf("status %d: %s", rec.Code, rec.Body)
	}
	want := store.InstanceFilter{OrgID: "acme", Status: rondo.StatusHalted, Mode: rondo.ModeActive, ProductID: "p", DefinitionID: definitionID}
	if diff := cmp.Diff(want, b.engine.filter); diff != "" {
		t.Errorf("filter (-want +got):\n%s", diff)
	}
	if rec := b.do("GET", "/workflow-instances/stream?where=a=1", ""); rec.Code != http.StatusBadRequest {
		t.Errorf("a filter that streams do not know: %d", rec.Code)
	}
}

func TestStreamsThatCannotBeginAreProblems(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	rec := b.do("GET", "/workflow-instances/"+id(99).String()+"/stream", "")
	if p := problemIn(t, rec); rec.Code != http.StatusNotFound || p.Detail != "no such workflow instance" {
		t.Errorf("got %d %s", rec.Code, p.Detail)
	}
	b.engine.err = &rondo.Error{Code: rondo.CodeUnavailable, Message: "down"}
	if rec := b.do("GET", "/workflow-instances/stream", ""); rec.Code != http.StatusServiceUnavailable {
		t.Errorf("got %d", rec.Code)
	}
}

// TestStreamsOutliveTheLimitsOfRequests runs a real server with very short
// limits: ordinary exchanges would be cut.
func TestStreamsOutliveTheLimitsOfRequests(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	next := make(chan struct{})
	b.engine.following.wait = func(ctx context.Context) error {
		select {
		case <-next:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	server := httptest.NewUnstartedServer(b.API)
	server.Config.WriteTimeout, server.Config.ReadTimeout = time.Nanosecond, time.Second
	server.Start()
	defer server.Close()
	resp, err := http.Get(server.URL + instancePath + "/stream")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if line, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil || line != ": alive\n" {
		t.Errorf("read %q: %v", line, err)
	}
	close(next)
}

func TestShutdownEndsStreams(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.engine.following.wait = func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	server := httptest.NewServer(b.API)
	defer server.Close()
	server.Config.RegisterOnShutdown(b.EndStreams)
	resp, err := http.Get(server.URL + instancePath + "/stream")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := server.Config.Shutdown(ctx); err != nil {
		t.Errorf("the server waited for a reader: %v", err)
	}
}

func TestTooManyStreamsAreRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	opened := make(chan struct{})
	b.engine.following.wait = func(ctx context.Context) error {
		opened <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	for range 100 {
		go func() {
			r := httptest.NewRequest(http.MethodGet, instancePath+"/stream", nil).WithContext(ctx)
			b.ServeHTTP(httptest.NewRecorder(), r)
			done <- struct{}{}
		}()
		<-opened
	}
	rec := b.do("GET", "/workflow-instances/stream", "")
	if p := problemIn(t, rec); rec.Code != http.StatusTooManyRequests || p.Code != "overloaded" || rec.Header().Get("Retry-After") == "" {
		t.Errorf("got %d %s", rec.Code, p.Code)
	}
	cancel()
	for range 100 {
		<-done
	}
	b.engine.following.wait = nil
	if rec := b.do("GET", "/workflow-instances/stream", ""); rec.Code != http.StatusOK {
		t.Errorf("after the readers have left: %d", rec.Code)
	}
}

func TestWhichRequestsAreStreams(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]bool{
		instancePath + "/stream": true, "/workflow-instances/stream": true, "/workflow-instances?x=/stream": false, "/streams": false,
	} {
		if got := httpapi.IsStream(httptest.NewRequest(http.MethodGet, target, nil)); got != want {
			t.Errorf("%s: %v", target, got)
		}
	}
	if httpapi.IsStream(httptest.NewRequest(http.MethodPost, "/workflow-instances/stream", nil)) {
		t.Error("a POST is a stream")
	}
}
