package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/caseloop"
	"github.com/rondo-engine/rondo/internal/definition"
)

// Group is the consumer group of the orchestrator.
const Group = "orchestrator"

const (
	fetchBatch   = 256
	retryEvery   = time.Second
	retryAtMost  = 8 * time.Second
	fetchBackoff = 500 * time.Millisecond
	// ackWait is when an event that a replica took and did not ack, because it
	// died, goes to another. A commit takes milliseconds and the queue before it
	// seconds at the worst; an event that comes twice is applied once.
	ackWait = 20 * time.Second
)

// inboundTypes is the set of event types that the engine consumes: case.created,
// and every completed and failed type of every kind in use.
type inboundTypes struct {
	mu     sync.RWMutex
	known  map[string]bool
	hashes map[string]bool    // snapshots and step kinds already looked at
	owned  map[ownedType]bool // types outside the catalogue, by the organisations that use them
}

// ownedType is an event type that an organisation uses.
type ownedType struct{ org, eventType string }

// owns reports whether an organisation is known to use a type.
func (t *inboundTypes) owns(org, eventType string) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.owned[ownedType{org, eventType}]
}

// own remembers that an organisation uses a type.
func (t *inboundTypes) own(org, eventType string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.owned == nil {
		t.owned = map[ownedType]bool{}
	}
	t.owned[ownedType{org, eventType}] = true
}

func (t *inboundTypes) add(types ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil {
		t.known = map[string]bool{}
	}
	for _, name := range types {
		if forCases(name) {
			t.known[name] = true
		}
	}
}

// forCases reports whether events of a type can come to cases on the bus. What
// becomes of runs is told to the cases that wait for it by Relay, and what workers
// answer is for runs alone.
func forCases(eventType string) bool {
	return !event.PublishedByOrchestrator(eventType) && !event.RunAnswer(eventType)
}

// all returns the types, sorted.
func (t *inboundTypes) all() []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	types := make([]string, 0, len(t.known))
	for name := range t.known {
		types = append(types, name)
	}
	slices.Sort(types)
	return types
}

// learned reports whether the types of a snapshot are known already.
func (t *inboundTypes) learned(hash string) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.hashes[hash]
}

// learn adds the types of a snapshot.
func (t *inboundTypes) learn(hash string, types []string) {
	t.add(types...)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.hashes == nil {
		t.hashes = map[string]bool{}
	}
	t.hashes[hash] = true
}

// refreshTypes learns the event types of snapshots that appeared since.
func (e *Engine) refreshTypes(ctx context.Context) error {
	e.types.add(event.Types()...)
	hashes, err := e.store.SnapshotHashes(ctx)
	if err != nil {
		return rondo.Op("list snapshots", err)
	}
	for _, hash := range hashes {
		if e.types.learned(hash) {
			continue
		}
		document, err := e.store.Snapshot(ctx, hash)
		if err != nil {
			return rondo.Op("read snapshot "+hash, err)
		}
		if _, talks := conversationOf(document); talks || frozenRun(document) { // they consume no events
			e.types.learn(hash, nil)
			continue
		}
		snapshot, err := e.snapshots.Get(ctx, hash)
		if err != nil {
			return err
		}
		e.types.learn(hash, snapshot.InboundTypes())
	}
	return e.learnKinds(ctx)
}

// learnKinds learns the event types of step kinds that appeared since, used or
// not: their modules may speak before the first definition does.
func (e *Engine) learnKinds(ctx context.Context) error {
	kinds, err := e.store.EveryStepKind(ctx)
	if err != nil {
		return rondo.Op("list step kinds", err)
	}
	for _, kind := range kinds {
		name := fmt.Sprintf("kind %s %s %d", kind.OrgID, kind.Name, kind.Version)
		if e.types.learned(name) {
			continue
		}
		contract, err := definition.ParseContract(kind.Contract)
		if err != nil { // stored by a version that was less strict: what is published keeps its own copy
			e.log.Warn("a step kind is not valid any more and is left out; publish it anew", "org", kind.OrgID, "kind", kind.Name, "error", err)
			e.types.learn(name, nil)
			continue
		}
		e.types.learn(name, contract.Answers())
	}
	return nil
}

// inboundSet is the engine's consumers on an external bus. New event types get a
// consumer of their own.
type inboundSet struct {
	mu       sync.Mutex
	streams  map[string]bool
	feeds    []*caseloop.Inbound
	fetchers sync.WaitGroup
	stop     []context.CancelFunc
	ackers   sync.WaitGroup
	ackStop  []context.CancelFunc
}

