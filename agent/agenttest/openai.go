package agenttest

import (
	"encoding/json"
	"iter"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
)

// openAIAnswer is what the stub says without an agent behind it.
const openAIAnswer = `{"prompt":"What is your name?","action":"ask","data":{},"confidence":0.9,"citations":[]}`

// pieceSize is how much of an answer one event of the stub has, in bytes: odd, so
// that it cuts everywhere in time.
const pieceSize = 7

// NewOpenAI speaks as an OpenAI-compatible server of chat completions does, below
// any path that ends in /chat/completions. What it says is another agent's, or one
// fixed question when that is nil. Any key will do.
func NewOpenAI(inner agent.Agent) *Stub {
	stub := &Stub{}
	stub.handler = func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
			refuse(w, http.StatusNotFound, "not_found")
			return
		}
		var body struct {
			Model    string `json:"model"`
			Stream   bool   `json:"stream"`
			Messages []struct {
				Role    string `json:"role"`
				Content string `json:"content"`
			} `json:"messages"`
		}
		if !accept(w, r, &body) {
			return
		}
		if body.Model == "" || len(body.Messages) == 0 {
			refuse(w, http.StatusBadRequest, "invalid_request_error")
			return
		}
		stub.calls.Add(1)
		content := openAIAnswer
		if inner != nil {
			last := body.Messages[len(body.Messages)-1].Content
			var failed bool
			if content, failed = contentOf(inner.Send(r.Context(), agent.Session{}, toActivity(last))); failed {
				refuse(w, http.StatusBadGateway, "server_error")
				return
			}
		}
		if body.Stream {
			streamCompletion(w, body.Model, content)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(completionOf(body.Model, "message", map[string]any{"role": "assistant", "content": content}, "stop"))
	}
	return stub
}

// toActivity is what the user said, or the card they submitted.
func toActivity(content string) rondo.Activity {
	message := rondo.Activity{Type: rondo.ActivityMessage, Text: content}
	var submitted struct {
		CardID string `json:"cardId"`
	}
	if json.Unmarshal([]byte(content), &submitted) == nil && submitted.CardID != "" {
		message.Text, message.Value = "", json.RawMessage(content)
	}
	return message
}

// contentOf is what a model would write instead of an agent's activities: the first
// structured value, with the text for a prompt.
func contentOf(answer iter.Seq2[agent.Chunk, error]) (content string, failed bool) {
	var texts []string
	var value map[string]json.RawMessage
	for chunk, err := range answer {
		if err != nil {
			return "", true
		}
		if chunk.Activity == nil {
			continue
		}
		if chunk.Activity.Text != "" {
			texts = append(texts, chunk.Activity.Text)
		}
		if value == nil {
			// A value that is no object is none.
			_ = json.Unmarshal(chunk.Activity.Value, &value)
		}
	}
	text := strings.Join(texts, "\n")
	if value == nil {
		return text, false
	}
	prompt, err := json.Marshal(text)
	if err != nil {
		return "", true
	}
	value["prompt"] = prompt
	encoded, err := json.Marshal(value)
	return string(encoded), err != nil
}

func streamCompletion(w http.ResponseWriter, model, content string) {
	w.Header().Set("Content-Type", "text/event-stream")
	delta := func(delta map[string]any, reason any) {
		writeEvent(w, "", completionOf(model, "delta", delta, reason))
	}
	delta(map[string]any{"role": "assistant", "content": ""}, nil)
	for content != "" {
		size := min(pieceSize, len(content))
		for size < len(content) && !utf8.RuneStart(content[size]) {
			size++
		}
		delta(map[string]any{"content": content[:size]}, nil)
		content = content[size:]
	}
	delta(map[string]any{}, "stop")
	writeEvent(w, "", "[DONE]")
}

func completionOf(model, member string, said map[string]any, reason any) map[string]any {
	object := map[string]string{"delta": "chat.completion.chunk", "message": "chat.completion"}[member]
	return map[string]any{
		"id": "chatcmpl-stub", "object": object, "created": 0, "model": model,
		"choices": []any{map[string]any{"index": 0, member: said, "finish_reason": reason}},
	}
}
