package engine

import (
	"context"
	"time"

	"github.com/rondo-engine/rondo/bus"
)

// measureEvery is how often the streams of the bus are measured.
const measureEvery = time.Second

// runStreamCap keeps the streams of the bus below the cap: it removes early what
// all groups have acked, and has the relay hold the streams for which that is
// not enough. Publishing never waits for it, and goes on when it fails.
func (e *Engine) runStreamCap(ctx context.Context) {
	shortener, ok := e.bus.(bus.Shortener)
	if !ok {
		return
	}
	failing := false
	for ctx.Err() == nil {
		lengths, err := shortener.Shorten(ctx, e.relay.Low(), e.relay.Cap/2)
		if err != nil {
			if !failing && ctx.Err() == nil {
				e.log.Warn("measuring the streams of the bus; until it works no stream is held that is not already", "error", err)
			}
			lengths = nil
		}
		failing = err != nil
		held, freed := e.relay.Measured(lengths)
		for _, h := range held {
			e.log.Warn("a stream is full: its events wait in the database until its readers catch up; start the modules of these groups, or retire those that are gone with DELETE /events/groups/{group}",
				"stream", h.Stream, "entries", h.Length, "cap", e.relay.Cap, "groups", e.behind(ctx, h.Stream))
		}
		for _, stream := range freed {
			e.log.Info("a stream that was full has room again, and what waited for it is sent", "stream", stream)
		}
		pause(ctx, measureEvery, nil)
	}
}

// behind names the groups that have not acked everything of a stream.
func (e *Engine) behind(ctx context.Context, stream string) []string {
	groups, ok := e.bus.(bus.Groups)
	if !ok {
		return nil
	}
	lag, err := groups.Lag(ctx)
	if err != nil {
		return nil // the names only help; the stream is full all the same
	}
	var names []string
	for _, g := range lag[stream] {
		if g.Unread != 0 || g.Pending > 0 {
			names = append(names, g.Group)
		}
	}
	return names
}
