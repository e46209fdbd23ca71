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
)

// The bounds of feeds.
const (
	feedAckWait    = time.Minute // an unacked event comes again after it
	feedUnacked    = 256         // events that a feed gives out before it waits for acks
	feedRemembered = 4 * feedUnacked
	feedBatch      = 64
	feedsPerOrg    = 32 // open ones, and as many that rest
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
	f := &feed{engine: e, org: p.Tenant}
	if err := e.feeds.add(f); err != nil {
		return nil, err
	}
	m := e.feeds.rejoin(p.Tenant, group, types)
	if m == nil {
		consumer, err := e.bus.Subscribe(ctx, bus.Subscription{Group: httpGroup(p.Tenant, group), Streams: types, AckWait: feedAckWait})
		if err != nil {
			e.feeds.remove(f)
			return nil, err
		}
		m = newMember(e.now, p.Tenant, group, types, consumer)
	}
	if !f.begin(m) { // the engine stopped meanwhile
		return nil, errors.Join(errFeedClosed(), m.consumer.Close())
	}
	return f, nil
}

// AckEvents marks events of a group as done, whether the feed that gave them out
// is still open or was closed less than a minute after. unknown are those that no
// feed of this process has given out, or that were acked already: if they are not
// done, they come again.
func (e *Engine) AckEvents(ctx context.Context, p rondo.Principal, group string, ids []rondo.ID) (acked int, unknown []rondo.ID, err error) {
	members := e.feeds.of(p.Tenant, group)
	for _, id := range ids {
		found := false
		for _, m := range members {
			known, failure := m.ack(ctx, id)
			found = found || known
			err = errors.Join(err, failure)
		}
		if found {
			acked++
		} else {
			unknown = append(unknown, id)
		}
	}
	for _, m := range members {
		if m.owed() <= 0 {
			err = errors.Join(err, e.feeds.release(m))
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

// feed is one stream that a module reads.
type feed struct {
	engine *Engine
	org    string

	mu     sync.Mutex
	member *member            // nil until it begins
	cancel context.CancelFunc // ends the Next that runs; nil = none does
	closed bool
}

var _ rondo.EventFeed = (*feed)(nil)

// begin gives the feed its place in the group; false = it was closed before.
func (f *feed) begin(m *member) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return false
	}
	f.member = m
	return true
}

// Next implements rondo.EventFeed.
func (f *feed) Next(ctx context.Context) ([]rondo.Delivered, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f.mu.Lock()
	m, closed := f.member, f.closed
	f.cancel = cancel
	f.mu.Unlock()
	if closed {
		return nil, errFeedClosed()
	}
	events, err := m.next(ctx)
	if err != nil && f.isClosed() {
		return nil, errFeedClosed()
	}
	return events, err
}

// joined is the feed's place in the group; nil = it has none yet.
func (f *feed) joined() *member {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.member
}

func (f *feed) isClosed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closed
}

// Close implements rondo.EventFeed.
func (f *feed) Close() error {
	f.mu.Lock()
	first, m, cancel := !f.closed, f.member, f.cancel
	f.closed = true
	f.mu.Unlock()
	if !first {
		return nil
	}
	if cancel != nil {
		cancel()
	}
	return f.engine.feeds.leave(f, m)
}
