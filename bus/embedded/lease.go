package embedded

import (
	"context"
	"errors"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// keepLease takes or renews the lease when that is due; ok is false when the
// database failed. A lease that another process has taken meanwhile ends
// everything that was in flight here.
func (g *group) keepLease(ctx context.Context) (held, ok bool) {
	now := g.bus.opts.Clock()
	g.mu.Lock()
	due := !g.held || !now.Before(g.renewAt)
	g.mu.Unlock()
	if !due {
		return true, true
	}
	ttl := g.bus.opts.LeaseTTL
	fence, held, err := g.bus.log.LogLease(ctx, g.name, g.bus.opts.Owner, now, ttl)
	g.leasing.Report(ctx, err)
	if err != nil {
		return false, false // if it was ours it is until it runs out; Fetch watches the time
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held && (!held || fence != g.fence) {
		g.forget()
	}
	if !held {
		return false, true
	}
	if !g.held {
		g.held, g.fence = true, fence
		g.pos = g.bus.recent.known()
	}
	g.until = now.Add(ttl)
	g.renewAt = now.Add(ttl / 3)
	g.bringIdleAlong(now)
	return true, true
}

// forget drops all that belonged to a lost lease; the positions in the store
// say where to go on.
func (g *group) forget() {
	g.held = false
	g.dirty = nil
	g.expiry = never
	for _, s := range g.streams {
		s.reset()
	}
}

// loadPositions reads where the group stands on streams that are new here, and
// reports whether it knows.
func (g *group) loadPositions(ctx context.Context) (ok bool) {
	g.mu.Lock()
	missing := false
	for _, s := range g.streams {
		missing = missing || !s.loaded
	}
	g.mu.Unlock()
	if !missing {
		return true
	}
	states, err := g.bus.log.LogGroup(ctx, g.name)
	g.loading.Report(ctx, err)
	if err != nil {
		return false
	}
	stored := make(map[string]store.GroupState, len(states))
	for _, state := range states {
		stored[state.Stream] = state
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for name, s := range g.streams {
		if !s.loaded {
			s.start(stored[name])
		}
	}
	return true
}

// handOver stores the positions and gives the lease back, so that another
// process can take over at once.
func (g *group) handOver(ctx context.Context) error {
	g.mu.Lock()
	held := g.held
	var states []store.GroupState
	for _, s := range g.streams {
		if s.loaded {
			states = append(states, s.position(g.name, g.fence, g.pos))
		}
	}
	g.forget()
	g.mu.Unlock()
	if !held {
		return nil
	}
	var ackErr error
	if len(states) > 0 {
		ackErr = g.bus.log.LogAck(ctx, states)
	}
	return rondo.Op("close group "+g.name, errors.Join(ackErr, g.bus.log.LogRelease(ctx, g.name, g.bus.opts.Owner)))
}
