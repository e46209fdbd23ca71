package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/client"
)

// answering is a client of a server that answers all requests alike, and what
// the server was asked last.
func answering(t *testing.T, status int, kind, body string) (*client.Client, *http.Request) {
	t.Helper()
	var asked http.Request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		asked = *r
		asked.Body = io.NopCloser(strings.NewReader(string(sent)))
		w.Header().Set("Content-Type", kind)
		w.Header().Set("ETag", `"3"`)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	c, err := client.New(client.Config{BaseURL: server.URL + "/", Token: "secret", OrgID: "acme"})
	if err != nil {
		t.Fatal(err)
	}
	return c, &asked
}

func TestCallsCarryTokenOrganisationAndBody(t *testing.T) {
	t.Parallel()
	c, asked := answering(t, 200, "application/json", `{"id":"d1","version":2}`)
	d, err := c.ChangeDraft(t.Context(), "d/1", `"2"`, json.RawMessage(`{"name":"x"}`), "why")
	if err != nil {
		t.Fatal(err)
	}
	if d.ID != "d1" || d.ETag != `"3"` {
		t.Errorf("got %+v", d)
	}
	sent, _ := io.ReadAll(asked.Body)
	got := []string{asked.Method, asked.URL.RequestURI(), asked.Header.Get("Authorization"), asked.Header.Get("If-Match"), asked.Header.Get("Content-Type"), string(sent)}
	want := []string{"PATCH", "/workflow-definitions/d%2F1?org_id=acme", "Bearer secret", `"2"`, "application/json", `{"definition":{"name":"x"},"reason":"why"}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestProblemsBecomeErrors(t *testing.T) {
	t.Parallel()
	const problem = `{"code":"invalid_definition","detail":"it breaks 1 rule","hint":"mend it","errors":[{"code":"cycle","pointer":"/steps/a","message":"break it"}]}`
	c, _ := answering(t, 422, "application/problem+json", problem)
	_, err := c.PublishDefinition(t.Context(), "d1", "")
	want := &rondo.Error{
		Code: rondo.CodeInvalidDef, Op: "POST /workflow-definitions/d1/publish", Message: "it breaks 1 rule", Hint: "mend it",
		Fields: []rondo.FieldError{{Code: "cycle", Pointer: "/steps/a", Message: "break it"}},
	}
	if diff := cmp.Diff(error(want), err, cmp.Comparer(func(a, b error) bool { return fmt.Sprintf("%#v", a) == fmt.Sprintf("%#v", b) })); err == nil || diff != "" {
		t.Errorf("error %#v, want %#v", err, want)
	}
}

func TestWhatIsNotRondoIsToldApart(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		status     int
		kind, body string
		code       rondo.Code
	}{
		"a proxy's page":     {502, "text/html", "<h1>Bad gateway</h1>", rondo.CodeUnavailable},
		"another server":     {404, "text/plain", "404 page not found", rondo.CodeInternal},
		"a redirect":         {302, "text/html", "", rondo.CodeInternal},
		"a good page":        {200, "text/html", "<h1>Hello</h1>", rondo.CodeInternal},
		"a problem, no code": {400, "application/problem+json", "{}", rondo.CodeInternal},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _ := answering(t, test.status, test.kind, test.body)
			if _, err := c.Definition(t.Context(), "x"); rondo.CodeOf(err) != test.code {
				t.Errorf("error %v, want code %s", err, test.code)
			}
		})
	}
}

func TestAServerThatIsNotThereIsUnavailable(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	c, err := client.New(client.Config{BaseURL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.StepKinds(context.Background())
	if rondo.CodeOf(err) != rondo.CodeUnavailable || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("error %v", err)
	}
}

func TestAddressesMustBeURLs(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "localhost:3006", "ftp://x", "http://", "/x"} {
		if _, err := client.New(client.Config{BaseURL: address}); rondo.CodeOf(err) != rondo.CodeInvalid {
			t.Errorf("%q was taken: %v", address, err)
		}
	}
}

func TestEachFollowsTheCursor(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Query().Get("cursor") {
		case "":
			_, _ = io.WriteString(w, `{"items":[{"id":"a"},{"id":"b"}],"next_cursor":"n"}`)
		case "n":
			_, _ = io.WriteString(w, `{"items":[{"id":"c"}],"next_cursor":null}`)
		}
		if r.URL.Query().Get("status") != "draft" {
			t.Error("the filter was lost")
		}
	}))
	t.Cleanup(server.Close)
	c, err := client.New(client.Config{BaseURL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	definitions, err := c.Definitions(t.Context(), url.Values{"status": {"draft"}})
	if err != nil || len(definitions) != 3 || definitions[2].ID != "c" {
		t.Errorf("got %+v, %v", definitions, err)
	}
}

func TestStreamsAreReadEventByEvent(t *testing.T) {
	t.Parallel()
	const sent = ": alive\n\nid: m1\nevent: timeline\ndata: {\"a\":1}\n\nevent: instance\ndata: {\ndata: }\n\nid: m2\nevent: timeline\ndata: late\n\n"
	c, asked := answering(t, 200, "text/event-stream", sent)
	var got []client.StreamEvent
	err := c.Stream(t.Context(), client.Call{Path: "/workflow-instances/i1/stream"}, "m0", func(e client.StreamEvent) error {
		got = append(got, e)
		if e.Name == "instance" {
			return client.ErrStop
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []client.StreamEvent{{ID: "m1", Name: "timeline", Data: []byte(`{"a":1}`)}, {Name: "instance", Data: []byte("{\n}")}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if mark := asked.Header.Get("Last-Event-ID"); mark != "m0" {
		t.Errorf("Last-Event-ID %q, want m0", mark)
	}
}

func TestAStreamThatIsRefusedSaysWhy(t *testing.T) {
	t.Parallel()
	c, _ := answering(t, 429, "application/problem+json", `{"code":"overloaded","detail":"too many"}`)
	err := c.Stream(t.Context(), client.Call{Path: "/workflow-instances/i1/stream"}, "", func(client.StreamEvent) error { return nil })
	if rondo.CodeOf(err) != rondo.CodeOverloaded {
		t.Errorf("error %v, want overloaded", err)
	}
}
