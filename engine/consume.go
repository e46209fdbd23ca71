package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/event"
)

// The bounds of feeds.
const (
	feedAckWait    = time.Minute // an unacked event comes again after it
	feedUnacked    = 256         // events that a feed gives out before it waits for acks
	feedRemembered = 4 * feedUnacked
	feedBatch      = 64
	feedsPerOrg    = 32
	feedsInAll     = 256
)

// ConsumeEvents joins a consumer group of the caller's organisation. Groups of
// different organisations have nothing to do with each other, whatever their
// names; members of one share its events. Only events of the organisation are
// given out.
func (e *Engine) ConsumeEvents(ctx context.Context, p rondo.Principal, group string, types []string) (rondo.EventFeed, error) {
	if err := e.checkTypes(ctx, p.Tenant, types); err != nil {
		return nil, err
	}
	f := &feed{engine: e, org: p.Tenant, group: group, unacked: map[rondo.ID]*unacked{}, acked: make(chan struct{}, 1), done: make(chan struct{})}
	if err := e.feeds.add(f); err != nil {
		return nil, err
	}
	consumer, err := e.bus.Subscribe(ctx, bus.Subscription{Group: httpGroup(p.Tenant, group), Streams: types, AckWait: feedAckWait})
	if err != nil {
		e.feeds.remove(f)
		return nil, err
	}
	if !f.begin(consumer) { // the engine stopped meanwhile
		return nil, errors.Join(errFeedClosed(), consumer.Close())
	}
	return f, nil
}

// AckEvents marks events of a group as done. unknown are those that no feed of
// this process has given out, or that were acked already: if they are not done,
// they come again.
func (e *Engine) AckEvents(ctx context.Context, p rondo.Principal, group string, ids []rondo.ID) (acked int, unknown []rondo.ID, err error) {
	feeds := e.feeds.of(p.Tenant, group)
	for _, id := range ids {
		found := false
		for _, f := range feeds {
			known, failure := f.ack(ctx, id)
			found = found || known
			err = errors.Join(err, failure)
		}
		if found {
			acked++
		} else {
			unknown = append(unknown, id)
		}
	}
	return acked, unknown, err
}

// ConsumerGroups lists the groups on the bus and how far each is behind, by
// name.
func (e *Engine) ConsumerGroups(ctx context.Context, _ rondo.Principal) ([]rondo.ConsumerGroup, error) {
	b, ok := e.bus.(bus.Groups)
	if !ok {
		return nil, nil
	}
	lag, err := b.Lag(ctx)
	if err != nil {
		return nil, rondo.Op("ask the bus for its lag", err)
	}
	byName := map[string]*rondo.ConsumerGroup{}
	for _, stream := range slices.Sorted(maps.Keys(lag)) {
		for _, g := range lag[stream] {
			if byName[g.Group] == nil {
				byName[g.Group] = &rondo.ConsumerGroup{Name: g.Group}
			}
			byName[g.Group].Streams = append(byName[g.Group].Streams, rondo.GroupStream{Stream: stream, Unread: g.Unread, Pending: g.Pending})
		}
	}
	groups := make([]rondo.ConsumerGroup, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		groups = append(groups, *byName[name])
	}
	return groups, nil
}

// RetireGroup removes a consumer group that nobody reads any more, so that it
// does not keep old events on the bus. The orchestrator's own cannot go.
func (e *Engine) RetireGroup(ctx context.Context, _ rondo.Principal, group string) error {
	if group == Group {
		return rondo.WrongState("the orchestrator itself reads this consumer group")
	}
	b, ok := e.bus.(bus.Groups)
	if !ok {
		return rondo.NotFound("consumer group")
	}
	err := b.Retire(ctx, group)
	if rondo.CodeOf(err) == rondo.CodeWrongState {
		return &rondo.Error{
			Code: rondo.CodeWrongState, Message: "the consumer group is being read", Err: err,
			Hint: "stop its consumers, wait a minute and try again",
		}
	}
	return err
}

// maxGroupName is what every store has room for.
const maxGroupName = 255

// httpGroup is how a group of an organisation is called on the bus. The parts
// are escaped, so that no two pairs share a name.
func httpGroup(org, group string) string {
	name := "http:" + url.QueryEscape(org) + ":" + url.QueryEscape(group)
	if len(name) > maxGroupName {
		sum := sha256.Sum256([]byte(name))
		name = "http:" + hex.EncodeToString(sum[:])
	}
	return name
}

// HTTPGroup reports whether a group on the bus belongs to modules that consume
// over HTTP: such names carry an organisation.
func HTTPGroup(name string) bool { return strings.HasPrefix(name, "http:") }

func errFeedClosed() error {
	return &rondo.Error{Code: rondo.CodeUnavailable, Message: "the stream has ended", Hint: "open another one"}
}

// feedSet is every open feed of a process.
type feedSet struct {
	mu     sync.Mutex
	open   map[*feed]bool
	closed bool
}

func (s *feedSet) add(f *feed) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errFeedClosed()
	}
	own := 0
	for other := range s.open {
		if other.org == f.org {
			own++
		}
	}
	if own >= feedsPerOrg || len(s.open) >= feedsInAll {
		return &rondo.Error{
			Code: rondo.CodeOverloaded, Message: "too many event streams are open",
			Hint: "close streams that you do not need; one stream can carry many event types",
		}
	}
	if s.open == nil {
		s.open = map[*feed]bool{}
	}
	s.open[f] = true
	return nil
}

func (s *feedSet) remove(f *feed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, f)
}

