package chat

import (
	"context"
	"errors"
	"time"

	"github.com/rondo-engine/rondo/store"
)

const (
	waitFirst = 10 * time.Millisecond  // before a busy conversation is asked for again,
	waitMost  = 250 * time.Millisecond // doubling up to this

	upkeepTries = 3 // to get past timers and relays of this process
)

// acquire takes the lease of a conversation for its owner. When it is held, a
// definition that says so makes the turn wait; waiting ends with ctx, the rest does
// not.
func (s *Service) acquire(ctx context.Context, owner store.Owner) (lease store.Lease, waited time.Duration, err error) {
	began := s.now()
	lease = store.Lease{ID: owner.ID, Token: s.cfg.NewID()}
	try := func() error {
		at := s.now()
		return s.within(ctx, func(ctx context.Context) error {
			return s.store.Acquire(ctx, store.AcquireConversation{Owner: owner, Token: lease.Token, At: at, Lease: s.cfg.Lease, ExpiresAt: at.Add(s.cfg.TTL)})
		})
	}
	for range upkeepTries {
		before := s.upkept()
		if err = try(); !isBusy(err) || !s.afterUpkeep(ctx, owner.ID, before) {
			break
		}
	}
	if !isBusy(err) {
		return lease, s.now().Sub(began), storeError("taking the lease", err)
	}
	s.cfg.Observer.Contended()
	s.log.Info("a conversation is busy", "conversation", owner.ID)
	deadline := began.Add(s.patience(ctx, owner))
	for pause := waitFirst; isBusy(err); pause = min(2*pause, waitMost) {
		left := deadline.Sub(s.now())
		if left <= 0 || !sleep(ctx, min(pause, left)) {
			break
		}
		err = try()
	}
	return lease, s.now().Sub(began), storeError("taking the lease", err)
}

func isBusy(err error) bool {
	_, busy := errors.AsType[*store.BusyError](err)
	return busy
}

// patience is how long a turn waits for a busy conversation, by its definition.
// What is read here without a lease decides about nothing else.
func (s *Service) patience(ctx context.Context, owner store.Owner) time.Duration {
	var found *store.StoredConversation
	err := s.within(ctx, func(ctx context.Context) (err error) {
		found, err = s.store.Conversation(ctx, owner, s.now())
		return err
	})
	if err != nil {
		return 0
	}
	definition, err := s.definitionOf(ctx, &found.Conversation)
	if err != nil {
		return 0
	}
	return definition.Busy.Wait
}

// release gives a lease back that its turn did not use up; when that fails, it
// runs out. It reports whether the lease is given back for certain.
func (s *Service) release(ctx context.Context, lease store.Lease) bool {
	err := s.within(ctx, func(ctx context.Context) error { return s.store.Release(ctx, lease) })
	if err != nil {
		s.log.Warn("a lease was not given back and runs out by itself", "conversation", lease.ID, "error", err)
	}
	return err == nil
}

// within gives one call of the store as long as a lease lasts, whether its caller
// is still there or not: after that, what it was for is another's.
func (s *Service) within(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.Lease)
	defer cancel()
	return call(ctx)
}

// renewing renews something at a third of its life until stop is called, which
// waits for a renewal under way. lost is called at most once: when renewing says
// that it is another's, or nothing was heard for a whole life.
func renewing(ctx context.Context, life time.Duration, renew func(context.Context) error, lost func()) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ticks := time.NewTicker(life / 3)
		defer ticks.Stop()
		renewed := time.Now()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticks.C:
			}
			began := time.Now()
			call, done := context.WithTimeout(ctx, life/3)
			err := renew(call)
			done()
			switch {
			case ctx.Err() != nil:
				return
			case err == nil:
				renewed = began
			case errors.Is(err, store.ErrLeaseLost), time.Since(renewed) >= life*2/3:
				// The next try would come when it has run out.
				lost()
				return
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// sleep waits, and reports false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
