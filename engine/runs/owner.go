package runs

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// tenure is the time during which this process drives runs under one name. When
// it is over, nothing that was decided under it may be written any more.
type tenure struct {
	owner string
	until atomic.Int64 // nanoseconds since 1970: others leave us alone until then
	over  atomic.Bool
}

// lasts reports whether the name is still ours at a time.
func (t *tenure) lasts(now time.Time) bool {
	return !t.over.Load() && now.UnixNano() < t.until.Load()
}

// take begins a tenure under a new name.
func (s *Service) take(ctx context.Context) (*tenure, error) {
	t := &tenure{owner: "run-" + s.cfg.IDs.New().String()}
	return t, s.prolong(ctx, t)
}

// prolong makes the store know that this process is alive.
func (s *Service) prolong(ctx context.Context, t *tenure) error {
	ctx, cancel := context.WithTimeout(ctx, max(s.cfg.OwnerLease/3, time.Millisecond))
	defer cancel()
	at := s.now()
	if err := s.store.Heartbeat(ctx, t.owner, at, s.cfg.OwnerLease); err != nil {
		return rondo.Op("prolong the ownership of runs", err)
	}
	t.until.Store(at.Add(s.cfg.OwnerLease).UnixNano())
	return nil
}

// beat prolongs the tenure at a third of its lease and takes a new name when it
// has lapsed.
func (s *Service) beat(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-s.lapsed:
		case <-time.After(s.cfg.OwnerLease / 3):
		}
		t := s.term.Load()
		if t.lasts(s.now()) {
			err := s.prolong(ctx, t)
			switch {
			case err == nil || ctx.Err() != nil:
				continue
			case !errors.Is(err, store.ErrLeaseLost) && t.lasts(s.now()):
				s.log.Warn("the ownership of runs could not be prolonged; it is tried again", "error", err)
				continue
			}
		}
		s.begin(ctx, t)
	}
}

// begin ends a tenure that has lapsed and takes another, until it succeeds.
func (s *Service) begin(ctx context.Context, old *tenure) {
	old.over.Store(true)
	s.wakeShards()
	s.log.Warn("the ownership of runs has lapsed; others may have taken them over", "owner", old.owner)
	for ctx.Err() == nil {
		t, err := s.take(ctx)
		if err == nil {
			s.leave(ctx, old)
			s.term.Store(t)
			s.wakeShards()
			s.lookAround()
			return
		}
		pause(ctx, s.cfg.Poll)
	}
}

// leave frees what a name holds, as well as can be.
func (s *Service) leave(ctx context.Context, t *tenure) {
	ctx, cancel := context.WithTimeout(ctx, max(s.cfg.OwnerLease/3, time.Millisecond))
	defer cancel()
	if err := s.store.LeaveRuns(ctx, t.owner); err != nil {
		s.log.Info("runs are free when their owner has lapsed", "owner", t.owner, "error", err)
	}
}

// lapse tells the beat that a tenure was found to be over.
func (s *Service) lapse(t *tenure) {
	t.over.Store(true)
	select {
	case s.lapsed <- struct{}{}:
	default:
	}
}

// pause waits, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
