package acceptance

import (
	"context"
	"sync"
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/worker"
)

// desk is where everything that Rondo publishes arrives: the test plays all
// modules. It only collects, unless it is given a script to answer by.
type desk struct {
	bell  *bell
	clock *clock

	mu     sync.Mutex
	got    map[rondo.CaseKey][]*event.Envelope // each event once, in order of arrival
	times  map[rondo.ID]int                    // how often each arrived
	script func(*event.Envelope) any           // payload of the answer; nil = none
}

func newDesk(b *bell, c *clock) *desk {
	return &desk{bell: b, clock: c, got: map[rondo.CaseKey][]*event.Envelope{}, times: map[rondo.ID]int{}}
}

// answerBy makes the desk answer requests by itself from now on.
func (d *desk) answerBy(script func(*event.Envelope) any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.script = script
}

// attach makes the desk read a bus until detach is called. Detaching leaves what
// was not acked to the next.
func (d *desk) attach(t *testing.T, b bus.Bus) (detach func()) {
	t.Helper()
	streams := exampleTypes()
	for _, name := range event.Types() {
		if event.PublishedByOrchestrator(name) {
			streams = append(streams, name)
		}
	}
	consumer, err := b.Subscribe(t.Context(), bus.Subscription{Group: "desk", Streams: streams})
	if err != nil {
		t.Fatalf("subscribe the desk: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var reading sync.WaitGroup
	reading.Go(func() { d.read(ctx, b, consumer) })
	return func() {
		cancel()
		reading.Wait()
		_ = consumer.Close() // of a replica that was cut off it cannot succeed
	}
}

func (d *desk) read(ctx context.Context, b bus.Bus, consumer bus.Consumer) {
	for {
		deliveries, err := consumer.Fetch(ctx, 64)
		if err != nil {
			return // detached, or the replica is gone
		}
		var answers []bus.Message
		for _, delivery := range deliveries {
			answers = append(answers, d.take(delivery)...)
		}
		d.bell.Ring()
		if len(answers) > 0 && b.Publish(ctx, answers) != nil {
			continue // not acked: comes again
		}
		_ = consumer.Ack(ctx, deliveries) // lost acks only repeat
	}
}

// take records a delivery and returns the scripted answer to it.
func (d *desk) take(delivery bus.Delivery) []bus.Message {
	envelope, err := event.Parse(delivery.Envelope)
	if err != nil {
		return nil // what Rondo publishes is checked by its own packages
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.times[envelope.EventID]++; d.times[envelope.EventID] == 1 {
		d.got[envelope.Key()] = append(d.got[envelope.Key()], envelope)
	}
	if d.script == nil {
		return nil
	}
	payload := d.script(envelope)
	if payload == nil {
		return nil
	}
	return []bus.Message{worker.Reply(envelope, payload, nil, d.clock.Now())}
}

// of returns what arrived for a case with a type, "" = of every type.
func (d *desk) of(key rondo.CaseKey, eventType string) []*event.Envelope {
	d.mu.Lock()
	defer d.mu.Unlock()
	var found []*event.Envelope
	for _, e := range d.got[key] {
		if eventType == "" || e.Type == eventType {
			found = append(found, e)
		}
	}
	return found
}

// arrivals is how often one event arrived.
func (d *desk) arrivals(id rondo.ID) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.times[id]
}
