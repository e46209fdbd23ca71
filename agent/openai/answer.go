package openai

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/agent/internal/wire"
)

// errStopped says that whoever reads the answer wants no more of it.
var errStopped = errors.New("openai: stopped")

// completion is an answer as it grows.
type completion struct {
	model   string
	id      string
	yield   func(agent.Chunk, error) bool
	limit   int
	content strings.Builder
	refusal strings.Builder
	reason  string // why the model stopped; "" = it has not
	prompt  promptReader
}

// part is one event of a stream, or a whole answer.
type part struct {
	Choices []struct {
		Index   int    `json:"index"`
		Delta   piece  `json:"delta"`
		Message piece  `json:"message"`
		Reason  string `json:"finish_reason"`
	} `json:"choices"`
	Error json.RawMessage `json:"error"`
}

type piece struct {
	Content string `json:"content"`
	Refusal string `json:"refusal"`
}

// readStream reads up to [DONE]. A stream that ends without it is whole when the
// model said why it stopped.
func (a *Agent) readStream(ctx context.Context, answer *wire.Answer, out *completion) error {
	for {
		event, err := answer.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			if out.reason == "" {
				return a.client.Malformed("the stream stopped before its end")
			}
			return nil
		case err != nil:
			return err
		case event.Name == "error":
			return a.failed(event.Data)
		case event.Name != "" && event.Name != "message":
			continue
		case strings.TrimSpace(string(event.Data)) == "[DONE]":
			return nil
		}
		var next part
		if json.Unmarshal(event.Data, &next) != nil {
			return a.client.Malformed("an event of the stream is not part of a completion")
		}
		if isError(next.Error) {
			return a.failed(event.Data)
		}
		for _, choice := range next.Choices {
			if choice.Index != 0 {
				continue
			}
			if err := a.add(out, choice.Delta, true); err != nil {
				return err
			}
			if choice.Reason != "" {
				out.reason = choice.Reason
			}
		}
	}
}

// readJSON reads an answer of a server that does not stream.
func (a *Agent) readJSON(ctx context.Context, answer *wire.Answer, out *completion) error {
	text, err := answer.JSON(ctx)
	if err != nil {
		return err
	}
	var whole part
	if json.Unmarshal(text, &whole) != nil {
		return a.client.Malformed("the answer is not a completion")
	}
	if isError(whole.Error) {
		return a.failed(text)
	}
	if len(whole.Choices) == 0 {
		return a.client.Malformed("the answer is not a completion")
	}
	out.reason = whole.Choices[0].Reason
	return a.add(out, whole.Choices[0].Message, false)
}

// add takes a piece of the answer and yields what it adds to the text.
func (a *Agent) add(out *completion, next piece, stream bool) error {
	if out.content.Len()+len(next.Content) > out.limit || out.refusal.Len()+len(next.Refusal) > out.limit {
		return a.client.TooLarge("the model's answer is too large")
	}
	out.content.WriteString(next.Content)
	out.refusal.WriteString(next.Refusal)
	if !stream {
		return nil
	}
	text := out.prompt.add(next.Content) + next.Refusal
	if text != "" && !out.yield(agent.Chunk{Delta: &agent.Delta{ID: out.id, Text: text}}, nil) {
		return errStopped
	}
	return nil
}

// failed is an error that came where an answer should be.
func (a *Agent) failed(body []byte) error {
	message := "the model's server failed on the way"
	if word := wire.ErrorWord(body); word != "" {
		message += " (" + word + ")"
	}
	return a.client.Refused(message)
}

func isError(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// isObject reports whether a text claims to be a JSON object.
func isObject(text string) bool { return strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{") }
