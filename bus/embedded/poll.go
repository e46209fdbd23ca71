package embedded

import (
	"context"
	"sync"
	"time"

	"github.com/rondo-engine/rondo/bus/internal/outage"
)

// poller finds entries that this process did not commit, or did not report, by
// asking for the head of the log. One query serves all groups.
type poller struct {
	bus    *Bus
	gap    chan struct{} // a commit was reported before its predecessor
	now    chan struct{} // look at once
	cancel context.CancelFunc
	done   sync.WaitGroup
	state  outage.Log
}

func startPoller(b *Bus) *poller {
	ctx, cancel := context.WithCancel(context.Background())
	p := &poller{bus: b, gap: make(chan struct{}, 1), now: make(chan struct{}, 1), cancel: cancel}
	p.state = outage.Log{To: b.opts.Log.With("bus", "embedded"), What: "polling the event log"}
	p.done.Go(func() { p.run(ctx) })
	return p
}

func (p *poller) stop() {
	p.cancel()
	p.done.Wait()
}

// expectGap asks for a look at the head soon, if the gap does not close by
// itself meanwhile.
func (p *poller) expectGap() { signal(p.gap) }

// hurry asks for a look at the head at once.
func (p *poller) hurry() { signal(p.now) }

func (p *poller) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.gap:
			timer.Reset(p.bus.opts.GapWait)
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
			}
			if !p.bus.recent.gapped() {
				timer.Reset(p.bus.opts.Poll)
				continue
			}
		case <-p.now:
		case <-timer.C:
		}
		p.look(ctx)
		timer.Reset(p.bus.opts.Poll)
	}
}

func (p *poller) look(ctx context.Context) {
	p.bus.mu.RLock()
	idle := len(p.bus.groups) == 0
	p.bus.mu.RUnlock()
	if idle {
		return
	}
	head, err := p.bus.log.LogHead(ctx)
	p.state.Report(ctx, err)
	if err == nil && p.bus.recent.reach(head) {
		p.bus.mu.RLock()
		p.bus.advanceGroups()
		p.bus.mu.RUnlock()
	}
}

// signal wakes the one reader of a channel of capacity 1.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
