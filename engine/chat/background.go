package chat

import (
	"context"
	"sync"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

const (
	dueAtOnce     = 100         // conversations that one look for due ones takes in
	firedAtOnce   = 20          // timers of one conversation before it is put off
	expireEvery   = time.Minute // between removals of what has expired
	expireAtOnce  = 500         // rows of one removal
	putOffBusy    = time.Second // at most, before a busy conversation is looked at again
	putOffBroken  = time.Minute // before one that cannot be moved is tried again
	putOffEndless = time.Minute // before one whose timers set each other off is looked at again
	putOffUnheard = time.Hour   // before one whose events nobody takes is looked at again
)

// loop looks after conversations until ctx ends.
func (s *Service) loop(ctx context.Context) {
	expired := time.Time{}
	for ctx.Err() == nil {
		n, err := s.Sweep(ctx)
		if err != nil && ctx.Err() == nil {
			s.log.Warn("looking for due conversations", "error", err)
		}
		if now := s.now(); now.Sub(expired) >= expireEvery {
			expired = now
			s.expire(ctx)
		}
		if n < dueAtOnce {
			sleep(ctx, s.cfg.Poll)
		}
	}
}

// Sweep looks once after every conversation that is due, at most a hundred: it
// fires timers and relays events. It returns how many it looked at. The loop that
// Start begins does nothing else; replicas that sweep at once do not harm each
// other.
func (s *Service) Sweep(ctx context.Context) (int, error) {
	var due []string
	err := s.within(ctx, func(ctx context.Context) (err error) {
		due, err = s.store.DueConversations(ctx, s.now(), dueAtOnce)
		return err
	})
	if err != nil {
		return 0, storeError("looking for due conversations", err)
	}
	ids := make(chan string)
	var workers sync.WaitGroup
	for range min(s.cfg.Sweepers, len(due)) {
		workers.Go(func() {
			for id := range ids {
				s.lookAfter(ctx, id)
			}
		})
	}
	looked := 0
	for _, id := range due {
		if ctx.Err() != nil {
			break
		}
		ids <- id
		looked++
	}
	close(ids)
	workers.Wait()
	return looked, nil //nolint:nilerr // whoever ended the sweep knows; the others stay due
}

// expire removes what nobody can reach any more.
func (s *Service) expire(ctx context.Context) {
	for ctx.Err() == nil {
		var n int
		err := s.within(ctx, func(ctx context.Context) (err error) {
			n, err = s.store.ExpireConversations(ctx, s.now(), expireAtOnce)
			return err
		})
		if err != nil && ctx.Err() == nil {
			s.log.Warn("removing expired conversations", "error", err)
		}
		if err != nil || n < expireAtOnce {
			return
		}
	}
}

// lookAfter fires what is due of one conversation and relays what is pending. A
// conversation of which timers are due again and again is put off, so that it
// cannot keep the server busy.
func (s *Service) lookAfter(ctx context.Context, id string) {
	for range firedAtOnce {
		more, err := s.fireNext(ctx, id)
		switch code := rondo.CodeOf(err); {
		case err == nil && !more:
			return
		case err == nil:
		case code == rondo.CodeConversationNotFound:
			s.putOff(ctx, id, time.Time{})
			return
		case code == rondo.CodeConversationBusy:
			s.putOff(ctx, id, s.now().Add(min(max(RetryAfter(err), time.Millisecond), putOffBusy)))
			return
		case code == rondo.CodeLeaseLost:
			return // another replica was faster
		default:
			s.log.Error("a timer could not be fired; it is tried again", "conversation", id, "code", code, "error", err)
			s.putOff(ctx, id, s.now().Add(putOffBroken))
			return
		}
	}
	s.log.Warn("the timers of a conversation are due again and again; it is put off", "conversation", id, "fired", firedAtOnce)
	s.putOff(ctx, id, s.now().Add(putOffEndless))
}

// fireNext fires the timer of a conversation that is due first. When none is, it
// relays what is pending. It reports whether there may be more to fire.
func (s *Service) fireNext(ctx context.Context, id string) (more bool, err error) {
	lease, giveBack, err := s.attend(ctx, id)
	if err != nil {
		return false, err
	}
	defer giveBack()
	d, err := s.load(ctx, id)
	if err != nil {
		s.release(ctx, lease)
		return false, err
	}
	timer, due := firstDue(&d.state, s.now())
	if !due {
		// Under the lease: after it, a turn may have said when to look again.
		s.putOff(ctx, id, s.lookAgain(&d.state))
		s.release(ctx, lease)
		giveBack()
		if s.cfg.Relay != nil && len(d.state.Pending) > 0 {
			s.relay(ctx, d.conversation.TenantID, id, d.state.Pending)
		}
		return false, nil
	}
	if err := s.fire(ctx, d, lease, timer); err != nil {
		s.release(ctx, lease)
		return false, err
	}
	s.cfg.Observer.Fired(s.now().Sub(timer.DueAt))
	return true, nil
}

// fire moves a conversation by one timer and commits it like a turn.
func (s *Service) fire(ctx context.Context, d *draft, lease store.Lease, timer rondo.ConversationTimer) error {
	if err := s.draftFired(d, timer); err != nil {
		return err
	}
	d.record.Input = rondo.TurnInput{TimerID: timer.ID}
	return storeError("writing what a timer did", s.put(ctx, d.write(lease, s.now(), s.cfg.TTL)))
}

func (s *Service) draftFired(d *draft, timer rondo.ConversationTimer) error {
	now := s.now()
	if ended(d) {
		d.state.Timers = nil
		d.record = &rondo.TurnRecord{Kind: rondo.TurnByTimer, Number: d.state.TurnNumber + 1, At: now, From: d.state.Step, To: d.state.Step, Definition: d.conversation.Definition}
		d.state.TurnNumber++
		return nil
	}
	if timer.Kind == rondo.TimerDeadline {
		return s.finish(d, string(rondo.ConversationAbandoned), "the case waits no longer")
	}
	out, err := d.definition.Fire(d.state, timer.ID, now)
	if err != nil {
		return err
	}
	return d.apply(out, d.state.TurnNumber+1, now)
}

// firstDue is the timer that should have fired first.
func firstDue(state *rondo.ConversationState, now time.Time) (first rondo.ConversationTimer, due bool) {
	for _, t := range state.Timers {
		if !t.DueAt.After(now) && (!due || t.DueAt.Before(first.DueAt)) {
			first, due = t, true
		}
	}
	return first, due
}

// lookAgain is when to look again after a conversation of which no timer is due,
// whatever comes of the events that it has pending; zero = never.
func (s *Service) lookAgain(state *rondo.ConversationState) time.Time {
	next := nextTimer(state)
	switch {
	case len(state.Pending) == 0:
		return next
	case s.cfg.Relay == nil:
		return soonest(s.now().Add(putOffUnheard), next)
	default:
		return soonest(s.retryAt(state), next)
	}
}

func (s *Service) putOff(ctx context.Context, id string, until time.Time) {
	err := s.within(ctx, func(ctx context.Context) error { return s.store.PutOff(ctx, id, until) })
	if err != nil && ctx.Err() == nil {
		s.log.Warn("a conversation could not be put off", "conversation", id, "error", err)
	}
}
