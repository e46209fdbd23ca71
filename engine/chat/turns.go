package chat

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/internal/canon"
	"github.com/rondo-engine/rondo/internal/turn"
	"github.com/rondo-engine/rondo/store"
)

// goOn makes a turn of a conversation that is there.
func (w *work) goOn(caller, working context.Context) (Answer, error) {
	d, lease, giveBack, err := w.hold(caller, working)
	if err != nil {
		return Answer{}, err
	}
	defer giveBack()
	if w.req.Kind == KindCard {
		first, err := w.checkCard(working, d)
		if err != nil || first != nil {
			return deref(first), err
		}
	}
	if ended(d) {
		return Answer{}, completedError()
	}
	w.renew(working, w.cfg.Lease, func(ctx context.Context) error {
		return w.store.Renew(ctx, lease, w.now(), w.cfg.Lease)
	})
	w.admitted(d.state.TurnNumber + 1)

	said, err := w.recall(working, d)
	if err != nil {
		return Answer{}, err
	}
	told, err := w.talk(working, d, said)
	if err != nil {
		return Answer{}, err
	}
	return w.commit(working, d, lease, told)
}

// hold takes the lease of the conversation and then reads it. giveBack must be
// called, unless there is an error.
func (w *work) hold(caller, working context.Context) (d *draft, lease store.Lease, giveBack func(), err error) {
	lease, w.waited, err = w.acquire(caller, owner(w.caller, w.id))
	if err != nil {
		return nil, lease, nil, err
	}
	if d, err = w.load(working, w.id); err != nil {
		w.giveBack(working, lease)
		return nil, lease, nil, err
	}
	return d, lease, func() { w.giveBack(working, lease) }, nil
}

// giveBack releases a lease that no commit has used up.
func (w *work) giveBack(ctx context.Context, lease store.Lease) {
	w.stopRenewing()
	if !w.done {
		w.release(ctx, lease)
	}
}

// load reads a conversation whose lease is held. Older records lack members.
func (s *Service) load(ctx context.Context, id string) (*draft, error) {
	var stored *store.StoredConversation
	err := s.within(ctx, func(ctx context.Context) (err error) {
		stored, err = s.store.Load(ctx, id, s.now())
		return err
	})
	if err != nil {
		return nil, storeError("loading the conversation", err)
	}
	if err := valid(stored); err != nil {
		return nil, err
	}
	d := &draft{conversation: stored.Conversation, state: stored.State, previous: stored.State.Version}
	if d.conversation.ExternalID == "" {
		d.conversation.ExternalID = id
	}
	if d.conversation.Status == "" {
		d.conversation.Status = rondo.ConversationActive
	}
	if d.state.Status == "" {
		d.state.Status = rondo.WorkflowActive
	}
	// Turns of before there were records count too.
	d.state.TurnNumber = max(d.state.TurnNumber, d.state.TurnCount)
	d.definition, err = s.definitionOf(ctx, &d.conversation)
	return d, err
}

// definitionOf is what drives a conversation. A record of before there were
// definitions gets the default one, from now on.
func (s *Service) definitionOf(ctx context.Context, c *rondo.Conversation) (*turn.Definition, error) {
	if c.Definition == (rondo.DefinitionRef{}) {
		definition, ref, err := s.cfg.Definitions.Named(ctx, c.TenantID, s.cfg.DefaultDefinition)
		c.Definition = ref
		return definition, rondo.Op("finding the default definition", err)
	}
	definition, err := s.cfg.Definitions.Frozen(ctx, c.TenantID, c.Definition)
	if rondo.CodeOf(err) == rondo.CodeNotFound {
		return nil, &rondo.Error{Code: rondo.CodeStateCorrupt, Op: "finding the conversation's definition", Err: err, Message: "the definition that the conversation was started with is gone", Hint: "restore it from a backup, or start another conversation"}
	}
	return definition, rondo.Op("finding the conversation's definition", err)
}

func ended(d *draft) bool {
	return d.conversation.Status != rondo.ConversationActive || d.state.Status == rondo.WorkflowCompleted
}

// checkCard refuses a card that was not issued here. One that was submitted before
// has its first answer again, unless it is submitted with other data now.
func (w *work) checkCard(ctx context.Context, d *draft) (*Answer, error) {
	var card *rondo.Card
	err := w.within(ctx, func(ctx context.Context) (err error) {
		card, err = w.store.Card(ctx, w.id, w.now(), w.req.CardID)
		return err
	})
	if err != nil {
		return nil, storeError("looking for the card", err)
	}
	if card == nil {
		return nil, unknownCard()
	}
	digest, err := canon.Digest(w.req.SubmitData)
	if err != nil {
		return nil, invalid("/submitData", "not_json", "send an object whose members have different names")
	}
	if card.Digest == "" {
		card.Digest, card.Turn = digest, d.state.TurnNumber+1
		d.cards = append(d.cards, *card)
		return nil, nil
	}
	if card.Digest != digest {
		return nil, &rondo.Error{Code: rondo.CodeCardSubmitted, Message: "the card was submitted with other data", Hint: "a card is answered once; go on with the newest one"}
	}
	var first rondo.TurnRecord
	err = w.within(ctx, func(ctx context.Context) (err error) {
		first, err = w.store.Turn(ctx, w.id, w.now(), card.Turn)
		return err
	})
	if err != nil {
		return nil, storeError("reading the card's first answer", err)
	}
	return &Answer{Status: http.StatusOK, Body: first.Response, Replayed: true}, nil
}

