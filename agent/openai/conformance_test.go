package openai_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/agent/agenttest"
	"github.com/rondo-engine/rondo/agent/echo"
	"github.com/rondo-engine/rondo/agent/openai"
)

// connect is an agent at an address, with the bounds and the token of the suite.
func connect(t *testing.T, url string, client *http.Client) *openai.Agent {
	t.Helper()
	a, err := openai.New(openai.Config{
		BaseURL: url, Key: agenttest.Secret, Model: "small", Greeting: "Hello!", HTTP: client, History: 3,
		MaxEvent: agenttest.MaxEvent, MaxEvents: agenttest.MaxEvents, MaxBytes: agenttest.MaxBytes,
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// encode is the JSON of a value that has one.
func encode(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// chunk is an event of a stream with one more piece of the content; reason is why
// the model stopped, nil = it did not.
func chunk(t *testing.T, content string, reason any) agenttest.Event {
	t.Helper()
	return agenttest.Event{Data: encode(t, map[string]any{
		"object":  "chat.completion.chunk",
		"choices": []any{map[string]any{"index": 0, "delta": map[string]any{"content": content}, "finish_reason": reason}},
	})}
}

// chunks are the events of a whole stream.
func chunks(t *testing.T, content string) []agenttest.Event {
	t.Helper()
	var events []agenttest.Event
	half := len(content) / 2
	for half > 0 && content[half]&0xC0 == 0x80 {
		half--
	}
	for _, piece := range []string{content[:half], content[half:]} {
		events = append(events, chunk(t, piece, nil))
	}
	return append(events, chunk(t, "", "stop"), agenttest.Event{Data: "[DONE]"})
}

func TestItIsAnAgent(t *testing.T) {
	t.Parallel()
	for name, inner := range map[string]agent.Agent{"fixed": nil, "echo": echo.Agent{}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agenttest.Run(t, func(t *testing.T) agent.Agent {
				t.Helper()
				server := httptest.NewServer(agenttest.NewOpenAI(inner))
				t.Cleanup(server.Close)
				return connect(t, server.URL, nil)
			})
		})
	}
}

func TestItSpeaksHTTP(t *testing.T) {
	t.Parallel()
	structured := func(text string) string {
		return encode(t, map[string]any{"action": "ask", "prompt": text, "data": map[string]any{"prompt": "not this"}})
	}
	driver := agenttest.Driver{
		New: func(t *testing.T, url string, client *http.Client) agent.Agent {
			t.Helper()
			return connect(t, url, client)
		},
		Events: func(text string) []agenttest.Event { return chunks(t, structured(text)) },
		JSON:   func(text string) string { return completion(t, structured(text), "stop") },
		Piece:  func() agenttest.Event { return chunk(t, "", nil) },
	}
	t.Run("structured", func(t *testing.T) {
		t.Parallel()
		agenttest.RunHTTP(t, driver)
	})
	t.Run("plain", func(t *testing.T) {
		t.Parallel()
		plain := driver
		plain.Events = func(text string) []agenttest.Event { return chunks(t, text) }
		plain.JSON = func(text string) string { return completion(t, text, "stop") }
		agenttest.RunHTTP(t, plain)
	})
}

// completion is an answer that is no stream.
func completion(t *testing.T, content, reason string) string {
	t.Helper()
	return encode(t, map[string]any{"choices": []any{map[string]any{
		"index": 0, "message": map[string]any{"role": "assistant", "content": content}, "finish_reason": reason,
	}}})
}

// streamed writes events as a server does.
func streamed(events ...agenttest.Event) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		var out strings.Builder
		for _, event := range events {
			if event.Name != "" {
				out.WriteString("event: " + event.Name + "\n")
			}
			out.WriteString("data: " + event.Data + "\n\n")
		}
		_, _ = w.Write([]byte(out.String()))
	}
}
