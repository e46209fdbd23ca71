package chat

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/turn"
	"github.com/rondo-engine/rondo/store"
)

// caseWait is how long a conversation is kept for a case step that waits without
// a deadline.
const caseWait = 366 * 24 * time.Hour

// draft is a conversation with all that one commit will change about it.
type draft struct {
	conversation rondo.Conversation
	definition   *turn.Definition
	state        rondo.ConversationState
	previous     int64 // version that is stored; 0 = nothing is

	messages []rondo.NormalizedMessage
	cards    []rondo.Card
	record   *rondo.TurnRecord
	raised   int // events of this commit
}

// apply takes over what a start, a turn, a timer or an end came to, as the record
// with the given number.
func (d *draft) apply(out turn.Outcome, number int, now time.Time) error {
	before := d.state
	wasActive := d.conversation.Status == rondo.ConversationActive

	d.state = out.State
	d.state.TurnNumber = number
	d.state.TenantID, d.state.UserID = d.conversation.TenantID, d.conversation.UserID
	d.state.Pending = slices.Clone(before.Pending)
	if d.state.CollectedData == nil {
		d.state.CollectedData = map[string]json.RawMessage{}
	}
	if out.Status != "" {
		d.conversation.Status = out.Status
	}
	d.conversation.UpdatedAt = now
	d.state.Timers = d.timers(before.Timers, out.State.Timers)

	record := out.Record
	record.Number, record.At, record.Definition = number, now, d.conversation.Definition
	for i, e := range out.Effects {
		raised, err := d.event(e, number, i, now)
		if err != nil {
			return err
		}
		record.Raised = append(record.Raised, raised)
	}
	if wasActive && d.conversation.Status != rondo.ConversationActive && d.conversation.Case != nil {
		told, err := d.completion(number, len(record.Raised), now)
		if err != nil {
			return err
		}
		record.Raised = append(record.Raised, told)
	}
	d.state.Pending = append(d.state.Pending, record.Raised...)
	d.raised += len(record.Raised)
	d.record = &record
	return nil
}

// timers are the machine's, as they are now, and the deadline that it does not
// know; a conversation that has ended has none.
func (d *draft) timers(before, now []rondo.ConversationTimer) []rondo.ConversationTimer {
	if d.conversation.Status != rondo.ConversationActive {
		return nil
	}
	var kept []rondo.ConversationTimer
	for _, t := range before {
		if t.Kind == rondo.TimerDeadline {
			kept = append(kept, t)
		}
	}
	for _, t := range now {
		if t.Kind != rondo.TimerDeadline {
			kept = append(kept, t)
		}
	}
	return kept
}

// event is what an action of the machine raises. One that names no case is for the
// case that waits for the conversation. It has no correlation of its own: that of
// the waiting step belongs to the step's answer.
func (d *draft) event(e turn.Effect, number, index int, now time.Time) (rondo.RaisedEvent, error) {
	raised := rondo.RaisedEvent{
		EventID: EventID(d.conversation.ExternalID, number, index),
		Type:    e.EventType, CaseID: e.CaseID, Payload: e.Payload, OccurredAt: now,
	}
	if link := d.conversation.Case; link != nil {
		raised.CausationID = link.RequestID
		if raised.CaseID == "" {
			raised.CaseID = link.CaseID
		}
	}
	if raised.CaseID == "" {
		return raised, &rondo.Error{Code: rondo.CodeWorkflowLogic, Message: "raiseCaseEvent of " + e.EventType + " names no case", Hint: "let the action's caseId select one"}
	}
	if len(raised.Payload) == 0 {
		raised.Payload = json.RawMessage("{}")
	}
	return raised, nil
}

// CompletedPayload is the payload of the event that tells a case how the
// conversation ended that it waits for.
type CompletedPayload struct {
	ConversationID string                     `json:"conversationId"`
	Outcome        rondo.ConversationStatus   `json:"outcome"` // completed or abandoned
	Step           string                     `json:"step"`
	CollectedData  map[string]json.RawMessage `json:"collectedData"`
}

func (d *draft) completion(number, index int, now time.Time) (rondo.RaisedEvent, error) {
	payload, err := json.Marshal(CompletedPayload{
		ConversationID: d.conversation.ExternalID, Outcome: d.conversation.Status,
		Step: d.state.Step, CollectedData: d.state.CollectedData,
	})
	if err != nil {
		return rondo.RaisedEvent{}, rondo.Op("telling the case", err)
	}
	link := d.conversation.Case
	return rondo.RaisedEvent{
		EventID: EventID(d.conversation.ExternalID, number, index),
		Type:    link.CompletedType, CaseID: link.CaseID, CorrelationID: link.CorrelationID, CausationID: link.RequestID,
		Payload: payload, OccurredAt: now,
	}, nil
}

// issue remembers the cards among messages, so that only they can be answered.
func (d *draft) issue(messages []rondo.NormalizedMessage, number int) {
	for _, m := range messages {
		if m.CardID != "" {
			d.cards = append(d.cards, rondo.Card{ID: m.CardID, Issued: number})
		}
	}
	d.messages = append(d.messages, messages...)
}

// write is the commit that the draft comes to.
func (d *draft) write(lease store.Lease, now time.Time, ttl time.Duration) *store.ConversationWrite {
	state := d.state
	state.Version = d.previous + 1
	return &store.ConversationWrite{
		Conversation: d.conversation, State: state, Previous: d.previous, Lease: lease,
		At: now, ExpiresAt: expiry(&d.conversation, &state, now, ttl), Attention: attention(&state, now),
		Messages: d.messages, Turn: d.record, Cards: d.cards,
	}
}

// expiry is when a conversation is forgotten if nothing happens any more: never
// before its last timer has had its effect, nor while a case waits for it.
func expiry(c *rondo.Conversation, state *rondo.ConversationState, now time.Time, ttl time.Duration) time.Time {
	last := now
	for _, t := range state.Timers {
		last = later(last, t.DueAt)
	}
	if c.Case != nil && c.Status == rondo.ConversationActive {
		if c.Case.DeadlineAt.IsZero() {
			last = later(last, c.CreatedAt.Add(caseWait))
		}
		last = later(last, c.Case.DeadlineAt)
	}
	return last.Add(ttl)
}

// attention is when the background loop must look at a conversation; zero = never.
func attention(state *rondo.ConversationState, now time.Time) time.Time {
	if len(state.Pending) > 0 {
		return now
	}
	return nextTimer(state)
}

// nextTimer is when the first timer is due; zero = there is none.
func nextTimer(state *rondo.ConversationState) time.Time {
	var next time.Time
	for _, t := range state.Timers {
		if next.IsZero() || t.DueAt.Before(next) {
			next = t.DueAt
		}
	}
	return next
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
