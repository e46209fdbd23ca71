package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/internal/caseloop"
	"github.com/rondo-engine/rondo/store"
)

// replica is one process of the orchestrator: the real processor, relay, inbound
// and timers, with a queue that the scheduler empties.
type replica struct {
	n         int
	name      string // unique per start
	w         *world
	processor *caseloop.Processor
	relay     *caseloop.Relay
	inbound   *caseloop.Inbound
	timers    *caseloop.Timers
	queue     []*caseloop.Input
}

// boot starts a replica with nothing in memory.
func (w *world) boot(n, starts int) *replica {
	now := func() time.Time { return w.now }
	r := &replica{n: n, name: fmt.Sprintf("r%d.%d", n, starts), w: w}
	submit := func(_ context.Context, in *caseloop.Input) error {
		r.queue = append(r.queue, in)
		return nil
	}
	r.relay = caseloop.NewRelay(w.net, w.guarded, now)
	r.relay.Cap = streamCap
	w.measure(r)
	r.inbound = caseloop.NewInbound(consumer{w.net}, submit)
	r.inbound.Now, r.inbound.NewID = now, w.ids.New
	r.inbound.Bury = func(_ context.Context, letters []rondo.DeadLetter) error {
		for _, letter := range letters {
			w.broken("I25", "a good event became a dead letter: %s", letter.Reason)
		}
		return nil
	}
	r.timers = &caseloop.Timers{Store: w.guarded, Submit: submit, Now: now, Lease: 30 * time.Second}
	r.processor = &caseloop.Processor{
		Store: w.guarded, Snapshots: w.snapshots, Launched: w.now.Add(-24 * time.Hour), Now: now, NewID: w.ids.New,
		Lazy:    func() ([]int64, []store.GroupState) { return r.relay.TakeSent(), nil },
		Restore: func(sent []int64, _ []store.GroupState) { r.relay.RestoreSent(sent) },
		Release: r.relay.Release, Doubt: r.relay.Doubt, Observe: w.observe,
	}
	return r
}

// do runs one action of the replica; when it dies in it, a new one takes its
// place.
func (r *replica) do(action func()) {
	defer func() {
		switch reason := recover().(type) {
		case nil:
		case crash:
			r.w.restart(r, reason.at)
		default:
			panic(reason)
		}
	}()
	r.w.guarded.replica = r
	action()
}

func (w *world) restart(r *replica, at string) {
	w.reached.Crashed++
	switch at {
	case "committed":
		w.reached.CrashedCommitAck++
		w.reached.CrashedPublish++
	case "ack", "published":
		w.reached.CrashedCommitAck++
	case "publish":
		w.reached.CrashedPublish++
	default:
	}
	w.starts++
	w.replicas[r.n] = w.boot(r.n, w.starts)
}

// deliver hands bus entries to the replica.
func (r *replica) deliver(limit int) int {
	entries := r.w.net.deliverable(r.w.net.inbound, limit)
	if len(entries) == 0 {
		return 0
	}
	deliveries := make([]bus.Delivery, len(entries))
	for i, e := range entries {
		if !e.delivered.IsZero() {
			e.delivery.Attempt++
		}
		e.delivered = r.w.now
		deliveries[i] = e.delivery
	}
	if r.w.mistake == AckBeforeCommit {
		_ = consumer{r.w.net}.Ack(context.Background(), deliveries)
	}
	if err := r.inbound.Deliver(context.Background(), deliveries); err != nil {
		r.w.broken("I24", "delivering failed: %v", err)
	}
	return len(entries)
}

// apply commits up to limit queued inputs.
func (r *replica) apply(limit int) int {
	n := min(limit, len(r.queue))
	if n == 0 {
		return 0
	}
	batch := r.queue[:n:n]
	r.queue = r.queue[n:]
	r.w.guarded.timersOnly = !slices.ContainsFunc(batch, func(in *caseloop.Input) bool { return !in.Timer })
	r.processor.Apply(context.Background(), batch)
	return n
}
