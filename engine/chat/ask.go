package chat

import (
	"context"
	"iter"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/internal/turn"
)

// heard is what an agent answered.
type heard struct {
	reply   turn.Reply
	session string // what it calls the conversation; "" = it did not say
	latency time.Duration
}

// agentFor finds the agent that a definition wants.
func (s *Service) agentFor(d *turn.Definition) (agent.Agent, error) {
	provider := d.Agent.Provider
	if provider == "" {
		provider = s.cfg.DefaultAgent
	}
	a, ok := s.cfg.Agents[provider]
	if !ok && provider == "" {
		return nil, &rondo.Error{Code: rondo.CodeUnavailable, Message: "no agent is configured", Hint: "set LLM_PROVIDER to copilot, openai, scripted or echo"}
	}
	if !ok {
		return nil, &rondo.Error{Code: rondo.CodeUnavailable, Message: "the agent " + provider + " that the definition wants is not configured", Hint: "configure it, or publish a definition that names another"}
	}
	return a, nil
}

// listen asks an agent once and takes in its whole answer, within the time that
// the definition gives it. work is the turn's context: when it ends, the lease was
// lost.
func (s *Service) listen(work context.Context, d *turn.Definition, stream func(StreamEvent), ask func(context.Context) iter.Seq2[agent.Chunk, error]) (h heard, err error) {
	timeout := s.cfg.AgentTimeout
	if d.AgentTimeout > 0 {
		timeout = d.AgentTimeout
	}
	call, cancel := context.WithTimeout(work, timeout)
	defer cancel()

	var activities []rondo.Activity
	shown := &shownTexts{newID: s.cfg.NewID}
	began := s.now()
	defer func() { h.latency = s.now().Sub(began) }()
	for chunk, err := range ask(call) {
		if err != nil {
			return h, agentError(work, call, err)
		}
		if call.Err() != nil {
			break
		}
		switch {
		case chunk.Activity != nil:
			activities = append(activities, *chunk.Activity)
		case chunk.Delta != nil:
			if stream != nil {
				stream(StreamEvent{Delta: shown.piece(chunk.Delta)})
			}
		case chunk.Session != "":
			h.session = chunk.Session
		}
	}
	// An answer that was cut off may look whole.
	if call.Err() != nil {
		return h, agentError(work, call, call.Err())
	}
	h.reply = turn.NormalizeStreamed(activities, s.cfg.NewID, shown.claim)
	return h, nil
}

// session is a conversation as its agent must know it.
func session(c *rondo.Conversation, d *turn.Definition, token string) agent.Session {
	return agent.Session{
		ConversationID: c.ExternalID,
		AgentSession:   c.AgentSession,
		TenantID:       c.TenantID,
		UserID:         c.UserID,
		UserToken:      token,
		Instructions:   d.Agent.Instructions,
		OutputSchema:   d.OutputSchema,
		Binding:        d.Agent.Raw,
	}
}
