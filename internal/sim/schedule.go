package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/flow"
	"github.com/rondo-engine/rondo/internal/invariant"
	"github.com/rondo-engine/rondo/store"
)

// drainRounds bounds the quiet time after the faults.
const drainRounds = 600

// run plays one schedule.
func (w *world) run() ([]invariant.Violation, Coverage) {
	if err := w.prepare(); err != nil {
		w.broken("I25", "the world could not be prepared: %v", err)
		return w.violations, w.reached
	}
	for range 40 + w.rand.IntN(100) {
		w.step()
	}
	w.healing = true
	w.drain()
	w.check()
	return w.violations, w.reached
}

// prepare publishes a definition and puts one to three cases on the bus.
func (w *world) prepare() error {
	ctx := context.Background()
	w.chosen = w.lib.entries[w.rand.IntN(len(w.lib.entries))]
	if _, err := w.publish(ctx, w.chosen.first); err != nil {
		return err
	}
	for i := range 1 + w.rand.IntN(3) {
		w.arrive(fmt.Sprintf("case-%d", i))
	}
	for n := range 1 + w.rand.IntN(2) {
		w.replicas = append(w.replicas, w.boot(n, 0))
	}
	return nil
}

// publish makes a version the active one.
func (w *world) publish(ctx context.Context, v version) (*flow.Start, error) {
	d := rondo.Definition{
		ID: w.ids.New(), OrgID: org, Kind: rondo.KindCase, Name: v.snapshot.Name, Status: rondo.DefinitionDraft,
		DefaultMode: rondo.ModeActive, Body: v.body, CreatedAt: w.now, UpdatedAt: w.now,
	}
	if _, err := w.store.CreateDefinition(ctx, d, rondo.DefinitionRevision{ID: w.ids.New(), DefinitionID: d.ID, OrgID: org}); err != nil {
		return nil, err
	}
	_, err := w.store.ChangeDefinition(ctx, org, d.ID, func(d rondo.Definition) (store.DefinitionChange, error) {
		d.Status, d.SnapshotHash = rondo.DefinitionActive, v.hash
		return store.DefinitionChange{Definition: d, Snapshot: v.document, Revision: rondo.DefinitionRevision{ID: w.ids.New(), DefinitionID: d.ID, OrgID: org}}, nil
	})
	return &flow.Start{DefinitionID: d.ID, Snapshot: v.snapshot}, err
}

func (w *world) arrive(caseID string) {
	w.cases = append(w.cases, caseID)
	created := event.Envelope{
		EventID: w.ids.New(), Type: event.TypeCaseCreated, SchemaVersion: event.SchemaVersion, OccurredAt: w.now,
		CorrelationID: caseID, CaseID: caseID, OrgID: org, ProductID: product, Payload: json.RawMessage(`{"patient_id":"p"}`),
	}
	w.net.inbound = w.net.add(w.net.inbound, bus.Message{Stream: created.Type, EventID: created.EventID, Envelope: created.Encode()})
}

// step does one action.
func (w *world) step() {
	r := w.replicas[w.rand.IntN(len(w.replicas))]
	ctx := context.Background()
	switch n := w.rand.IntN(100); {
	case n < 22:
		r.do(func() { r.deliver(1 + w.rand.IntN(4)) })
	case n < 46:
		r.do(func() { r.apply(1 + w.rand.IntN(4)) })
	case n < 58:
		r.do(func() { _ = r.relay.Flush(ctx) })
	case n < 66:
		r.do(func() { _ = r.inbound.Ack(ctx) })
	case n < 78:
		w.work(1 + w.rand.IntN(3))
	case n < 87:
		w.pass()
	case n < 89:
		r.do(func() { w.poll(r) })
	case n < 90:
		w.measure(r)
	case n < 92:
		r.do(func() { w.upkeep(r) })
	case n < 98:
		w.outside(r)
	case n < 99:
		w.restart(r, "anywhere")
	default:
		w.accident()
	}
}

// outside is what people, clients and other systems do.
func (w *world) outside(r *replica) {
	switch n := w.rand.IntN(10); {
	case n < 6:
		w.intervene(r)
	case n < 8:
		w.drive()
	default:
		w.signal()
	}
}

// accident is what should not happen and does.
func (w *world) accident() {
	switch {
	case w.chance(0.15):
		w.reached.BusLost++
		w.net.lose()
	case w.chance(0.4):
		w.loseTimers()
	}
}

// work lets the modules handle requests.
func (w *world) work(limit int) int {
	entries := w.net.deliverable(w.net.requests, limit)
	for _, e := range entries {
		w.module.handle(e)
	}
	return len(entries)
}

// pass lets time go by: a little, or to the next thing that is due.
func (w *world) pass() {
	if w.chance(0.5) {
		w.now = w.now.Add(w.between(time.Second, 30*time.Second))
		return
	}
	if next := w.nextDue(); next.After(w.now) {
		w.now = next
	}
}

func (w *world) nextDue() time.Time {
	next := w.net.nextVisible()
	wake, err := w.store.NextWake(context.Background())
	if err == nil && !wake.IsZero() && (next.IsZero() || wake.Before(next)) {
		next = wake
	}
	return next
}

func (w *world) poll(r *replica) {
	_, _, _ = r.timers.Poll(context.Background())
}

// upkeep is what runs now and then: sweeping, removing sent rows, retrying.
func (w *world) upkeep(r *replica) {
	ctx := context.Background()
	if w.mistake != NoSweeper {
		if n, _ := r.relay.Sweep(ctx); n > 0 {
			w.reached.Swept++
		}
	}
	_ = r.relay.FlushSent(ctx)
	_ = r.inbound.Retry(ctx)
	w.sweepTimers(r)
}

// drain lets the healed world run until nothing moves any more.
func (w *world) drain() {
	ctx := context.Background()
	for range drainRounds {
		moved := w.work(100)
		for _, r := range w.replicas {
			r.do(func() {
				w.poll(r)
				w.measure(r)
				w.sweepTimers(r)
				moved += r.deliver(100)
				moved += len(r.queue)
				r.apply(len(r.queue))
				_ = r.relay.Flush(ctx)
				_ = r.inbound.Ack(ctx)
				w.upkeep(r)
			})
		}
		if moved > 0 {
			continue
		}
		next := w.nextDue()
		if unsent, _, err := w.store.Backlog(ctx); err == nil && unsent > 0 {
			soon := w.now.Add(10 * time.Second)
			if next.IsZero() || soon.Before(next) {
				next = soon
			}
			if w.mistake == NoSweeper && !w.nextDue().After(w.now) {
				return
			}
		}
		if next.IsZero() {
			return
		}
		w.now = later(w.now.Add(time.Millisecond), next)
	}
}