// subscribe joins the streams that the engine does not listen to yet. Fetching
// goes on until running ends.
func (e *Engine) subscribe(ctx, running context.Context) error {
	e.inbound.mu.Lock()
	defer e.inbound.mu.Unlock()
	var added []string
	for _, stream := range e.types.all() {
		if !e.inbound.streams[stream] {
			added = append(added, stream)
		}
	}
	if len(added) == 0 {
		return nil
	}
	consumer, err := e.bus.Subscribe(ctx, bus.Subscription{Group: Group, Streams: added, AckWait: ackWait})
	if err != nil {
		return err
	}
	if e.inbound.streams == nil {
		e.inbound.streams = map[string]bool{}
	}
	for _, stream := range added {
		e.inbound.streams[stream] = true
	}
	feed := caseloop.NewInbound(consumer, e.loop.Submit)
	feed.Bury, feed.Now, feed.NewID = e.bury, e.now, e.ids.New
	e.inbound.feeds = append(e.inbound.feeds, feed)
	fetch, stopFetch := context.WithCancel(running)
	acks, stopAcks := context.WithCancel(context.Background())
	e.inbound.stop = append(e.inbound.stop, stopFetch)
	e.inbound.ackStop = append(e.inbound.ackStop, stopAcks)
	e.inbound.fetchers.Go(func() { e.runFetch(fetch, feed) })
	e.inbound.fetchers.Go(func() { e.runRetry(fetch, feed) })
	e.inbound.ackers.Go(func() { e.runAcks(acks, feed) })
	return nil
}

func (e *Engine) runFetch(ctx context.Context, feed *caseloop.Inbound) {
	for ctx.Err() == nil {
		feed.Wait(ctx)
		deliveries, err := feed.Consumer.Fetch(ctx, fetchBatch)
		if err == nil {
			err = feed.Deliver(ctx, deliveries)
		}
		if err != nil && ctx.Err() == nil {
			e.log.Warn("taking events from the bus", "error", err)
			pause(ctx, fetchBackoff, nil)
		}
	}
}

// runRetry tries again what could not be committed, less and less often while
// the store is away, and says so once.
func (e *Engine) runRetry(ctx context.Context, feed *caseloop.Inbound) {
	wait, failing := retryEvery, false
	for {
		pause(ctx, wait, nil)
		if ctx.Err() != nil {
			return
		}
		err := feed.Retry(ctx)
		switch {
		case err == nil:
			if failing {
				e.log.Info("events are applied again")
			}
			wait, failing = retryEvery, false
		default:
			if !failing && ctx.Err() == nil {
				e.log.Warn("events cannot be applied now; they are kept and tried again, and no more are taken", "error", err)
			}
			wait, failing = min(2*wait, retryAtMost), true
		}
	}
}

func (e *Engine) runAcks(ctx context.Context, feed *caseloop.Inbound) {
	for ctx.Err() == nil {
		if err := feed.Ack(ctx); err != nil && ctx.Err() == nil {
			e.log.Warn("acking events", "error", err)
			pause(ctx, fetchBackoff, nil)
			continue
		}
		select {
		case <-feed.Wake():
		case <-ctx.Done():
		}
	}
}

// stopFetching ends intake and returns when no fetcher runs.
func (s *inboundSet) stopFetching() {
	s.mu.Lock()
	for _, stop := range s.stop {
		stop()
	}
	s.mu.Unlock()
	s.fetchers.Wait()
}

// drain acks what was committed and closes the consumers.
func (s *inboundSet) drain(ctx context.Context, log *slog.Logger) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, stop := range s.ackStop {
		stop()
	}
	s.ackers.Wait()
	for _, feed := range s.feeds {
		if err := errors.Join(feed.Ack(ctx), feed.Consumer.Close()); err != nil {
			log.Warn("closing a consumer", "error", err)
		}
	}
	s.feeds, s.stop, s.ackStop, s.streams = nil, nil, nil, nil
}

// sink is how the embedded bus hands events to the engine: an event is published
// when the commit that applied it is durable.
type sink struct{ engine *Engine }

// Submit applies the messages and returns when all are committed.
func (s sink) Submit(ctx context.Context, messages []bus.Message) error {
	results := make(chan caseloop.Result, len(messages))
	submitted := 0
	var failed error
	for _, m := range messages {
		envelope, err := event.Parse(m.Envelope)
		if err != nil {
			failed = rondo.Op("publish "+m.Stream, err)
			break
		}
		if event.RunAnswer(envelope.Type) {
			failed = errors.Join(failed, s.engine.answerRun(ctx, envelope))
			continue
		}
		in := &caseloop.Input{
			Key:   envelope.Key(),
			Event: &caseloop.Event{Envelope: envelope, Raw: m.Envelope, Relay: true},
			Done:  func(r caseloop.Result) { results <- r },
		}
		if err := s.engine.loop.Submit(ctx, in); err != nil {
			failed = err
			break
		}
		submitted++
	}
	for range submitted {
		select {
		case r := <-results:
			failed = errors.Join(failed, r.Err)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return failed
}
