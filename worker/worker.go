// Package worker is the SDK for modules: programs that do the work a case asks
// for. A module handles `<prefix>.requested` events and answers each with one
// `<prefix>.completed` or `<prefix>.failed`.
//
// # Guarantees
//
//  1. A request is acked only after its answer was published, so a crash makes
//     it come again.
//  2. Requests are told apart by correlation id. One that was answered before is
//     answered again with the stored answer, the same event id included, without
//     calling the handler; one that is being worked on is left alone.
//  3. The event id of an answer derives from the request's, so that answering
//     twice, even by two processes that share nothing, is one event to Rondo.
//  4. A request that cannot be read is answered as failed when it says at least
//     which attempt of which organisation it is; else it is logged and acked.
//  5. Stop takes no more requests, lets running handlers finish, publishes their
//     answers and returns.
package worker

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/event"
)

// Handler does the work of one request. An error that is a *Failure becomes a
// failed event with its reason; any other error is a failure that may be
// retried. The returned payload must encode to a JSON object.
type Handler func(ctx context.Context, request *event.Envelope) (payload any, err error)

// Failure is a handler's way to say why the work was not done.
type Failure struct {
	ReasonCode string `json:"reason_code,omitempty"`
	Retryable  bool   `json:"retryable"`
	Message    string `json:"error,omitempty"`
}

// Error reads "reason: message".
func (f *Failure) Error() string { return f.ReasonCode + ": " + f.Message }

// Config describes a module. Group, Bus and Handlers are required.
type Config struct {
	// Group names the module; all processes of a module share its requests.
	Group string
	// Bus delivers requests and takes answers.
	Bus bus.Bus
	// Handlers by requested event type.
	Handlers map[string]Handler
	// Concurrency is how many handlers run at once. Default 64.
	Concurrency int
	// Timeout bounds one handler call; it must be shorter than the minute after
	// which an unacked request comes again. Default 50 s.
	Timeout time.Duration
	// AckWait is after which time an unacked request comes again; it must be longer
	// than Timeout. Default: the bus's, a minute.
	AckWait time.Duration
	// Reply makes the answer of what a handler returned; a message without an event id
	// is not sent, and the request is acked all the same. Default: Reply.
	Reply func(request *event.Envelope, payload any, err error, now time.Time) bus.Message
	// Outcomes remembers answers. Default: the last 100,000 in memory.
	Outcomes Outcomes
	// Now is the clock. Default time.Now.
	Now func() time.Time
	// Log receives what went wrong. Default: discarded.
	Log *slog.Logger
}

// Worker is a running module. Make one with New.
type Worker struct {
	cfg      Config
	consumer bus.Consumer
	slots    chan struct{}
	answers  chan answer

	mu      sync.Mutex
	working map[string]bool // correlation ids being handled

	stop       context.CancelFunc
	fetching   sync.WaitGroup
	handling   sync.WaitGroup
	publishing sync.WaitGroup
}

type answer struct {
	delivery bus.Delivery
	message  bus.Message // EventID zero = nothing to publish, only ack
}

const (
	fetchLimit  = 256
	publishers  = 4 // answers are published side by side, so that one slow commit holds back only its own
	retryPause  = 200 * time.Millisecond
	answerBatch = 256
)

