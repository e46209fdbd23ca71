package httpapi_test

import (
	"context"
	"encoding/json"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/httpapi"
	"github.com/rondo-engine/rondo/store"
)

var _ httpapi.Events = (*fake)(nil)

// happenings is what the fake was asked about events, and what it has.
type happenings struct {
	filter  store.EventFilter
	letters store.DeadLetterFilter
	org     string // of a dead letter
	note    string
	group   string
	types   []string
	acked   []rondo.ID
	retired string
	letter  rondo.DeadLetter // in place of the known one
	feed    *fakeFeed
}

var letterID = id(12)

func knownLetter() rondo.DeadLetter {
	return rondo.DeadLetter{
		ID: letterID, Stream: "ai_review.completed", EntryID: "17-0", Body: []byte(`{"event_type":`), Reason: "it is not JSON",
		ReceivedAt: start, Status: rondo.DeadLetterOpen,
	}
}

func knownEvent() rondo.EventRecord {
	return rondo.EventRecord{
		ID: id(11), OrgID: "acme", EventID: eventID, CaseID: "case-1", Type: "case.created",
		Envelope: json.RawMessage(`{"event_type":"case.created"}`), ReceivedAt: start, Processed: true, Outcome: rondo.OutcomeUnmatched, Error: "no_definition",
	}
}

func (f *fake) EventList(_ context.Context, p rondo.Principal, filter store.EventFilter, page store.Page) ([]rondo.EventRecord, error) {
	if err := f.begin(p); err != nil {
		return nil, err
	}
	f.happenings.filter, f.page = filter, page
	return []rondo.EventRecord{knownEvent()}, nil
}

func (f *fake) Event(_ context.Context, p rondo.Principal, which rondo.ID) (*rondo.EventRecord, error) {
	if err := f.begin(p); err != nil {
		return nil, err
	}
	if which != eventID || p.Tenant != "acme" {
		return nil, rondo.NotFound("row")
	}
	row := knownEvent()
	return &row, nil
}

func (f *fake) ReplayEvent(ctx context.Context, p rondo.Principal, which rondo.ID) (rondo.Receipt, error) {
	if _, err := f.Event(ctx, p, which); err != nil {
		return rondo.Receipt{}, err
	}
	return rondo.Receipt{EventID: which, Outcome: rondo.OutcomeApplied}, nil
}

func (f *fake) EventSchemas(_ context.Context, p rondo.Principal) ([]rondo.EventSchema, error) {
	if err := f.begin(p); err != nil {
		return nil, err
	}
	return []rondo.EventSchema{{Type: "case.created", PublishedBy: "modules", Schema: json.RawMessage(`{"type":"object"}`)}}, nil
}

func (f *fake) EventSchema(_ context.Context, p rondo.Principal, name string) (rondo.EventSchema, error) {
	if err := f.begin(p); err != nil {
		return rondo.EventSchema{}, err
	}
	if name != "case.created" {
		return rondo.EventSchema{}, rondo.NotFound("row")
	}
	return rondo.EventSchema{Type: name, PublishedBy: "modules", Schema: json.RawMessage(`{"type":"object"}`)}, nil
}

func (f *fake) DeadLetters(_ context.Context, p rondo.Principal, filter store.DeadLetterFilter, page store.Page) ([]rondo.DeadLetter, error) {
	if err := f.begin(p); err != nil {
		return nil, err
	}
	f.happenings.letters, f.page = filter, page
	return []rondo.DeadLetter{knownLetter()}, nil
}

func (f *fake) DeadLetter(_ context.Context, p rondo.Principal, org string, which rondo.ID) (rondo.DeadLetter, error) {
	if err := f.begin(p); err != nil {
		return rondo.DeadLetter{}, err
	}
	f.happenings.org = org
	switch {
	case f.happenings.letter.ID == which:
		return f.happenings.letter, nil
	case which != letterID || p.Tenant != "acme":
		return rondo.DeadLetter{}, rondo.NotFound("row")
	}
	return knownLetter(), nil
}

func (f *fake) ReplayDeadLetter(ctx context.Context, p rondo.Principal, org string, which rondo.ID) (rondo.DeadLetter, rondo.Receipt, error) {
	letter, err := f.DeadLetter(ctx, p, org, which)
	letter.Status, letter.SettledBy, letter.SettledAt, letter.Note = rondo.DeadLetterReplayed, p.User, start.Add(time.Hour), "parked"
	return letter, rondo.Receipt{EventID: eventID, Outcome: rondo.OutcomeParked}, err
}

func (f *fake) DiscardDeadLetter(ctx context.Context, p rondo.Principal, org string, which rondo.ID, reason string) (rondo.DeadLetter, error) {
	letter, err := f.DeadLetter(ctx, p, org, which)
	f.happenings.note = reason
	letter.Status, letter.SettledBy, letter.SettledAt, letter.Note = rondo.DeadLetterDiscarded, p.User, start.Add(time.Hour), reason
	return letter, err
}

// fakeFeed gives out what it is told and ends.
type fakeFeed struct {
	events []rondo.Delivered
	err    error
	closed bool
}

func (f *fakeFeed) Next(context.Context) ([]rondo.Delivered, error) {
	events := f.events
	f.events = nil
	if len(events) == 0 && f.err == nil {
		return nil, &rondo.Error{Code: rondo.CodeUnavailable, Message: "the stream has ended"}
	}
	return events, f.err
}

func (f *fakeFeed) Close() error {
	f.closed = true
	return nil
}

func (f *fake) ConsumeEvents(_ context.Context, p rondo.Principal, group string, types []string) (rondo.EventFeed, error) {
	if err := f.begin(p); err != nil {
		return nil, err
	}
	f.happenings.group, f.happenings.types = group, types
	if f.happenings.feed == nil {
		return &fakeFeed{}, nil
	}
	return f.happenings.feed, nil
}

func (f *fake) AckEvents(_ context.Context, p rondo.Principal, group string, ids []rondo.ID) (int, []rondo.ID, error) {
	if err := f.begin(p); err != nil {
		return 0, nil, err
	}
	f.happenings.group, f.happenings.acked = group, ids
	if len(ids) == 0 {
		return 0, nil, nil
	}
	return len(ids) - 1, ids[:1], nil
}

func (f *fake) ConsumerGroups(_ context.Context, p rondo.Principal) ([]rondo.ConsumerGroup, error) {
	if err := f.begin(p); err != nil {
		return nil, err
	}
	return []rondo.ConsumerGroup{{Name: "http:acme:mine", Streams: []rondo.GroupStream{{Stream: "a", Unread: 3, Pending: 1}, {Stream: "b", Unread: -1, Pending: 2}}}}, nil
}

func (f *fake) RetireGroup(_ context.Context, p rondo.Principal, group string) error {
	if err := f.begin(p); err != nil {
		return err
	}
	f.happenings.retired = group
	return nil
}
