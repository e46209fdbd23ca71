package caseloop

import (
	"context"
	"sync"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
)

// MaxEvent is the largest envelope that is taken in.
const MaxEvent = 256 << 10

// poisonAttempts is how often an event may come and fail for a reason of its own
// before it becomes a dead letter.
const poisonAttempts = 5

// inHand is how many entries an Inbound holds before it takes no more: what is
// submitted and not acked, or waits to be tried again.
const inHand = 4096

// Inbound feeds the entries of an external bus to the engine. An entry is acked
// only after the commit that applied it, or that made it a dead letter.
//
// It holds a bounded number of entries, each once: an entry that the bus gives
// out again while it is in hand is passed over. While the store is away it holds
// what it has, tries again now and then, and takes nothing more.
type Inbound struct {
	Consumer bus.Consumer
	Submit   func(ctx context.Context, in *Input) error
	// Bury stores dead letters and returns when they are durable.
	Bury  func(ctx context.Context, letters []rondo.DeadLetter) error
	Now   func() time.Time
	NewID func() rondo.ID

	mu      sync.Mutex
	held    map[string]*entry
	acks    []*entry
	failed  []*entry // could not be committed: submitted again after a pause
	failure error    // why, the newest; nil = the last attempts worked
	applied int64    // entries that were committed
	wake    chan struct{}
	room    chan struct{}
}

// entry is one delivery in hand.
type entry struct {
	key      string
	delivery bus.Delivery
	tries    int   // how often it failed
	strikes  int   // how often it failed for a reason of its own
	applied  int64 // how many others had been committed when it failed last
}

// NewInbound returns an Inbound over a consumer.
func NewInbound(consumer bus.Consumer, submit func(context.Context, *Input) error) *Inbound {
	return &Inbound{
		Consumer: consumer, Submit: submit, held: map[string]*entry{},
		wake: make(chan struct{}, 1), room: make(chan struct{}, 1),
	}
}

// Wait returns when there is room for more entries, or ctx has ended.
func (i *Inbound) Wait(ctx context.Context) {
	for ctx.Err() == nil {
		i.mu.Lock()
		ready := len(i.held) < inHand && i.failure == nil
		i.mu.Unlock()
		if ready {
			return
		}
		select {
		case <-i.room:
		case <-ctx.Done():
		}
	}
}

// Deliver submits entries. Ack-worthy ones are collected for Ack as their
// commits happen.
func (i *Inbound) Deliver(ctx context.Context, deliveries []bus.Delivery) error {
	return i.submit(ctx, i.take(deliveries))
}

// take puts deliveries in hand, leaving out those that are there already.
func (i *Inbound) take(deliveries []bus.Delivery) []*entry {
	i.mu.Lock()
	defer i.mu.Unlock()
	entries := make([]*entry, 0, len(deliveries))
	for _, d := range deliveries {
		key := d.Stream + " " + d.EntryID
		if i.held[key] != nil {
			continue
		}
		e := &entry{key: key, delivery: d}
		i.held[key] = e
		entries = append(entries, e)
	}
	return entries
}

func (i *Inbound) submit(ctx context.Context, entries []*entry) error {
	var letters []rondo.DeadLetter
	var buried []*entry
	for n, e := range entries {
		if e.delivery.Own { // what Rondo says is no news to Rondo
			i.done(e, Result{})
			continue
		}
		in, letter := i.read(e.delivery)
		if letter != nil {
			letters, buried = append(letters, *letter), append(buried, e)
			continue
		}
		in.Done = func(r Result) { i.done(e, r) }
		if err := i.Submit(ctx, in); err != nil {
			i.drop(entries[n:]) // not acked: they come again
			return err
		}
	}
	return i.bury(ctx, letters, buried)
}

// drop forgets entries that were not submitted.
func (i *Inbound) drop(entries []*entry) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, e := range entries {
		delete(i.held, e.key)
	}
}

