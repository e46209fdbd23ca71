// Package openai talks to any model behind an OpenAI-compatible chat completions
// API. The model is asked for one JSON object by schema; the object's `prompt` is
// what the user reads, and streams to them while the rest is still being written.
//
// # Guarantees beside those of the port
//
//  1. The model is told what was said before from the stored conversation alone.
//  2. An answer is one message. Its text is the object's `prompt` and its value the
//     object; an answer that is no JSON object, or has no prompt to show, is plain
//     text without a value.
//  3. The pieces that were streamed are the beginning of the message's text, unless
//     what began as an object turns out to be none.
//  4. An answer that the model did not finish is an error.
//
// It imports the root package, the agent port, agent/internal/sse and
// agent/internal/wire.
package openai

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/agent/internal/wire"
)

const provider = "openai"

// Config says which model and how.
type Config struct {
	BaseURL string // default: https://api.openai.com/v1
	Key     string // default: none is sent
	Model   string // for definitions that name none of their own
	// Instructions are for definitions that bring none of their own. Default: to
	// guide a person through a workflow.
	Instructions string
	Greeting     string       // what conversations open with; default: nothing
	History      int          // how many messages the model is reminded of; default: 40
	HTTP         *http.Client // default: one of its own; redirects are refused in any case

	MaxEvent  int   // bytes of one event, and of the text of an answer; default: 1 MiB
	MaxEvents int   // of one answer; default: 50,000
	MaxBytes  int64 // of one answer; default: 32 MiB
}

// Agent is one model. It is safe for concurrent use and keeps nothing of any
// conversation.
type Agent struct {
	cfg    Config
	url    string
	client *wire.Client
	bounds wire.Bounds
}

var (
	_ agent.Agent     = (*Agent)(nil)
	_ agent.Historian = (*Agent)(nil)
)

// New checks the configuration; it does not call the model. Its errors have code
// CodeInvalid.
func New(cfg Config) (*Agent, error) {
	if cfg.Model == "" {
		return nil, &rondo.Error{Code: rondo.CodeInvalid, Message: "no model is named", Hint: "name one that the API offers"}
	}
	base, err := url.Parse(cmp.Or(cfg.BaseURL, "https://api.openai.com/v1"))
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" {
		return nil, &rondo.Error{Code: rondo.CodeInvalid, Message: "the base URL of the model is not a URL", Hint: "write it like https://api.openai.com/v1"}
	}
	cfg.Instructions = cmp.Or(cfg.Instructions, defaultInstructions)
	if cfg.History <= 0 {
		cfg.History = 40
	}
	bounds := wire.Bounds{MaxEvent: cfg.MaxEvent, MaxEvents: cfg.MaxEvents, MaxBytes: cfg.MaxBytes}.
		Or(wire.Bounds{MaxEvent: 1 << 20, MaxEvents: 50_000, MaxBytes: 32 << 20})
	return &Agent{
		cfg: cfg, url: base.JoinPath("chat", "completions").String(),
		client: wire.NewClient(provider, cfg.HTTP, bounds), bounds: bounds,
	}, nil
}

// Info says who answers.
func (a *Agent) Info() agent.Info { return agent.Info{Provider: provider, Model: a.cfg.Model} }

// Remembers is how many messages the model is reminded of.
func (a *Agent) Remembers() int { return a.cfg.History }

// Start yields the configured greeting; the model is not asked.
func (a *Agent) Start(ctx context.Context, session agent.Session) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(agent.Chunk{}, err)
			return
		}
		wanted, err := a.wanted(session)
		switch {
		case err != nil:
			yield(agent.Chunk{}, err)
		case a.cfg.Greeting != "":
			yield(agent.Chunk{Activity: message(wanted.Model, rand.Text(), a.cfg.Greeting, nil)}, nil)
		}
	}
}

// Send asks the model.
func (a *Agent) Send(ctx context.Context, session agent.Session, said rondo.Activity) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		wanted, err := a.wanted(session)
		if err != nil {
			yield(agent.Chunk{}, err)
			return
		}
		answer, err := a.post(ctx, a.request(wanted, session, said))
		if err != nil {
			yield(agent.Chunk{}, err)
			return
		}
		defer answer.Close()
		out := &completion{model: wanted.Model, id: rand.Text(), yield: yield, limit: a.bounds.MaxEvent}
		if answer.Stream() {
			err = a.readStream(ctx, answer, out)
		} else {
			err = a.readJSON(ctx, answer, out)
		}
		if err == nil {
			err = a.finish(out)
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(agent.Chunk{}, err)
		}
	}
}

func (a *Agent) post(ctx context.Context, asked request) (*wire.Answer, error) {
	body, err := json.Marshal(asked)
	if err != nil {
		return nil, &agent.Error{Provider: provider, Kind: agent.KindMalformed, Message: "the definition's output schema or the message is not JSON"}
	}
	header := http.Header{
		"Content-Type": {"application/json"},
		"Accept":       {"text/event-stream"},
	}
	if a.cfg.Key != "" {
		header.Set("Authorization", "Bearer "+a.cfg.Key)
	}
	return a.client.Post(ctx, a.url, header, body)
}

// finish yields the whole message, or says why there is none.
func (a *Agent) finish(out *completion) error {
	switch {
	case out.reason == "length":
		return a.client.TooLarge("the model ran out of room before its answer was whole")
	case out.reason == "content_filter":
		return a.client.Refused("the model's answer was withheld by a content filter")
	case out.refusal.Len() > 0:
		// A refusal is for the user to read; nothing is collected from it.
		out.yield(agent.Chunk{Activity: message(out.model, out.id, out.refusal.String(), nil)}, nil)
		return nil
	case out.content.Len() == 0:
		return a.client.Malformed("the model's answer is empty")
	}
	text := out.content.String()
	var value json.RawMessage
	var object map[string]json.RawMessage
	if isObject(text) && json.Unmarshal([]byte(text), &object) == nil {
		var prompt string
		// An object without a prompt would show the person nothing: then all of it is
		// text, in which whoever looks for data finds it.
		if json.Unmarshal(object["prompt"], &prompt) == nil && strings.TrimSpace(prompt) != "" {
			value, text = json.RawMessage(text), prompt
		}
	}
	out.yield(agent.Chunk{Activity: message(out.model, out.id, text, value)}, nil)
	return nil
}

func message(model, id, text string, value json.RawMessage) *rondo.Activity {
	return &rondo.Activity{
		Type:  rondo.ActivityMessage,
		ID:    id,
		From:  &rondo.Account{ID: provider, Name: model, Role: "bot"},
		Text:  text,
		Value: value,
	}
}
