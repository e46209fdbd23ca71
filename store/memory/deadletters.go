package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// storedDeadLetter is a new dead letter: open unless it says otherwise.
func storedDeadLetter(letter rondo.DeadLetter) rondo.DeadLetter {
	letter.ReceivedAt, letter.SettledAt = stored(letter.ReceivedAt), stored(letter.SettledAt)
	if letter.Status == "" {
		letter.Status = rondo.DeadLetterOpen
	}
	return letter
}

// DeadLetters implements store.Ledger.
func (s *Store) DeadLetters(ctx context.Context, filter store.DeadLetterFilter, page store.Page) ([]rondo.DeadLetter, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return newestFirst(s.deadLetters, page, deadLetterID, func(letter rondo.DeadLetter) bool {
		return is(letter.OrgID, filter.OrgID) && is(letter.Status, filter.Status) && is(letter.Stream, filter.Stream)
	}), nil
}

// DeadLetter implements store.Ledger.
func (s *Store) DeadLetter(ctx context.Context, org string, id rondo.ID) (rondo.DeadLetter, error) {
	if err := ctx.Err(); err != nil {
		return rondo.DeadLetter{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	letter := s.deadLetterOf(org, id)
	if letter == nil {
		return rondo.DeadLetter{}, rondo.NotFound("dead letter")
	}
	return *letter, nil
}

// SettleDeadLetter implements store.Ledger.
func (s *Store) SettleDeadLetter(ctx context.Context, org string, id rondo.ID, settled store.Settlement) (rondo.DeadLetter, error) {
	if err := ctx.Err(); err != nil {
		return rondo.DeadLetter{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	letter := s.deadLetterOf(org, id)
	if letter == nil {
		return rondo.DeadLetter{}, rondo.NotFound("dead letter")
	}
	if letter.Status != rondo.DeadLetterOpen {
		return rondo.DeadLetter{}, rondo.WrongState(fmt.Sprintf("the dead letter is %s already", letter.Status))
	}
	letter.Status, letter.SettledBy, letter.Note, letter.SettledAt = settled.Status, settled.By, settled.Note, stored(settled.At)
	return *letter, nil
}

func (s *Store) deadLetterOf(org string, id rondo.ID) *rondo.DeadLetter {
	at := slices.IndexFunc(s.deadLetters, func(letter rondo.DeadLetter) bool { return letter.ID == id && is(letter.OrgID, org) })
	if at < 0 {
		return nil
	}
	return &s.deadLetters[at]
}
