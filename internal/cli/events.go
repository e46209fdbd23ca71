package cli

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/rondo-engine/rondo/client"
)

type eventsCommand struct {
	DeadLetters eventsDeadLetters `cmd:"" help:"List events that could not be taken in."`
	Replay      eventsReplay      `cmd:"" help:"Take a dead letter in again, now that its cause is mended."`
	Discard     eventsDiscard     `cmd:"" help:"Settle a dead letter for good; it stays in the list."`
}

type jobsCommand struct {
	Get jobsGet `cmd:"" help:"Say how far a bulk job is."`
}

// show gets something and prints it as it is.
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

const deadLettersPath = "/events/dead-letters"

type eventsDeadLetters struct {
	remote
	Status string `help:"open, replayed or discarded only." placeholder:"STATUS"`
	Limit  string `help:"How many at most, 1 to 200." default:"50"`
}

// Run lists dead letters.
func (c eventsDeadLetters) Run(ctx context.Context, s streams) error {
	query := url.Values{"limit": {c.Limit}}
	if c.Status != "" {
		query.Set("status", c.Status)
	}
	return c.show(ctx, s, client.Call{Path: deadLettersPath, Query: query})
}

type eventsReplay struct {
	remote
	ID string `arg:"" help:"Id of the dead letter."`
}

// Run replays a dead letter.
func (c eventsReplay) Run(ctx context.Context, s streams) error {
	return c.show(ctx, s, client.Call{Method: http.MethodPost, Path: deadLettersPath + "/" + url.PathEscape(c.ID) + "/replay"})
}

type eventsDiscard struct {
	remote
	ID   string `arg:"" help:"Id of the dead letter."`
	Note string `help:"Why; kept with it." placeholder:"TEXT"`
}

// Run discards a dead letter.
func (c eventsDiscard) Run(ctx context.Context, s streams) error {
	body := map[string]string{}
	if c.Note != "" {
		body["note"] = c.Note
	}
	return c.show(ctx, s, client.Call{Method: http.MethodPost, Path: deadLettersPath + "/" + url.PathEscape(c.ID) + "/discard", Body: body})
}

type jobsGet struct {
	remote
	ID string `arg:"" help:"Id of the job."`
}

// Run shows a job.
func (c jobsGet) Run(ctx context.Context, s streams) error {
	return c.show(ctx, s, client.Call{Path: "/jobs/" + url.PathEscape(c.ID)})
}
