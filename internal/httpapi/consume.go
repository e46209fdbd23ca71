package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/canon"
)

// Consumption is what the edge needs in order to deliver events to modules that
// have no bus of their own.
type Consumption interface {
	// ConsumeEvents joins a group of the principal's organisation; the caller
	// closes the feed.
	ConsumeEvents(ctx context.Context, p rondo.Principal, group string, types []string) (rondo.EventFeed, error)
	// AckEvents marks events as done and returns those that it does not know.
	AckEvents(ctx context.Context, p rondo.Principal, group string, ids []rondo.ID) (acked int, unknown []rondo.ID, err error)
	// ConsumerGroups lists the groups of every organisation by name.
	ConsumerGroups(ctx context.Context, p rondo.Principal) ([]rondo.ConsumerGroup, error)
	// RetireGroup removes a group; one that is read is CodeWrongState.
	RetireGroup(ctx context.Context, p rondo.Principal, group string) error
}

const (
	// streamLife is how long a stream of events lives: its reader comes again, with
	// a token that is still good.
	streamLife = time.Hour
	maxTypes   = 64
	maxAcks    = 1000
	maxGroup   = 64
)

// acks documents the body of POST /events/acks.
type acks struct {
	Group    string   `json:"group" pattern:"^[A-Za-z0-9._-]{1,64}$"`
	EventIDs []string `json:"event_ids" nullable:"false" maxItems:"1000" doc:"The ids of events that are done: event_id, which is also the id of the server-sent event"`
}

type ackedEvents struct {
	Acked   int      `json:"acked" doc:"How many will not come again"`
	Unknown []string `json:"unknown" nullable:"false" doc:"Those that were not given out here, or were acked before; if they are not done they come again"`
}

// consumerGroup is a group on the wire.
type consumerGroup struct {
	Name    string        `json:"name"`
	Lag     int64         `json:"lag" doc:"Entries that it has not acknowledged, over all its streams"`
	Streams []groupStream `json:"streams" nullable:"false"`
}

type groupStream struct {
	Stream  string `json:"stream" doc:"The event type"`
	Unread  *int64 `json:"unread" doc:"Entries that were not delivered yet; null when the bus cannot tell"`
	Pending int64  `json:"pending" doc:"Entries that were delivered and not acknowledged"`
}

type retiredGroup struct {
	Name    string `json:"name"`
	Retired bool   `json:"retired"`
}

type (
	acksOut    struct{ Body ackedEvents }
	groupsOut  struct{ Body page[consumerGroup] }
	retiredOut struct{ Body retiredGroup }
)

func (a *API) registerConsumption(r *registrar) {
	r.plain("stream-events", "text/event-stream", a.stream(a.consumeEvents))
	handle(r, "ack-events", acks{}, a.ackEvents)
	handle(r, "list-groups", nil, a.listGroups)
	handle(r, "retire-group", nil, a.retireGroup)
}

// consumeEvents writes one server-sent event per event: its id is the event id,
// its name the event type, its data the envelope.
func (a *API) consumeEvents(ctx context.Context, c *call, _ *http.Request, out *eventStream) (err error) {
	group, types, err := subscriptionOf(c.query)
	if err != nil {
		return err
	}
	feed, err := a.cfg.Events.ConsumeEvents(ctx, c.principal, group, types)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, feed.Close()) }()
	ctx, cancel := context.WithTimeout(ctx, streamLife)
	defer cancel()
	for ctx.Err() == nil {
		if err := out.beat(); err != nil {
			return err
		}
		events, err := nextEvents(ctx, feed)
		if err != nil {
			return err
		}
		for _, e := range events {
			if err := out.send(e.Type, e.EventID.String(), e.Envelope); err != nil {
				return err
			}
		}
	}
	return nil
}

// nextEvents waits for events, but no longer than the reader may be left without
// a sign of life.
func nextEvents(ctx context.Context, feed rondo.EventFeed) ([]rondo.Delivered, error) {
	waiting, cancel := context.WithTimeout(ctx, heartbeat/3)
	defer cancel()
	events, err := feed.Next(waiting)
	if err != nil && waiting.Err() != nil && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)) {
		return nil, nil
	}
	return events, err
}