// New returns a worker that does not run yet.
func New(cfg Config) *Worker {
	if cfg.Concurrency <= 0 {
		cfg.Concurrency = 64
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = 50 * time.Second
	}
	if cfg.Reply == nil {
		cfg.Reply = Reply
	}
	if cfg.Outcomes == nil {
		cfg.Outcomes = NewMemoryOutcomes(100_000)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Worker{
		cfg: cfg, slots: make(chan struct{}, cfg.Concurrency), answers: make(chan answer, answerBatch),
		working: map[string]bool{},
	}
}

// Start joins the group and begins to handle requests.
func (w *Worker) Start(ctx context.Context) error {
	streams := make([]string, 0, len(w.cfg.Handlers))
	for stream := range w.cfg.Handlers {
		streams = append(streams, stream)
	}
	consumer, err := w.cfg.Bus.Subscribe(ctx, bus.Subscription{Group: w.cfg.Group, Streams: streams, AckWait: w.cfg.AckWait})
	if err != nil {
		return rondo.Op("start worker "+w.cfg.Group, err)
	}
	w.consumer = consumer
	running, stop := context.WithCancel(context.Background())
	w.stop = stop
	w.fetching.Go(func() { w.fetch(running) })
	for range publishers {
		w.publishing.Go(w.publish)
	}
	return nil
}

// Stop drains the worker. When ctx ends first it returns at once; what was not
// answered comes again.
func (w *Worker) Stop(ctx context.Context) error {
	w.stop()
	drained := make(chan struct{})
	go func() {
		w.fetching.Wait()
		w.handling.Wait()
		close(w.answers)
		w.publishing.Wait()
		close(drained)
	}()
	select {
	case <-drained:
		return w.consumer.Close()
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *Worker) fetch(ctx context.Context) {
	for ctx.Err() == nil {
		deliveries, err := w.consumer.Fetch(ctx, fetchLimit)
		if err != nil {
			if ctx.Err() == nil {
				w.cfg.Log.Warn("taking requests from the bus", "group", w.cfg.Group, "error", err)
				pause(ctx, retryPause)
			}
			continue
		}
		for _, d := range deliveries {
			w.accept(d)
		}
	}
}

// accept answers a known request, leaves one alone that is being worked on, and
// hands anything else to its handler once there is a free slot.
func (w *Worker) accept(d bus.Delivery) {
	request, err := event.Parse(d.Envelope)
	if err != nil {
		w.cfg.Log.Warn("a request cannot be read", "stream", d.Stream, "entry", d.EntryID, "error", err)
		w.answers <- w.unreadable(d, err)
		return
	}
	handler, ok := w.cfg.Handlers[request.Type]
	if !ok {
		w.answers <- answer{delivery: d}
		return
	}
	if !w.begin(request.CorrelationID) {
		return // its answer is under way, and acks this group's copy of the request or lets it come again
	}
	w.slots <- struct{}{}
	w.handling.Go(func() {
		defer func() { <-w.slots }()
		w.answers <- w.handle(d, request, handler)
	})
}

func (w *Worker) begin(correlation string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.working[correlation] {
		return false
	}
	w.working[correlation] = true
	return true
}

func (w *Worker) end(correlation string) {
	w.mu.Lock()
	delete(w.working, correlation)
	w.mu.Unlock()
}

func (w *Worker) handle(d bus.Delivery, request *event.Envelope, handler Handler) answer {
	defer w.end(request.CorrelationID)
	ctx, cancel := context.WithTimeout(context.Background(), w.cfg.Timeout)
	defer cancel()
	if stored, ok := w.recall(ctx, request); ok {
		return answer{delivery: d, message: stored}
	}
	payload, err := call(ctx, handler, request)
	message := w.cfg.Reply(request, payload, err, w.cfg.Now())
	if message.EventID.IsZero() {
		return answer{delivery: d}
	}
	if err := w.cfg.Outcomes.Put(ctx, request.CorrelationID, message.Envelope); err != nil {
		w.cfg.Log.Warn("remembering an answer", "group", w.cfg.Group, "correlation_id", request.CorrelationID, "error", err)
	}
	return answer{delivery: d, message: message}
}

// recall finds the answer that this request was given before.
func (w *Worker) recall(ctx context.Context, request *event.Envelope) (bus.Message, bool) {
	raw, ok, err := w.cfg.Outcomes.Get(ctx, request.CorrelationID)
	if err != nil {
		w.cfg.Log.Warn("looking up an answer", "group", w.cfg.Group, "correlation_id", request.CorrelationID, "error", err)
	}
	if err != nil || !ok {
		return bus.Message{}, false
	}
	stored, err := event.Parse(raw)
	if err != nil {
		return bus.Message{}, false
	}
	return bus.Message{Stream: stored.Type, EventID: stored.EventID, Envelope: raw}, true
}

// Reply builds the completed or failed event of a request: what a handler
// returned becomes its payload. The event id derives from the request's.
func Reply(request *event.Envelope, payload any, err error, now time.Time) bus.Message {
	prefix := strings.TrimSuffix(request.Type, ".requested")
	suffix := ".completed"
	var body []byte
	if err == nil {
		body, err = object(payload)
	}
	if err != nil {
		suffix = ".failed"
		body = failure(err)
	}
	answer := envelope(request, prefix+suffix, body, now)
	raw := answer.Encode()
	if err := readable(raw); err != nil {
		answer = envelope(request, prefix+".failed", failure(err), now)
		raw = answer.Encode()
	}
	return bus.Message{Stream: answer.Type, EventID: answer.EventID, Envelope: raw}
}

// envelope addresses an answer to the attempt that asked.
func envelope(request *event.Envelope, eventType string, body []byte, now time.Time) *event.Envelope {
	return &event.Envelope{
		EventID: event.DerivedID(request.EventID, eventType), Type: eventType, SchemaVersion: event.SchemaVersion,
		OccurredAt: now.UTC().Truncate(time.Microsecond), CorrelationID: request.CorrelationID,
		CausationID: request.EventID.String(), CaseID: request.CaseID, OrgID: request.OrgID, ProductID: request.ProductID, RunID: request.RunID,
		Payload: body, Traceparent: request.Traceparent,
	}
}

// publish sends answers, as many at a time as there are, and acks their
// requests. An answer that cannot be sent is tried again until it is, or until
// the bus refuses it for what it is.
func (w *Worker) publish() {
	for first := range w.answers {
		batch := []answer{first}
	gather:
		for len(batch) < answerBatch {
			select {
			case next, ok := <-w.answers:
				if !ok {
					break gather
				}
				batch = append(batch, next)
			default:
				break gather
			}
		}
		w.send(batch)
	}
}

func (w *Worker) send(batch []answer) {
	messages := make([]bus.Message, 0, len(batch))
	deliveries := make([]bus.Delivery, len(batch))
	for i, a := range batch {
		deliveries[i] = a.delivery
		if !a.message.EventID.IsZero() {
			messages = append(messages, a.message)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), w.cfg.Timeout)
	defer cancel()
	for len(messages) > 0 {
		err := w.cfg.Bus.Publish(ctx, messages)
		if err == nil {
			break
		}
		if refused(err) {
			w.refused(batch, err)
			return
		}
		w.cfg.Log.Warn("publishing answers", "group", w.cfg.Group, "answers", len(messages), "error", err)
		pause(ctx, retryPause)
		if ctx.Err() != nil {
			return // not acked: the requests come again and are answered from memory
		}
	}
	if err := w.consumer.Ack(ctx, deliveries); err != nil {
		w.cfg.Log.Warn("acking requests", "group", w.cfg.Group, "error", err)
	}
}

// refused reports whether a bus refuses an answer for what it is.
func refused(err error) bool {
	code := rondo.CodeOf(err)
	return code == rondo.CodeInvalid || code == rondo.CodeForbidden || code == rondo.CodeTooLarge
}

// refused sends the answers of a batch one by one, so that a bad one holds back no
// other. The bad one is not acked: its request comes again, and Rondo's timeout
// ends it.
func (w *Worker) refused(batch []answer, err error) {
	if len(batch) > 1 {
		for _, a := range batch {
			w.send([]answer{a})
		}
		return
	}
	w.cfg.Log.Error("an answer is refused", "group", w.cfg.Group, "stream", batch[0].message.Stream, "event_id", batch[0].message.EventID.String(), "error", err)
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
