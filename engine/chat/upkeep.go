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
		close(given)
	})
	err = s.within(ctx, func(ctx context.Context) error {
		return s.store.Acquire(ctx, store.AcquireConversation{Owner: store.Owner{ID: id}, System: true, Token: lease.Token, At: s.now(), Lease: s.cfg.Lease})
	})
	if err != nil {
		giveBack()
		return lease, nil, storeError("taking the lease", err)
	}
	return lease, giveBack, nil
}

// afterUpkeep waits for a timer or a relay of this process that holds the
// conversation, and reports whether there was one and it is worth asking again.
func (s *Service) afterUpkeep(ctx context.Context, id string) bool {
	s.mu.Lock()
	given, ok := s.attended[id]
	s.mu.Unlock()
	if !ok {
		return false
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
