package httpapi

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/rondo-engine/rondo"
)

const (
	// maxStreams is how many streams one organisation may have open at a time.
	maxStreams = 100
	// heartbeat is how long a stream may be silent: proxies cut what says nothing.
	heartbeat = 15 * time.Second
	// streamPatience is how long one write may take before its reader is cut.
	streamPatience = 10 * time.Second
	// eventStreamType is the media type of server-sent events.
	eventStreamType = "text/event-stream"
)

// streams keeps count of the open streams and ends them all on shutdown.
type streams struct {
	mu    sync.Mutex
	open  map[string]int // by organisation
	ended chan struct{}
}

func newStreams() *streams { return &streams{open: map[string]int{}, ended: make(chan struct{})} }

// enter counts a stream of an organisation; the caller calls leave once.
func (s *streams) enter(org string) (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[org] >= maxStreams {
		return nil, &rondo.Error{
			Code: rondo.CodeOverloaded, Message: "the organisation has as many streams open as it may",
			Hint: "close streams that nobody reads, or read lists instead",
		}
	}
	s.open[org]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.open[org]--; s.open[org] == 0 {
			delete(s.open, org)
		}
	}, nil
}

// end ends every stream, now and later.
func (s *streams) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.ended:
	default:
		close(s.ended)
	}
}

// IsStream reports whether a request may last: it asks for a stream, which has no
// end of its own, for the bytes of an artifact, of which there may be many, or for
// a turn of a conversation, which has limits of its own.
// Whoever bounds requests must let it be.
func IsStream(r *http.Request) bool {
	return r.Method == http.MethodGet && (strings.HasSuffix(r.URL.Path, "/stream") || isContent(r.URL.Path)) || r.Method == http.MethodPost && isChat(r.URL.Path)
}

// EndStreams ends every stream that is open, so that a server which shuts down
// need not wait for its readers.
func (a *API) EndStreams() { a.streams.end() }

// stream answers with server-sent events for as long as tell runs. What tell
// fails with before it has written anything becomes a problem; after that the
// connection just ends and the reader comes again.
func (a *API) stream(tell func(ctx context.Context, c *call, r *http.Request, out *eventStream) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := exchangeOf(r.Context())
		leave, err := a.streams.enter(x.call.principal.Tenant)
		if err != nil {
			a.refuse(w, x, err)
			return
		}
		defer leave()
		ctx, cancel := context.WithCancel(r.Context())
		var watch sync.WaitGroup
		watch.Go(func() {
			select {
			case <-a.streams.ended:
				cancel()
			case <-ctx.Done():
			}
		})
		defer watch.Wait()
		defer cancel() // runs before the wait
		out := &eventStream{w: w, connection: http.NewResponseController(w), now: a.cfg.Now}
		if err := tell(ctx, &x.call, r, out); err != nil && !out.begun && !errors.Is(err, context.Canceled) {
			a.refuse(w, x, err)
		}
	}
}

// eventStream writes server-sent events.
type eventStream struct {
	w          http.ResponseWriter
	connection *http.ResponseController
	now        func() time.Time
	begun      bool
	last       time.Time // of the last write
}

// send writes one event. Its data may hold anything: line ends of any kind
// separate lines of data. Name and id must hold none and lose them.
func (s *eventStream) send(name, id string, data []byte) error {
	var b bytes.Buffer
	field(&b, "id", id)
	field(&b, "event", name)
	for line := range bytes.Lines(normalised(data)) {
		b.WriteString("data: ")
		b.Write(bytes.TrimSuffix(line, []byte{'\n'}))
		b.WriteByte('\n')
	}
	if len(data) == 0 {
		b.WriteString("data:\n")
	}
	b.WriteByte('\n')
	return s.write(b.Bytes())
}

// normalised makes every line end a single LF, as readers of events do.
func normalised(data []byte) []byte {
	if !bytes.ContainsRune(data, '\r') {
		return data
	}
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	return bytes.ReplaceAll(data, []byte("\r"), []byte("\n"))
}

func field(b *bytes.Buffer, name, value string) {
	if value == "" {
		return
	}
	b.WriteString(name + ": ")
	b.WriteString(strings.Map(func(r rune) rune {
		if r == '\r' || r == '\n' || r == 0 {
			return -1
		}
		return r
	}, value))
	b.WriteByte('\n')
}

// beat lets the reader know that the stream is alive, when it has been silent
// for long, and at the very beginning.
func (s *eventStream) beat() error {
	if s.begun && s.now().Sub(s.last) < heartbeat {
		return nil
	}
	return s.write([]byte(": alive\n\n"))
}

func (s *eventStream) write(b []byte) error {
	if !s.begun {
		s.begun = true
		h := s.w.Header()
		h.Set("Content-Type", eventStreamType)
		h.Set("X-Accel-Buffering", "no") // proxies that buffer would hold events back
		// A stream outlives the limits of an ordinary exchange; its own limit is
		// set with every write. A connection that knows no deadlines has none to lift.
		_ = s.connection.SetReadDeadline(time.Time{})
		s.w.WriteHeader(http.StatusOK)
	}
	// The wall clock, whatever clock the API tells the time by: deadlines belong
	// to the connection.
	_ = s.connection.SetWriteDeadline(time.Now().Add(streamPatience))
	if _, err := s.w.Write(b); err != nil {
		return rondo.Op("write to a stream", err)
	}
	s.last = s.now()
	if err := s.connection.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return rondo.Op("write to a stream", err)
	}
	return nil
}
