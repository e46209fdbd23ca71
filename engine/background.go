package engine

import (
	"context"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/caseloop"
	"github.com/rondo-engine/rondo/store"
)

const (
	sweepEvery   = time.Second
	sweepSeldom  = 10 * time.Second // when sweeping takes long
	sweepShare   = 20               // a sweep may take one part in so many of the relay's time
	sentEvery    = 100 * time.Millisecond
	upkeepEvery  = 10 * time.Second
	trimEvery    = 10 * time.Minute
	relayBackoff = 200 * time.Millisecond
	lostPause    = time.Second

	answersKept   = 24 * time.Hour // how long an idempotency key is remembered
	answersAtOnce = 500
)

// runTimers wakes due instances: at once when this process knows of one, and
// every tick for what other replicas have set.
func (e *Engine) runTimers(ctx context.Context) {
	for ctx.Err() == nil {
		next, _, err := e.timers.Poll(ctx)
		if err != nil && ctx.Err() == nil {
			e.log.Error("looking for due timers", "error", err)
		}
		wait := e.tick
		if until := next.Sub(e.now()); err == nil && !next.IsZero() && until < wait {
			wait = max(until, time.Millisecond)
		}
		pause(ctx, wait, e.wakeSoon)
	}
}

// runRelay sends committed events as they come and sweeps up what a dead replica
// left behind.
func (e *Engine) runRelay(ctx context.Context) {
	nextSweep, lastSent := time.Time{}, e.now()
	for ctx.Err() == nil {
		wait := sentEvery
		if err := e.relay.Flush(ctx); err != nil && ctx.Err() == nil {
			e.log.Warn("the bus does not take events; they are kept and sent again", "waiting", e.relay.Waiting(), "error", err)
			pause(ctx, relayBackoff, nil)
			continue
		}
		now := e.now()
		if now.Sub(lastSent) >= sentEvery {
			lastSent = now
			if err := e.relay.FlushSent(ctx); err != nil && ctx.Err() == nil {
				e.log.Warn("removing sent events from the outbox", "error", err)
			}
		}
		if !now.Before(nextSweep) {
			if n, err := e.relay.Sweep(ctx); err != nil && ctx.Err() == nil {
				e.log.Warn("sweeping the outbox", "error", err)
			} else if n > 0 {
				e.log.Info("sent events that were committed and not sent", "events", n)
			}
			// With much in the outbox that is held, even a look takes long.
			done := e.now()
			nextSweep = done.Add(min(max(sweepEvery, sweepShare*done.Sub(now)), sweepSeldom))
		}
		pause(ctx, wait, e.relay.Wake())
	}
}

// drainRelay sends what is still waiting before the process ends.
func (e *Engine) drainRelay(ctx context.Context) {
	for ctx.Err() == nil {
		if err := e.relay.Flush(ctx); err == nil {
			break
		}
		pause(ctx, relayBackoff, nil)
	}
	if err := e.relay.FlushSent(ctx); err != nil {
		e.log.Warn("removing sent events from the outbox", "error", err)
	}
}

// trimmer is a bus that keeps entries until they are old and acked by everyone.
type trimmer interface {
	Trim(ctx context.Context, before time.Time) (int64, error)
}

// runUpkeep does what is not urgent: new event types, trimming by age.
func (e *Engine) runUpkeep(ctx context.Context) {
	trimmed, swept := e.now(), e.now()
	for {
		select {
		case <-e.lost:
			pause(ctx, lostPause, nil) // one loss is reported by many streams
			if err := e.resendOpen(ctx); err != nil && ctx.Err() == nil {
				e.log.Error("publishing open requests again", "error", err)
			}
		case <-e.learned:
		case <-time.After(upkeepEvery):
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return
		}
		if err := e.refreshTypes(ctx); err != nil && ctx.Err() == nil {
			e.log.Warn("looking for new event types", "error", err)
		}
		if e.relay != nil {
			if err := e.subscribe(ctx, ctx); err != nil && ctx.Err() == nil {
				e.log.Warn("subscribing to new event types", "error", err)
			}
		}
		if now := e.now(); now.Sub(trimmed) >= trimEvery {
			trimmed = now
			if t, ok := e.bus.(trimmer); ok {
				if _, err := t.Trim(ctx, now.Add(-e.retention)); err != nil && ctx.Err() == nil {
					e.log.Warn("trimming the bus", "error", err)
				}
			}
			e.forgetAnswers(ctx, now.Add(-answersKept))
		}
		if now := e.now(); now.Sub(swept) >= parkedEvery {
			swept = now
			e.sweepParked(ctx)
		}
	}
}

// forgetAnswers removes idempotency keys that nobody repeats any more.
func (e *Engine) forgetAnswers(ctx context.Context, before time.Time) {
	for ctx.Err() == nil {
		n, err := e.store.ForgetAnswers(ctx, before, answersAtOnce)
		if err != nil && ctx.Err() == nil {
			e.log.Warn("forgetting old idempotency keys", "error", err)
		}
		if err != nil || n < answersAtOnce {
			return
		}
	}
}

// resendOpen wakes every running instance so that it asks again for what it
// waits for.
func (e *Engine) resendOpen(ctx context.Context) error {
	select { // this run covers every loss reported up to now
	case <-e.lost:
	default:
	}
	page := store.Page{Limit: 200}
	for {
		running, err := e.store.Instances(ctx, store.InstanceFilter{Status: rondo.StatusRunning, Mode: rondo.ModeActive}, page)
		if err != nil {
			return rondo.Op("list running instances", err)
		}
		for _, i := range running {
			if err := e.loop.Submit(ctx, &caseloop.Input{Key: i.Key(), Timer: true, Resend: true}); err != nil {
				return err
			}
		}
		if len(running) < page.Limit {
			return nil
		}
		page.After = running[len(running)-1].ID
	}
}

// bury stores dead letters.
func (e *Engine) bury(ctx context.Context, letters []rondo.DeadLetter) error {
	_, err := e.store.Update(ctx, store.Load{}, func(*store.Loaded) (*store.Write, error) {
		return &store.Write{DeadLetters: letters}, nil
	})
	if err != nil {
		return err
	}
	first := letters[0]
	e.log.Warn("entries of the bus became dead letters", "count", len(letters), "stream", first.Stream, "entry", first.EntryID, "reason", first.Reason)
	if e.observer != nil {
		e.observer.Committed(Commit{DeadLetters: len(letters)})
	}
	return nil
}

// signal wakes whoever waits on a channel of capacity one.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// pause waits for d, for a signal or for the end of ctx.
func pause(ctx context.Context, d time.Duration, signal <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-signal:
	case <-ctx.Done():
	}
}
