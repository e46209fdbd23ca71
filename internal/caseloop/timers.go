package caseloop

import (
	"context"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// Timers wakes instances whose time has come. A wake-up is a hint: the machine
// decides under the case lock what is due, so firing twice, late or for nothing
// does no harm.
type Timers struct {
	Store  store.Timers
	Submit func(ctx context.Context, in *Input) error
	Now    func() time.Time
	// Lease is how long a claimed wake-up is kept from other pollers; if this
	// process dies it comes again then.
	Lease time.Duration
}

// timerBatch is how many wake-ups one claim takes.
const timerBatch = 256

// Poll submits every due case once and returns when the next one is due (zero =
// none known) and how late the latest of this round was.
func (t *Timers) Poll(ctx context.Context) (next time.Time, lag time.Duration, err error) {
	for {
		next, err = t.Store.NextWake(ctx)
		now := t.Now()
		if err != nil || next.IsZero() || next.After(now) {
			return next, lag, err
		}
		lag = max(lag, now.Sub(next))
		due, err := t.Store.ClaimDue(ctx, now, t.Lease, timerBatch)
		if err != nil {
			return time.Time{}, lag, rondo.Op("claim due timers", err)
		}
		if len(due) == 0 { // another poller was faster
			return time.Time{}, lag, nil
		}
		for _, key := range due {
			if err := t.Submit(ctx, &Input{Key: key, Timer: true}); err != nil {
				return time.Time{}, lag, err
			}
		}
	}
}
