package sim

import (
	"context"
	"errors"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/event"
)

// ackWait is when an unacked entry is given out again.
const ackWait = time.Minute

// errBus is a publish that failed, whether or not the messages got through.
var errBus = errors.New("simulated bus failure")

// entry is one message on the simulated bus, for one group.
type entry struct {
	delivery  bus.Delivery
	eventID   rondo.ID
	request   *event.Envelope // for the modules, read once
	visible   time.Time       // not delivered before
	delivered time.Time       // zero = not yet, or its consumer crashed
	acked     bool
}

// network is the bus between the replicas and the modules.
type network struct {
	w        *world
	inbound  []*entry // for the orchestrator
	requests []*entry // for the modules
	sent     map[rondo.ID]int
	firsts   map[string][]rondo.ID // instance and stream → first sends, in order
	streams  map[string]bool       // all that anything was sent to
	next     int
}

// Publish takes what a replica sends. A failure may come before or after the
// messages got through.
func (n *network) Publish(_ context.Context, messages []bus.Message) error {
	n.w.effect("publish")
	if n.w.chance(n.w.faults.publish) {
		n.w.reached.PublishFailed++
		return errBus
	}
	for _, m := range messages {
		n.take(m)
	}
	n.w.effect("published")
	if n.w.chance(n.w.faults.publish) {
		n.w.reached.PublishFailed++
		return errBus
	}
	return nil
}

func (n *network) take(m bus.Message) {
	envelope, err := event.Parse(m.Envelope)
	if err != nil {
		n.w.broken("I12", "an event went out that is not an envelope: %v", err)
		return
	}
	n.streams[m.Stream] = true
	if n.sent[m.EventID]++; n.sent[m.EventID] == 1 {
		key := envelope.OrgID + "/" + envelope.CaseID + "/" + m.Stream
		n.firsts[key] = append(n.firsts[key], m.EventID)
	}
	if !n.w.committedOutbox[m.EventID] {
		n.w.broken("I12", "%s was sent before its commit", m.Stream)
	}
	if isRequest(m.Stream) {
		before := len(n.requests)
		n.requests = n.add(n.requests, m)
		for _, added := range n.requests[before:] {
			added.request = envelope
		}
	}
}

// add puts a message on the way: late now and then, twice now and then.
func (n *network) add(to []*entry, m bus.Message) []*entry {
	copies := 1
	if n.w.chance(n.w.faults.duplicate) {
		copies = 2
	}
	for range copies {
		n.next++
		e := &entry{
			delivery: bus.Delivery{Stream: m.Stream, EntryID: itoa(n.next), Envelope: m.Envelope, Relayed: m.Relayed, Attempt: 1},
			eventID:  m.EventID, visible: n.w.now,
		}
		if n.w.chance(n.w.faults.delay) {
			e.visible = n.w.now.Add(n.w.between(time.Second, 8*time.Minute))
		}
		to = append(to, e)
	}
	return to
}

// deliverable picks entries for a consumer, in random order.
func (n *network) deliverable(from []*entry, limit int) []*entry {
	var ready []*entry
	for _, e := range from {
		if e.acked || e.visible.After(n.w.now) {
			continue
		}
		if e.delivered.IsZero() || n.w.now.Sub(e.delivered) >= ackWait {
			ready = append(ready, e)
		}
	}
	n.w.rand.Shuffle(len(ready), func(i, j int) { ready[i], ready[j] = ready[j], ready[i] })
	return ready[:min(limit, len(ready))]
}

// nextVisible is when the bus has something to deliver by itself; zero = never.
func (n *network) nextVisible() time.Time {
	var next time.Time
	for _, list := range [][]*entry{n.inbound, n.requests} {
		for _, e := range list {
			if e.acked {
				continue
			}
			at := e.visible
			if !e.delivered.IsZero() {
				at = later(at, e.delivered.Add(ackWait))
			}
			if next.IsZero() || at.Before(next) {
				next = at
			}
		}
	}
	return next
}

// lose drops requests and answers that are on their way, as a bus without
// persistence does when it is killed. What a producer outside published is its
// own to repeat.
func (n *network) lose() {
	n.requests = nil
	kept := n.inbound[:0]
	for _, e := range n.inbound {
		if e.delivery.Stream == event.TypeCaseCreated {
			kept = append(kept, e)
		}
	}
	n.inbound = kept
}

// consumer acks for one replica.
type consumer struct {
	n *network
}

// Fetch is not used: the scheduler delivers.
func (c consumer) Fetch(context.Context, int) ([]bus.Delivery, error) { return nil, errBus }

// Ack marks entries done.
func (c consumer) Ack(_ context.Context, deliveries []bus.Delivery) error {
	c.n.w.effect("ack")
	for _, d := range deliveries {
		for _, e := range c.n.inbound {
			if e.delivery.EntryID == d.EntryID {
				e.acked = true
				c.n.w.checkAcked(e)
			}
		}
	}
	c.n.w.effect("acked")
	return nil
}

// Close does nothing.
func (consumer) Close() error { return nil }
