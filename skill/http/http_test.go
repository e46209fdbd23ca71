package http_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/guard"
	"github.com/rondo-engine/rondo/skill"
	skillhttp "github.com/rondo-engine/rondo/skill/http"
	"github.com/rondo-engine/rondo/skill/skilltest"
)

// local reaches the servers of tests.
func local() *guard.Client {
	return guard.New(guard.Options{PlainHTTP: true, Ports: []int{0}, Private: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
}

// behave is an endpoint.
func behave(b skilltest.Behaviour, begun func()) http.HandlerFunc {
	limits := skilltest.Limits()
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		switch b {
		case skilltest.Echo:
			var asked struct {
				Text string `json:"text"`
			}
			_ = json.Unmarshal(body, &asked)
			_ = json.NewEncoder(w).Encode(map[string]string{"said": asked.Text})
		case skilltest.Garbage:
			_, _ = io.WriteString(w, "<html>not found</html>")
		case skilltest.Huge:
			fmt.Fprintf(w, "%q", strings.Repeat("x", int(limits.Output)))
		case skilltest.Endless:
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, strings.Repeat("x", 1000)); err != nil {
					return
				}
			}
		case skilltest.Hang:
			begun()
			<-r.Context().Done()
		case skilltest.Fail:
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, skilltest.Secret)
		case skilltest.Crash:
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"half":`)
			panic(http.ErrAbortHandler)
		case skilltest.File:
			w.Header().Set("Content-Type", "text/plain")
			_, _ = io.WriteString(w, skilltest.FileContent)
		case skilltest.BigFile:
			_, _ = w.Write(make([]byte, limits.Artifact+1))
		}
	}
}

func TestAnEndpointIsASkill(t *testing.T) {
	skilltest.Run(t, skilltest.Harness{New: func(t *testing.T, b skilltest.Behaviour, begun func()) skill.Skill {
		t.Helper()
		server := httptest.NewServer(behave(b, begun))
		client := local()
		t.Cleanup(func() {
			client.HTTP.CloseIdleConnections()
			server.Close()
		})
		config := map[string]any{"url": server.URL}
		if b == skilltest.File || b == skilltest.BigFile {
			config["artifact"] = map[string]string{"name": "file.txt"}
		}
		return newSkill(t, config, skillhttp.Options{Client: client, Limits: skilltest.Limits()})
	}})
}

func newSkill(t *testing.T, config any, opts skillhttp.Options) *skillhttp.Skill {
	t.Helper()
	raw, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	s, err := skillhttp.New(raw, opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func do(t *testing.T, s skill.Skill, input string) skill.Result {
	t.Helper()
	result, err := s.Do(t.Context(), skill.Call{RunID: rondo.ID{9}, StepID: "step", Attempt: 2, Input: json.RawMessage(input)})
	if err != nil {
		t.Fatal(err)
	}
	skilltest.Check(t, result, err)
	return result
}

func TestARequestIsMadeOfTemplates(t *testing.T) {
	t.Parallel()
	got := make(chan *http.Request, 1)
	var body string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		body = string(raw)
		got <- r
		_, _ = io.WriteString(w, `{"ok":true,"data":{"fine":true},"debug":{"tokens":7}}`)
	}))
	t.Cleanup(server.Close)
	opts := skillhttp.Options{Client: local(), Secret: func(name, host string) (string, bool) { return "s3cret", name == "TOKEN" && host == "127.0.0.1" }}
	s := newSkill(t, map[string]any{
		"method": "put", "url": server.URL + "/things/{{.id}}?q={{.q}}", "bearer_env": "TOKEN",
		"headers": map[string]string{"x-style": "{{.style}}", "Content-Type": "text/plain"}, "body": "hello {{.id}}",
	}, opts)
	result := do(t, s, `{"id":"a/b?c","q":"x&y=1 z","style":"bright"}`)
	if !result.OK {
		t.Fatalf("%+v", result)
	}
	r := <-got
	if r.Method != http.MethodPut || r.URL.EscapedPath() != "/things/a%2Fb%3Fc" || r.URL.Query().Get("q") != "x&y=1 z" || body != "hello a/b?c" {
		t.Errorf("%s %s %q", r.Method, r.URL, body)
	}
	for name, want := range map[string]string{
		"X-Style": "bright", "Content-Type": "text/plain", "Authorization": "Bearer s3cret", "Idempotency-Key": rondo.ID{9}.String() + "/step",
	} {
		if r.Header.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, r.Header.Get(name), want)
		}
	}
	if !result.OK || string(result.Data) != `{"fine":true}` || result.Debug == nil || result.Debug.Tokens != 7 {
		t.Errorf("%+v", result)
	}
}

func TestAGetSendsNoBody(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if raw, _ := io.ReadAll(r.Body); len(raw) > 0 || r.Header.Get("Content-Type") != "" {
			t.Errorf("a body comes with it: %q", raw)
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(server.Close)
	if result := do(t, newSkill(t, map[string]any{"method": "GET", "url": server.URL}, skillhttp.Options{Client: local()}), `{"a":1}`); !result.OK || result.Data != nil {
		t.Errorf("%+v, want ok without data", result)
	}
}

func TestStatusesDecideWhetherToTryAgain(t *testing.T) {
	t.Parallel()
	var status int
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "http://127.0.0.1/elsewhere")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, skilltest.Secret)
	}))
	t.Cleanup(server.Close)
	s := newSkill(t, map[string]any{"url": server.URL}, skillhttp.Options{Client: local()})
	for code, again := range map[int]bool{
		400: false, 401: false, 403: false, 404: false, 409: false, 422: false, 301: false, 302: false, 307: false, 304: false,
		408: true, 425: true, 429: true, 500: true, 502: true, 503: true, 504: true,
	} {
		status = code
		result := do(t, s, `{}`)
		if result.OK || result.Retryable == nil || *result.Retryable != again || !strings.Contains(result.Error, fmt.Sprint(code)) {
			t.Errorf("%d: %+v, want retryable = %t", code, result, again)
		}
	}
}

func TestNobodyThereMayBeTriedAgain(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	result := do(t, newSkill(t, map[string]any{"url": server.URL}, skillhttp.Options{Client: local()}), `{}`)
	if result.OK || !*result.Retryable || strings.Contains(result.Error, "127.0.0.1") {
		t.Errorf("%+v, want a failure to retry that names no address", result)
	}
}

func TestWhatMustNotBeSentIsNotSent(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s was reached", r.URL) }))
	t.Cleanup(server.Close)
	strict := guard.New(guard.Options{})
	plain := guard.New(guard.Options{PlainHTTP: true, Ports: []int{0}})
	for name, test := range map[string]struct {
		client *guard.Client
		config map[string]any
	}{
		"plain http":          {strict, map[string]any{"url": "http://example.org/"}},
		"a port":              {strict, map[string]any{"url": "https://example.org:8443/"}},
		"this host":           {plain, map[string]any{"url": server.URL}},
		"this host by name":   {plain, map[string]any{"url": strings.Replace(server.URL, "127.0.0.1", "localhost", 1)}},
		"this host by input":  {plain, map[string]any{"url": "http://{{.host | raw}}/"}},
		"metadata":            {plain, map[string]any{"url": "http://169.254.169.254/latest"}},
		"another scheme":      {plain, map[string]any{"url": "{{.scheme | raw}}:///etc/passwd"}},
		"credentials":         {local(), map[string]any{"url": strings.Replace(server.URL, "//", "//u:p@", 1)}},
		"climbing":            {local(), map[string]any{"url": server.URL + "/a/{{.up}}/b"}},
		"climbing in a value": {local(), map[string]any{"url": server.URL + "/a/{{.ups}}/b"}},
		"a line in a header":  {local(), map[string]any{"url": server.URL, "headers": map[string]string{"X-A": "{{.lines}}"}}},
		"an absent member":    {local(), map[string]any{"url": server.URL + "/{{.absent}}"}},
		"an absent in a body": {local(), map[string]any{"url": server.URL, "body": "{{.absent}}"}},
		"a secret elsewhere":  {local(), map[string]any{"url": server.URL, "bearer_env": "OTHER"}},
		"no URL":              {local(), map[string]any{"url": "{{.lines}}"}},
	} {
		s := newSkill(t, test.config, skillhttp.Options{Client: test.client, Secret: func(name, _ string) (string, bool) { return skilltest.Secret, name == "TOKEN" }})
		input := fmt.Sprintf(`{"host":%q,"scheme":"file","up":"..","ups":"x/../..","lines":"a\r\nX-Evil: 1"}`, strings.TrimPrefix(server.URL, "http://"))
		result := do(t, s, input)
		if result.OK || result.Retryable == nil || *result.Retryable {
			t.Errorf("%s: %+v, want a final failure", name, result)
		}
	}
}

func TestTextIsData(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "a <b>") }))
	t.Cleanup(server.Close)
	if result := do(t, newSkill(t, map[string]any{"url": server.URL, "output": "text"}, skillhttp.Options{Client: local()}), `{}`); string(result.Data) != `"a <b>"` {
		t.Errorf("%+v", result)
	}
}

func TestConfigurationsAreReadStrictly(t *testing.T) {
	t.Parallel()
	for raw, pointer := range map[string]string{
		`{}`: "/url", `{"url":5}`: "/url", `{"url":"{{"}`: "/url", `{"uri":"https://x"}`: "/uri",
		`{"url":"https://x","method":"TRACE"}`: "/method", `{"url":"https://x","method":"GET","body":"x"}`: "/body",
		`{"url":"https://x","headers":{"Host":"x"}}`: "/headers/Host", `{"url":"https://x","headers":{"idempotency-key":"x"}}`: "/headers/idempotency-key",
		`{"url":"https://x","headers":{"a b":"x"}}`: "/headers/a b", `{"url":"https://x","headers":{"A":"{{end}}"}}`: "/headers/A",
		`{"url":"https://x","output":"xml"}`: "/output", `{"url":"https://x","artifact":{}}`: "/artifact/name", `{"url":"https://x","artifact":{"path":"x"}}`: "/artifact/path",
	} {
		_, err := skillhttp.New(json.RawMessage(raw), skillhttp.Options{Client: local()})
		told, ok := err.(*rondo.Error)
		if !ok || told.Code != rondo.CodeInvalidDef || told.Fields[0].Pointer != pointer {
			t.Errorf("%s: %+v, want a problem at %s", raw, err, pointer)
		}
	}
}
