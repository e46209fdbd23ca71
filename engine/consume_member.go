package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/event"
)

// member is a place in an organisation's group on the bus, and what it has given
// out. It outlives the feed that it was made for while events of it are unacked:
// then it rests, so that acks still count and nothing comes again before its time.
type member struct {
	now        func() time.Time
	org, group string
	types      []string
	consumer   bus.Consumer
	acked      chan struct{} // signalled when there is room again
	rested     chan struct{} // while it rests: closed when it does not any more

	mu      sync.Mutex
	unacked map[rondo.ID]*unacked
	order   []due // of the events that count against feedUnacked, oldest first
	counted int
}

func newMember(now func() time.Time, org, group string, types []string, consumer bus.Consumer) *member {
	return &member{
		now: now, org: org, group: group, types: slices.Sorted(slices.Values(types)), consumer: consumer,
		acked: make(chan struct{}, 1), unacked: map[rondo.ID]*unacked{},
	}
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

// next waits for events and gives them out.
func (m *member) next(ctx context.Context) ([]rondo.Delivered, error) {
	for {
		room, wait := m.room()
		if room == 0 {
			if err := m.await(ctx, wait); err != nil {
				return nil, err
			}
			continue
		}
		entries, err := m.consumer.Fetch(ctx, min(room, feedBatch))
		if err != nil {
			return nil, err
		}
		given, err := m.give(ctx, entries)
		if len(given) > 0 || err != nil {
			return given, err
		}
	}
}

// await returns when an event was acked, or the oldest unacked one is due again.
func (m *member) await(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-m.acked:
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// room is how many more events may be given out, or how long until the oldest is
// due again.
func (m *member) room() (free int, wait time.Duration) {
	now := m.now()
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.order) > 0 {
		oldest := m.order[0]
		u := m.unacked[oldest.id]
		if u == nil || !u.until.Equal(oldest.at) { // acked, or given out again
			m.order = m.order[1:]
			continue
		}
		if oldest.at.After(now) {
			break
		}
		m.order = m.order[1:]
		m.counted--
		u.until = time.Time{}
		if len(m.unacked) > feedRemembered {
			delete(m.unacked, oldest.id) // a late ack will not find it: it comes again
		}
	}
	if len(m.order) > 2*feedRemembered { // acked ones behind an old one that is not
		m.order = slices.DeleteFunc(m.order, func(d due) bool {
			u := m.unacked[d.id]
			return u == nil || !u.until.Equal(d.at)
		})
	}
	if free = feedUnacked - m.counted; free > 0 {
		return free, 0
	}
	return 0, m.order[0].at.Sub(now)
}

// give notes the entries of the organisation and acks those of others.
func (m *member) give(ctx context.Context, entries []bus.Delivery) ([]rondo.Delivered, error) {
	until := m.now().Add(feedAckWait)
	given := make([]rondo.Delivered, 0, len(entries))
	var foreign []bus.Delivery
	m.mu.Lock()
	for _, d := range entries {
		envelope, err := event.Parse(d.Envelope)
		if err != nil || envelope.OrgID != m.org {
			foreign = append(foreign, d)
			continue
		}
		m.note(envelope.EventID, d, until)
		given = append(given, rondo.Delivered{EventID: envelope.EventID, Type: envelope.Type, Envelope: d.Envelope, Attempt: d.Attempt})
	}
	m.mu.Unlock()
	if len(foreign) == 0 {
		return given, nil
	}
	return given, m.consumer.Ack(ctx, foreign)
}

// note remembers an entry until it is acked. The caller holds mu.
func (m *member) note(id rondo.ID, d bus.Delivery, until time.Time) {
	u := m.unacked[id]
	if u == nil {
		u = &unacked{}
		m.unacked[id] = u
	}
	if u.until.IsZero() {
		m.counted++
	}
	u.until = until
	m.order = append(m.order, due{id, until})
	same := func(other bus.Delivery) bool { return other.Stream == d.Stream && other.EntryID == d.EntryID }
	if !slices.ContainsFunc(u.entries, same) {
		u.entries = append(u.entries, d)
	}
}

// ack acks every entry of an event; false = this member has not given it out.
func (m *member) ack(ctx context.Context, id rondo.ID) (bool, error) {
	m.mu.Lock()
	u := m.unacked[id]
	if u == nil {
		m.mu.Unlock()
		return false, nil
	}
	delete(m.unacked, id)
	if !u.until.IsZero() {
		m.counted--
	}
	m.mu.Unlock()
	signal(m.acked)
	return true, rondo.Op("ack", m.consumer.Ack(ctx, u.entries))
}

// owed is how long until the last of the unacked events comes again; 0 or less =
// none is out.
func (m *member) owed() time.Duration {
	now := m.now()
	m.mu.Lock()
	defer m.mu.Unlock()
	var longest time.Duration
	for _, u := range m.unacked {
		longest = max(longest, u.until.Sub(now))
	}
	return longest
}
