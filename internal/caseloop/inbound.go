package caseloop

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/event"
)

// MaxEvent is the largest envelope that is taken in.
const MaxEvent = 256 << 10

// poisonAttempts is how often an event may come and fail for a reason of its own
// before it becomes a dead letter.
const poisonAttempts = 5

// Inbound feeds the entries of an external bus to the engine. An entry is acked
// only after the commit that applied it, or that made it a dead letter.
type Inbound struct {
	Consumer bus.Consumer
	Submit   func(ctx context.Context, in *Input) error
	// Bury stores dead letters and returns when they are durable.
	Bury  func(ctx context.Context, letters []rondo.DeadLetter) error
	Now   func() time.Time
	NewID func() rondo.ID
	Log   *slog.Logger

	mu      sync.Mutex
	acks    []bus.Delivery
	failed  []bus.Delivery // could not be committed now: submitted again after a pause
	strikes map[string]int // how often an entry failed for a reason of its own
	wake    chan struct{}
}

// NewInbound returns an Inbound over a consumer.
func NewInbound(consumer bus.Consumer, submit func(context.Context, *Input) error) *Inbound {
	return &Inbound{Consumer: consumer, Submit: submit, strikes: map[string]int{}, wake: make(chan struct{}, 1)}
}

// Deliver submits entries. Ack-worthy ones are collected for Ack as their
// commits happen.
func (i *Inbound) Deliver(ctx context.Context, deliveries []bus.Delivery) error {
	var letters []rondo.DeadLetter
	var buried []bus.Delivery
	for _, d := range deliveries {
		if d.Relayed { // our own copy of an event that was applied when it came in
			i.settle(d)
			continue
		}
		in, letter := i.read(d)
		if letter != nil {
			letters, buried = append(letters, *letter), append(buried, d)
			continue
		}
		in.Done = func(r Result) { i.done(d, r) }
		if err := i.Submit(ctx, in); err != nil {
			return err // not acked: it comes again
		}
	}
	if len(letters) == 0 {
		return nil
	}
	if err := i.Bury(ctx, letters); err != nil {
		i.mu.Lock()
		i.failed = append(i.failed, buried...)
		i.mu.Unlock()
		return rondo.Op("store dead letters", err)
	}
	i.settle(buried...)
	return nil
}

// read turns an entry into an input, or says why it never can be one.
func (i *Inbound) read(d bus.Delivery) (*Input, *rondo.DeadLetter) {
	letter := &rondo.DeadLetter{Stream: d.Stream, EntryID: d.EntryID, Body: d.Envelope}
	switch {
	case len(d.Envelope) > MaxEvent:
		letter.Reason = "the event is larger than 256 KiB"
	default:
		envelope, err := event.Parse(d.Envelope)
		if err == nil && envelope.Type == d.Stream {
			return &Input{Key: envelope.Key(), Event: &Event{Envelope: envelope, Raw: d.Envelope}}, nil
		}
		if err != nil {
			letter.Reason = err.Error()
			break
		}
		letter.OrgID = envelope.OrgID
		letter.Reason = "the event type is " + envelope.Type + " but it came on the stream of " + d.Stream
	}
	letter.ID, letter.ReceivedAt = i.NewID(), stored(i.Now())
	return nil, letter
}

func (i *Inbound) done(d bus.Delivery, r Result) {
	if r.Err == nil {
		i.settle(d)
		return
	}
	i.mu.Lock()
	if divisible(r.Err) {
		i.strikes[strikeKey(d)]++
	}
	i.failed = append(i.failed, d)
	i.mu.Unlock()
	if i.Log != nil {
		i.Log.Warn("event was not applied, will be tried again", "stream", d.Stream, "entry", d.EntryID, "error", r.Err)
	}
}

func (i *Inbound) settle(deliveries ...bus.Delivery) {
	i.mu.Lock()
	i.acks = append(i.acks, deliveries...)
	if len(i.strikes) > 0 {
		for _, d := range deliveries {
			delete(i.strikes, strikeKey(d))
		}
	}
	i.mu.Unlock()
	signal(i.wake)
}

func strikeKey(d bus.Delivery) string { return d.Stream + " " + d.EntryID }

// Wake is signalled when there is something to ack.
func (i *Inbound) Wake() <-chan struct{} { return i.wake }

// Ack acknowledges what was committed since the last call.
func (i *Inbound) Ack(ctx context.Context) error {
	i.mu.Lock()
	acks := i.acks
	i.acks = nil
	i.mu.Unlock()
	if len(acks) == 0 {
		return nil
	}
	if err := i.Consumer.Ack(ctx, acks); err != nil {
		i.mu.Lock()
		i.acks = append(acks, i.acks...)
		i.mu.Unlock()
		return rondo.Op("ack", err)
	}
	return nil
}

// Retry submits entries again that could not be committed; those that keep
// failing for a reason of their own become dead letters.
func (i *Inbound) Retry(ctx context.Context) error {
	var again, poison []bus.Delivery
	i.mu.Lock()
	for _, d := range i.failed {
		if i.strikes[strikeKey(d)] >= poisonAttempts {
			poison = append(poison, d)
		} else {
			again = append(again, d)
		}
	}
	i.failed = nil
	i.mu.Unlock()
	if err := i.bury(ctx, poison); err != nil {
		return err
	}
	return i.Deliver(ctx, again)
}

func (i *Inbound) bury(ctx context.Context, poison []bus.Delivery) error {
	if len(poison) == 0 {
		return nil
	}
	letters := make([]rondo.DeadLetter, len(poison))
	for n, d := range poison {
		letters[n] = rondo.DeadLetter{
			ID: i.NewID(), Stream: d.Stream, EntryID: d.EntryID, Body: d.Envelope,
			Reason: "applying the event failed again and again", ReceivedAt: stored(i.Now()),
		}
	}
	if err := i.Bury(ctx, letters); err != nil {
		i.mu.Lock()
		i.failed = append(i.failed, poison...)
		i.mu.Unlock()
		return rondo.Op("store dead letters", err)
	}
	i.settle(poison...)
	return nil
}
