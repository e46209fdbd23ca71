package chat

import (
	"context"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// Ended is the answer to an end.
type Ended struct {
	ConversationID string                   `json:"conversationId"`
	Status         rondo.ConversationStatus `json:"status"`
	WorkflowState  rondo.WorkflowState      `json:"workflowState"`
}

// end ends a conversation without asking the agent.
func (w *work) end(caller, working context.Context) (Answer, error) {
	d, lease, giveBack, err := w.hold(caller, working)
	if err != nil {
		return Answer{}, err
	}
	defer giveBack()
	if ended(d) {
		return Answer{}, completedError()
	}
	outcome := w.req.Outcome
	if outcome == "" {
		outcome = string(rondo.ConversationAbandoned)
	}
	if err := w.finish(d, outcome, w.req.Reason); err != nil {
		return Answer{}, err
	}
	d.record.RequestID, d.record.LeaseWaitMs = w.req.RequestID, w.waited.Milliseconds()
	told, err := answer(Ended{ConversationID: w.req.ConversationID, Status: d.conversation.Status, WorkflowState: d.state.WorkflowState})
	if err != nil {
		return Answer{}, err
	}
	return w.commit(working, d, lease, told)
}

// finish drafts the end of a conversation.
func (s *Service) finish(d *draft, outcome, reason string) error {
	now := s.now()
	out, err := d.definition.End(d.state, outcome, now)
	if err != nil {
		return err
	}
	out.Status = rondo.ConversationStatus(outcome)
	if err := d.apply(out, d.state.TurnNumber+1, now); err != nil {
		return err
	}
	d.conversation.Reason = reason
	d.record.Kind = rondo.TurnByEnd
	return nil
}

// Delete erases a conversation with everything about it. What a case still has to
// hear of it is told first: an active conversation that a case waits for is
// abandoned.
func (s *Service) Delete(ctx context.Context, caller Caller, id string) error {
	leave, err := s.enter()
	if err != nil {
		return err
	}
	defer leave()
	id, err = s.locate(ctx, caller, id)
	if err != nil {
		return err
	}
	lease, _, err := s.acquire(ctx, owner(caller, id))
	if err != nil {
		return err
	}
	pending, err := s.lastWords(ctx, id, lease)
	if err != nil {
		s.release(ctx, lease)
		return err
	}
	if len(pending) > 0 {
		s.release(ctx, lease)
		if left := s.relay(context.WithoutCancel(ctx), caller.Tenant, id, pending); left > 0 {
			return &rondo.Error{Code: rondo.CodeUnavailable, Message: "a case has not been told yet what the conversation raised", Hint: "try again", Err: &store.BusyError{RetryAfter: retryRelay}}
		}
		if lease, _, err = s.acquire(ctx, owner(caller, id)); err != nil {
			return err
		}
	}
	err = s.within(ctx, func(ctx context.Context) error { return s.store.Delete(ctx, owner(caller, id), lease) })
	if err != nil {
		s.release(ctx, lease)
	}
	return storeError("deleting the conversation", err)
}

// lastWords is what cases have to hear of a conversation before it is erased. One
// that a case waits for is ended here, which uses up the lease. A record that
// cannot be read tells nobody anything, and can be erased.
func (s *Service) lastWords(ctx context.Context, id string, lease store.Lease) ([]rondo.RaisedEvent, error) {
	if s.cfg.Relay == nil {
		return nil, nil
	}
	d, err := s.load(ctx, id)
	if rondo.CodeOf(err) == rondo.CodeStateCorrupt {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if d.conversation.Case != nil && !ended(d) {
		if err := s.finish(d, string(rondo.ConversationAbandoned), "deleted"); err != nil {
			return nil, err
		}
		if err := s.put(ctx, d.write(lease, s.now(), s.cfg.TTL)); err != nil {
			return nil, storeError("ending the conversation", err)
		}
	}
	return d.state.Pending, nil
}
