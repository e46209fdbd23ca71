package memory

import (
	"context"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
)

type answerKey struct{ org, key string }

// ReserveAnswer implements store.Answers.
func (s *Store) ReserveAnswer(_ context.Context, reserved rondo.Answer) (rondo.Answer, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := answerKey{reserved.OrgID, reserved.Key}
	if stored, ok := s.answers[key]; ok {
		return copyAnswer(stored), false, nil
	}
	reserved.Status, reserved.Header, reserved.Body = 0, nil, nil
	s.answers[key] = reserved
	return reserved, true, nil
}

// KeepAnswer implements store.Answers.
func (s *Store) KeepAnswer(_ context.Context, a rondo.Answer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := answerKey{a.OrgID, a.Key}
	stored, ok := s.answers[key]
	if !ok {
		return nil
	}
	kept := copyAnswer(a)
	stored.Status, stored.Header, stored.Body = kept.Status, kept.Header, kept.Body
	s.answers[key] = stored
	return nil
}

// DropAnswer implements store.Answers.
func (s *Store) DropAnswer(_ context.Context, org, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := (answerKey{org, key}); s.answers[at].Status == 0 {
		delete(s.answers, at)
	}
	return nil
}

// ForgetAnswers implements store.Answers.
func (s *Store) ForgetAnswers(_ context.Context, before time.Time, limit int) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var old []rondo.Answer
	for _, a := range s.answers {
		if a.CreatedAt.Before(before) {
			old = append(old, a)
		}
	}
	slices.SortFunc(old, func(a, b rondo.Answer) int { return a.CreatedAt.Compare(b.CreatedAt) })
	old = old[:min(len(old), limit)]
	for _, a := range old {
		delete(s.answers, answerKey{a.OrgID, a.Key})
	}
	return len(old), nil
}

func copyAnswer(a rondo.Answer) rondo.Answer {
	a.Header, a.Body = slices.Clone(a.Header), slices.Clone(a.Body)
	return a
}
