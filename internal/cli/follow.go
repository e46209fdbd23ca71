package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/client"
)

type casesFollow struct{ oneCase }

// Run prints the timeline as it grows and returns when the case has ended, or
// when it is interrupted. With JSON, every event is a line of its own.
func (c casesFollow) Run(ctx context.Context, s streams) error {
	server, id, err := c.instance(ctx)
	if err != nil {
		return err
	}
	follow := following{streams: s, json: c.json()}
	for !follow.ended && ctx.Err() == nil {
		err := server.Stream(ctx, client.Call{Path: client.InstancePath(id, "stream")}, follow.mark, follow.tell)
		if err != nil && ctx.Err() == nil && (follow.mark == "" || rondo.CodeOf(err) != rondo.CodeUnavailable) {
			return err
		}
		if follow.ended {
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(pollEvery): // the server ended the stream: it may be starting again
		}
	}
	return nil
}

// following is how far a case was followed.
type following struct {
	streams
	json  bool
	mark  string // of the last event that has one
	ended bool
}

// tell prints one event of the stream; client.ErrStop ends it.
func (f *following) tell(e client.StreamEvent) error {
	if e.ID != "" {
		f.mark = e.ID
	}
	if f.json {
		line, err := json.Marshal(map[string]any{"event": e.Name, "data": json.RawMessage(e.Data)})
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintln(f.out, string(line))
	}
	switch e.Name {
	case "timeline":
		var entry said
		if err := json.Unmarshal(e.Data, &entry); err != nil {
			return err
		}
		if !f.json {
			_, _ = fmt.Fprintf(f.out, "%s  %s\n", moment(entry.At), entry.Text)
		}
	case "instance":
		var i client.Instance
		if err := json.Unmarshal(e.Data, &i); err != nil {
			return err
		}
		if i.Status == rondo.StatusCompleted || i.Status == rondo.StatusCancelled {
			f.ended = true
			return client.ErrStop
		}
	}
	return nil
}
