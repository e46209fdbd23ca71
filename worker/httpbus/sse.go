package httpbus

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxEvent bounds one server-sent event: what Rondo publishes is at most 1 MiB.
const maxEvent = 4 << 20

// serverEvent is one server-sent event.
type serverEvent struct {
	id, name string
	data     []byte
}

// eventReader reads server-sent events.
type eventReader struct {
	in    *bufio.Reader
	alive func() // called for every line
}

func newEventReader(in io.Reader, alive func()) *eventReader {
	return &eventReader{in: bufio.NewReaderSize(in, 32<<10), alive: alive}
}

var errTooLong = errors.New("a server-sent event is longer than 4 MiB")

// next returns the next event that has data.
func (r *eventReader) next() (serverEvent, error) {
	var e serverEvent
	begun := false
	for {
		line, err := r.line(maxEvent - len(e.data))
		if err != nil {
			return serverEvent{}, err // an event that was cut off comes again
		}
		r.alive()
		if len(line) == 0 {
			if begun {
				return e, nil
			}
			e = serverEvent{}
			continue
		}
		name, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch string(name) {
		case "id":
			e.id = string(value)
		case "event":
			e.name = string(value)
		case "data":
			if begun {
				e.data = append(e.data, '\n')
			}
			e.data, begun = append(e.data, value...), true
		}
	}
}

// line reads to the next line end, which is LF or CR LF.
func (r *eventReader) line(most int) ([]byte, error) {
	var whole []byte
	for {
		part, err := r.in.ReadSlice('\n')
		whole = append(whole, part...)
		switch {
		case len(whole) > most+64: // names of fields come on top
			return nil, errTooLong
		case err == nil:
			return bytes.TrimSuffix(bytes.TrimSuffix(whole, []byte{'\n'}), []byte{'\r'}), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}
