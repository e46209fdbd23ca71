package agenttest_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rondo-engine/rondo/agent/agenttest"
)

func TestStubsRefuseWhatRealServersWould(t *testing.T) {
	t.Parallel()
	const conversations, completions = "/b/conversations?api-version=1", "/v1/chat/completions"
	start, turn, ask := `{"emitStartConversationEvent":true}`, `{"activity":{"type":"message"}}`, `{"model":"m","messages":[{"role":"user","content":"hi"}]}`
	for name, test := range map[string]struct {
		stub                *agenttest.Stub
		method, path, token string
		body                string
		status              int
	}{
		"copilot start":                  {agenttest.NewCopilot(nil), "POST", conversations, "t", start, 200},
		"copilot turn":                   {agenttest.NewCopilot(nil), "POST", "/b/conversations/c1?api-version=1", "t", turn, 200},
		"copilot without a token":        {agenttest.NewCopilot(nil), "POST", conversations, "", start, 401},
		"copilot by GET":                 {agenttest.NewCopilot(nil), "GET", conversations, "t", "", 405},
		"copilot without a version":      {agenttest.NewCopilot(nil), "POST", "/b/conversations", "t", start, 404},
		"copilot elsewhere":              {agenttest.NewCopilot(nil), "POST", "/b?api-version=1", "t", start, 404},
		"copilot deeper":                 {agenttest.NewCopilot(nil), "POST", "/b/conversations/a/b?api-version=1", "t", turn, 404},
		"copilot with nothing":           {agenttest.NewCopilot(nil), "POST", conversations, "t", `{}`, 400},
		"copilot with no JSON":           {agenttest.NewCopilot(nil), "POST", conversations, "t", `{`, 400},
		"copilot start of one":           {agenttest.NewCopilot(nil), "POST", "/b/conversations/c1?api-version=1", "t", start, 400},
		"copilot whose agent fails":      {agenttest.NewCopilot(demo(t)), "POST", conversations, "t", `{"activity":{"text":"fail"}}`, 502},
		"openai":                         {agenttest.NewOpenAI(nil), "POST", completions, "t", ask, 200},
		"openai without a key":           {agenttest.NewOpenAI(nil), "POST", completions, "", ask, 401},
		"openai elsewhere":               {agenttest.NewOpenAI(nil), "POST", "/v1/models", "t", ask, 404},
		"openai without a model":         {agenttest.NewOpenAI(nil), "POST", completions, "t", `{"messages":[{}]}`, 400},
		"openai without messages":        {agenttest.NewOpenAI(nil), "POST", completions, "t", `{"model":"m"}`, 400},
		"openai whose agent fails":       {agenttest.NewOpenAI(demo(t)), "POST", completions, "t", strings.Replace(ask, "hi", "fail", 1), 502},
		"openai with too large a body":   {agenttest.NewOpenAI(nil), "POST", completions, "t", strings.Repeat(" ", 2<<20) + ask, 400},
		"copilot with a fresh demo turn": {agenttest.NewCopilot(demo(t)), "POST", conversations, "t", turn, 200},
	} {
		request := httptest.NewRequest(test.method, test.path, strings.NewReader(test.body))
		if test.token != "" {
			request.Header.Set("Authorization", "Bearer "+test.token)
		}
		recorder := httptest.NewRecorder()
		test.stub.ServeHTTP(recorder, request)
		result := recorder.Result()
		body, err := io.ReadAll(result.Body)
		if err != nil || result.StatusCode != test.status {
			t.Errorf("%s: status %d, %v, want %d; it says %.200s", name, result.StatusCode, err, test.status, body)
		}
		counted := test.status == http.StatusOK || test.status == http.StatusBadGateway
		if want := map[bool]int{true: 1, false: 0}[counted]; test.stub.Calls() != want {
			t.Errorf("%s: %d calls, want %d", name, test.stub.Calls(), want)
		}
	}
}
