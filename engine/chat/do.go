package chat

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
	"unicode/utf16"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/turn"
	"github.com/rondo-engine/rondo/store"
)

// Do serves one request that changes something: it is committed whole, or nothing
// is. Errors are *rondo.Error; RetryAfter tells when to try again. A caller that
// goes away while Do waits for a busy conversation ends the waiting; a turn that
// has been admitted goes on.
func (s *Service) Do(ctx context.Context, caller Caller, req Request) (Answer, error) {
	began := s.now()
	w := &work{Service: s, caller: caller, req: &req}
	answer, err := w.serve(ctx)
	if err != nil || !answer.Replayed {
		s.cfg.Observer.Turn(req.Kind, w.asked, s.now().Sub(began), err)
	}
	if rondo.CodeOf(err) == rondo.CodeLeaseLost {
		s.cfg.Observer.Lost()
	}
	if err != nil {
		s.log.Log(ctx, levelOf(err), "a turn failed", "kind", req.Kind, "conversation", w.id, "request", req.RequestID, "code", rondo.CodeOf(err), "error", err)
	}
	return answer, err
}

// work is one request under way.
type work struct {
	*Service
	caller Caller
	req    *Request
	id     string // that the conversation is stored under
	claim  *claim // nil = no key

	lose     context.CancelCauseFunc // ends the work because something of it is another's
	renewals []func()                // each stops one
	done     bool                    // committed

	waited time.Duration // for the lease
	asked  time.Duration // what the agent took
}

func (w *work) serve(ctx context.Context) (Answer, error) {
	if err := w.check(); err != nil {
		return Answer{}, err
	}
	leave, err := w.enter()
	if err != nil {
		return Answer{}, err
	}
	defer leave()
	if w.id, err = w.place(ctx); err != nil {
		return Answer{}, err
	}
	claim, before, err := w.claimKey(ctx, w.caller, w.req, w.id)
	if err != nil {
		return Answer{}, err
	}
	if before != nil {
		return *before, nil
	}
	w.claim = claim

	working, lose := context.WithCancelCause(context.WithoutCancel(ctx))
	defer lose(nil)
	w.lose = lose
	if claim != nil {
		defer func() {
			if !w.done {
				w.drop(ctx, claim)
			}
		}()
		w.renew(working, w.cfg.KeyLease, func(ctx context.Context) error {
			return w.store.RenewKey(ctx, claim.key, claim.token, w.now(), w.cfg.KeyLease)
		})
	}
	defer w.stopRenewing()
	return w.effect(ctx, working)
}

// effect does what was asked. caller is the context of who asked, working the one
// of the turn, which ends only when it has lost its right to go on.
func (w *work) effect(caller, working context.Context) (Answer, error) {
	switch {
	case w.req.Kind == KindStart:
		return w.start(working)
	case w.req.Kind == KindEnd:
		return w.end(caller, working)
	case w.req.ConversationID == "":
		return w.begin(working)
	}
	answer, err := w.goOn(caller, working)
	if w.id == w.req.ConversationID || rondo.CodeOf(err) != rondo.CodeConversationNotFound {
		return answer, err
	}
	if w.req.Kind == KindCard { // a fresh conversation has issued none
		return Answer{}, unknownCard()
	}
	return w.begin(working)
}

// place is what the conversation is stored under, decided before the key is
// claimed: the claim names it.
func (w *work) place(ctx context.Context) (string, error) {
	if w.req.ConversationID == "" {
		return w.cfg.NewID(), nil
	}
	return w.locate(ctx, w.caller, w.req.ConversationID)
}

// locate finds what an id of a caller is stored under. That is the id itself,
// unless unknown ones begin a conversation.
func (s *Service) locate(ctx context.Context, caller Caller, id string) (string, error) {
	if s.cfg.Unknown != UnknownInitialise {
		return id, nil
	}
	err := s.within(ctx, func(ctx context.Context) error {
		_, err := s.store.Conversation(ctx, owner(caller, id), s.now())
		return err
	})
	if rondo.CodeOf(err) == rondo.CodeConversationNotFound {
		return initialisedID(caller.Tenant, caller.User, id)
	}
	return id, storeError("looking for the conversation", err)
}

func owner(caller Caller, id string) store.Owner {
	return store.Owner{TenantID: caller.Tenant, UserID: caller.User, ID: id}
}

// renew keeps something ours until stopRenewing; without it the work ends.
func (w *work) renew(working context.Context, life time.Duration, renew func(context.Context) error) {
	w.renewals = append(w.renewals, renewing(working, life, renew, func() { w.lose(errLost) }))
}

// stopRenewing comes before every commit and every giving back: what is given back
// would look lost to a renewal.
func (w *work) stopRenewing() {
	for _, stop := range w.renewals {
		stop()
	}
	w.renewals = nil
}

// check refuses what is wrong by itself, before anything happens.
func (w *work) check() error {
	req := w.req
	if w.caller.Tenant == "" || w.caller.User == "" {
		return &rondo.Error{Code: rondo.CodeUnauthorized, Message: "who is asking is not known", Hint: "send a token that names a tenant and a user"}
	}
	if len(req.ConversationID) > 255 {
		return invalid("/conversationId", "too_long", "use the id that the start gave")
	}
	switch req.Kind {
	case KindStart:
		return nil
	case KindSend, KindCard, KindEnd:
		if req.ConversationID == "" {
			return invalid("/conversationId", "required", "use the id that the start gave")
		}
	case KindOrchestrate:
	default:
		return invalid("", "unknown_kind", "use one of the kinds of request")
	}
	switch req.Kind {
	case KindSend:
		return w.checkText("/text", req.Text, 1)
	case KindOrchestrate:
		return w.checkText("/query", req.Text, 1)
	case KindCard:
		if err := w.checkText("/userSummary", req.UserSummary, 0); err != nil {
			return err
		}
		var data map[string]json.RawMessage
		if err := json.Unmarshal(req.SubmitData, &data); err != nil || data == nil {
			return invalid("/submitData", "not_an_object", "send what the card's action submits, an object")
		}
		return turn.CheckCardAction(req.SubmitData, w.cfg.AllowedActions, w.cfg.AllowedDomains)
	case KindEnd:
		switch rondo.ConversationStatus(req.Outcome) {
		case "", rondo.ConversationCompleted, rondo.ConversationAbandoned:
		default:
			return invalid("/outcome", "unknown_outcome", "use completed or abandoned")
		}
	}
	return nil
}

func (w *work) checkText(pointer, text string, least int) error {
	units := len(text)
	if units > w.cfg.MaxText {
		units = len(utf16.Encode([]rune(text)))
	}
	if units < least {
		return invalid(pointer, "required", "say something")
	}
	if units > w.cfg.MaxText {
		return invalid(pointer, "too_long", "say it in fewer characters, or in two turns")
	}
	return nil
}

func invalid(pointer, code, message string) error {
	return &rondo.Error{Code: rondo.CodeInvalid, Message: "the request is not valid", Hint: message, Fields: []rondo.FieldError{{Code: code, Pointer: pointer, Message: message}}}
}

// answer is a 200 whose bytes are also what is stored: encoded like this they stay
// the same when they are written inside another document.
func answer(v any) (Answer, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return Answer{}, rondo.Op("writing the answer", err)
	}
	return Answer{Status: http.StatusOK, Body: body}, nil
}