// read turns an entry into an input, or says why it never can be one.
func (i *Inbound) read(d bus.Delivery) (*Input, *rondo.DeadLetter) {
	if len(d.Envelope) > MaxEvent {
		return nil, i.letter(d, namedOrg(d.Envelope), "the event is larger than 256 KiB")
	}
	envelope, org, reason := ReadEntry(d)
	if envelope == nil {
		return nil, i.letter(d, org, reason)
	}
	return &Input{Key: envelope.Key(), Event: &Event{Envelope: envelope, Raw: d.Envelope, Copy: d.Relayed}}, nil
}

func (i *Inbound) letter(d bus.Delivery, org, reason string) *rondo.DeadLetter {
	return &rondo.DeadLetter{
		ID: i.NewID(), OrgID: org, Stream: d.Stream, EntryID: d.EntryID, Body: d.Envelope, Reason: reason, ReceivedAt: stored(i.Now()),
	}
}

// done keeps an entry that was not committed. It gets a strike when the reason is
// its own: the error says so, or others were committed meanwhile.
func (i *Inbound) done(e *entry, r Result) {
	if r.Err == nil {
		i.settle(e)
		return
	}
	i.mu.Lock()
	if divisible(r.Err) || e.tries > 0 && i.applied > e.applied {
		e.strikes++
	}
	e.tries, e.applied = e.tries+1, i.applied
	i.failed = append(i.failed, e)
	i.failure = r.Err
	i.mu.Unlock()
}

func (i *Inbound) settle(entries ...*entry) {
	if len(entries) == 0 {
		return
	}
	i.mu.Lock()
	i.acks = append(i.acks, entries...)
	i.applied += int64(len(entries))
	i.mu.Unlock()
	signal(i.wake)
}

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
	deliveries := make([]bus.Delivery, len(acks))
	for n, e := range acks {
		deliveries[n] = e.delivery
	}
	err := i.Consumer.Ack(ctx, deliveries)
	i.mu.Lock()
	if err != nil {
		i.acks = append(acks, i.acks...)
	} else {
		for _, e := range acks {
			delete(i.held, e.key)
		}
	}
	i.mu.Unlock()
	signal(i.room)
	return rondo.Op("ack", err)
}

// Retry submits entries again that could not be committed; those that keep
// failing for a reason of their own become dead letters. It returns why the last
// attempts failed, nil when nothing is waiting to be tried again.
func (i *Inbound) Retry(ctx context.Context) error {
	i.mu.Lock()
	failed, failure := i.failed, i.failure
	i.failed, i.failure = nil, nil
	i.mu.Unlock()
	signal(i.room)
	if len(failed) == 0 {
		return nil
	}
	var again, poison []*entry
	var letters []rondo.DeadLetter
	for _, e := range failed {
		if e.strikes < poisonAttempts {
			again = append(again, e)
			continue
		}
		in, letter := i.read(e.delivery)
		if letter == nil {
			letter = i.letter(e.delivery, in.Key.OrgID, "applying the event failed again and again")
		}
		poison, letters = append(poison, e), append(letters, *letter)
	}
	if err := i.bury(ctx, letters, poison); err != nil {
		i.mu.Lock()
		i.failed = append(i.failed, again...) // the store is away: all stay where they were
		i.mu.Unlock()
		return err
	}
	if err := i.submit(ctx, again); err != nil {
		return err
	}
	return failure
}

// bury makes entries dead letters.
func (i *Inbound) bury(ctx context.Context, letters []rondo.DeadLetter, entries []*entry) error {
	if len(letters) == 0 {
		return nil
	}
	if err := i.Bury(ctx, letters); err != nil {
		i.mu.Lock()
		i.failed = append(i.failed, entries...)
		i.failure = err
		i.mu.Unlock()
		return rondo.Op("store dead letters", err)
	}
	i.settle(entries...)
	return nil
}
