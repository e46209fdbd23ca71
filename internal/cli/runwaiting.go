package cli

import (
	"context"
	"time"
)

// standsStill is after how long without a step at work it is said what the run can be
// waiting for.
const standsStill = 2 * time.Second

// tellWaiting says once that nothing of the run is at work, until ctx ends: a step
// that waits for another's result is neither at work nor between attempts.
func (p *runProgress) tellWaiting(ctx context.Context) {
	ticker := time.NewTicker(standsStill / 4)
	defer ticker.Stop()
	var since time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			if !p.still() {
				since = time.Time{}
				continue
			}
			if since.IsZero() {
				since = now
			}
			if now.Sub(since) >= standsStill {
				p.note("Nothing is at work: the run waits for a slot, for another run that computes the same, or for the lease of a process that stopped (15s unless --run-lease says otherwise).")
				return
			}
		}
	}
}

// still reports whether no step works or waits for its next attempt.
func (p *runProgress) still() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.working) == 0 && len(p.again) == 0
}
