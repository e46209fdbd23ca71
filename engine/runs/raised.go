package runs

import (
	"context"
	"time"

	"github.com/rondo-engine/rondo/store"
)

const (
	relayAtOnce  = 100
	relayTimeout = 10 * time.Second // of one event
	relayFirst   = time.Second      // before an event that was not taken is given again,
	relayMost    = 5 * time.Minute  // later on up to this
)

// relaySoon makes the relay look now.
func (s *Service) relaySoon() {
	select {
	case s.relay <- struct{}{}:
	default:
	}
}

// refusedEvent is an event that its case did not take.
type refusedEvent struct {
	again time.Time
	wait  time.Duration
}

// relayRaised gives cases what runs raised until ctx ends. Any number of processes
// may do so: an event that comes twice is one. What is not taken stays, and is given
// again after a while, without keeping the others.
func (s *Service) relayRaised(ctx context.Context) {
	refused := map[string]refusedEvent{}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.relay:
		case <-timer.C:
		}
		for s.relayOnce(ctx, refused) {
		}
		timer.Reset(max(s.cfg.Poll, 10*time.Millisecond) * 4)
	}
}

// relayOnce gives one batch and reports whether there may be more.
func (s *Service) relayOnce(ctx context.Context, refused map[string]refusedEvent) bool {
	limit := relayAtOnce + len(refused)
	raised, err := s.store.RaisedByRuns(ctx, limit)
	if err != nil {
		if ctx.Err() == nil {
			s.log.Warn("events that runs raised could not be read; it is tried again", "error", err)
		}
		return false
	}
	var taken []string
	for i := range raised {
		r := &raised[i]
		if before, failed := refused[r.Event.EventID]; failed && s.now().Before(before.again) {
			continue
		}
		if err := s.give(ctx, r); err != nil {
			wait := min(max(2*refused[r.Event.EventID].wait, relayFirst), relayMost)
			refused[r.Event.EventID] = refusedEvent{s.now().Add(wait), wait}
			s.log.Warn("an event for a case was not taken; it is kept and given again", "run", r.RunID, "event", r.Event.EventID, "type", r.Event.Type, "error", err)
			continue
		}
		delete(refused, r.Event.EventID)
		taken = append(taken, r.Event.EventID)
	}
	if len(taken) == 0 || ctx.Err() != nil {
		return false
	}
	if err := s.store.ConfirmRaised(ctx, taken); err != nil {
		s.log.Info("events for cases arrived and are given again: that could not be noted", "error", err)
		return false
	}
	return len(raised) == limit
}

func (s *Service) give(ctx context.Context, r *store.RunRaised) error {
	ctx, cancel := context.WithTimeout(ctx, relayTimeout)
	defer cancel()
	return s.cfg.Relay.Raise(ctx, r.TenantID, r.Event)
}
