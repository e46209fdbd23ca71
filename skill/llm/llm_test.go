package llm_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/guard"
	"github.com/rondo-engine/rondo/skill"
	"github.com/rondo-engine/rondo/skill/llm"
	"github.com/rondo-engine/rondo/skill/skilltest"
)

func local() *guard.Client {
	return guard.New(guard.Options{PlainHTTP: true, Ports: []int{0}, Private: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
}

// completion is an answer of the API.
func completion(content, reason string) string {
	raw, _ := json.Marshal(map[string]any{
		"choices": []any{map[string]any{"message": map[string]string{"role": "assistant", "content": content}, "finish_reason": reason}},
		"usage":   map[string]int{"prompt_tokens": 1000, "completion_tokens": 500, "total_tokens": 1500},
	})
	return string(raw)
}

// behave is a model.
func behave(b skilltest.Behaviour, begun func()) http.HandlerFunc {
	limits := skilltest.Limits()
	return func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			Messages []struct{ Content string } `json:"messages"`
		}
		if json.NewDecoder(r.Body).Decode(&asked) != nil {
			return
		}
		said := asked.Messages[len(asked.Messages)-1].Content
		switch b {
		case skilltest.Echo:
			told, _ := json.Marshal(map[string]string{"said": said})
			_, _ = io.WriteString(w, completion(string(told), "stop"))
		case skilltest.Garbage:
			_, _ = io.WriteString(w, completion("Sure! Here is your JSON:", "stop"))
		case skilltest.Huge:
			_, _ = io.WriteString(w, completion(`"`+strings.Repeat("x", int(limits.Output))+`"`, "stop"))
		case skilltest.Endless:
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, strings.Repeat(" ", 1000)); err != nil {
					return
				}
			}
		case skilltest.Hang:
			begun()
			<-r.Context().Done()
		case skilltest.Fail:
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, `{"error":{"message":"`+skilltest.Secret+`","code":"server_error"}}`)
		case skilltest.Crash:
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"choices":`)
			panic(http.ErrAbortHandler)
		}
	}
}

func TestAModelIsASkill(t *testing.T) {
	skilltest.Run(t, skilltest.Harness{
		Cannot: map[skilltest.Behaviour]string{skilltest.File: "models answer with text", skilltest.BigFile: "models answer with text"},
		New: func(t *testing.T, b skilltest.Behaviour, begun func()) skill.Skill {
			t.Helper()
			server := httptest.NewServer(behave(b, begun))
			client := local()
			t.Cleanup(func() {
				client.HTTP.CloseIdleConnections()
				server.Close()
			})
			config := map[string]any{"base_url": server.URL, "model": "small", "prompt": `{{or .text ""}}`, "response_format": "json", "api_key_env": "KEY"}
			return newSkill(t, config, llm.Options{
				Client: client, Limits: skilltest.Limits(), Secret: func(string, string) (string, bool) { return skilltest.Secret, true },
			})
		},
	})
}

func newSkill(t *testing.T, config any, opts llm.Options) *llm.Skill {
	t.Helper()
	raw, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	s, err := llm.New(raw, opts)
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

const schema = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`

func TestTheModelIsAskedAsConfigured(t *testing.T) {
	t.Parallel()
	var body map[string]any
	var header http.Header
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		body = nil
		if r.URL.Path != "/v1/chat/completions" || json.NewDecoder(r.Body).Decode(&body) != nil {
			t.Errorf("%s is asked", r.URL)
		}
		_, _ = io.WriteString(w, completion("```json\n{\"n\": 5}\n```", "stop"))
	}))
	t.Cleanup(server.Close)
	opts := llm.Options{Client: local(), Secret: func(name, host string) (string, bool) { return "key", name == "KEY" && host == "127.0.0.1" }}
	s := newSkill(t, map[string]any{
		"base_url": server.URL + "/v1/", "model": "big", "api_key_env": "KEY", "system": "You write {{.what}}.", "prompt": "Write about {{.title}}.",
		"temperature": 0, "max_tokens": 100, "seed": 7, "response_format": "json_schema", "schema": json.RawMessage(schema), "price": map[string]float64{"input": 2, "output": 8},
	}, opts)
	result := do(t, s, `{"what":"poems","title":"<Sale>"}`)
	want := map[string]any{
		"model": "big", "temperature": 0.0, "max_tokens": 100.0, "seed": 7.0,
		"messages": []any{
			map[string]any{"role": "system", "content": "You write poems."},
			map[string]any{"role": "user", "content": "Write about <Sale>."},
		},
		"response_format": map[string]any{"type": "json_schema", "json_schema": map[string]any{"name": "answer", "strict": true, "schema": decode(t, schema)}},
	}
	if diff := cmp.Diff(want, body); diff != "" {
		t.Errorf("the request (-want +got):\n%s", diff)
	}
	if header.Get("Authorization") != "Bearer key" || header.Get("Idempotency-Key") != (rondo.ID{9}).String()+"/step/2" {
		t.Errorf("headers are %v", header)
	}
	if !result.OK || string(result.Data) != `{"n": 5}` {
		t.Errorf("%+v", result)
	}
	if diff := cmp.Diff(&skill.Debug{Calls: 1, Tokens: 1500, Cost: 0.006}, result.Debug); diff != "" {
		t.Errorf("debug (-want +got):\n%s", diff)
	}
}

