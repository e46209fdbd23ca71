package chat

import (
	"context"
	"encoding/json"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/turn"
	"github.com/rondo-engine/rondo/store"
)

// deadlineTimer is the id of the timer that ends a conversation when its case
// waits no longer.
const deadlineTimer = "case.deadline"

// OpenRequest asks for a conversation that a case step waits for.
type OpenRequest struct {
	ID         string // of the conversation, a UUID that the step always gives
	TenantID   string
	UserID     string // who is to talk
	Definition string // name; "" = the configured default
	Title      string // shown to the user, stored in the metadata; "" = none
	Case       rondo.CaseLink
}

// Open opens a conversation for a case step, once: again, it returns the same id
// and changes nothing. The agent is not asked before the user says something,
// because it may need the user's token. When the conversation ends, by a turn, by
// its owner or at the step's deadline, the event Case.CompletedType with a
// CompletedPayload is raised in the same commit.
func (s *Service) Open(ctx context.Context, req OpenRequest) (string, error) {
	if req.ID == "" || req.TenantID == "" || req.UserID == "" || req.Case.CompletedType == "" || req.Case.CaseID == "" {
		return "", rondo.Invalid("a conversation for a case needs an id, a tenant, a user, a case and the type of the event that completes the step")
	}
	leave, err := s.enter()
	if err != nil {
		return "", err
	}
	defer leave()
	d, err := s.blank(ctx, req.TenantID, req.UserID, req.ID, req.Definition)
	if err != nil {
		return "", err
	}
	d.conversation.Case = &req.Case
	if req.Title != "" {
		d.conversation.Metadata, err = json.Marshal(map[string]string{"title": req.Title})
		if err != nil {
			return "", rondo.Op("writing the title", err)
		}
	}
	if !req.Case.DeadlineAt.IsZero() {
		d.state.Timers = []rondo.ConversationTimer{{ID: deadlineTimer, Kind: rondo.TimerDeadline, DueAt: req.Case.DeadlineAt}}
	}
	now := s.now()
	out, err := d.definition.Start(now, turn.Reply{})
	if err != nil {
		return "", err
	}
	out.Record.Kind = rondo.TurnByStart
	if err := d.apply(out, startNumber, now); err != nil {
		return "", err
	}
	err = s.put(ctx, d.write(store.Lease{}, now, s.cfg.TTL))
	if rondo.CodeOf(err) == rondo.CodeConflict {
		return req.ID, s.sameStep(ctx, req)
	}
	if err != nil {
		return "", storeError("opening the conversation", err)
	}
	s.relaySoon(ctx, d)
	return req.ID, nil
}

// sameStep checks that an id that is taken was taken by the same step.
func (s *Service) sameStep(ctx context.Context, req OpenRequest) error {
	found, err := s.store.Conversation(ctx, store.Owner{TenantID: req.TenantID, UserID: req.UserID, ID: req.ID}, s.now())
	if err != nil && rondo.CodeOf(err) != rondo.CodeConversationNotFound {
		return storeError("reading the conversation", err)
	}
	if err != nil || found.Conversation.Case == nil || found.Conversation.Case.CorrelationID != req.Case.CorrelationID {
		return &rondo.Error{Code: rondo.CodeConflict, Message: "the conversation's id belongs to another one", Hint: "make the id from the step's correlation id"}
	}
	return nil
}