// recall is what the agent must be told was said before. A conversation that a
// case opened has not met its agent yet: that happens now, with the user's token.
func (w *work) recall(ctx context.Context, d *draft) ([]rondo.NormalizedMessage, error) {
	if d.conversation.Case != nil && d.conversation.AgentSession == "" && d.state.TurnCount == 0 {
		h, err := w.startAgent(ctx, d)
		if err != nil {
			return nil, err
		}
		d.issue(h.reply.Messages, d.state.TurnNumber+1)
		return d.messages, nil
	}
	a, err := w.agentFor(d.definition)
	if err != nil {
		return nil, err
	}
	forgetful, ok := a.(agent.Historian)
	if !ok {
		return nil, nil
	}
	var said []rondo.NormalizedMessage
	err = w.within(ctx, func(ctx context.Context) (err error) {
		said, _, err = w.store.History(ctx, w.id, w.now(), 0, forgetful.Remembers())
		return err
	})
	return said, storeError("reading the history", err)
}

// talk gives the user's message to the agent and drafts what its answer comes to.
func (w *work) talk(ctx context.Context, d *draft, said []rondo.NormalizedMessage) (Answer, error) {
	a, err := w.agentFor(d.definition)
	if err != nil {
		return Answer{}, err
	}
	message, truncation, err := w.message(d)
	if err != nil {
		return Answer{}, err
	}
	s := session(&d.conversation, d.definition, w.caller.Token)
	if _, ok := a.(agent.Historian); ok {
		s.History = said
	}
	h, err := w.listen(ctx, d.definition, w.req.Stream, func(ctx context.Context) iter.Seq2[agent.Chunk, error] {
		return a.Send(ctx, s, message)
	})
	w.asked += h.latency
	if err != nil {
		return Answer{}, err
	}
	if h.session != "" {
		d.conversation.AgentSession = h.session
	}
	return w.decide(d, h, truncation)
}

// message is what the agent is sent: the user's text under the context of the
// workflow, or what a card submits.
func (w *work) message(d *draft) (rondo.Activity, string, error) {
	activity := rondo.Activity{Type: rondo.ActivityMessage, From: &rondo.Account{ID: w.caller.User, Role: rondo.RoleUser}}
	switch {
	case w.req.Kind == KindCard:
		value := map[string]json.RawMessage{}
		if err := json.Unmarshal(w.req.SubmitData, &value); err != nil {
			return activity, "", rondo.Op("reading submitData", err)
		}
		id, err := json.Marshal(w.req.CardID)
		if err != nil {
			return activity, "", rondo.Op("writing the card's id", err)
		}
		value["cardId"] = id
		activity.Value, err = json.Marshal(value)
		return activity, "", rondo.Op("writing the card's value", err)
	case w.req.Context != nil:
		query, truncation := turn.OlderQuery(*w.req.Context, w.req.Text)
		activity.Text = query
		return activity, truncation, nil
	default:
		query, truncation := d.definition.Query(d.state, w.req.Text)
		activity.Text = query
		return activity, truncation, nil
	}
}

// decide drafts the turn and writes its answer.
func (w *work) decide(d *draft, h heard, truncation string) (Answer, error) {
	now, number := w.now(), d.state.TurnNumber+1
	kind, input, text := rondo.TurnByText, rondo.TurnInput{Text: w.req.Text}, w.req.Text
	if w.req.Kind == KindCard {
		kind, input, text = rondo.TurnByCard, rondo.TurnInput{Text: w.req.UserSummary, CardID: w.req.CardID, Submit: w.req.SubmitData}, w.req.UserSummary
	}
	out, err := d.definition.Decide(turn.Input{Before: d.state, Kind: kind, Reply: h.reply, Now: now})
	if err != nil {
		return Answer{}, err
	}
	if err := d.apply(out, number, now); err != nil {
		return Answer{}, err
	}
	d.messages = append(d.messages, rondo.NormalizedMessage{ID: w.cfg.NewID(), Role: rondo.RoleUser, Kind: rondo.MessageText, Text: text})
	d.issue(h.reply.Messages, number)

	record := d.record
	record.Kind, record.Input, record.RequestID = kind, input, w.req.RequestID
	record.AgentLatencyMs, record.LeaseWaitMs, record.Truncation = w.asked.Milliseconds(), w.waited.Milliseconds(), truncation
	return w.response(d, h, out, number)
}

// response is what the caller is told about a turn. Its number is the one that the
// turn can be fetched by; it is the turnCount too, as long as no timer or end has a
// record of its own.
func (w *work) response(d *draft, h heard, out turn.Outcome, number int) (Answer, error) {
	shown := w.req.ConversationID
	if shown == "" {
		shown = w.id
	}
	meta := out.Meta
	meta.TurnNumber = number
	if meta.CollectedThisTurn == nil {
		meta.CollectedThisTurn = map[string]json.RawMessage{}
	}
	r := rondo.WorkflowResponse{
		ConversationID: shown, Messages: list(h.reply.Messages), ParsedTurn: out.Parsed, WorkflowState: d.state.WorkflowState,
		Progress: out.Progress, TurnMeta: meta, LatencyMs: w.asked.Milliseconds(),
	}
	if w.req.Kind != KindOrchestrate {
		return answer(r)
	}
	return answer(struct {
		rondo.WorkflowResponse
		ExtractedPayload *rondo.ExtractedPayload `json:"extractedPayload"`
	}{r, h.reply.Payload})
}

// admitted tells who listens that the turn has begun.
func (w *work) admitted(number int) {
	if w.req.Stream != nil {
		w.req.Stream(StreamEvent{Started: &number})
	}
}

func deref(a *Answer) Answer {
	if a == nil {
		return Answer{}
	}
	return *a
}
