// Package copilot talks to agents of Microsoft Copilot Studio, direct to engine: a
// POST opens a conversation or gives one activity, and the answer streams
// activities back.
//
// # Guarantees beside those of the port
//
//  1. Every call carries a token of the user it is made for (see TokenSource); none
//     is used for two users.
//  2. Redirects are refused.
//  3. A stream that ends within an event, or that the connection's end alone ends,
//     is an error.
//
// It imports the root package, the agent port, agent/internal/sse and
// agent/internal/wire.
package copilot

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/url"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/agent/internal/wire"
)

const provider = "copilot"

// Config says which agent and how. EnvironmentID and SchemaName are needed unless
// DirectConnectURL is given; Tokens always is.
type Config struct {
	EnvironmentID string  // of Power Platform
	SchemaName    string  // of the agent
	Cloud         Cloud   // default: Prod
	CustomHost    string  // the API's host when Cloud is Other, such as api.example.com
	BotType       BotType // default: Published
	// DirectConnectURL is the agent's connection string; it replaces the above but
	// for the scope of tokens, which follows from Cloud. Default: none.
	DirectConnectURL string

	Tokens TokenSource
	HTTP   *http.Client // default: one of its own; redirects are refused in any case

	MaxEvent  int   // bytes of one activity; default: 1 MiB
	MaxEvents int   // of one answer, pieces of text included; default: 10,000
	MaxBytes  int64 // of one answer; default: 16 MiB
}

// Agent is one agent of Copilot Studio. It is safe for concurrent use and keeps
// nothing of any conversation.
type Agent struct {
	model  string
	base   *url.URL // of conversations
	tokens TokenSource
	client *wire.Client
	bounds wire.Bounds
}

var _ agent.Agent = (*Agent)(nil)

// New checks the configuration; it does not call the agent. Its errors have code
// CodeInvalid.
func New(cfg Config) (*Agent, error) {
	base, err := conversationsURL(cfg)
	if err != nil {
		return nil, err
	}
	if cfg.Tokens == nil {
		return nil, &rondo.Error{
			Code: rondo.CodeInvalid, Message: "the Copilot Studio agent has no source of tokens",
			Hint: "configure the client id and secret for the on-behalf-of exchange, or a fixed token for a trial",
		}
	}
	model := cfg.SchemaName
	if model == "" {
		model = base.Host
	}
	bounds := wire.Bounds{MaxEvent: cfg.MaxEvent, MaxEvents: cfg.MaxEvents, MaxBytes: cfg.MaxBytes}.
		Or(wire.Bounds{MaxEvent: 1 << 20, MaxEvents: 10_000, MaxBytes: 16 << 20})
	return &Agent{
		model: model, base: base, tokens: cfg.Tokens, bounds: bounds,
		client: wire.NewClient(provider, cfg.HTTP, bounds),
	}, nil
}

// Info says who answers: the schema name is the model.
func (a *Agent) Info() agent.Info { return agent.Info{Provider: provider, Model: a.model} }

// Start opens a conversation. The first chunk is its id.
func (a *Agent) Start(ctx context.Context, session agent.Session) iter.Seq2[agent.Chunk, error] {
	session.AgentSession = ""
	return a.call(ctx, session, struct {
		Emit bool `json:"emitStartConversationEvent"`
	}{true})
}

// Send gives one activity. Without an AgentSession the agent opens a conversation
// for it.
func (a *Agent) Send(ctx context.Context, session agent.Session, message rondo.Activity) iter.Seq2[agent.Chunk, error] {
	if message.Type == "" {
		message.Type = rondo.ActivityMessage
	}
	if message.Locale == "" {
		message.Locale = session.Locale
	}
	if message.Conversation == nil && session.AgentSession != "" {
		message.Conversation = &rondo.Account{ID: session.AgentSession}
	}
	return a.call(ctx, session, struct {
		Activity rondo.Activity `json:"activity"`
	}{message})
}

