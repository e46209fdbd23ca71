package engine

import (
	"context"

	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/event"
)

// Handle serves one event as if it came from the bus now.
func (w *RunWorker) Handle(ctx context.Context, envelope *event.Envelope) (useless, err error) {
	return w.handle(ctx, envelope)
}

// Serve serves one entry of a consumer.
func (w *RunWorker) Serve(d bus.Delivery, from bus.Consumer) {
	w.consumer = from
	w.serve(d)
}
