package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/engine/chat"
	"github.com/rondo-engine/rondo/event"
)

// ConversationGroup is the consumer group that opens conversations for cases.
const ConversationGroup = "conversations"

// Opener opens conversations that case steps wait for. Opening again with the
// same id returns it and changes nothing.
type Opener interface {
	Open(ctx context.Context, req chat.OpenRequest) (string, error)
}

var _ Opener = (*chat.Service)(nil)

// ConversationWorker answers the steps of kind converse: it opens what they ask
// for, and acks the request when the conversation is stored. The answer comes
// from the conversation itself, at its end. What can never be opened is answered
// with a failed event; what cannot be opened now is asked for again.
type ConversationWorker struct {
	taking
	opener Opener
	now    func() time.Time
}

// ConversationWorker serves the engine's cases; it does not run yet.
func (e *Engine) ConversationWorker(opener Opener) *ConversationWorker {
	return &ConversationWorker{taking: taking{bus: e.bus, log: e.log}, opener: opener, now: e.now}
}

// Start joins the group and begins to serve.
func (w *ConversationWorker) Start(ctx context.Context) error {
	return w.take(ctx, ConversationGroup, "conversations", []string{event.TypeConversationRequested}, w.serve)
}

// serve handles one request. One that is not acked comes again.
func (w *ConversationWorker) serve(d bus.Delivery) {
	ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
	defer cancel()
	request, err := event.Parse(d.Envelope)
	if err != nil {
		w.log.Warn("a request for a conversation is not an envelope and is passed over", "entry", d.EntryID, "error", err)
	} else if err = w.open(ctx, request); err != nil {
		if !hopeless(err) {
			w.log.Warn("a conversation for a case cannot be opened now; it is tried again", "case", request.CaseID, "error", err)
			return
		}
		if err = w.refuse(ctx, request, err); err != nil {
			w.log.Warn("a refused conversation cannot be answered now; it is tried again", "case", request.CaseID, "error", err)
			return
		}
	}
	if err := w.consumer.Ack(ctx, []bus.Delivery{d}); err != nil {
		w.log.Warn("acking a request for a conversation", "error", err)
	}
}

// open opens what a request asks for. A step whose time is over when the request
// is read waits no longer: nothing is opened for it.
func (w *ConversationWorker) open(ctx context.Context, request *event.Envelope) error {
	var asked struct {
		Definition     string  `json:"definition"`
		User           string  `json:"user"`
		Title          string  `json:"title"`
		TimeoutSeconds float64 `json:"timeout_seconds"`
	}
	if err := json.Unmarshal(request.Payload, &asked); err != nil || asked.Definition == "" || asked.User == "" {
		return &rondo.Error{Code: rondo.CodeInvalid, Message: "the request must name a definition and a user, both as texts", Err: err}
	}
	link := rondo.CaseLink{
		OrgID: request.OrgID, CaseID: request.CaseID, CorrelationID: request.CorrelationID, RequestID: request.EventID.String(),
		CompletedType: event.TypeConversationCompleted,
	}
	if asked.TimeoutSeconds > 0 {
		link.DeadlineAt = request.OccurredAt.Add(time.Duration(asked.TimeoutSeconds * float64(time.Second))).UTC()
		if !w.now().Before(link.DeadlineAt) {
			return nil
		}
	}
	_, err := w.opener.Open(ctx, chat.OpenRequest{
		ID: ConversationID(request.OrgID, request.CorrelationID), TenantID: request.OrgID, UserID: asked.User,
		Definition: asked.Definition, Title: asked.Title, Case: link,
	})
	return err
}

// hopeless reports whether asking again could never help.
func hopeless(err error) bool {
	switch rondo.CodeOf(err) {
	case rondo.CodeInvalid, rondo.CodeInvalidDef, rondo.CodeNotFound, rondo.CodeConflict, rondo.CodeWorkflowLogic, rondo.CodeTooLarge:
		return true
	}
	return false
}

// refuse tells the case that there will be no conversation. The event's id derives
// from the request's: told twice, it is one event.
func (w *ConversationWorker) refuse(ctx context.Context, request *event.Envelope, why error) error {
	message := fmt.Sprintf("the conversation cannot be opened: %s", rondo.CodeOf(why))
	for told, ok := errors.AsType[*rondo.Error](why); ok; told, ok = errors.AsType[*rondo.Error](told.Err) {
		if told.Message != "" {
			message = told.Message
			break
		}
	}
	payload, err := json.Marshal(map[string]any{"retryable": false, "error": message})
	if err != nil {
		return err
	}
	answer := event.Envelope{
		EventID: event.DerivedID(request.EventID, event.TypeConversationFailed), Type: event.TypeConversationFailed, SchemaVersion: event.SchemaVersion,
		OccurredAt: w.now().UTC().Truncate(time.Microsecond), CorrelationID: request.CorrelationID, CausationID: request.EventID.String(),
		CaseID: request.CaseID, OrgID: request.OrgID, ProductID: request.ProductID, Payload: payload,
	}
	return w.bus.Publish(ctx, []bus.Message{{Stream: answer.Type, EventID: answer.EventID, Envelope: answer.Encode()}})
}

// stepNamespace is the namespace of correlation ids that are not UUIDs.
var stepNamespace = rondo.ID{0x3a, 0x52, 0xd1, 0x0b, 0x6c, 0x0e, 0x4f, 0x61, 0xa4, 0x0d, 0x92, 0x1c, 0x77, 0x58, 0x0f, 0xe3}

// ConversationID is the id of the conversation that a step opens: the UUIDv5 of
// the organisation in the namespace of the step's correlation id, so that a
// request that comes twice opens one conversation.
func ConversationID(org, correlationID string) string {
	namespace, err := rondo.ParseID(correlationID)
	if err != nil {
		namespace = event.DerivedID(stepNamespace, correlationID)
	}
	return event.DerivedID(namespace, "conversation/"+org).String()
}
