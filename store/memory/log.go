package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// log is the embedded bus's storage.
type log struct {
	head    int64
	entries []rondo.Outgoing // ascending by Seq
	groups  map[string]*logGroup
	streams map[string]int // how many groups are on a stream
}

// logGroup is one consumer group: its lease and its positions.
type logGroup struct {
	owner     string
	until     time.Time
	fence     int64
	positions map[string]store.GroupState // by stream; Fence is the group's, not kept here
}

// add appends an event and returns its number, 0 for a relayed event that
// nobody listens to.
func (l *log) add(event rondo.Outgoing) int64 {
	if event.Relayed && l.streams[event.Stream] == 0 {
		return 0
	}
	l.head++
	event.Seq = l.head
	l.entries = append(l.entries, event)
	return event.Seq
}

func (l *log) group(name string) *logGroup {
	group := l.groups[name]
	if group == nil {
		group = &logGroup{positions: map[string]store.GroupState{}}
		l.groups[name] = group
	}
	return group
}

func (l *log) ack(states []store.GroupState) {
	for _, state := range states {
		group := l.groups[state.Group]
		if group == nil || state.Fence < group.fence {
			continue
		}
		stood, joined := group.positions[state.Stream]
		if !joined || behind(state, stood) {
			continue
		}
		state.Acked = slices.Clone(state.Acked)
		group.positions[state.Stream] = state
	}
}

// behind reports a position that was true before another one: a commit that took
// it along may land late.
func behind(state, stood store.GroupState) bool {
	return cmp.Or(cmp.Compare(state.Cursor, stood.Cursor), cmp.Compare(len(state.Acked), len(stood.Acked))) < 0
}

// LogJoin implements store.Log.
func (s *Store) LogJoin(ctx context.Context, group string, streams []string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.log.group(group)
	for _, stream := range streams {
		if _, joined := g.positions[stream]; joined {
			continue
		}
		g.positions[stream] = store.GroupState{Group: group, Stream: stream}
		s.log.streams[stream]++
		if s.log.streams[stream] == 1 {
			s.backfill(stream)
		}
	}
	return nil
}

// backfill logs the inbound events that came while nobody listened.
func (s *Store) backfill(stream string) {
	var missed []*rondo.EventRecord
	for _, event := range s.events {
		if event.Type == stream {
			missed = append(missed, event)
		}
	}
	slices.SortFunc(missed, func(a, b *rondo.EventRecord) int { return compareIDs(a.ID, b.ID) })
	for _, event := range missed {
		s.log.add(rondo.Outgoing{
			Stream:     stream,
			OrgID:      event.OrgID,
			EventID:    event.EventID,
			InstanceID: event.InstanceID,
			Envelope:   event.Envelope,
			CreatedAt:  event.ReceivedAt,
			Relayed:    true,
		})
	}
}

// LogLease implements store.Log.
func (s *Store) LogLease(ctx context.Context, group, owner string, now time.Time, ttl time.Duration) (int64, bool, error) {
	if err := ctx.Err(); err != nil {
		return 0, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.log.group(group)
	if g.owner != owner {
		if g.owner != "" && g.until.After(now) {
			return g.fence, false, nil
		}
		g.owner = owner
		g.fence++
	}
	g.until = stored(now.Add(ttl))
	return g.fence, true, nil
}

// LogRelease implements store.Log.
func (s *Store) LogRelease(ctx context.Context, group, owner string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.log.groups[group]; g != nil && g.owner == owner {
		g.owner, g.until = "", time.Time{}
	}
	return nil
}

// LogGroup implements store.Log.
func (s *Store) LogGroup(ctx context.Context, group string) ([]store.GroupState, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.log.groups[group]
	if g == nil {
		return nil, nil
	}
	states := make([]store.GroupState, 0, len(g.positions))
	for _, stream := range sortedKeys(g.positions) {
		state := g.positions[stream]
		state.Acked = slices.Clone(state.Acked)
		state.Fence = g.fence
		states = append(states, state)
	}
	return states, nil
}

// LogRead implements store.Log.
func (s *Store) LogRead(ctx context.Context, streams []string, after int64, limit int) ([]rondo.Outgoing, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	from, _ := slices.BinarySearchFunc(s.log.entries, after+1, func(entry rondo.Outgoing, seq int64) int {
		return cmp.Compare(entry.Seq, seq)
	})
	var found []rondo.Outgoing
	for i := from; i < len(s.log.entries) && len(found) < limit; i++ {
		if slices.Contains(streams, s.log.entries[i].Stream) {
			found = append(found, s.log.entries[i])
		}
	}
	return found, nil
}

// LogHead implements store.Log.
func (s *Store) LogHead(ctx context.Context) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.head, nil
}

// LogAck implements store.Log.
func (s *Store) LogAck(ctx context.Context, states []store.GroupState) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log.ack(states)
	return nil
}

// LogTrim implements store.Log.
func (s *Store) LogTrim(ctx context.Context, before time.Time) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := len(s.log.entries)
	s.log.entries = slices.DeleteFunc(s.log.entries, func(entry rondo.Outgoing) bool {
		return entry.CreatedAt.Before(before) && s.log.ackedByAll(entry)
	})
	return int64(kept - len(s.log.entries)), nil
}

func (l *log) ackedByAll(entry rondo.Outgoing) bool {
	for _, group := range l.groups {
		if !group.acked(entry) {
			return false
		}
	}
	return true
}

// acked reports whether the group needs the entry no more, or never did.
func (g *logGroup) acked(entry rondo.Outgoing) bool {
	position, joined := g.positions[entry.Stream]
	if !joined || entry.Seq <= position.Cursor {
		return true
	}
	_, acked := slices.BinarySearch(position.Acked, entry.Seq)
	return acked
}

// LogLag implements store.Log.
func (s *Store) LogLag(ctx context.Context, limit int) ([]store.GroupLag, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	newest := s.log.entries[max(len(s.log.entries)-limit, 0):]
	var lags []store.GroupLag
	for _, name := range sortedKeys(s.log.groups) {
		group := s.log.groups[name]
		for _, stream := range sortedKeys(group.positions) {
			lag := store.GroupLag{Group: name, Stream: stream}
			for _, entry := range newest {
				if entry.Stream == stream && !group.acked(entry) {
					lag.Entries++
				}
			}
			lags = append(lags, lag)
		}
	}
	return lags, nil
}

// LogRetire implements store.Log.
func (s *Store) LogRetire(ctx context.Context, group string, now time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.log.groups[group]
	if g == nil || len(g.positions) == 0 {
		return rondo.NotFound("consumer group")
	}
	if g.owner != "" && g.until.After(now) {
		return rondo.WrongState("the consumer group is being read")
	}
	for stream := range g.positions {
		if s.log.streams[stream]--; s.log.streams[stream] == 0 {
			s.log.entries = slices.DeleteFunc(s.log.entries, func(entry rondo.Outgoing) bool {
				return entry.Stream == stream && entry.Relayed
			})
		}
	}
	clear(g.positions) // the fence stays: it never goes down
	return nil
}
