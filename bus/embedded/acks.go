package embedded

import (
	"context"
	"time"

	"github.com/rondo-engine/rondo/store"
)

// TakeAcks returns the positions that changed, for the engine to store with a
// commit that happens anyway (store.Write.Acks). To keep such commits small it
// returns each stream at most twice per AckFlush, and nil most of the time,
// which costs one atomic load. Give them back with ReturnAcks when the commit
// failed. Whatever nobody takes within AckFlush is stored by the bus itself.
func (b *Bus) TakeAcks() []store.GroupState {
	now := b.opts.Clock()
	if b.takeAt.Load() > now.UnixNano() {
		return nil
	}
	b.takeAt.Store(never)
	b.mu.RLock()
	defer b.mu.RUnlock()
	var states []store.GroupState
	for _, g := range b.groups {
		g.mu.Lock()
		states = g.takeDirty(states)
		g.mu.Unlock()
	}
	return states
}

// ReturnAcks says that positions from TakeAcks did not become durable.
func (b *Bus) ReturnAcks(states []store.GroupState) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for _, state := range states {
		g := b.groups[state.Group]
		if g == nil {
			continue
		}
		g.mu.Lock()
		if s := g.streams[state.Stream]; s != nil && g.held && g.fence == state.Fence {
			g.markDirty(s, b.opts.Clock())
		}
		g.mu.Unlock()
	}
}

// markDirty notes that a stream's position must be stored.
func (g *group) markDirty(s *stream, now time.Time) {
	if s.dirty {
		return
	}
	s.dirty = true
	if len(g.dirty) == 0 {
		g.dirtySince = now
		signal(g.kick) // to set its timer for the flush
	}
	g.dirty = append(g.dirty, s)
	g.bus.takeAt.CompareAndSwap(never, now.Add(g.bus.opts.AckFlush/2).UnixNano())
}

func (g *group) takeDirty(states []store.GroupState) []store.GroupState {
	for _, s := range g.dirty {
		s.dirty = false
		state := s.position(g.name, g.fence, g.pos)
		s.saved = state.Cursor
		states = append(states, state)
	}
	g.dirty = g.dirty[:0]
	return states
}

// idleSpan is how far the log may run ahead of the stored position of a stream on
// which nothing happens. A reader that starts has to look through that much.
const idleSpan = 4096

// bringIdleAlong moves the positions of idle streams up with the others.
func (g *group) bringIdleAlong(now time.Time) {
	for _, s := range g.streams {
		if s.loaded && !s.behind && s.head == len(s.items) && g.pos-s.saved > idleSpan {
			g.markDirty(s, now)
		}
	}
}

// flushDue stores the positions that no commit took along in time; ok is false
// when the database failed.
func (g *group) flushDue(ctx context.Context) (ok bool) {
	now := g.bus.opts.Clock()
	g.mu.Lock()
	var states []store.GroupState
	if len(g.dirty) > 0 && !now.Before(g.dirtySince.Add(g.bus.opts.AckFlush)) {
		states = g.takeDirty(nil)
	}
	g.mu.Unlock()
	if len(states) == 0 {
		return true
	}
	err := g.bus.log.LogAck(ctx, states)
	g.storing.Report(ctx, err)
	if err != nil {
		g.bus.ReturnAcks(states)
	}
	return err == nil
}
