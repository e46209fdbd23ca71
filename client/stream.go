package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/rondo-engine/rondo"
)

// StreamEvent is one server-sent event.
type StreamEvent struct {
	ID   string // what to give Stream in order to go on after it; "" = nothing
	Name string
	Data []byte
}

// ErrStop is returned by a reader of a stream that has seen enough.
var ErrStop = errors.New("enough of the stream")

// Stream reads server-sent events until the server ends the stream, ctx ends, or
// read fails; read failing with ErrStop is no error. After is the id of the last
// event that is known already; "" = from the beginning. Unlike other calls it may
// take as long as it likes, whatever the timeout of Config.HTTP.
func (c *Client) Stream(ctx context.Context, call Call, after string, read func(StreamEvent) error) error {
	_, err := c.stream(ctx, call, after, read)
	return err
}

// stream is Stream that also returns the header of the answer.
func (c *Client) stream(ctx context.Context, call Call, after string, read func(StreamEvent) error) (http.Header, error) {
	op := call.op()
	request, err := c.request(ctx, call)
	if err != nil {
		return nil, &rondo.Error{Code: rondo.CodeInvalid, Op: op, Message: "the request cannot be made", Err: err}
	}
	request.Header.Set("Accept", "text/event-stream")
	if after != "" {
		request.Header.Set("Last-Event-ID", after)
	}
	patient := *c.http
	patient.Timeout = 0
	response, err := patient.Do(request)
	if err != nil {
		return nil, c.unreachable(op, err)
	}
	defer func() { _ = response.Body.Close() }() // what was not read does not matter
	if response.StatusCode == http.StatusNoContent {
		return response.Header, nil // all of the stream is known already
	}
	if response.StatusCode != http.StatusOK {
		raw, _ := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
		return response.Header, problemIn(op, response, raw)
	}
	err = readEvents(response.Body, read)
	switch {
	case err == nil, errors.Is(err, ErrStop):
		return response.Header, nil
	case ctx.Err() != nil:
		return response.Header, c.unreachable(op, ctx.Err())
	}
	return response.Header, rondo.Op(op, err)
}

// readEvents takes a stream apart into its events.
func readEvents(stream io.Reader, read func(StreamEvent) error) error {
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, maxAnswer)
	var e StreamEvent
	for lines.Scan() {
		line := lines.Bytes()
		if len(line) == 0 {
			if len(e.Data) > 0 {
				if err := read(e); err != nil {
					return err
				}
			}
			e = StreamEvent{}
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) { // a comment has no name
		case "id":
			e.ID = string(value)
		case "event":
			e.Name = string(value)
		case "data":
			if e.Data != nil {
				e.Data = append(e.Data, '\n')
			}
			e.Data = append(e.Data, value...)
		}
	}
	return lines.Err()
}
