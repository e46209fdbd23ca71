package memory

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// Load implements store.Conversations.
func (s *Store) Load(_ context.Context, id string, at time.Time) (*store.StoredConversation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.conversation(id, at)
	if row == nil {
		return nil, noConversation("memory: load conversation")
	}
	return row.read()
}

// Conversation implements store.Conversations.
func (s *Store) Conversation(_ context.Context, o store.Owner, at time.Time) (*store.StoredConversation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.conversation(o.ID, at)
	if row == nil || !row.ownedBy(o) {
		return nil, noConversation("memory: read conversation")
	}
	return row.read()
}

func (row *conversationRow) read() (*store.StoredConversation, error) {
	found := &store.StoredConversation{ExpiresAt: row.expires}
	if err := decode(row.record, &found.Conversation, "record"); err != nil {
		return nil, err
	}
	if err := decode(row.state, &found.State, "state"); err != nil {
		return nil, err
	}
	if found.State.Step == "" {
		return nil, corrupt("state", errors.New("it has no step"))
	}
	return found, nil
}

// ConversationList implements store.Conversations.
func (s *Store) ConversationList(_ context.Context, tenant, user string, at time.Time, page store.ConversationPage) ([]rondo.Conversation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []rondo.Conversation
	for _, id := range sortedKeys(s.conversations) {
		row := s.conversation(id, at)
		if row == nil || row.tenant != tenant || row.user != user {
			continue
		}
		before := stored(page.Before)
		if !page.Before.IsZero() && (row.updated.After(before) || row.updated.Equal(before) && id >= page.BeforeID) {
			continue
		}
		var conversation rondo.Conversation
		if err := decode(row.record, &conversation, "record"); err != nil {
			return nil, err
		}
		found = append(found, conversation)
	}
	slices.SortFunc(found, func(a, b rondo.Conversation) int {
		return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt), cmp.Compare(b.ExternalID, a.ExternalID))
	})
	return atMost(found, page.Limit), nil
}

// atMost cuts a list; 0 asks for all.
func atMost[T any](rows []T, limit int) []T {
	if limit <= 0 {
		return rows
	}
	return rows[:min(limit, len(rows))]
}

// History implements store.Conversations.
func (s *Store) History(_ context.Context, id string, at time.Time, before, limit int) ([]rondo.NormalizedMessage, int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.conversation(id, at)
	if row == nil {
		return nil, 0, nil
	}
	end := len(row.messages)
	if before > 0 {
		end = min(end, before-1)
	}
	from := 0
	if limit > 0 {
		from = max(0, end-limit)
	}
	if from == end {
		return nil, 0, nil
	}
	messages := make([]rondo.NormalizedMessage, end-from)
	for i := range messages {
		if err := decode(row.messages[from+i], &messages[i], "message"); err != nil {
			return nil, 0, err
		}
	}
	return messages, from + 1, nil
}

// Turns implements store.Conversations.
func (s *Store) Turns(_ context.Context, id string, at time.Time, after, limit int) ([]rondo.TurnRecord, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.conversation(id, at)
	if row == nil {
		return nil, nil
	}
	var found []rondo.TurnRecord
	for _, number := range sortedKeys(row.turns) {
		if number <= after {
			continue
		}
		turn, err := row.turns[number].read()
		if err != nil {
			return nil, err
		}
		found = append(found, turn)
	}
	return atMost(found, limit), nil
}

// Turn implements store.Conversations.
func (s *Store) Turn(_ context.Context, id string, at time.Time, number int) (rondo.TurnRecord, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if row := s.conversation(id, at); row != nil {
		if turn, ok := row.turns[number]; ok {
			return turn.read()
		}
	}
	return rondo.TurnRecord{}, rondo.Op("memory: read turn", rondo.NotFound("turn"))
}

func (turn turnRow) read() (rondo.TurnRecord, error) {
	var record rondo.TurnRecord
	err := decode(turn.record, &record, "turn")
	record.Response = turn.response
	return record, err
}

// Card implements store.Conversations.
func (s *Store) Card(_ context.Context, id string, at time.Time, cardID string) (*rondo.Card, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if row := s.conversation(id, at); row != nil {
		if card, ok := row.cards[cardID]; ok {
			return &card, nil
		}
	}
	return nil, nil
}

// DueConversations implements store.Conversations.
func (s *Store) DueConversations(_ context.Context, at time.Time, limit int) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var due []string
	for _, id := range sortedKeys(s.conversations) {
		if attention := s.conversations[id].attention; !attention.IsZero() && !attention.After(at) {
			due = append(due, id)
		}
	}
	slices.SortStableFunc(due, func(a, b string) int {
		return s.conversations[a].attention.Compare(s.conversations[b].attention)
	})
	return atMost(due, limit), nil
}

// PutOff implements store.Conversations.
func (s *Store) PutOff(_ context.Context, id string, until time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if row := s.conversations[id]; row != nil {
		row.attention = storedOrZero(until)
	}
	return nil
}
