package chat

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/turn"
	"github.com/rondo-engine/rondo/store"
)

const (
	pageDefault = 100
	pageMost    = 1000
	replayPage  = 500
	replayMost  = 10_000 // turns
)

// View is a conversation as its owner sees it.
type View struct {
	Conversation rondo.Conversation
	State        rondo.WorkflowState
	Timers       []rondo.ConversationTimer // open ones
	History      []rondo.NormalizedMessage // a page of it, oldest first
	First        int                       // number of the first message of the page, from 1; 0 = the page is empty. Those before it are the page before First.
}

// List lists the caller's conversations, newest first.
func (s *Service) List(ctx context.Context, caller Caller, page store.ConversationPage) ([]rondo.Conversation, error) {
	page.Limit = pageSize(page.Limit)
	found, err := s.store.ConversationList(ctx, caller.Tenant, caller.User, s.now(), page)
	return list(found), storeError("listing conversations", err)
}

// Conversation shows a conversation with the newest limit messages of those before
// the number before (0 = all).
func (s *Service) Conversation(ctx context.Context, caller Caller, id string, before, limit int) (View, error) {
	found, id, err := s.find(ctx, caller, id)
	if err != nil {
		return View{}, err
	}
	said, first, err := s.store.History(ctx, id, s.now(), before, pageSize(limit))
	if err != nil {
		return View{}, storeError("reading the history", err)
	}
	return View{
		Conversation: found.Conversation, State: found.State.WorkflowState,
		Timers: list(found.State.Timers), History: list(said), First: first,
	}, nil
}

// Turns returns records of turns with numbers after the given one, oldest first.
// Turns count from 1; the record of a start has number 0, so -1 gives it too.
func (s *Service) Turns(ctx context.Context, caller Caller, id string, after, limit int) ([]rondo.TurnRecord, error) {
	_, id, err := s.find(ctx, caller, id)
	if err != nil {
		return nil, err
	}
	found, err := s.store.Turns(ctx, id, s.now(), after, pageSize(limit))
	return list(found), storeError("reading turns", err)
}

// Turn returns the record of one turn, or CodeNotFound: also while it is under
// way. Its Response is what the caller of the turn was answered.
func (s *Service) Turn(ctx context.Context, caller Caller, id string, number int) (rondo.TurnRecord, error) {
	_, id, err := s.find(ctx, caller, id)
	if err != nil {
		return rondo.TurnRecord{}, err
	}
	found, err := s.store.Turn(ctx, id, s.now(), number)
	return found, storeError("reading a turn", err)
}

// Replay runs the recorded turns of a conversation through another definition,
// without the agent, and says where the two part.
func (s *Service) Replay(ctx context.Context, caller Caller, id string, definition *turn.Definition) (turn.Replayed, error) {
	found, id, err := s.find(ctx, caller, id)
	if err != nil {
		return turn.Replayed{}, err
	}
	var records []rondo.TurnRecord
	for after := startNumber - 1; ; after = records[len(records)-1].Number {
		page, err := s.store.Turns(ctx, id, s.now(), after, replayPage)
		if err != nil {
			return turn.Replayed{}, storeError("reading turns", err)
		}
		records = append(records, page...)
		if len(records) > replayMost {
			return turn.Replayed{}, &rondo.Error{Code: rondo.CodeTooLarge, Message: "the conversation has too many turns to replay", Hint: "replay a shorter one"}
		}
		if len(page) < replayPage {
			return turn.Replay(definition, withStart(records, found.Conversation.CreatedAt))
		}
	}
}

// withStart adds the record of a start that was written together with the first
// turn and has none of its own.
func withStart(records []rondo.TurnRecord, at time.Time) []rondo.TurnRecord {
	if len(records) == 0 || records[0].Number != startNumber+1 {
		return records
	}
	first := records[0]
	start := rondo.TurnRecord{
		Number: startNumber, Kind: rondo.TurnByStart, At: at, From: first.From, To: first.From,
		Reply: json.RawMessage(`{"messages":[]}`), Definition: first.Definition,
	}
	return slices.Insert(records, 0, start)
}

// Definition finds the active definition of a name for the caller.
func (s *Service) Definition(ctx context.Context, caller Caller, name string) (*turn.Definition, rondo.DefinitionRef, error) {
	return s.cfg.Definitions.Named(ctx, caller.Tenant, name)
}

// find reads a conversation of the caller and says what it is stored under.
func (s *Service) find(ctx context.Context, caller Caller, id string) (*store.StoredConversation, string, error) {
	id, err := s.locate(ctx, caller, id)
	if err != nil {
		return nil, "", err
	}
	found, err := s.store.Conversation(ctx, owner(caller, id), s.now())
	if err != nil {
		return nil, "", storeError("reading the conversation", err)
	}
	return found, id, valid(found)
}

func pageSize(limit int) int {
	if limit <= 0 {
		return pageDefault
	}
	return min(limit, pageMost)
}
