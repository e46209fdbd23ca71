package sse_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo/agent/internal/sse"
)

type event struct{ Name, Data string }

func readAll(source io.Reader, limit int) (events []event, end error) {
	reader := sse.NewReader(source, limit)
	for {
		next, err := reader.Next()
		if err != nil {
			return events, err
		}
		events = append(events, event{next.Name, string(next.Data)})
	}
}

func TestReaderReadsWhatAgentsSend(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		stream string
		want   []event
		end    error
	}{
		"nothing":                  {"", nil, io.EOF},
		"one event":                {"event: activity\ndata: {}\n\n", []event{{"activity", "{}"}}, io.EOF},
		"no name":                  {"data: {}\n\n", []event{{"", "{}"}}, io.EOF},
		"no space":                 {"data:{}\n\n", []event{{"", "{}"}}, io.EOF},
		"one space of two":         {"data:  a\n\n", []event{{"", " a"}}, io.EOF},
		"CRLF":                     {"event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n", []event{{"a", "1"}, {"", "2"}}, io.EOF},
		"CR alone":                 {"event: a\rdata: 1\r\rdata: 2\r\r", []event{{"a", "1"}, {"", "2"}}, io.EOF},
		"several lines":            {"data: {\ndata: \"a\":1\ndata: }\n\n", []event{{"", "{\n\"a\":1\n}"}}, io.EOF},
		"empty line of data":       {"data: a\ndata\ndata:\n\n", []event{{"", "a\n\n"}}, io.EOF},
		"comments":                 {": hi\n\ndata: 1\n: keep alive\ndata: 2\n\n:\n\n", []event{{"", "1\n2"}}, io.EOF},
		"unknown fields":           {"id: 7\nretry: 10\nfoo: bar\nevent: a\ndata: 1\n\n", []event{{"a", "1"}}, io.EOF},
		"a field that is no event": {"id: 7\n\n", nil, io.EOF},
		"no data":                  {"event: end\n\n", []event{{"end", ""}}, io.EOF},
		"byte order mark":          {"\xef\xbb\xbfdata: 1\n\n", []event{{"", "1"}}, io.EOF},
		"blank lines":              {"\n\n\ndata: 1\n\n\n\n", []event{{"", "1"}}, io.EOF},
		"cut in a field":           {"data: 1\n\ndata: 2", []event{{"", "1"}}, io.ErrUnexpectedEOF},
		"cut after a field":        {"data: 1\n\ndata: 2\n", []event{{"", "1"}}, io.ErrUnexpectedEOF},
		"cut after a name":         {"event: a\n", nil, io.ErrUnexpectedEOF},
		"cut in a comment":         {"data: 1\n\n: bye", []event{{"", "1"}}, io.EOF},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for how, source := range map[string]io.Reader{
				"at once":      strings.NewReader(test.stream),
				"byte by byte": iotest.OneByteReader(strings.NewReader(test.stream)),
			} {
				got, end := readAll(source, 1<<10)
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("%s: events (-want +got):\n%s", how, diff)
				}
				if !errors.Is(end, test.end) {
					t.Errorf("%s: it ends with %v, want %v", how, end, test.end)
				}
			}
		})
	}
}

func TestAnEventIsThereBeforeTheStreamGoesOn(t *testing.T) {
	t.Parallel()
	for _, ending := range []string{"\n", "\r\n", "\r"} {
		source, sink := io.Pipe()
		go func() {
			// The reader closes its end; what fails then is this write.
			_, _ = io.WriteString(sink, "data: 1"+ending+ending)
		}()
		got, err := sse.NewReader(source, 100).Next()
		if err != nil || string(got.Data) != "1" {
			t.Errorf("with %q it reads %q, %v, want 1 while the stream is open", ending, got.Data, err)
		}
		_ = source.Close()
	}
}

func TestAnEventOverTheBoundIsRefused(t *testing.T) {
	t.Parallel()
	for name, stream := range map[string]string{
		"one long line": "data: " + strings.Repeat("x", 200) + "\n\n",
		"many lines":    strings.Repeat("data: xxxxxxxxxx\n", 20) + "\n",
		"a long field":  strings.Repeat("x", 200) + "\n\n",
	} {
		if got, err := readAll(strings.NewReader(stream), 100); !errors.Is(err, sse.ErrTooLarge) || got != nil {
			t.Errorf("%s: %v, %v, want nothing and too large", name, got, err)
		}
	}
	if got, err := readAll(strings.NewReader(": "+strings.Repeat("x", 200)+"\ndata: 1\n\n"), 100); len(got) != 1 || !errors.Is(err, io.EOF) {
		t.Errorf("a long comment: %v, %v, want one event", got, err)
	}
}

func TestAReadThatFailsIsPassedOn(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	source := io.MultiReader(strings.NewReader("data: 1\n\ndata: 2\n"), iotest.ErrReader(broken))
	if got, err := readAll(source, 100); len(got) != 1 || !errors.Is(err, broken) {
		t.Errorf("%v, %v, want one event and the error", got, err)
	}
}

// FuzzReader holds that events do not depend on how the bytes arrive or on the line
// ending, that bounds hold, and that what is written is what is read.
func FuzzReader(f *testing.F) {
	f.Add([]byte("event: activity\ndata: {\"a\":1}\n\n: c\r\n\r\ndata: x\rdata: y\r\r"))
	f.Add([]byte("\xef\xbb\xbfdata\n\nevent:end\n\n"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		const limit = 64
		events, end := readAll(bytes.NewReader(stream), limit)
		slow, slowEnd := readAll(iotest.OneByteReader(bytes.NewReader(stream)), limit)
		if diff := cmp.Diff(events, slow); diff != "" || !errors.Is(slowEnd, end) {
			t.Fatalf("byte by byte it reads otherwise (%v, %v):\n%s", end, slowEnd, diff)
		}
		var again bytes.Buffer
		for _, e := range events {
			if len(e.Data) > limit {
				t.Fatalf("an event has %d bytes, the bound is %d", len(e.Data), limit)
			}
			again.WriteString("event: " + e.Name + "\n")
			for line := range strings.SplitSeq(e.Data, "\n") {
				again.WriteString("data: " + line + "\n")
			}
			again.WriteString("\n")
		}
		same, _ := readAll(&again, 4*limit)
		if diff := cmp.Diff(events, same); diff != "" {
			t.Fatalf("written and read again it is another one:\n%s", diff)
		}
	})
}
