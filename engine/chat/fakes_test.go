package chat_test

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
)

// puppet is an agent that says what a test wants.
type puppet struct {
	mu       sync.Mutex
	answer   func(ctx context.Context, s agent.Session, m rondo.Activity) ([]agent.Chunk, error)
	greeting []agent.Chunk
	heard    []rondo.Activity
	sessions []agent.Session
	starts   int
	note     func(string) // of every call
}

func (p *puppet) Info() agent.Info { return agent.Info{Provider: "puppet", Model: "strings"} }

func (p *puppet) Start(ctx context.Context, s agent.Session) iter.Seq2[agent.Chunk, error] {
	p.mu.Lock()
	p.starts++
	p.sessions = append(p.sessions, s)
	chunks, note := p.greeting, p.note
	p.mu.Unlock()
	if note != nil {
		note("agent")
	}
	return spoken(chunks, ctx.Err())
}

func (p *puppet) Send(ctx context.Context, s agent.Session, m rondo.Activity) iter.Seq2[agent.Chunk, error] {
	p.mu.Lock()
	p.heard = append(p.heard, m)
	p.sessions = append(p.sessions, s)
	answer, note := p.answer, p.note
	p.mu.Unlock()
	if note != nil {
		note("agent")
	}
	return spoken(answer(ctx, s, m))
}

// does sets what the agent answers from now on.
func (p *puppet) does(answer func(ctx context.Context, s agent.Session, m rondo.Activity) ([]agent.Chunk, error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = answer
}

func (p *puppet) says(chunks ...agent.Chunk) {
	p.does(func(context.Context, agent.Session, rondo.Activity) ([]agent.Chunk, error) { return chunks, nil })
}

func (p *puppet) sent() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.heard)
}

func (p *puppet) last() rondo.Activity {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.heard[len(p.heard)-1]
}

func (p *puppet) lastSession() agent.Session {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sessions[len(p.sessions)-1]
}

func spoken(chunks []agent.Chunk, err error) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		for _, c := range chunks {
			if !yield(c, nil) {
				return
			}
		}
		if err != nil {
			yield(agent.Chunk{}, err)
		}
	}
}

// text is a message of the agent; value its structured data, "" = none.
func text(words, value string) agent.Chunk {
	a := &rondo.Activity{Type: rondo.ActivityMessage, From: &rondo.Account{Role: "bot"}, Text: words}
	if value != "" {
		a.Value = json.RawMessage(value)
	}
	return agent.Chunk{Activity: a}
}

// card is a message of the agent with an adaptive card.
func card() agent.Chunk {
	return agent.Chunk{Activity: &rondo.Activity{
		Type: rondo.ActivityMessage, From: &rondo.Account{Role: "bot"}, Text: "please choose",
		Attachments: []rondo.Attachment{{ContentType: rondo.AdaptiveCardType, Content: json.RawMessage(`{"type":"AdaptiveCard","actions":[{"type":"Action.Submit","title":"ok"}]}`)}},
	}}
}

// letterbox is a relay that keeps what it is given, and refuses while closed.
type letterbox struct {
	mu     sync.Mutex
	closed bool
	events []rondo.RaisedEvent
	orgs   []string
}

func (l *letterbox) Raise(_ context.Context, org string, e rondo.RaisedEvent) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return &rondo.Error{Code: rondo.CodeUnavailable, Message: "closed"}
	}
	l.events, l.orgs = append(l.events, e), append(l.orgs, org)
	return nil
}

func (l *letterbox) close(closed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = closed
}

func (l *letterbox) all() []rondo.RaisedEvent {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.events)
}

// counts is an observer.
type counts struct {
	mu                             sync.Mutex
	turns, failed, contended, lost int
	late                           []time.Duration
}

func (c *counts) Turn(_ string, _, _ time.Duration, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turns++
	if err != nil {
		c.failed++
	}
}

func (c *counts) Contended() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.contended++
}

func (c *counts) Lost() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost++
}

func (c *counts) Fired(late time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.late = append(c.late, late)
}
