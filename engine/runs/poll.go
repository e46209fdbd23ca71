package runs

import (
	"context"
	"errors"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

const (
	claimAtOnce = 64
	hearAtOnce  = 256
)

// poll looks for runs that nobody drives and for signals, until ctx ends.
func (s *Service) poll(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var unread []store.OwnedRun // claimed, and not to be read so far
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.look:
			if s.queued.Load() == 0 && len(unread) == 0 {
				continue
			}
		case <-timer.C:
		}
		term := s.term.Load()
		if term.lasts(s.now()) && !s.stopping.Load() {
			unread = s.claim(ctx, term, unread)
			s.hear(ctx, term)
		} else {
			s.driving.Add(-int64(len(unread)))
			unread = nil
		}
		timer.Reset(s.cfg.Poll)
	}
}

// claim takes runs over while there is room for them, and returns those that could
// not be read.
func (s *Service) claim(ctx context.Context, term *tenure, unread []store.OwnedRun) []store.OwnedRun {
	for more := true; more && ctx.Err() == nil; {
		room := min(int64(s.cfg.MaxRuns)-s.driving.Load(), claimAtOnce)
		more = false
		if room > 0 {
			claimed, err := s.store.ClaimRuns(ctx, term.owner, s.now(), store.Claim{Limit: int(room)})
			if err != nil && ctx.Err() == nil {
				s.log.Warn("runs could not be claimed; it is tried again", "error", err)
			}
			s.driving.Add(int64(len(claimed)))
			unread = append(unread, claimed...)
			more = len(claimed) == claimAtOnce
			s.queued.Store(int64(len(claimed))) // when there were some, there may be more
		}
		kept := unread[:0:0]
		for _, owned := range unread {
			if !s.adopt(ctx, term, owned) {
				kept = append(kept, owned)
			}
		}
		unread = kept
	}
	return unread
}

// adopt reads a claimed run and hands it to its shard. False: try again later.
func (s *Service) adopt(ctx context.Context, term *tenure, owned store.OwnedRun) bool {
	d, err := s.load(ctx, owned.Run, false)
	if err != nil {
		if !hopeless(err) {
			s.log.Warn("a run could not be read; it is tried again", "run", owned.Run.ID, "error", err)
			return false
		}
		d = unreadable(owned.Run, &rondo.RunError{Code: string(rondo.CodeOf(err)), Message: "its workflow cannot be used any more"})
		s.log.Error("a run cannot go on; it fails", "run", owned.Run.ID, "error", err)
	}
	d.fence = owned.Fence
	s.shardOf(d.run.ID).post(&adoption{d: d, term: term})
	return true
}

// hopeless reports whether reading again will not help.
func hopeless(err error) bool {
	switch rondo.CodeOf(err) {
	case rondo.CodeWorkflowNotFound, rondo.CodeNotFound, rondo.CodeInvalidDef, rondo.CodeInvalid, rondo.CodeStateCorrupt:
		return !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
	}
	return false
}

// hear gives signals to the runs they are for.
func (s *Service) hear(ctx context.Context, term *tenure) {
	signals, err := s.store.Signals(ctx, term.owner, hearAtOnce)
	if err != nil {
		if ctx.Err() == nil {
			s.log.Warn("signals to runs could not be read; it is tried again", "error", err)
		}
		return
	}
	for _, signal := range signals {
		s.shardOf(signal.RunID).post(heard{signal})
	}
}

// keep sweeps until ctx ends.
func (s *Service) keep(ctx context.Context) {
	for {
		pause(ctx, s.cfg.SweepEvery)
		if ctx.Err() != nil {
			return
		}
		if err := s.sweep(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("sweeping runs and their cache", "error", err)
		}
	}
}
