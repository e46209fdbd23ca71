package agenttest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-engine/rondo/agent"
)

// The bounds that a driver under test is configured with.
const (
	MaxEvent  = 16 << 10
	MaxEvents = 64
	MaxBytes  = 128 << 10
)

// Driver is how the suite plays the server of a driver.
type Driver struct {
	// New is an agent that calls url through client, with the bounds above, and
	// that shows Secret as its bearer token.
	New func(t *testing.T, url string, client *http.Client) agent.Agent
	// Events is a whole answer that is one message with the text.
	Events func(text string) []Event
	// JSON is the same answer from a server that does not stream.
	JSON func(text string) string
	// Piece is an event that an answer may have any number of.
	Piece func() Event
}

// Event is one event of a stream; Name may be "".
type Event struct{ Name, Data string }

// stream writes events the plain way.
func stream(events []Event) string {
	var out strings.Builder
	for _, event := range events {
		if event.Name != "" {
			out.WriteString("event: " + event.Name + "\n")
		}
		out.WriteString("data: " + event.Data + "\n\n")
	}
	return out.String()
}

// styles are the ways in which servers and proxies write the same stream.
var styles = map[string]func([]Event) string{
	"plain": stream,
	"CRLF":  func(events []Event) string { return strings.ReplaceAll(stream(events), "\n", "\r\n") },
	"CR":    func(events []Event) string { return strings.ReplaceAll(stream(events), "\n", "\r") },
	"no space after the colon": func(events []Event) string {
		return strings.NewReplacer("event: ", "event:", "data: ", "data:").Replace(stream(events))
	},
	"byte order mark": func(events []Event) string { return "\xef\xbb\xbf" + stream(events) },
	"comments": func(events []Event) string {
		return ": hello\n\n" + strings.ReplaceAll(stream(events), "\ndata:", "\n: keep alive\ndata:") + ":\n\n"
	},
	"unknown fields": func(events []Event) string {
		return strings.ReplaceAll(stream(events), "data:", "id: 7\nretry: 1000\nmood: fine\ndata:")
	},
	"unknown events": func(events []Event) string {
		strange := Event{Name: "telemetry", Data: "{not json"}
		var mixed []Event
		for _, event := range events {
			mixed = append(mixed, strange, event)
		}
		return stream(mixed)
	},
	"data on several lines": func(events []Event) string {
		split := slices.Clone(events)
		for i := range split {
			// White space between tokens means nothing to JSON.
			if rest, object := strings.CutPrefix(split[i].Data, "{"); object {
				split[i].Data = "{\ndata: " + strings.TrimSuffix(rest, "}") + "\ndata: }"
			}
		}
		return stream(split)
	},
}

// serve is a client whose every call is answered by answer, without a network.
func serve(answer func(*http.Request) (*http.Response, error)) *http.Client {
	return &http.Client{Transport: roundTripper(func(request *http.Request) (*http.Response, error) {
		defer request.Body.Close()
		if _, err := io.Copy(io.Discard, request.Body); err != nil {
			return nil, err
		}
		if err := request.Context().Err(); err != nil {
			return nil, err
		}
		return answer(request)
	})}
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// respond is an answer with a body whose framing announces its end.
func respond(contentType string, body io.Reader) *http.Response {
	return &http.Response{
		StatusCode: http.StatusOK, ProtoMajor: 1, ProtoMinor: 1,
		Header:        http.Header{"Content-Type": {contentType}},
		ContentLength: -1, TransferEncoding: []string{"chunked"},
		Body: io.NopCloser(body),
	}
}

const (
	typeStream = "text/event-stream; charset=utf-8"
	typeJSON   = "application/json; charset=utf-8"
)

// answered asks an agent whose server answers with body.
func (d Driver) answered(t *testing.T, contentType string, body io.Reader) *Heard {
	t.Helper()
	client := serve(func(*http.Request) (*http.Response, error) { return respond(contentType, body), nil })
	return Listen(t, d.New(t, "http://agent.test", client).Send(t.Context(), session(), userSays(UserText)))
}

// wantText checks that an answer is one message.
func wantText(t *testing.T, what string, heard *Heard, text string) {
	t.Helper()
	if heard.Err != nil || !slices.Equal(heard.Texts(), []string{text}) {
		t.Errorf("%s: it answers %q, %v, want %q", what, heard.Texts(), heard.Err, text)
	}
}

// wantKind checks that an answer failed, and how.
func wantKind(t *testing.T, what string, heard *Heard, kinds ...agent.ErrorKind) {
	t.Helper()
	_ = failureIn(t, what, heard, kinds...)
}

// failureIn is the failure of an answer that must be of one of the kinds.
func failureIn(t *testing.T, what string, heard *Heard, kinds ...agent.ErrorKind) *agent.Error {
	t.Helper()
	failure, ok := errors.AsType[*agent.Error](heard.Err)
	if !ok || !slices.Contains(kinds, failure.Kind) {
		t.Errorf("%s: it answers %q and fails with %v (%s), want %v", what, heard.Texts(), heard.Err, agent.KindOf(heard.Err), kinds)
		return &agent.Error{}
	}
	return failure
}

// blocked is a body that ends only with the call.
type blocked struct{ done <-chan struct{} }

// Read waits.
func (b blocked) Read([]byte) (int, error) {
	<-b.done
	return 0, context.Canceled
}
