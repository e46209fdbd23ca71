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
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.look:
			if s.queued.Load() == 0 && s.orphans.none() {
				continue
			}
		case <-timer.C:
		}
		term := s.term.Load()
		if term.lasts(s.now()) && !s.stopping.Load() {
			s.claim(ctx, term)
			s.hear(ctx, term)
		} else {
			s.abandon(s.orphans.take())
		}
		timer.Reset(s.cfg.Poll)
	}
}

// claim takes runs over while there is room for them.
func (s *Service) claim(ctx context.Context, term *tenure) {
	for more := true; more && ctx.Err() == nil; {
		more = false
		all, tenants := s.roster.taken()
		room := min(s.cfg.MaxRuns-all, claimAtOnce)
		if room > 0 && !s.full() {
			claimed, err := s.store.ClaimRuns(ctx, term.owner, s.now(), store.Claim{Limit: room, PerTenant: s.cfg.TenantRuns, Taken: tenants})
			if err != nil && ctx.Err() == nil {
				s.log.Warn("runs could not be claimed; it is tried again", "error", err)
			}
			for _, owned := range claimed {
				s.roster.add(owned.Run.TenantID, 1)
				s.orphans.put(orphan{owned, term})
			}
			more = len(claimed) == claimAtOnce
			s.queued.Store(int64(len(claimed))) // when there were some, there may be more
		}
		s.adoptAll(ctx, term)
	}
}

// adoptAll reads the runs that were claimed, as many as there is memory for.
func (s *Service) adoptAll(ctx context.Context, term *tenure) {
	waiting := s.orphans.take()
	if len(waiting) == 0 {
		return
	}
	wanted := map[rondo.ID][]store.RunSignal{}
	signals, err := s.store.Signals(ctx, term.owner, hearAtOnce)
	if err != nil && ctx.Err() == nil {
		s.log.Warn("signals to runs could not be read; it is tried again", "error", err)
	}
	for _, signal := range signals {
		wanted[signal.RunID] = append(wanted[signal.RunID], signal)
	}
	for _, o := range waiting {
		switch {
		case o.term != term:
			s.abandon([]orphan{o})
		case s.full() || !s.adopt(ctx, o, wanted[o.Run.ID], nil):
			s.orphans.put(o)
		}
	}
}

// adopt reads a claimed run and hands it to its shard. False: try again later.
func (s *Service) adopt(ctx context.Context, o orphan, signals []store.RunSignal, answer func(*rondo.Run, error)) bool {
	d, err := s.load(ctx, o.Run, false)
	if err != nil {
		if !hopeless(err) {
			s.log.Warn("a run could not be read; it is tried again", "run", o.Run.ID, "error", err)
			return false
		}
		d = unreadable(o.Run, &rondo.RunError{Code: codeOfRun(rondo.CodeOf(err)), Message: "its workflow cannot be used any more"})
		s.log.Error("a run cannot go on; it fails", "run", o.Run.ID, "error", err)
	}
	d.fence = o.Fence
	if answer != nil {
		d.next.replies = append(d.next.replies, answer)
	}
	s.held.Add(d.bytes)
	s.shardOf(d.run.ID).post(&adoption{d: d, term: o.term, signals: signals})
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
