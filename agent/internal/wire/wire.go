// Package wire is how drivers of agents speak HTTP: one POST that is sent once, an
// answer that is a stream of events or one JSON text, bounded, and errors that say
// what failed without repeating what was sent or received.
//
// It imports the agent port and agent/internal/sse.
package wire

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/agent/internal/sse"
)

// Bounds is how much of an answer is read.
type Bounds struct {
	MaxEvent  int   // bytes of one event, or of a whole JSON answer's text
	MaxEvents int   // events of one answer
	MaxBytes  int64 // of the whole answer
}

// Or fills in what b leaves zero.
func (b Bounds) Or(fallback Bounds) Bounds {
	return Bounds{
		MaxEvent:  cmp.Or(b.MaxEvent, fallback.MaxEvent),
		MaxEvents: cmp.Or(b.MaxEvents, fallback.MaxEvents),
		MaxBytes:  cmp.Or(b.MaxBytes, fallback.MaxBytes),
	}
}

// Client calls one agent. It is safe for concurrent use.
type Client struct {
	provider string
	http     *http.Client
	bounds   Bounds
}

// NewClient calls through base, or through a client of its own when base is nil.
// Redirects are refused: they would carry tokens and texts to another place.
func NewClient(provider string, base *http.Client, bounds Bounds) *Client {
	own := http.Client{Transport: http.DefaultTransport}
	if base != nil {
		own = *base
		if own.Transport == nil {
			own.Transport = http.DefaultTransport
		}
	} else if transport, ok := http.DefaultTransport.(*http.Transport); ok {
		transport = transport.Clone()
		transport.MaxIdleConnsPerHost = 64
		own.Transport = transport
	}
	own.Transport = straight{own.Transport}
	return &Client{provider: provider, http: &own, bounds: bounds}
}

// straight is a transport whose answers point nowhere else. A client that may not
// follow a redirect still prepares to, and fails where it cannot send again.
type straight struct{ http.RoundTripper }

// RoundTrip makes the call.
func (s straight) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := s.RoundTripper.RoundTrip(request)
	if err == nil {
		response.Header.Del("Location")
	}
	return response, err
}

// Answer is a successful answer. Either Stream reports true and Next gives its
// events, or JSON gives its text. Close it.
type Answer struct {
	Header http.Header

	client   *Client
	response *http.Response
	body     *boundedBody
	events   *sse.Reader
	count    int
}

// Post sends one request, once.
func (c *Client) Post(ctx context.Context, url string, header http.Header, body []byte) (*Answer, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, http.NoBody)
	if err != nil {
		return nil, c.fail(agent.KindUnreachable, "the agent's address is not a URL", nil)
	}
	request.Header = header
	sendOnce(request, body)
	response, err := c.http.Do(request)
	if err != nil {
		return nil, c.broken(ctx, err)
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		defer response.Body.Close()
		return nil, c.refused(ctx, response)
	}
	answer := &Answer{
		Header: response.Header, client: c, response: response,
		body: &boundedBody{source: response.Body, left: c.bounds.MaxBytes},
	}
	kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch {
	case err == nil && kind == "text/event-stream":
		answer.events = sse.NewReader(answer.body, c.bounds.MaxEvent)
	case err == nil && kind == "application/json":
	default:
		answer.Close()
		return nil, c.Malformed("the answer is neither an event stream nor JSON")
	}
	return answer, nil
}

// sendOnce gives a request its body and lets the transport try again only as long
// as nothing of it was taken: an idle connection that turns out to be closed is no
// reason to fail, but what an agent may have read is never sent twice.
func sendOnce(request *http.Request, body []byte) {
	var taken atomic.Bool
	reader := func() io.ReadCloser { return &onceBody{taken: &taken, rest: bytes.NewReader(body)} }
	request.Body = reader()
	request.ContentLength = int64(len(body))
	request.GetBody = func() (io.ReadCloser, error) {
		if taken.Load() {
			return nil, errSent
		}
		return reader(), nil
	}
}

var errSent = errors.New("the request may have been read and is not sent again")

type onceBody struct {
	taken *atomic.Bool
	rest  *bytes.Reader
}

func (b *onceBody) Read(p []byte) (int, error) {
	b.taken.Store(true)
	return b.rest.Read(p)
}

func (b *onceBody) Close() error { return nil }

// Stream reports whether the answer comes as events.
func (a *Answer) Stream() bool { return a.events != nil }

// Whole reports whether the end of the answer was announced by its framing, so
// that an end is not just a connection that broke.
func (a *Answer) Whole() bool {
	return a.response.ContentLength >= 0 || a.response.ProtoMajor >= 2 || len(a.response.TransferEncoding) > 0
}

// Close gives the connection back, or up when the answer was not read to its end.
func (a *Answer) Close() { _ = a.response.Body.Close() }

// Next returns the next event, or io.EOF when the stream ended between events. Its
// data is valid until the next call. Of an event that the end of a whole answer
// cuts short the name is returned, with an error.
func (a *Answer) Next(ctx context.Context) (sse.Event, error) {
	event, err := a.events.Next()
	switch {
	case err == nil:
	case errors.Is(err, io.EOF) && ctx.Err() == nil:
		return sse.Event{}, io.EOF
	case a.Whole():
		return event, a.failed(ctx, err)
	default:
		return sse.Event{}, a.failed(ctx, err)
	}
	if a.count++; a.count > a.client.bounds.MaxEvents {
		return sse.Event{}, a.client.TooLarge("the answer has too many events")
	}
	return event, nil
}

// JSON reads the whole answer.
func (a *Answer) JSON(ctx context.Context) ([]byte, error) {
	text, err := io.ReadAll(a.body)
	if err != nil {
		return nil, a.failed(ctx, err)
	}
	return text, nil
}

func (a *Answer) failed(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, sse.ErrTooLarge):
		return a.client.TooLarge("an event of the answer is too large")
	case errors.Is(err, errTooLong):
		return a.client.TooLarge("the answer is too large")
	}
	return a.client.broken(ctx, err)
}

// boundedBody fails once more than left bytes were there to read.
type boundedBody struct {
	source io.Reader
	left   int64
}

var errTooLong = errors.New("too long")

func (b *boundedBody) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.source.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errTooLong
	}
	return n, err
}

// deadline is the context's own error when it is over, or is about to be: a
// connection notices the deadline on its own, a moment before the context does.
func deadline(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if at, ok := ctx.Deadline(); ok && !time.Now().Before(at) {
		return context.DeadlineExceeded
	}
	return nil
}
