package embedded

import (
	"context"
	"errors"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// keepLease takes or renews the lease when that is due. A lease that another
// process has taken meanwhile ends everything that was in flight here.
func (g *group) keepLease(ctx context.Context) (held bool, err error) {
	now := g.bus.opts.Clock()
	g.mu.Lock()
	due := !g.held || !now.Before(g.renewAt)
	g.mu.Unlock()
	if !due {
		return true, nil
	}
	ttl := g.bus.opts.LeaseTTL
	fence, ok, err := g.bus.log.LogLease(ctx, g.name, g.bus.opts.Owner, now, ttl)
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil {
		// Still ours until it runs out; Fetch watches the time.
		return g.held && now.Before(g.until), rondo.Op("lease group "+g.name, err)
	}
	if g.held && (!ok || fence != g.fence) {
		g.forget()
	}
	if !ok {
		return false, nil
	}
	if !g.held {
		g.held, g.fence = true, fence
		g.pos = g.bus.recent.known()
	}
	g.until = now.Add(ttl)
	g.renewAt = now.Add(ttl / 3)
	return true, nil
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

// loadPositions reads where the group stands on streams that are new here.
func (g *group) loadPositions(ctx context.Context) error {
	g.mu.Lock()
	missing := false
	for _, s := range g.streams {
		missing = missing || !s.loaded
	}
	g.mu.Unlock()
	if !missing {
		return nil
	}
	states, err := g.bus.log.LogGroup(ctx, g.name)
	if err != nil {
		return rondo.Op("load group "+g.name, err)
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
	return nil
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