func decode(t *testing.T, text string) (value any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

func TestWithoutAPromptTheInputIsOne(t *testing.T) {
	t.Parallel()
	var said string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			Messages []struct{ Content string } `json:"messages"`
		}
		_ = json.NewDecoder(r.Body).Decode(&asked)
		said = asked.Messages[0].Content
		_, _ = io.WriteString(w, completion("fine <b>", "stop"))
	}))
	t.Cleanup(server.Close)
	s := newSkill(t, map[string]any{"base_url": server.URL, "model": "m"}, llm.Options{Client: local()})
	for input, want := range map[string]string{`{"prompt":"Say hi","x":1}`: "Say hi", `{"x":1}`: `{"x":1}`} {
		result := do(t, s, input)
		if said != want || string(result.Data) != `"fine <b>"` {
			t.Errorf("%s: the model is told %q and answers %s", input, said, result.Data)
		}
	}
}

func TestAnswersAreJudged(t *testing.T) {
	t.Parallel()
	var status int
	var answer string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	s := newSkill(t, map[string]any{"base_url": server.URL, "model": "m", "response_format": "json_schema", "schema": json.RawMessage(schema)}, llm.Options{Client: local()})
	for name, test := range map[string]struct {
		status  int
		answer  string
		again   bool
		message string
	}{
		"not the schema":   {200, completion(`{"n":"CANARY"}`, "stop"), true, "schema"},
		"more than it":     {200, completion(`{"n":1,"CANARY2":1}`, "stop"), true, "schema"},
		"no JSON":          {200, completion(`n = 5`, "stop"), true, "not JSON"},
		"cut":              {200, completion(`{"n":`, "length"), false, "max_tokens"},
		"filtered":         {200, completion("", "content_filter"), false, "filter"},
		"empty":            {200, completion("", "stop"), true, "empty"},
		"no completion":    {200, `{"hello":"CANARY"}`, true, "no completion"},
		"a page":           {200, `<html>CANARY`, true, "no completion"},
		"a refusal":        {200, `{"choices":[{"message":{"refusal":"CANARY"},"finish_reason":"stop"}]}`, false, "refuses"},
		"wrong key":        {401, `{"error":{"message":"CANARY","code":"invalid_api_key"}}`, false, "invalid_api_key"},
		"no such model":    {404, `{"error":{"message":"CANARY","code":"model_not_found"}}`, false, "model_not_found"},
		"too many":         {429, `{"error":{"message":"CANARY","type":"rate_limit"}}`, true, "rate_limit"},
		"no money":         {429, `{"error":{"message":"CANARY","code":"insufficient_quota"}}`, false, "insufficient_quota"},
		"down":             {503, `CANARY`, true, "503"},
		"a code that says": {400, `{"error":{"code":"CANARY said this"}}`, false, "400"},
		"a redirect":       {302, ``, false, "302"},
	} {
		status, answer = test.status, test.answer
		result := do(t, s, `{}`)
		if result.OK || *result.Retryable != test.again || !strings.Contains(result.Error, test.message) || strings.Contains(result.Error, "CANARY said") || strings.Contains(result.Error, `"CANARY"`) {
			t.Errorf("%s: %+v, retryable %t", name, result, *result.Retryable)
		}
	}
}

func TestKeysStayWithTheirHosts(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if shown := r.Header.Get("Authorization"); shown != "" {
			t.Errorf("it is shown %q", shown)
		}
		_, _ = io.WriteString(w, completion("x", "stop"))
	}))
	t.Cleanup(server.Close)
	opts := llm.Options{Client: local(), Secret: func(name, host string) (string, bool) { return skilltest.Secret, host == "api.openai.com" }}
	if result := do(t, newSkill(t, map[string]any{"base_url": server.URL, "model": "m", "api_key_env": "OPENAI_API_KEY"}, opts), `{}`); result.OK || *result.Retryable {
		t.Errorf("%+v, want a final failure", result)
	}
	if result := do(t, newSkill(t, map[string]any{"base_url": server.URL, "model": "m"}, opts), `{}`); !result.OK {
		t.Errorf("without a key: %+v", result)
	}
}

func TestTheOperatorsAddressHasItsKeyHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	var shown string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown = r.Header.Get("Authorization")
		_, _ = io.WriteString(w, completion("x", "stop"))
	}))
	t.Cleanup(server.Close)
	opts := llm.Options{
		Client: local(), BaseURL: server.URL + "/v1", Model: "m",
		Secret: func(name, _ string) (string, bool) { return "operators", name == "OPENAI_API_KEY" },
	}
	for base, want := range map[string]string{
		"": "Bearer operators", server.URL + "/v1": "Bearer operators", server.URL + "/v1/": "Bearer operators",
		strings.ToUpper(server.URL[:4]) + server.URL[4:] + "/v1": "Bearer operators", server.URL + "/other": "",
	} {
		shown = "not asked"
		if result := do(t, newSkill(t, map[string]any{"base_url": base}, opts), `{}`); !result.OK || shown != want {
			t.Errorf("%q is shown %q, want %q: %+v", base, shown, want, result)
		}
	}
	opts.Secret = nil // a server that wants no key
	if result := do(t, newSkill(t, map[string]any{"base_url": server.URL + "/v1"}, opts), `{}`); !result.OK || shown != "" {
		t.Errorf("without a key: %+v", result)
	}
}

func TestServersAreGuardedUnlessTheOperatorChoseThem(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, completion("x", "stop")) }))
	t.Cleanup(server.Close)
	strict := guard.New(guard.Options{})
	for name, test := range map[string]struct {
		opts   llm.Options
		config string
		ok     bool
	}{
		"a tenant's":         {llm.Options{Client: strict}, fmt.Sprintf(`{"model":"m","base_url":%q}`, server.URL), false},
		"the operator's own": {llm.Options{Client: strict, BaseURL: server.URL, Model: "m"}, `{}`, true},
		"the same by name":   {llm.Options{Client: strict, BaseURL: server.URL + "/"}, fmt.Sprintf(`{"model":"m","base_url":%q}`, server.URL), true},
		"a trusted one":      {llm.Options{Client: strict, Trusted: []string{server.URL}}, fmt.Sprintf(`{"model":"m","base_url":%q}`, server.URL), true},
	} {
		s, err := llm.New(json.RawMessage(test.config), test.opts)
		if (err == nil) != test.ok {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			if result := do(t, s, `{}`); !result.OK {
				t.Errorf("%s: %+v", name, result)
			}
		}
	}
}

func TestConfigurationsAreReadStrictly(t *testing.T) {
	t.Parallel()
	for raw, pointer := range map[string]string{
		`{}`: "/model", `{"model":"m","temperature":3}`: "/temperature", `{"model":"m","max_tokens":-1}`: "/max_tokens", `{"model":"m","max_tokens":1.5}`: "/max_tokens",
		`{"model":"m","api_key":"x"}`: "/api_key", `{"model":"m","base_url":"x"}`: "/base_url", `{"model":"m","base_url":"https://u:p@x"}`: "/base_url",
		`{"model":"m","prompt":"{{"}`: "/prompt", `{"model":"m","system":"{{"}`: "/system", `{"model":"m","response_format":"xml"}`: "/response_format",
		`{"model":"m","response_format":"json_schema"}`: "/schema", `{"model":"m","schema":{}}`: "/schema", `{"model":"m","response_format":"json_schema","schema":{"type":5}}`: "/schema",
		`{"model":"m","response_format":"json_schema","schema":{"$ref":"https://example.org/x"}}`: "/schema", `{"model":"m","price":{"input":-1}}`: "/price", `{"model":"m","price":{"in":1}}`: "/price/in",
	} {
		_, err := llm.New(json.RawMessage(raw), llm.Options{Client: local()})
		told, ok := err.(*rondo.Error)
		if !ok || told.Code != rondo.CodeInvalidDef || told.Fields[0].Pointer != pointer {
			t.Errorf("%s: %+v, want a problem at %s", raw, err, pointer)
		}
	}
}

func TestAnAnswerThatIsNoJSONNamesTheSetting(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, completion("Sure!", "stop")) }))
	t.Cleanup(server.Close)
	s := newSkill(t, map[string]any{"base_url": server.URL, "model": "m", "response_format": "json"}, llm.Options{Client: local()})
	if result := do(t, s, `{}`); result.OK || !strings.Contains(result.Error, "response_format is json") {
		t.Errorf("%+v does not name the setting", result)
	}
}
