// Package sse reads server-sent events, as agents stream them.
//
// It is lenient where agents are sloppy (any line ending, comments, unknown fields,
// a byte order mark, events without data) and strict where it matters: an event
// that the stream cuts short is an error.
//
// It imports the standard library only.
package sse

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// Event is one event. Name is "" when the stream did not name it.
type Event struct {
	Name string
	Data []byte // lines joined by LF; valid until the next call of Next
}

// ErrTooLarge says that an event is over the reader's bound.
var ErrTooLarge = errors.New("sse: an event is too large")

// Reader reads events from a stream.
type Reader struct {
	source   *bufio.Reader
	maxEvent int

	line    []byte
	comment bool // the line is a comment: not kept
	skipLF  bool // the last line ended in CR: an LF belongs to it
	begun   bool // the byte order mark, if any, is behind

	name    string
	data    []byte
	pending bool // a field of the next event was seen
}

// NewReader reads from source events of at most maxEvent bytes.
func NewReader(source io.Reader, maxEvent int) *Reader {
	return &Reader{source: bufio.NewReader(source), maxEvent: maxEvent}
}

// Next returns the next event. io.EOF says that the stream ended between events,
// io.ErrUnexpectedEOF that it ended within one, of which the name is returned if
// the stream's source had no error; ErrTooLarge is for good.
func (r *Reader) Next() (Event, error) {
	r.name, r.data, r.pending = "", r.data[:0], false
	for {
		if err := r.readLine(); err != nil {
			if errors.Is(err, io.EOF) && (r.pending || len(r.line) > 0) {
				r.field()
				return Event{Name: r.name}, io.ErrUnexpectedEOF
			}
			return Event{}, err
		}
		if r.comment {
			continue
		}
		if len(r.line) > 0 {
			r.field()
			continue
		}
		if r.pending {
			return Event{Name: r.name, Data: bytes.TrimSuffix(r.data, []byte("\n"))}, nil
		}
	}
}

// readLine reads up to the end of a line. What a comment says is not kept.
func (r *Reader) readLine() error {
	r.line, r.comment = r.line[:0], false
	for {
		b, err := r.source.ReadByte()
		if err != nil {
			return err
		}
		skip := r.skipLF && b == '\n'
		r.skipLF = false
		switch {
		case skip:
		case b == '\n':
			return nil
		case b == '\r':
			r.skipLF = true
			return nil
		case r.comment:
		case b == ':' && len(r.line) == 0:
			r.comment = true
		case len(r.line)+len(r.data) >= r.maxEvent:
			return ErrTooLarge
		default:
			r.line = append(r.line, b)
			if !r.begun && bytes.Equal(r.line, []byte("\xef\xbb\xbf")) {
				r.line = r.line[:0]
			}
			r.begun = r.begun || len(r.line) != 1 && len(r.line) != 2
		}
	}
}

// field takes the line for a field of the event.
func (r *Reader) field() {
	name, value, _ := bytes.Cut(r.line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		r.data = append(append(r.data, value...), '\n')
		r.pending = true
	case "event":
		r.name = string(value)
		r.pending = true
	}
}
