package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/worker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// line is a bus with one consumer: what is offered is delivered once, what is
// published is collected.
type line struct {
	offered   chan bus.Delivery
	published chan *event.Envelope
	acked     chan string
	mu        sync.Mutex
	refuse    int // publishes that fail before one works
}

func newLine() *line {
	return &line{offered: make(chan bus.Delivery, 64), published: make(chan *event.Envelope, 64), acked: make(chan string, 64)}
}

func (l *line) Publish(_ context.Context, messages []bus.Message) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refuse > 0 {
		l.refuse--
		return errors.New("refused")
	}
	for _, m := range messages {
		e, err := event.Parse(m.Envelope)
		if err != nil {
			return err
		}
		l.published <- e
	}
	return nil
}

func (l *line) Subscribe(context.Context, bus.Subscription) (bus.Consumer, error) { return l, nil }
func (l *line) Check(context.Context) error                                       { return nil }
func (l *line) Close() error                                                      { return nil }

func (l *line) Fetch(ctx context.Context, _ int) ([]bus.Delivery, error) {
	select {
	case d := <-l.offered:
		return []bus.Delivery{d}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *line) Ack(_ context.Context, deliveries []bus.Delivery) error {
	for _, d := range deliveries {
		l.acked <- d.EntryID
	}
	return nil
}

const requested = "consent.check.requested"

func (l *line) offer(entryID, correlation string) *event.Envelope {
	ids := rondo.NewIDs(time.Now)
	request := &event.Envelope{
		EventID: ids.New(), Type: requested, SchemaVersion: event.SchemaVersion, OccurredAt: time.Now().UTC(),
		CorrelationID: correlation, CaseID: "c", OrgID: "o", ProductID: "p", Payload: json.RawMessage(`{"types":["a"]}`),
	}
	l.send(entryID, request)
	return request
}

func (l *line) send(entryID string, request *event.Envelope) {
	l.offered <- bus.Delivery{Stream: requested, EntryID: entryID, Envelope: request.Encode(), Attempt: 1}
}

// start runs a worker with one handler until the test ends.
func start(t *testing.T, l *line, handler worker.Handler) *worker.Worker {
	t.Helper()
	w := worker.New(worker.Config{Group: "consent", Bus: l, Handlers: map[string]worker.Handler{requested: handler}})
	if err := w.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

func stop(t *testing.T, w *worker.Worker) {
	t.Helper()
	if err := w.Stop(context.WithoutCancel(t.Context())); err != nil {
		t.Errorf("stop: %v", err)
	}
}

func TestAnAnswerGoesOutBeforeItsRequestIsAcked(t *testing.T) {
	l := newLine()
	l.refuse = 1
	w := start(t, l, func(context.Context, *event.Envelope) (any, error) { return map[string]bool{"granted": true}, nil })
	defer stop(t, w)
	request := l.offer("1", "corr-1")
	if got := <-l.acked; got != "1" {
		t.Errorf("acked %s", got)
	}
	select {
	case answer := <-l.published:
		if answer.Type != "consent.check.completed" || answer.CorrelationID != "corr-1" || answer.CausationID != request.EventID.String() {
			t.Errorf("answer is %+v", answer)
		}
	default:
		t.Fatal("the request was acked before its answer was published")
	}
}

func TestAKnownRequestIsAnsweredAgainWithoutWorkingAgain(t *testing.T) {
	l := newLine()
	var calls atomic.Int32
	w := start(t, l, func(context.Context, *event.Envelope) (any, error) {
		return map[string]int32{"call": calls.Add(1)}, nil
	})
	defer stop(t, w)
	request := l.offer("1", "corr-1")
	first := <-l.published
	<-l.acked
	l.send("2", request)
	second := <-l.published
	<-l.acked
	if calls.Load() != 1 {
		t.Errorf("the handler ran %d times", calls.Load())
	}
	if first.EventID != second.EventID || string(first.Payload) != string(second.Payload) {
		t.Errorf("answers differ: %s %s, %s %s", first.EventID, first.Payload, second.EventID, second.Payload)
	}
}

func TestARequestThatIsBeingWorkedOnIsLeftAlone(t *testing.T) {
	l := newLine()
	var calls atomic.Int32
	release := make(chan struct{})
	w := start(t, l, func(context.Context, *event.Envelope) (any, error) {
		calls.Add(1)
		<-release
		return map[string]bool{}, nil
	})
	defer stop(t, w)
	request := l.offer("1", "corr-1")
	l.send("2", request)
	other := l.offer("3", "corr-3") // taken after the copy: once it runs, the copy was passed over
	_ = other
	for calls.Load() < 2 {
		runtime.Gosched()
	}
	close(release)
	<-l.published
	<-l.published
	if calls.Load() != 2 {
		t.Errorf("the handlers ran %d times, want once per correlation id", calls.Load())
	}
}

func TestWhatGoesWrongBecomesAFailedEvent(t *testing.T) {
	tests := map[string]struct {
		handler worker.Handler
		want    string
	}{
		"a failure says why": {
			func(context.Context, *event.Envelope) (any, error) {
				return nil, &worker.Failure{ReasonCode: "no_record", Message: "not there"}
			},
			`{"reason_code":"no_record","retryable":false,"error":"not there"}`,
		},
		"any other error may be retried": {
			func(context.Context, *event.Envelope) (any, error) { return nil, errors.New("timeout") },
			`{"retryable":true,"error":"timeout"}`,
		},
		"a panic stays inside": {
			func(context.Context, *event.Envelope) (any, error) { panic("boom") },
			`{"retryable":false,"error":"the module failed: boom"}`,
		},
		"an answer that Rondo could not read": {
			func(context.Context, *event.Envelope) (any, error) { return map[string]int64{"n": 1 << 60}, nil },
			`{"retryable":false,"error":"the module's answer cannot be read: the event envelope cannot be read: JSON at /payload/n: whole numbers beyond ±9007199254740991 lose digits: send it as a string"}`,
		},
		"an answer that is no object": {
			func(context.Context, *event.Envelope) (any, error) { return []int{1}, nil },
			`{"retryable":false,"error":"the module's answer is not a JSON object"}`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			l := newLine()
			w := start(t, l, tt.handler)
			defer stop(t, w)
			l.offer("1", "corr-1")
			answer := <-l.published
			// The place depends on how many digits the time has.
			said := regexp.MustCompile(` \(offset \d+\)`).ReplaceAllString(string(answer.Payload), "")
			if answer.Type != "consent.check.failed" || said != tt.want {
				t.Errorf("answer is %s %s, want %s", answer.Type, answer.Payload, tt.want)
			}
		})
	}
}

func TestARequestThatCannotBeReadIsAnsweredAsFailed(t *testing.T) {
	t.Parallel()
	const heads = `"event_id":"0192f0c1-0000-7000-8000-0000000000e1","event_type":"` + requested + `","org_id":"acme","case_id":"c1","product_id":"skin","correlation_id":"k1"`
	for name, test := range map[string]struct {
		raw      string
		answered bool
	}{
		"a number too large":   {`{` + heads + `,"schema_version":"v1","occurred_at":"2026-01-01T00:00:00Z","payload":{"n":9007199254740993}}`, true},
		"members missing":      {`{` + heads + `}`, true},
		"garbage":              {`garbage`, false},
		"nobody's":             {`{"event_type":"` + requested + `","correlation_id":"k1"}`, false},
		"of a type not served": {strings.Replace(`{`+heads+`}`, requested, "other.requested", 1), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLine()
			w := worker.New(worker.Config{Group: "consent", Bus: l, Handlers: map[string]worker.Handler{
				requested: func(context.Context, *event.Envelope) (any, error) { panic("not to be called") },
			}})
			if err := w.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			l.offered <- bus.Delivery{Stream: requested, EntryID: "1", Envelope: []byte(test.raw)}
			<-l.acked
			if err := w.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			if (len(l.published) == 1) != test.answered {
				t.Fatalf("%d answers, answered should be %v", len(l.published), test.answered)
			}
			if !test.answered {
				return
			}
			got := <-l.published
			if got.Type != "consent.check.failed" || got.CorrelationID != "k1" || got.OrgID != "acme" || got.CaseID != "c1" ||
				!strings.Contains(string(got.Payload), "cannot be read") || !strings.Contains(string(got.Payload), `"retryable":false`) {
				t.Errorf("answered %+v %s", got, got.Payload)
			}
		})
	}
}

func TestStopLetsRunningHandlersAnswer(t *testing.T) {
	l := newLine()
	begun, release := make(chan struct{}), make(chan struct{})
	w := start(t, l, func(context.Context, *event.Envelope) (any, error) {
		close(begun)
		<-release
		return map[string]bool{}, nil
	})
	l.offer("1", "corr-1")
	<-begun
	stopped := make(chan error, 1)
	go func() { stopped <- w.Stop(context.WithoutCancel(t.Context())) }()
	close(release)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	if len(l.published) != 1 || len(l.acked) != 1 {
		t.Errorf("%d answers and %d acks, want one of each", len(l.published), len(l.acked))
	}
}

func TestMemoryOutcomesForgetsTheOldest(t *testing.T) {
	m := worker.NewMemoryOutcomes(2)
	for _, id := range []string{"a", "b", "b", "c"} {
		if err := m.Put(t.Context(), id, []byte(id)); err != nil {
			t.Fatal(err)
		}
	}
	for id, want := range map[string]bool{"a": false, "b": true, "c": true} {
		if _, ok, _ := m.Get(t.Context(), id); ok != want {
			t.Errorf("%s is known: %v, want %v", id, ok, want)
		}
	}
}
