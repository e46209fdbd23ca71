package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/store"
)

// readyWithin bounds each check of Ready: what does not answer is not ready.
const readyWithin = 2 * time.Second

// Ready says what the engine depends on and whether each is usable now.
func (e *Engine) Ready(ctx context.Context) []rondo.Component {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	database, schema := rondo.Component{Name: "database"}, rondo.Component{Name: "migrations"}
	events := rondo.Component{Name: "bus"}
	var checks sync.WaitGroup
	checks.Go(func() {
		database.Err = e.store.Check(ctx)
		if errors.Is(database.Err, store.ErrSchema) {
			database.Err, schema.Err = nil, database.Err
		}
	})
	checks.Go(func() { events.Err = e.bus.Check(ctx) })
	checks.Wait()
	if e.relay != nil && database.Err == nil {
		unsent, _, err := e.store.Backlog(ctx)
		database.Err, events.Lag = err, int64(unsent)
	}
	return []rondo.Component{database, schema, events}
}

// Lag is how far the engine is behind, for gauges.
type Lag struct {
	Unsent       int              // committed events that are not published yet
	OldestUnsent time.Duration    // age of the oldest of them
	Timer        time.Duration    // how late the most overdue timer is
	Waiting      store.Waiting    // parked events and open dead letters
	Groups       []GroupStreamLag // what every group on the bus has not acked
	Held         []string         // streams above the cap, whose events wait in the outbox
}

// GroupStreamLag is how many entries of a stream a group has not acked.
type GroupStreamLag struct {
	Group, Stream string
	Entries       int64
}

// Lag asks the store and the bus how far behind the engine is.
func (e *Engine) Lag(ctx context.Context) (Lag, error) {
	var lag Lag
	if e.relay != nil {
		count, oldest, err := e.store.Backlog(ctx)
		if err != nil {
			return lag, rondo.Op("count unsent events", err)
		}
		lag.Unsent = count
		if !oldest.IsZero() {
			lag.OldestUnsent = max(e.now().Sub(oldest), 0)
		}
		lag.Held = e.relay.Held()
	}
	next, err := e.store.NextWake(ctx)
	if err != nil {
		return lag, rondo.Op("look for the next timer", err)
	}
	if !next.IsZero() {
		lag.Timer = max(e.now().Sub(next), 0)
	}
	if lag.Waiting, err = e.store.Waiting(ctx); err != nil {
		return lag, rondo.Op("count what waits", err)
	}
	b, ok := e.bus.(bus.Groups)
	if !ok {
		return lag, nil
	}
	streams, err := b.Lag(ctx)
	if err != nil {
		return lag, rondo.Op("ask the bus for its lag", err)
	}
	for stream, groups := range streams {
		for _, g := range groups {
			lag.Groups = append(lag.Groups, GroupStreamLag{Group: g.Group, Stream: stream, Entries: max(g.Unread, 0) + g.Pending})
		}
	}
	return lag, nil
}
