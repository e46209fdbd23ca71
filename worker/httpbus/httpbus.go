// Package httpbus is the bus of a module that reaches Rondo over HTTP alone: it
// publishes with POST /events, receives from GET /events/stream and acknowledges
// with POST /events/acks. A worker runs on it as it does on Redis.
//
// # Guarantees
//
// Those of package bus for one organisation, the token's, with these limits:
//
//   - Rondo decides when an unacked event comes again: after a minute, whatever
//     Subscription.AckWait says, or at once when the stream ends.
//   - An ack counts only at the replica that delivered the event. Where a load
//     balancer sends it to another one, the event comes again; a worker answers it
//     from memory. Give streams and acks of one module the same replica.
//   - Attempt is always 1: repeats are recognised by correlation id.
//
// A stream that ends is opened again, for as long as the consumer is open. The
// token is sent to the server of Options.URL and nowhere else: redirects are not
// followed.
//
// It imports the standard library, the root package and bus.
package httpbus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
)

// Options configure a Bus. Only URL is required.
type Options struct {
	// URL is where Rondo is, such as https://rondo.example.org.
	URL string
	// Token returns the bearer token of the next request, with the scope
	// orchestrator:events. Default: none is sent.
	Token func(ctx context.Context) (string, error)
	// HTTP sends the requests. It must not have a Timeout, which would cut streams.
	// Its redirect policy is not used. Default: a client of its own.
	HTTP *http.Client
	// Silence is how long a stream may say nothing before it counts as broken.
	// Rondo gives a sign of life every 15 s. Default 45 s.
	Silence time.Duration
	// Log gets one line per stream that broke. Default: nowhere.
	Log *slog.Logger
}

// Bus is a bus over HTTP. It is safe for concurrent use.
type Bus struct {
	base *url.URL
	opts Options
	http *http.Client
}

var _ bus.Bus = (*Bus)(nil)

const (
	callTimeout = 30 * time.Second // of everything but streams
	maxProblem  = 64 << 10
	senders     = 16 // streams that are published to side by side
)

// New makes a bus. It does no I/O.
func New(opts Options) (*Bus, error) {
	base, err := url.Parse(strings.TrimRight(opts.URL, "/"))
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, &rondo.Error{
			Code: rondo.CodeInvalid, Op: "open http bus", Message: "the URL of Rondo cannot be read",
			Hint: "use http://host:port or https://host",
		}
	}
	if opts.Silence <= 0 {
		opts.Silence = 45 * time.Second
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	client := &http.Client{}
	if opts.HTTP != nil {
		*client = *opts.HTTP
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Bus{base: base, opts: opts, http: client}, nil
}

// Publish sends every message and returns when Rondo has committed them: those of
// one stream in order, streams side by side. What Rondo refuses for what it is
// keeps no other stream from being sent.
func (b *Bus) Publish(ctx context.Context, messages []bus.Message) error {
	byStream := map[string][]bus.Message{}
	for _, m := range messages {
		byStream[m.Stream] = append(byStream[m.Stream], m)
	}
	slots := make(chan struct{}, senders)
	var sending sync.WaitGroup
	var mu sync.Mutex
	var failed error
	for _, queue := range byStream {
		sending.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			for _, m := range queue {
				if err := b.call(ctx, http.MethodPost, "/events", m.Envelope, nil); err != nil {
					mu.Lock()
					failed = errors.Join(failed, rondo.Op("publish "+m.Stream, err))
					mu.Unlock()
					return
				}
			}
		})
	}
	sending.Wait()
	return failed
}

// Check reports whether Rondo answers and is ready.
func (b *Bus) Check(ctx context.Context) error {
	return rondo.Op("check bus", b.call(ctx, http.MethodGet, "/health/ready", nil, nil))
}

// Close closes idle connections. Consumers must be closed before.
func (b *Bus) Close() error {
	b.http.CloseIdleConnections()
	return nil
}

// call sends one request and reads the answer into out, nil = it is not wanted.
func (b *Bus) call(ctx context.Context, method, path string, body []byte, out any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	answer, err := b.send(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode >= http.StatusMultipleChoices {
		return problem(answer)
	}
	if out == nil {
		_, err := io.Copy(io.Discard, io.LimitReader(answer.Body, maxProblem)) // so that the connection can be used again
		return unreachable(err)
	}
	return unreachable(json.NewDecoder(answer.Body).Decode(out))
}

func (b *Bus) send(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, b.base.String()+path, bytes.NewReader(body))
	if err != nil {
		return nil, &rondo.Error{Code: rondo.CodeInvalid, Message: "the request cannot be made", Err: err}
	}
	if len(body) > 0 {
		request.Header.Set("Content-Type", "application/json")
	}
	if b.opts.Token != nil {
		token, err := b.opts.Token(ctx)
		if err != nil {
			return nil, &rondo.Error{Code: rondo.CodeUnavailable, Op: "get a token", Message: "there is no token to show", Err: err}
		}
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := b.http.Do(request)
	return answer, unreachable(err)
}

func unreachable(err error) error {
	if err == nil {
		return nil
	}
	return &rondo.Error{Code: rondo.CodeUnavailable, Message: "Rondo did not answer", Hint: "check the URL, and that Rondo runs", Err: err}
}

// problem is what Rondo refused with.
func problem(answer *http.Response) error {
	var told struct {
		Code   rondo.Code         `json:"code"`
		Detail string             `json:"detail"`
		Hint   string             `json:"hint"`
		Errors []rondo.FieldError `json:"errors"`
	}
	raw, _ := io.ReadAll(io.LimitReader(answer.Body, maxProblem))
	if json.Unmarshal(raw, &told) != nil || told.Code == "" {
		return &rondo.Error{Code: rondo.CodeUnavailable, Message: "Rondo answered " + answer.Status, Hint: "check the URL: is this Rondo?"}
	}
	return &rondo.Error{Code: told.Code, Message: told.Detail, Hint: told.Hint, Fields: told.Errors}
}
