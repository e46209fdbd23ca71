// Package echo is an agent that answers with what it was told. It is there to try
// a chat page or to measure everything around an agent.
//
// It imports the root package, the agent port and agent/internal/preamble.
package echo

import (
	"context"
	"crypto/rand"
	"iter"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/agent/internal/preamble"
)

// Agent echoes. Its zero value answers with the user's own text.
type Agent struct {
	// Verbatim answers with the whole query, the context above the text included.
	// Default: the user's own text alone.
	Verbatim bool
}

var _ agent.Agent = Agent{}

// Info says who answers.
func (Agent) Info() agent.Info { return agent.Info{Provider: "echo", Model: "echo"} }

// Start has no greeting.
func (Agent) Start(ctx context.Context, _ agent.Session) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(agent.Chunk{}, err)
		}
	}
}

// Send answers a text with the text and a submitted card with its data, as text.
func (a Agent) Send(ctx context.Context, _ agent.Session, message rondo.Activity) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(agent.Chunk{}, err)
			return
		}
		text := message.Text
		if text == "" {
			text = string(message.Value)
		} else if !a.Verbatim {
			_, text = preamble.Split(text)
		}
		yield(agent.Chunk{Activity: &rondo.Activity{
			Type: rondo.ActivityMessage,
			ID:   rand.Text(),
			From: &rondo.Account{ID: "echo", Name: "Echo", Role: "bot"},
			Text: text,
		}}, nil)
	}
}
