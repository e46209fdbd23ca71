package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/client"
)

// eventsCommand is what goes into a server and what it could not use.
type eventsCommand struct {
	Publish     eventsPublish     `cmd:"" help:"Publish one event envelope."`
	List        eventsList        `cmd:"" help:"List events that are parked, unmatched or rejected, or those of a case."`
	DeadLetters eventsDeadLetters `cmd:"" help:"List what came on the bus and is no event."`
	DeadLetter  eventsDeadLetter  `cmd:"" help:"Show one dead letter with its body."`
	Replay      eventsReplay      `cmd:"" help:"Take a dead letter, or an unmatched event, in again."`
	Discard     eventsDiscard     `cmd:"" help:"Say that a dead letter is of no use; it stays in the list."`
	Groups      eventsGroups      `cmd:"" help:"List the consumer groups and how far behind they are; admins only."`
	RetireGroup eventsRetire      `cmd:"" help:"Remove a consumer group that nobody reads any more; admins only."`
}

const (
	eventsPath      = "/events"
	deadLettersPath = "/events/dead-letters"
	groupsPath      = "/events/groups"
)

// receipt is what became of an event.
type receipt struct {
	EventID string  `json:"event_id"`
	Outcome string  `json:"outcome"`
	Verdict *string `json:"verdict"`
	Error   *string `json:"error"`
}

// print says it in a line.
func (r receipt) print(s streams) error {
	line := r.Outcome
	if r.Verdict != nil {
		line += ", " + *r.Verdict
	}
	if r.Error != nil {
		line += ": " + *r.Error
	}
	_, err := fmt.Fprintf(s.out, "%s  (%s)\n", line, r.EventID)
	return err
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
	return c.fetch(ctx, s, client.Call{Method: http.MethodPost, Path: eventsPath, Body: json.RawMessage(envelope), Global: true}, func(answer json.RawMessage) error {
		var r receipt
		if err := json.Unmarshal(answer, &r); err != nil {
			return err
		}
		return r.print(s)
	})
}

type eventsList struct {
	remote
	Outcome string `help:"parked, unmatched or rejected only; needed unless --case is given." placeholder:"OUTCOME"`
	Case    string `help:"Of this case only." placeholder:"ID"`
	Type    string `help:"Of this event type only." placeholder:"TYPE"`
	paged
}

// Validate asks for what the list needs.
func (c eventsList) Validate() error {
	return firstWrong(rule{c.Outcome != "" || c.Case != "", "give --outcome or --case"}, rule{c.paged.Validate() == nil, "--limit must be 1 to 200"})
}

// Run lists the ledger.
func (c eventsList) Run(ctx context.Context, s streams) error {
	values := c.query("outcome", c.Outcome, "case_id", c.Case, "event_type", c.Type)
	heading := append([]string{"CASE"}, caseEventHeading...)
	return fetchList(ctx, s, c.remote, client.Call{Path: eventsPath, Query: values}, heading, func(i ledgerRow) []string {
		return append([]string{orDash(i.Envelope.CaseID)}, caseEventRow(i)...)
	})
}

// ledgerRow is an inbound event as lists show it.
type ledgerRow struct {
	EventID  string    `json:"event_id"`
	Type     string    `json:"event_type"`
	Received time.Time `json:"received_at"`
	Outcome  string    `json:"outcome"`
	Verdict  *string   `json:"verdict"`
	Repeats  int       `json:"duplicates"`
	Error    *string   `json:"error"`
	Envelope struct {
		CaseID string `json:"case_id"`
	} `json:"envelope"`
}

var caseEventHeading = []string{"RECEIVED", "TYPE", "OUTCOME", "VERDICT", "REPEATS", "EVENT", "ERROR"}

func caseEventRow(i ledgerRow) []string {
	return []string{moment(i.Received), i.Type, i.Outcome, orDash(text(i.Verdict)), fmt.Sprint(i.Repeats), i.EventID, orDash(text(i.Error))}
}

type eventsDeadLetters struct {
	remote
	Status string `help:"open, replayed or discarded only." placeholder:"STATUS"`
	Stream string `help:"Of this stream, that is, event type only." placeholder:"TYPE"`
	paged
}

// deadLetter is one as the API shows it.
type deadLetter struct {
	ID        string    `json:"id"`
	OrgID     *string   `json:"org_id"`
	Stream    string    `json:"stream"`
	EntryID   string    `json:"entry_id"`
	Reason    string    `json:"reason"`
	Received  time.Time `json:"received_at"`
	Status    string    `json:"status"`
	Note      *string   `json:"note"`
	Body      *string   `json:"body"`
	Encoding  *string   `json:"body_encoding"`
	Truncated bool      `json:"truncated"`
}

