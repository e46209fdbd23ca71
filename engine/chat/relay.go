package chat

import (
	"context"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
)

const (
	retryRelay   = 5 * time.Second  // before an event that was not taken is given again,
	retryMost    = 10 * time.Minute // later on up to this
	relayTimeout = 10 * time.Second // of one event
)

// relaySoon gives a case what the draft raised, right after its commit. What does
// not arrive stays pending: the loop finds it.
func (s *Service) relaySoon(ctx context.Context, d *draft) {
	if s.cfg.Relay == nil || d.raised == 0 {
		return
	}
	ctx = context.WithoutCancel(ctx)
	s.behind(func() { s.relay(ctx, d.conversation.TenantID, d.conversation.ExternalID, d.state.Pending) })
}

// relay gives events to their cases, without the lease, and then strikes those
// off that arrived. It returns how many are left.
func (s *Service) relay(ctx context.Context, org, id string, events []rondo.RaisedEvent) int {
	arrived := map[string]bool{}
	for _, e := range events {
		if err := s.raise(ctx, org, e); err != nil {
			s.log.Warn("an event for a case was not taken; it is kept and given again", "conversation", id, "event", e.EventID, "type", e.Type, "error", err)
			continue
		}
		arrived[e.EventID] = true
	}
	left := len(events) - len(arrived)
	if len(arrived) == 0 {
		return left
	}
	if err := s.strikeOff(ctx, id, arrived); err != nil {
		s.log.Info("events for a case arrived and are given again: the conversation could not be written", "conversation", id, "error", err)
		return len(events)
	}
	return left
}

func (s *Service) raise(ctx context.Context, org string, e rondo.RaisedEvent) error {
	ctx, cancel := context.WithTimeout(ctx, relayTimeout)
	defer cancel()
	return s.cfg.Relay.Raise(ctx, org, e)
}

// strikeOff removes events that arrived from what is pending, under the lease.
func (s *Service) strikeOff(ctx context.Context, id string, arrived map[string]bool) error {
	lease, giveBack, err := s.attend(ctx, id)
	if err != nil {
		return err
	}
	defer giveBack()
	d, err := s.load(ctx, id)
	if err != nil {
		s.release(ctx, lease)
		return err
	}
	d.state.Pending = slices.DeleteFunc(slices.Clone(d.state.Pending), func(e rondo.RaisedEvent) bool { return arrived[e.EventID] })
	write := d.write(lease, s.now(), s.cfg.TTL)
	if len(d.state.Pending) > 0 {
		write.Attention = soonest(s.retryAt(&d.state), nextTimer(&d.state))
	}
	if err := s.put(ctx, write); err != nil {
		s.release(ctx, lease)
		return storeError("striking off relayed events", err)
	}
	return nil
}

// retryAt is when events that were not taken are given again: the longer the first
// of them waits already, the later.
func (s *Service) retryAt(state *rondo.ConversationState) time.Time {
	now := s.now()
	return now.Add(min(max(now.Sub(state.Pending[0].OccurredAt)/4, retryRelay), retryMost))
}

// soonest is the earlier one; zero counts as never.
func soonest(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}
