package httpapi

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
)

// sent is one event as the reader of a stream understands it (WHATWG HTML,
// section 9.2.6).
type sent struct{ id, name, data string }

// readStream reads a stream as browsers do.
func readStream(raw []byte) []sent {
	var out []sent
	var now sent
	var data []string
	scanner := bufio.NewScanner(bytes.NewReader(raw))
	scanner.Buffer(nil, 1<<20)
	scanner.Split(anyLine)
	for scanner.Scan() {
		line := scanner.Text()
		if line == "" {
			if data != nil {
				now.data = strings.Join(data, "\n")
				out = append(out, now)
			}
			now, data = sent{}, nil
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "id":
			now.id = value
		case "event":
			now.name = value
		case "data":
			data = append(data, value)
		}
	}
	return out
}

// anyLine splits at LF, CR or CRLF.
func anyLine(raw []byte, end bool) (advance int, line []byte, err error) {
	at := bytes.IndexAny(raw, "\r\n")
	switch {
	case at < 0 && end && len(raw) == 0:
		return 0, nil, nil
	case at < 0 && end:
		return len(raw), raw, nil
	case at < 0 || raw[at] == '\r' && at+1 == len(raw) && !end:
		return 0, nil, nil
	case raw[at] == '\r' && at+1 < len(raw) && raw[at+1] == '\n':
		return at + 2, raw[:at], nil
	}
	return at + 1, raw[:at], nil
}

// written is what send puts on the wire.
func written(t *testing.T, name, id string, data []byte) []byte {
	t.Helper()
	rec := httptest.NewRecorder()
	s := &eventStream{w: rec, connection: http.NewResponseController(rec), now: time.Now}
	if err := s.send(name, id, data); err != nil {
		t.Fatal(err)
	}
	return rec.Body.Bytes()
}

func TestEventsOfAStream(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		name, id, data string
		want           string
	}{
		"plain":                  {"timeline", "end-1", `{"a":1}`, "id: end-1\nevent: timeline\ndata: {\"a\":1}\n\n"},
		"no id":                  {"instance", "", `{}`, "event: instance\ndata: {}\n\n"},
		"lines":                  {"x", "", "a\nb\r\nc\rd", "event: x\ndata: a\ndata: b\ndata: c\ndata: d\n\n"},
		"no data":                {"x", "", "", "event: x\ndata:\n\n"},
		"line ends in the names": {"a\nevent: b", "1\r\n\x00", "d", "id: 1\nevent: aevent: b\ndata: d\n\n"},
	}
	for name, test := range tests {
		if got := string(written(t, test.name, test.id, []byte(test.data))); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

func FuzzEventStream(f *testing.F) {
	f.Add("timeline", "end-1", []byte(`{"a":"b"}`))
	f.Add("x", "1\n2", []byte("a\r\n\r\nevent: forged\rdata: x\n\n"))
	f.Add("", "", []byte("\n"))
	f.Add("0", "\xff", []byte("0"))
	f.Fuzz(func(t *testing.T, name, id string, data []byte) {
		got := readStream(written(t, name, id, data))
		clean := strings.NewReplacer("\r", "", "\n", "", "\x00", "")
		utf8 := func(s string) string { return clean.Replace(string([]rune(s))) } // what is not UTF-8 is replaced
		want := sent{utf8(id), utf8(name), strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(data))}
		if len(got) != 1 {
			t.Fatalf("%q became %d events", data, len(got))
		}
		// The last line end belongs to the event, not to its data.
		if got[0].data != want.data && got[0].data != strings.TrimSuffix(want.data, "\n") {
			t.Errorf("data %q became %q", data, got[0].data)
		}
		if got[0].id != want.id || got[0].name != want.name {
			t.Errorf("id %q, name %q became %q, %q", id, name, got[0].id, got[0].name)
		}
	})
}

func TestStreamsOfAnOrganisationAreBounded(t *testing.T) {
	t.Parallel()
	s := newStreams()
	var leave func()
	for range maxStreams {
		out, err := s.enter("acme")
		if err != nil {
			t.Fatal(err)
		}
		leave = out
	}
	if _, err := s.enter("acme"); rondo.CodeOf(err) != rondo.CodeOverloaded {
		t.Errorf("one too many: %v", err)
	}
	if _, err := s.enter("beta"); err != nil {
		t.Errorf("another organisation: %v", err)
	}
	leave()
	if _, err := s.enter("acme"); err != nil {
		t.Errorf("after one has left: %v", err)
	}
}

func TestHeartbeatsFillSilence(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	rec := httptest.NewRecorder()
	s := &eventStream{w: rec, connection: http.NewResponseController(rec), now: func() time.Time { return now }}
	for _, passed := range []time.Duration{0, 14 * time.Second, time.Second, time.Second} {
		now = now.Add(passed)
		if err := s.beat(); err != nil {
			t.Fatal(err)
		}
	}
	if got := rec.Body.String(); got != ": alive\n\n: alive\n\n" {
		t.Errorf("got %q, want a beat at once and one after 15 s", got)
	}
	if len(readStream(rec.Body.Bytes())) != 0 {
		t.Error("a heartbeat is an event")
	}
}

// slow is a connection whose reader does not read.
type slow struct {
	http.ResponseWriter
	deadline time.Time
}

func (s *slow) SetWriteDeadline(at time.Time) error { s.deadline = at; return nil }
func (s *slow) SetReadDeadline(time.Time) error     { return nil }

func (s *slow) Write([]byte) (int, error) {
	if s.deadline.IsZero() {
		return 0, errors.New("no deadline was set: this would wait for ever")
	}
	return 0, context.DeadlineExceeded
}

func TestSlowReadersAreCut(t *testing.T) {
	t.Parallel()
	w := &slow{ResponseWriter: httptest.NewRecorder()}
	s := &eventStream{w: w, connection: http.NewResponseController(w), now: time.Now}
	if err := s.send("x", "", []byte("{}")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
