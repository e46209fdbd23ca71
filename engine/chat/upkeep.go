package chat

import (
	"context"
	"sync"

	"github.com/rondo-engine/rondo/store"
)

// attend takes the lease of a conversation for a timer or a relay. Its owner's
// turns in this process wait for giveBack instead of being refused: nobody else is
// talking. giveBack may be called again; it does not release the lease.
func (s *Service) attend(ctx context.Context, id string) (lease store.Lease, giveBack func(), err error) {
	lease = store.Lease{ID: id, Token: s.cfg.NewID()}
	given := make(chan struct{})
	s.mu.Lock()
	if _, ok := s.attended[id]; ok {
		s.mu.Unlock()
		return lease, nil, busyError(&store.BusyError{RetryAfter: waitMost})
	}
	s.attended[id] = given
	s.mu.Unlock()
	giveBack = sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.attended, id)
		s.upkeeps++
		close(given)
	})
	ask := store.AcquireConversation{Owner: store.Owner{ID: id}, System: true, Token: lease.Token, At: s.now(), Lease: s.cfg.Lease}
	if s.cfg.Relay != nil {
		ask.ExpiresAt = ask.At.Add(s.cfg.TTL) // what has not been relayed yet does not expire
	}
	err = s.within(ctx, func(ctx context.Context) error { return s.store.Acquire(ctx, ask) })
	if err != nil {
		giveBack()
		return lease, nil, storeError("taking the lease", err)
	}
	return lease, giveBack, nil
}

// upkept is how many timers and relays of this process have been done.
func (s *Service) upkept() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.upkeeps
}

// afterUpkeep waits for a timer or a relay of this process that holds the
// conversation. It reports whether it is worth asking again: one was done, now or
// since there had been so many.
func (s *Service) afterUpkeep(ctx context.Context, id string, before int) bool {
	s.mu.Lock()
	given, held := s.attended[id]
	since := s.upkeeps != before
	s.mu.Unlock()
	if !held {
		return since
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Lease)
	defer cancel()
	select {
	case <-given:
		return true
	case <-ctx.Done():
		return false
	}
}
