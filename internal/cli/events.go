package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/rondo-engine/rondo/client"
)

// eventsCommand is what goes into a server and what it could not use.
type eventsCommand struct {
	Publish     eventsPublish     `cmd:"" help:"Publish one event envelope."`
	List        eventsList        `cmd:"" help:"List events that are parked, unmatched or rejected, or those of a case."`
	DeadLetters eventsDeadLetters `cmd:"" help:"List what came on the bus and is no event."`
	Replay      eventsReplay      `cmd:"" help:"Take a dead letter, or an unmatched event, in again."`
	Discard     eventsDiscard     `cmd:"" help:"Say that a dead letter is of no use; it stays in the list."`
}

const (
	eventsPath      = "/events"
	deadLettersPath = "/events/dead-letters"
)

// show sends a call and prints its answer as it is.
func (r remote) show(ctx context.Context, s streams, call client.Call) error {
	server, err := r.client()
	if err != nil {
		return err
	}
	var answer json.RawMessage
	if _, err := server.Do(ctx, call, &answer); err != nil {
		return err
	}
	return printJSON(s.out, answer)
}

// rows gets a list and prints it in columns.
func rows[T any](ctx context.Context, s streams, r remote, call client.Call, heading []string, row func(T) []string) error {
	if r.json() {
		return r.show(ctx, s, call)
	}
	server, err := r.client()
	if err != nil {
		return err
	}
	var answer json.RawMessage
	if _, err := server.Do(ctx, call, &answer); err != nil {
		return err
	}
	return printItems(s, answer, heading, row)
}

type eventsPublish struct {
	remote
	File string `arg:"" help:"File with the envelope, JSON or YAML; - = standard input."`
}

// Run publishes an envelope and prints what became of it.
func (c eventsPublish) Run(ctx context.Context, s streams) error {
	envelope, err := readDocument(c.File)
	if err != nil {
		return err
	}
	return c.show(ctx, s, client.Call{Method: http.MethodPost, Path: eventsPath, Body: json.RawMessage(envelope), Global: true})
}

type eventsList struct {
	remote
	Outcome string `help:"parked, unmatched or rejected only; needed unless --case is given." placeholder:"OUTCOME"`
	Case    string `help:"Of this case only." placeholder:"ID"`
	Type    string `help:"Of this event type only." placeholder:"TYPE"`
	Limit   int    `help:"How many at most." default:"50"`
}

// Run lists the ledger.
func (c eventsList) Run(ctx context.Context, s streams) error {
	query := url.Values{"limit": {fmt.Sprint(c.Limit)}}
	for name, value := range map[string]string{"outcome": c.Outcome, "case_id": c.Case, "event_type": c.Type} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return rows(ctx, s, c.remote, client.Call{Path: eventsPath, Query: query}, eventHeading, eventRow)
}

type eventsDeadLetters struct {
	remote
	Status string `help:"open, replayed or discarded only." placeholder:"STATUS"`
	Limit  int    `help:"How many at most." default:"50"`
}

// Run lists dead letters.
func (c eventsDeadLetters) Run(ctx context.Context, s streams) error {
	type letter struct {
		ID       string    `json:"id"`
		Stream   string    `json:"stream"`
		Reason   string    `json:"reason"`
		Received time.Time `json:"received_at"`
		Status   string    `json:"status"`
	}
	query := url.Values{"limit": {fmt.Sprint(c.Limit)}}
	if c.Status != "" {
		query.Set("status", c.Status)
	}
	heading := []string{"ID", "RECEIVED", "STREAM", "STATUS", "REASON"}
	return rows(ctx, s, c.remote, client.Call{Path: deadLettersPath, Query: query}, heading, func(i letter) []string {
		return []string{i.ID, moment(i.Received), i.Stream, i.Status, i.Reason}
	})
}

type eventsReplay struct {
	remote
	ID    string `arg:"" help:"Id of the dead letter, or with --event of the event."`
	Event bool   `help:"The id is that of an unmatched event; only an admin may."`
}

// Run takes something in again.
func (c eventsReplay) Run(ctx context.Context, s streams) error {
	path := deadLettersPath
	if c.Event {
		path = eventsPath
	}
	return c.show(ctx, s, client.Call{Method: http.MethodPost, Path: path + "/" + url.PathEscape(c.ID) + "/replay"})
}

type eventsDiscard struct {
	remote
	ID string `arg:"" help:"Id of the dead letter."`
	because
}

// Run discards a dead letter.
func (c eventsDiscard) Run(ctx context.Context, s streams) error {
	return c.show(ctx, s, client.Call{
		Method: http.MethodPost, Path: deadLettersPath + "/" + url.PathEscape(c.ID) + "/discard", Body: map[string]string{"reason": c.Reason},
	})
}

type jobsCommand struct {
	Get jobsGet `cmd:"" help:"Say how far a bulk job is."`
}

type jobsGet struct {
	remote
	ID string `arg:"" help:"Id of the job."`
}

// Run shows a job.
func (c jobsGet) Run(ctx context.Context, s streams) error {
	return c.show(ctx, s, client.Call{Path: "/jobs/" + url.PathEscape(c.ID)})
}