// call makes one POST and yields what comes back.
func (a *Agent) call(ctx context.Context, session agent.Session, body any) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		answer, err := a.post(ctx, session, body)
		if err != nil {
			yield(agent.Chunk{}, err)
			return
		}
		defer answer.Close()
		out := &reply{yield: yield, known: session.AgentSession, streams: map[string]string{}}
		err = out.session(answer.Header.Get("X-Ms-Conversationid"))
		switch {
		case err != nil:
		case answer.Stream():
			err = a.readStream(ctx, answer, out)
		default:
			err = a.readJSON(ctx, answer, out)
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(agent.Chunk{}, err)
		}
	}
}

func (a *Agent) post(ctx context.Context, session agent.Session, body any) (*wire.Answer, error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return nil, &agent.Error{Provider: provider, Kind: agent.KindMalformed, Message: "the activity to send has no JSON form"}
	}
	token, err := a.tokens.Token(ctx, session)
	if err != nil {
		return nil, tokenError(ctx, err)
	}
	answer, err := a.client.Post(ctx, withConversation(a.base, session.AgentSession), http.Header{
		"Authorization": {"Bearer " + token},
		"Content-Type":  {"application/json"},
		"Accept":        {"text/event-stream"},
	}, encoded)
	if refused, ok := errors.AsType[*agent.Error](err); ok && refused.Status == http.StatusUnauthorized {
		if source, ok := a.tokens.(forgetter); ok {
			source.Forget(session)
		}
	}
	return answer, err
}

// readStream reads up to the event `end`, which may lack the blank line behind it.
// Other events than activities are ignored.
func (a *Agent) readStream(ctx context.Context, answer *wire.Answer, out *reply) error {
	seen := false
	for {
		event, err := answer.Next(ctx)
		if errors.Is(err, io.EOF) {
			if seen && answer.Whole() {
				return nil
			}
			return a.client.Malformed("the stream stopped before its end")
		}
		if event.Name == "end" {
			return nil
		}
		if err != nil {
			return err
		}
		if event.Name == "activity" {
			var activity rondo.Activity
			if !readActivity(event.Data, &activity) {
				return a.client.Malformed("an event of the stream is not an activity")
			}
			if err := out.activity(&activity); err != nil {
				return err
			}
			seen = true
		}
	}
}

// readActivity reads one activity. A member that is not what it should be is left
// out where nothing depends on it; in what users are shown, or in how a conversation
// ended, it is an error.
func readActivity(text []byte, into *rondo.Activity) bool {
	err := json.Unmarshal(text, into)
	if _, odd := errors.AsType[*json.UnmarshalTypeError](err); !odd {
		return err == nil
	}
	switch into.Type {
	case "", rondo.ActivityMessage, rondo.ActivityEndOfConversation:
		return false
	}
	return true
}

// readJSON reads an answer that is no stream.
func (a *Agent) readJSON(ctx context.Context, answer *wire.Answer, out *reply) error {
	text, err := answer.JSON(ctx)
	if err != nil {
		return err
	}
	var body struct {
		Activities *[]json.RawMessage `json:"activities"`
	}
	if json.Unmarshal(text, &body) != nil || body.Activities == nil {
		return a.client.Malformed("the answer is not a list of activities")
	}
	if len(*body.Activities) > a.bounds.MaxEvents {
		return a.client.TooLarge("the answer has too many activities")
	}
	// All of it is read before any of it is given on: an answer that is wrong in
	// one place is wrong.
	activities := make([]rondo.Activity, len(*body.Activities))
	for i, raw := range *body.Activities {
		if len(raw) > a.bounds.MaxEvent {
			return a.client.TooLarge("an activity of the answer is too large")
		}
		if !readActivity(raw, &activities[i]) {
			return a.client.Malformed("the answer has something that is not an activity")
		}
	}
	for i := range activities {
		if err := out.activity(&activities[i]); err != nil {
			return err
		}
	}
	return nil
}
