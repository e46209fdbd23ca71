package engine

import (
	"context"

	"github.com/rondo-engine/rondo"
)

// Ready says what the engine depends on and whether each is usable now.
func (e *Engine) Ready(ctx context.Context) []rondo.Component {
	database := rondo.Component{Name: "database", Err: e.store.Check(ctx)}
	events := rondo.Component{Name: "bus", Err: e.bus.Check(ctx)}
	if e.relay != nil && database.Err == nil {
		unsent, _, err := e.store.Backlog(ctx)
		database.Err, events.Lag = err, int64(unsent)
	}
	return []rondo.Component{database, events}
}
