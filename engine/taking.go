package engine

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
)

const (
	openBatch   = 64
	openAtOnce  = 16
	openTimeout = 15 * time.Second
	// openWait is when an entry that could not be served comes again; serving twice
	// does what serving once does.
	openWait = 20 * time.Second
)

// taking is one member of a consumer group that serves a few entries at once.
type taking struct {
	bus bus.Bus
	log *slog.Logger

	consumer bus.Consumer
	stop     context.CancelFunc
	running  sync.WaitGroup
}

// take joins a group and begins to serve; what says for people what is served. An
// entry that serve does not ack comes again.
func (w *taking) take(ctx context.Context, group, what string, streams []string, serve func(bus.Delivery)) error {
	consumer, err := w.bus.Subscribe(ctx, bus.Subscription{Group: group, Streams: streams, AckWait: openWait})
	if err != nil {
		return rondo.Op("serve "+what+" for cases", err)
	}
	w.consumer = consumer
	running, stop := context.WithCancel(context.Background())
	w.stop = stop
	w.running.Go(func() { w.fetch(running, what, serve) })
	return nil
}

// Stop takes nothing more and returns when what is under way is done. It may be
// called without Start.
func (w *taking) Stop() error {
	if w.stop == nil {
		return nil
	}
	w.stop()
	w.running.Wait()
	return w.consumer.Close()
}

func (w *taking) fetch(ctx context.Context, what string, serve func(bus.Delivery)) {
	slots := make(chan struct{}, openAtOnce)
	for ctx.Err() == nil {
		deliveries, err := w.consumer.Fetch(ctx, openBatch)
		if err != nil {
			if ctx.Err() == nil {
				w.log.Warn("taking requests for "+what+" from the bus", "error", err)
				pause(ctx, fetchBackoff, nil)
			}
			continue
		}
		for _, d := range deliveries {
			slots <- struct{}{}
			w.running.Go(func() {
				defer func() { <-slots }()
				serve(d)
			})
		}
	}
}