func (s *feedSet) of(org, group string) []*feed {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*feed
	for f := range s.open {
		if f.org == org && f.group == group {
			found = append(found, f)
		}
	}
	return found
}

// closeAll ends every feed and refuses new ones.
func (s *feedSet) closeAll() error {
	s.mu.Lock()
	s.closed = true
	feeds := slices.Collect(maps.Keys(s.open))
	s.mu.Unlock()
	var errs []error
	for _, f := range feeds {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// feed is one member of an organisation's group.
type feed struct {
	engine     *Engine
	org, group string
	consumer   bus.Consumer
	acked      chan struct{} // signalled when there is room again
	done       chan struct{} // closed with the feed

	mu      sync.Mutex
	closed  bool
	unacked map[rondo.ID]*unacked
	order   []due // of the events that count against feedUnacked, oldest first
	counted int
}

// unacked is an event that was given out. The same event may be several entries
// of the bus: it was published again.
type unacked struct {
	entries []bus.Delivery
	until   time.Time // it comes again then; zero = that time has passed
}

type due struct {
	id rondo.ID
	at time.Time
}

var _ rondo.EventFeed = (*feed)(nil)

// begin gives the feed its consumer; false = it was closed before.
func (f *feed) begin(consumer bus.Consumer) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return false
	}
	f.consumer = consumer
	return true
}

// Next implements rondo.EventFeed.
func (f *feed) Next(ctx context.Context) ([]rondo.Delivered, error) {
	for {
		room, wait := f.room()
		if room == 0 {
			if err := f.await(ctx, wait); err != nil {
				return nil, err
			}
			continue
		}
		entries, err := f.consumer.Fetch(ctx, min(room, feedBatch))
		if err != nil {
			if f.isClosed() {
				return nil, errFeedClosed()
			}
			return nil, err
		}
		given, err := f.give(ctx, entries)
		if len(given) > 0 || err != nil {
			return given, err
		}
	}
}

// await returns when an event was acked, or the oldest unacked one is due again.
func (f *feed) await(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-f.acked:
	case <-timer.C:
	case <-f.done:
		return errFeedClosed()
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// room is how many more events may be given out, or how long until the oldest is
// due again.
func (f *feed) room() (free int, wait time.Duration) {
	now := f.engine.now()
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.order) > 0 {
		oldest := f.order[0]
		u := f.unacked[oldest.id]
		if u == nil || !u.until.Equal(oldest.at) { // acked, or given out again
			f.order = f.order[1:]
			continue
		}
		if oldest.at.After(now) {
			break
		}
		f.order = f.order[1:]
		f.counted--
		u.until = time.Time{}
		if len(f.unacked) > feedRemembered {
			delete(f.unacked, oldest.id) // a late ack will not find it: it comes again
		}
	}
	if len(f.order) > 2*feedRemembered { // acked ones behind an old one that is not
		f.order = slices.DeleteFunc(f.order, func(d due) bool {
			u := f.unacked[d.id]
			return u == nil || !u.until.Equal(d.at)
		})
	}
	if free = feedUnacked - f.counted; free > 0 {
		return free, 0
	}
	return 0, f.order[0].at.Sub(now)
}

// give notes the entries of the organisation and acks those of others.
func (f *feed) give(ctx context.Context, entries []bus.Delivery) ([]rondo.Delivered, error) {
	until := f.engine.now().Add(feedAckWait)
	given := make([]rondo.Delivered, 0, len(entries))
	var foreign []bus.Delivery
	f.mu.Lock()
	for _, d := range entries {
		envelope, err := event.Parse(d.Envelope)
		if err != nil || envelope.OrgID != f.org {
			foreign = append(foreign, d)
			continue
		}
		f.note(envelope.EventID, d, until)
		given = append(given, rondo.Delivered{EventID: envelope.EventID, Type: envelope.Type, Envelope: d.Envelope, Attempt: d.Attempt})
	}
	f.mu.Unlock()
	if len(foreign) == 0 {
		return given, nil
	}
	return given, f.consumer.Ack(ctx, foreign)
}

// note remembers an entry until it is acked. The caller holds mu.
func (f *feed) note(id rondo.ID, d bus.Delivery, until time.Time) {
	u := f.unacked[id]
	if u == nil {
		u = &unacked{}
		f.unacked[id] = u
	}
	if u.until.IsZero() {
		f.counted++
	}
	u.until = until
	f.order = append(f.order, due{id, until})
	same := func(other bus.Delivery) bool { return other.Stream == d.Stream && other.EntryID == d.EntryID }
	if !slices.ContainsFunc(u.entries, same) {
		u.entries = append(u.entries, d)
	}
}

// ack acks every entry of an event; false = this feed does not have it.
func (f *feed) ack(ctx context.Context, id rondo.ID) (bool, error) {
	f.mu.Lock()
	u := f.unacked[id]
	if u == nil || f.closed {
		f.mu.Unlock()
		return false, nil
	}
	delete(f.unacked, id)
	if !u.until.IsZero() {
		f.counted--
	}
	f.mu.Unlock()
	signal(f.acked)
	return true, rondo.Op("ack", f.consumer.Ack(ctx, u.entries))
}

func (f *feed) isClosed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closed
}

// Close implements rondo.EventFeed.
func (f *feed) Close() error {
	f.mu.Lock()
	first, consumer := !f.closed, f.consumer
	f.closed = true
	f.mu.Unlock()
	if !first {
		return nil
	}
	close(f.done)
	f.engine.feeds.remove(f)
	if consumer == nil {
		return nil
	}
	return rondo.Op("close an event stream", consumer.Close())
}
