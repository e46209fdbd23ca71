package httpbus_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/engine"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/httpapi"
	"github.com/rondo-engine/rondo/store/memory"
	"github.com/rondo-engine/rondo/worker"
	"github.com/rondo-engine/rondo/worker/httpbus"
)

// bearer lets in whoever shows the name of an organisation as token.
type bearer struct{}

func (bearer) Authenticate(r *http.Request) (rondo.Principal, error) {
	org, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return rondo.Principal{}, &rondo.Error{Code: rondo.CodeUnauthorized, Message: "who?"}
	}
	return rondo.Principal{Tenant: org, User: "module", Scopes: []string{rondo.ScopeEvents}}, nil
}

var admin = rondo.Principal{Tenant: "acme", User: "ann", Scopes: []string{rondo.ScopeAdmin}}

// rest is an orchestrator behind its REST edge.
func rest(t *testing.T, observer engine.Observer) (*engine.Engine, string) {
	t.Helper()
	e, err := engine.New(engine.Config{Store: memory.Open(memory.Options{Embedded: true}), Observer: observer})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	api, err := httpapi.New(httpapi.Config{Cases: e, Definitions: e, Events: e, Trials: e, Jobs: e, Retention: e, Health: e, Auth: bearer{}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(api)
	t.Cleanup(func() {
		api.EndStreams()
		server.Close()
		e.Stop(context.Background())
	})
	return e, server.URL
}

func open(t *testing.T, opts httpbus.Options, org string) *httpbus.Bus {
	t.Helper()
	opts.Token = func(context.Context) (string, error) { return org, nil }
	b, err := httpbus.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// completions passes on every case that comes to rest.
type completions chan *rondo.Instance

func (c completions) Committed(commit engine.Commit) {
	for _, change := range commit.Changes {
		if change.After.Status != rondo.StatusRunning {
			c <- change.After
		}
	}
}

const onlyAI = `{"name":"only_ai","start_step":"ai","steps":{
	"ai":{"kind":"run_ai_review","timeout_seconds":60,"transitions":{"on_complete":"done"}},
	"done":{"kind":"emit_final","transitions":{"on_complete":"TERMINAL"}}}}`

func caseCreated(caseID string) []byte {
	return (&event.Envelope{
		EventID: rondo.NewIDs(time.Now).New(), Type: event.TypeCaseCreated, SchemaVersion: event.SchemaVersion, OccurredAt: time.Now().UTC(),
		CorrelationID: caseID, CaseID: caseID, OrgID: "acme", ProductID: "skin", Payload: json.RawMessage(`{}`),
	}).Encode()
}

func TestAWorkerAnswersOverHTTP(t *testing.T) {
	ended := make(completions, 64)
	e, url := rest(t, ended)
	draft, err := e.CreateDefinition(t.Context(), admin, rondo.NewDefinition{Source: []byte(onlyAI)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.PublishDefinition(t.Context(), admin, draft.ID, ""); err != nil {
		t.Fatal(err)
	}
	events := open(t, httpbus.Options{URL: url}, "acme")
	if err := events.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	module := worker.New(worker.Config{
		Group: "ai-review", Bus: events,
		Handlers: map[string]worker.Handler{event.TypeAIReviewRequested: func(_ context.Context, request *event.Envelope) (any, error) {
			return map[string]any{"confidence": 0.9, "diagnoses": []any{}, "raw_response_id": request.CaseID}, nil
		}},
	})
	if err := module.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	const cases = 40
	for i := range cases {
		if _, err := e.PublishEvent(t.Context(), admin, caseCreated(fmt.Sprint("c", i))); err != nil {
			t.Fatal(err)
		}
	}
	for range cases {
		select {
		case i := <-ended:
			if i.Status != rondo.StatusCompleted {
				t.Errorf("%s is %s (%s)", i.CaseID, i.Status, i.HaltReason)
			}
		case <-time.After(30 * time.Second):
			t.Fatal("a case did not end")
		}
	}
	if err := module.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	for groups := range 200 { // positions are stored a moment later
		lag, err := e.ConsumerGroups(t.Context(), admin)
		if err != nil || len(lag) != 1 {
			t.Fatalf("the groups are %+v (%v)", lag, err)
		}
		if lag[0].Streams[0].Unread == 0 {
			return
		}
		if groups == 199 {
			t.Errorf("%d requests were answered and not acked", lag[0].Streams[0].Unread)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestWhatRondoRefusesIsAnErrorWithItsCode(t *testing.T) {
	_, url := rest(t, nil)
	acme, nobody := open(t, httpbus.Options{URL: url}, "acme"), open(t, httpbus.Options{URL: "http://127.0.0.1:1"}, "acme")
	anonymous, err := httpbus.New(httpbus.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	foreign := open(t, httpbus.Options{URL: url}, "other")
	subscribe := func(b *httpbus.Bus, sub bus.Subscription) error {
		c, err := b.Subscribe(t.Context(), sub)
		if err == nil {
			_ = c.Close()
		}
		return err
	}
	created := []bus.Message{{Stream: event.TypeCaseCreated, Envelope: caseCreated("c1")}}
	good := bus.Subscription{Group: "g", Streams: []string{"case.created"}}
	for name, test := range map[string]struct {
		err  error
		want rondo.Code
	}{
		"a good event":           {acme.Publish(t.Context(), created), ""},
		"the same event again":   {acme.Publish(t.Context(), created), ""},
		"nothing":                {acme.Publish(t.Context(), nil), ""},
		"a foreign event":        {foreign.Publish(t.Context(), created), rondo.CodeForbidden},
		"no event":               {acme.Publish(t.Context(), []bus.Message{{Stream: "a", Envelope: []byte(`{}`)}}), rondo.CodeInvalid},
		"an event by nobody":     {anonymous.Publish(t.Context(), created), rondo.CodeUnauthorized},
		"an event to nobody":     {nobody.Publish(t.Context(), created), rondo.CodeUnavailable},
		"a good stream":          {subscribe(acme, good), ""},
		"a stream of nothing":    {subscribe(acme, bus.Subscription{Group: "g"}), rondo.CodeInvalid},
		"a stream without group": {subscribe(acme, bus.Subscription{Streams: []string{"a"}}), rondo.CodeInvalid},
		"an unknown type":        {subscribe(acme, bus.Subscription{Group: "g", Streams: []string{"ext.none"}}), rondo.CodeInvalid},
		"a stream by nobody":     {subscribe(anonymous, good), rondo.CodeUnauthorized},
		"a stream from nobody":   {subscribe(nobody, good), rondo.CodeUnavailable},
		"a check of nobody":      {nobody.Check(t.Context()), rondo.CodeUnavailable},
	} {
		if got := rondo.CodeOf(test.err); got != test.want {
			t.Errorf("%s: %v (%s), want %q", name, test.err, got, test.want)
		}
	}
}

func TestAURLMustBeOne(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "rondo", "ftp://rondo", "http://", "http://%zz"} {
		if _, err := httpbus.New(httpbus.Options{URL: url}); rondo.CodeOf(err) != rondo.CodeInvalid {
			t.Errorf("%q: %v, want invalid", url, err)
		}
	}
}

// script is a server whose streams say what they are told.
type script struct {
	*httptest.Server
	mu      sync.Mutex
	streams []string // one per connection; the last stays open
	opened  int
	acks    []string
	failing int // how many acks fail first
}

func newScript(t *testing.T, streams ...string) *script {
	t.Helper()
	s := &script{streams: streams}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /events/stream", s.stream)
	mux.HandleFunc("POST /events/acks", s.ack)
	mux.HandleFunc("POST /events", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func (s *script) stream(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	text, last := s.streams[min(s.opened, len(s.streams)-1)], s.opened >= len(s.streams)-1
	s.opened++
	s.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, text)
	_ = http.NewResponseController(w).Flush()
	if last || strings.HasSuffix(text, "silence\n\n") {
		<-r.Context().Done()
	}
}

func (s *script) ack(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing > 0 {
		s.failing--
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	var body struct {
		Group    string   `json:"group"`
		EventIDs []string `json:"event_ids"`
	}
	_ = json.NewDecoder(r.Body).Decode(&body)
	for _, id := range body.EventIDs {
		s.acks = append(s.acks, body.Group+" "+id)
	}
}

func (s *script) acked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.acks)
}

func sse(id, data string) string { return "id: " + id + "\nevent: t\ndata: " + data + "\n\n" }

func fetchN(t *testing.T, c bus.Consumer, n int) []bus.Delivery {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var all []bus.Delivery
	for len(all) < n {
		got, err := c.Fetch(ctx, n-len(all))
		if err != nil {
			t.Fatalf("fetch after %d of %d: %v", len(all), n, err)
		}
		all = append(all, got...)
	}
	return all
}

func TestAStreamIsReadAndOpenedAgainWhenItEnds(t *testing.T) {
	t.Parallel()
	s := newScript(t,
		": alive\n\n"+sse("1", "{}")+"id: cut\ndata: off",
		"retry: 5\r\nid: 2\r\nevent: t\r\ndata: {\"a\":\r\ndata:1}\r\n\r\n"+": silence\n\n",
		sse("3", strings.Repeat("x", 100<<10)))
	s.failing = 2
	c, err := open(t, httpbus.Options{URL: s.URL, Silence: 300 * time.Millisecond}, "acme").Subscribe(t.Context(), bus.Subscription{Group: "g", Streams: []string{"t"}})
	if err != nil {
		t.Fatal(err)
	}
	got := fetchN(t, c, 3)
	var said []string
	for _, d := range got {
		said = append(said, fmt.Sprint(d.Stream, " ", d.EntryID, " ", len(d.Envelope), " ", d.Attempt))
	}
	want := []string{"t 1 2 1", "t 2 8 1", fmt.Sprint("t 3 ", 100<<10, " 1")}
	if !slices.Equal(said, want) || string(got[1].Envelope) != "{\"a\":\n1}" {
		t.Errorf("got %v, want %v", said, want)
	}
	if err := c.Ack(t.Context(), got[:2]); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); s.acked() < 2 && time.Now().Before(deadline); { // the server refuses two attempts
		time.Sleep(5 * time.Millisecond)
	}
	if err := errors.Join(c.Ack(t.Context(), got[2:]), c.Close()); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	slices.Sort(s.acks)
	if want := []string{"g 1", "g 2", "g 3"}; !slices.Equal(s.acks, want) {
		t.Errorf("acked %v, want %v", s.acks, want)
	}
	s.mu.Unlock()
	if _, err := c.Fetch(t.Context(), 1); rondo.CodeOf(err) != rondo.CodeUnavailable {
		t.Errorf("fetch of a closed consumer: %v", err)
	}
	if err := c.Ack(t.Context(), got); rondo.CodeOf(err) != rondo.CodeUnavailable {
		t.Errorf("ack of a closed consumer: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("close it again: %v", err)
	}
}

func TestATokenIsNotCarriedElsewhere(t *testing.T) {
	t.Parallel()
	s := newScript(t, "")
	err := open(t, httpbus.Options{URL: s.URL}, "secret").Publish(t.Context(), []bus.Message{{Stream: "a", Envelope: []byte(`{}`)}})
	if rondo.CodeOf(err) != rondo.CodeUnavailable {
		t.Errorf("a redirect was %v, want unavailable", err)
	}
}

func TestFetchEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := newScript(t, ": alive\n\n")
	c, err := open(t, httpbus.Options{URL: s.URL}, "acme").Subscribe(t.Context(), bus.Subscription{Group: "g", Streams: []string{"t"}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Fetch(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("fetch: %v", err)
	}
	if _, err := c.Fetch(t.Context(), 0); rondo.CodeOf(err) != rondo.CodeInvalid {
		t.Errorf("fetch of nothing: %v", err)
	}
}
