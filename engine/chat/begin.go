package chat

import (
	"context"
	"iter"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/store"
)

// startNumber is the number of a start's record: turns count from 1.
const startNumber = 0

// Started is the answer to a start.
type Started struct {
	ConversationID string                    `json:"conversationId"`
	WorkflowState  rondo.WorkflowState       `json:"workflowState"`
	Messages       []rondo.NormalizedMessage `json:"messages"`
}

// start opens a conversation: the agent first, then one atomic write.
func (w *work) start(ctx context.Context) (Answer, error) {
	d, err := w.open(ctx)
	if err != nil {
		return Answer{}, err
	}
	told, err := answer(Started{ConversationID: w.id, WorkflowState: d.state.WorkflowState, Messages: list(d.messages)})
	if err != nil {
		return Answer{}, err
	}
	return w.commit(ctx, d, store.Lease{}, told)
}

// begin opens a conversation and makes its first turn, in one write.
func (w *work) begin(ctx context.Context) (Answer, error) {
	w.admitted(startNumber + 1)
	d, err := w.open(ctx)
	if err != nil {
		return Answer{}, err
	}
	if d.conversation.Status != rondo.ConversationActive {
		return Answer{}, completedError()
	}
	told, err := w.talk(ctx, d, d.messages)
	if err != nil {
		return Answer{}, err
	}
	return w.commit(ctx, d, store.Lease{}, told)
}

// open drafts a conversation with the agent's greeting.
func (w *work) open(ctx context.Context) (*draft, error) {
	d, err := w.blank(ctx, w.caller.Tenant, w.caller.User, w.id, w.req.Definition)
	if err != nil {
		return nil, err
	}
	if err := w.greet(ctx, d); err != nil {
		return nil, err
	}
	return d, nil
}

// blank drafts a conversation that nobody has said anything in.
func (s *Service) blank(ctx context.Context, tenant, user, id, name string) (*draft, error) {
	if name == "" {
		name = s.cfg.DefaultDefinition
	}
	definition, ref, err := s.cfg.Definitions.Named(ctx, tenant, name)
	if err != nil {
		return nil, rondo.Op("finding the definition", err)
	}
	now := s.now()
	return &draft{
		definition: definition,
		conversation: rondo.Conversation{
			ExternalID: id, TenantID: tenant, UserID: user,
			Status: rondo.ConversationActive, Definition: ref, CreatedAt: now, UpdatedAt: now,
		},
	}, nil
}

// greet starts the agent's side of a draft and the machine with what it said.
func (w *work) greet(ctx context.Context, d *draft) error {
	heard, err := w.startAgent(ctx, d)
	if err != nil {
		return err
	}
	now := w.now()
	out, err := d.definition.Start(now, heard.reply)
	if err != nil {
		return err
	}
	out.Record.Kind = rondo.TurnByStart
	if err := d.apply(out, startNumber, now); err != nil {
		return err
	}
	d.record.RequestID, d.record.AgentLatencyMs = w.req.RequestID, heard.latency.Milliseconds()
	d.issue(heard.reply.Messages, startNumber)
	return nil
}

// startAgent opens the agent's own conversation.
func (w *work) startAgent(ctx context.Context, d *draft) (heard, error) {
	a, err := w.agentFor(d.definition)
	if err != nil {
		return heard{}, err
	}
	h, err := w.listen(ctx, d.definition, nil, func(ctx context.Context) iter.Seq2[agent.Chunk, error] {
		return a.Start(ctx, session(&d.conversation, d.definition, w.caller.Token))
	})
	w.asked += h.latency
	if err != nil {
		return heard{}, err
	}
	if h.session != "" {
		d.conversation.AgentSession = h.session
	}
	return h, nil
}

// list is never null on the wire.
func list[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}