// Run lists dead letters.
func (c eventsDeadLetters) Run(ctx context.Context, s streams) error {
	heading := []string{"ID", "RECEIVED", "STREAM", "STATUS", "REASON"}
	return fetchList(ctx, s, c.remote, client.Call{Path: deadLettersPath, Query: c.query("status", c.Status, "stream", c.Stream)}, heading, func(i deadLetter) []string {
		return []string{i.ID, moment(i.Received), i.Stream, i.Status, i.Reason}
	})
}

type eventsDeadLetter struct {
	remote
	ID string `arg:"" help:"Id of the dead letter."`
}

// Run shows a dead letter and its body.
func (c eventsDeadLetter) Run(ctx context.Context, s streams) error {
	return c.fetch(ctx, s, client.Call{Path: deadLettersPath + "/" + url.PathEscape(c.ID)}, func(answer json.RawMessage) error {
		var i deadLetter
		if err := json.Unmarshal(answer, &i); err != nil {
			return err
		}
		encoding := text(i.Encoding)
		if i.Truncated {
			encoding += ", its beginning"
		}
		if err := details(s.out, "Id", i.ID, "Organisation", text(i.OrgID), "Stream", i.Stream, "Entry", i.EntryID, "Received", moment(i.Received),
			"Status", i.Status, "Reason", i.Reason, "Note", text(i.Note), "Body", encoding); err != nil {
			return err
		}
		_, err := fmt.Fprintf(s.out, "\n%s\n", text(i.Body))
		return err
	})
}

type eventsReplay struct {
	remote
	ID string `arg:"" help:"Id of a dead letter, or of an unmatched event (admins only)."`
}

// Run takes something in again. Ids say nothing about what they are of, so both
// are tried.
func (c eventsReplay) Run(ctx context.Context, s streams) error {
	err := c.replay(ctx, s, deadLettersPath)
	if rondo.CodeOf(err) != rondo.CodeNotFound {
		return err
	}
	if err = c.replay(ctx, s, eventsPath); rondo.CodeOf(err) == rondo.CodeNotFound {
		return &rondo.Error{
			Code: rondo.CodeNotFound, Message: "no such dead letter or event",
			Hint: "see rondo events dead-letters, and rondo events list --outcome unmatched",
		}
	}
	return err
}

func (c eventsReplay) replay(ctx context.Context, s streams, path string) error {
	return c.fetch(ctx, s, client.Call{Method: http.MethodPost, Path: path + "/" + url.PathEscape(c.ID) + "/replay"}, func(answer json.RawMessage) error {
		var done struct {
			receipt
			Receipt *receipt `json:"receipt"` // of a dead letter
		}
		if err := json.Unmarshal(answer, &done); err != nil {
			return err
		}
		if done.Receipt != nil {
			return done.Receipt.print(s)
		}
		return done.print(s)
	})
}

type eventsDiscard struct {
	remote
	ID string `arg:"" help:"Id of the dead letter."`
	because
}

// Run discards a dead letter.
func (c eventsDiscard) Run(ctx context.Context, s streams) error {
	call := client.Call{Method: http.MethodPost, Path: deadLettersPath + "/" + url.PathEscape(c.ID) + "/discard", Body: map[string]string{"reason": c.Reason}}
	return c.fetch(ctx, s, call, func(json.RawMessage) error {
		_, err := fmt.Fprintf(s.out, "discarded  (%s)\n", c.ID)
		return err
	})
}

type eventsGroups struct {
	remote
	paged
}

// Run lists consumer groups.
func (c eventsGroups) Run(ctx context.Context, s streams) error {
	type group struct {
		Name    string `json:"name"`
		Lag     int64  `json:"lag"`
		Streams []struct {
			Unread  *int64 `json:"unread"` // nil = the bus cannot tell
			Pending int64  `json:"pending"`
		} `json:"streams"`
	}
	return fetchList(ctx, s, c.remote, client.Call{Path: groupsPath, Query: c.query(), Global: true}, []string{"NAME", "STREAMS", "UNREAD", "PENDING", "LAG"}, func(g group) []string {
		var unread, pending int64
		for _, stream := range g.Streams {
			pending += stream.Pending
			if stream.Unread != nil {
				unread += *stream.Unread
			}
		}
		return []string{g.Name, fmt.Sprint(len(g.Streams)), fmt.Sprint(unread), fmt.Sprint(pending), fmt.Sprint(g.Lag)}
	})
}

type eventsRetire struct {
	remote
	Name string `arg:"" help:"Name of the group, such as http:ORG:GROUP."`
}

// Run retires a group.
func (c eventsRetire) Run(ctx context.Context, s streams) error {
	call := client.Call{Method: http.MethodDelete, Path: groupsPath + "/" + url.PathEscape(c.Name), Global: true}
	return c.fetch(ctx, s, call, func(json.RawMessage) error {
		_, err := fmt.Fprintf(s.out, "retired  %s\n", c.Name)
		return err
	})
}