// subscriptionOf reads group and types, which readQuery has checked one by one.
func subscriptionOf(q url.Values) (group string, types []string, err error) {
	var missing []rondo.FieldError
	for _, name := range []string{"group", "types"} {
		if !q.Has(name) {
			missing = append(missing, rondo.FieldError{Code: "required", Pointer: "query/" + name, Message: name + " is required"})
		}
	}
	if len(missing) > 0 {
		return "", nil, &rondo.Error{Code: rondo.CodeInvalid, Message: "the stream is not described", Hint: "correct what errors lists", Fields: missing}
	}
	types = strings.Split(q.Get("types"), ",")
	slices.Sort(types)
	return q.Get("group"), slices.Compact(types), nil
}

// groupName reports whether a group may be called so: nothing that needs to be
// escaped anywhere.
func groupName(s string) bool {
	return len(s) >= 1 && len(s) <= maxGroup && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == ""
}

const groupRule = "use 1 to 64 letters, digits, dots, hyphens and underscores"

// typeList reports whether the value is a list of event types.
func typeList(s string) bool {
	types := strings.Split(s, ",")
	return len(types) <= maxTypes && !slices.ContainsFunc(types, func(name string) bool { return !identifier(name) })
}

func (a *API) ackEvents(ctx context.Context, c *call) (*acksOut, error) {
	var group string
	var ids []rondo.ID
	err := decode(c.body,
		member{name: "group", required: true, raw: func(value []byte) *rondo.FieldError {
			text, ok := canon.Text(value)
			if group = string(text); !ok || !groupName(group) {
				return &rondo.FieldError{Code: "not_a_group", Pointer: "/group", Message: groupRule}
			}
			return nil
		}},
		member{name: "event_ids", required: true, raw: func(value []byte) (field *rondo.FieldError) {
			ids, field = readIDs("/event_ids", value, maxAcks)
			return field
		}},
	)
	if err != nil {
		return nil, err
	}
	acked, unknown, err := a.cfg.Events.AckEvents(ctx, c.principal, group, ids)
	if err != nil {
		return nil, err
	}
	out := &acksOut{Body: ackedEvents{Acked: acked, Unknown: make([]string, len(unknown))}}
	for i, id := range unknown {
		out.Body.Unknown[i] = id.String()
	}
	return out, nil
}

// readIDs reads an array of ids.
func readIDs(pointer string, value []byte, most int) ([]rondo.ID, *rondo.FieldError) {
	var texts []string
	if err := json.Unmarshal(value, &texts); err != nil {
		return nil, &rondo.FieldError{Code: "wrong_type", Pointer: pointer, Message: "use an array of UUIDs"}
	}
	if len(texts) > most {
		return nil, &rondo.FieldError{Code: "too_long", Pointer: pointer, Message: fmt.Sprintf("give at most %d", most)}
	}
	ids := make([]rondo.ID, len(texts))
	for i, text := range texts {
		var err error
		if ids[i], err = rondo.ParseID(text); err != nil {
			return nil, &rondo.FieldError{Code: "not_a_uuid", Pointer: fmt.Sprintf("%s/%d", pointer, i), Message: "use a UUID"}
		}
	}
	return ids, nil
}

func (a *API) listGroups(ctx context.Context, c *call) (*groupsOut, error) {
	found, err := a.cfg.Events.ConsumerGroups(ctx, c.principal)
	if err != nil {
		return nil, err
	}
	items := make([]consumerGroup, len(found))
	for i, g := range found {
		items[i] = viewGroup(g)
	}
	body, err := pageOf(c.query, listGroups, items, func(g consumerGroup) string { return g.Name })
	return &groupsOut{Body: body}, err
}

func viewGroup(g rondo.ConsumerGroup) consumerGroup {
	out := consumerGroup{Name: g.Name, Streams: make([]groupStream, len(g.Streams))}
	for i, s := range g.Streams {
		out.Streams[i] = groupStream{Stream: s.Stream, Pending: s.Pending}
		out.Lag += s.Pending
		if s.Unread >= 0 {
			out.Streams[i].Unread = &g.Streams[i].Unread
			out.Lag += s.Unread
		}
	}
	return out
}

func (a *API) retireGroup(ctx context.Context, c *call) (*retiredOut, error) {
	if err := a.cfg.Events.RetireGroup(ctx, c.principal, c.name); err != nil {
		return nil, err
	}
	return &retiredOut{Body: retiredGroup{Name: c.name, Retired: true}}, nil
}
