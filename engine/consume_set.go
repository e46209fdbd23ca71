package engine

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rondo-engine/rondo"
)

// feedSet is every feed of a process: the open ones, and the members of those
// that were closed with events unacked. It owns a goroutine for each member that
// rests; closeAll waits for them.
type feedSet struct {
	mu      sync.Mutex
	open    map[*feed]bool
	resting []*member // oldest first
	closed  bool
	ran     sync.WaitGroup
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

// of lists the members of a group, of open feeds and resting ones.
func (s *feedSet) of(org, group string) []*member {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*member
	for f := range s.open {
		if m := f.joined(); m != nil && m.org == org && m.group == group {
			found = append(found, m)
		}
	}
	for _, m := range s.resting {
		if m.org == org && m.group == group {
			found = append(found, m)
		}
	}
	return found
}

// rejoin wakes the member of a group that rests and reads the same types; nil =
// there is none. So a module that comes back goes on where it was, with all that
// its consumer has fetched already.
func (s *feedSet) rejoin(org, group string, types []string) *member {
	wanted := slices.Sorted(slices.Values(types))
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range slices.Backward(s.resting) {
		if m.org == org && m.group == group && slices.Equal(m.types, wanted) {
			s.wake(m)
			return m
		}
	}
	return nil
}

// wake takes a member out of those that rest; false = it does not rest. The caller
// holds mu and decides what becomes of the member.
func (s *feedSet) wake(m *member) bool {
	i := slices.Index(s.resting, m)
	if i < 0 {
		return false
	}
	s.resting = slices.Delete(s.resting, i, i+1)
	close(m.rested)
	return true
}

// release closes a member that rests.
func (s *feedSet) release(m *member) error {
	s.mu.Lock()
	mine := s.wake(m)
	s.mu.Unlock()
	if !mine {
		return nil
	}
	return closeMember(m)
}

// leave ends a feed. Its member rests while events that it gave out can still be
// acked in time; m is nil when the feed never began.
func (s *feedSet) leave(f *feed, m *member) error {
	s.mu.Lock()
	delete(s.open, f)
	if m == nil {
		s.mu.Unlock()
		return nil
	}
	wait := m.owed()
	if s.closed || wait <= 0 {
		s.mu.Unlock()
		return closeMember(m)
	}
	tired := s.oldest(m.org)
	m.rested = make(chan struct{})
	s.resting = append(s.resting, m)
	rested := m.rested
	s.ran.Go(func() { s.rest(m, rested, wait, f.engine) })
	s.mu.Unlock()
	if tired == nil {
		return nil
	}
	return s.release(tired)
}

// oldest is the member that must make room for one more of the organisation to
// rest; nil = there is room.
func (s *feedSet) oldest(org string) *member {
	var first *member
	own := 0
	for _, m := range s.resting {
		if m.org == org {
			own++
			if first == nil {
				first = m
			}
		}
	}
	switch {
	case own >= feedsPerOrg:
		return first
	case len(s.resting) >= feedsInAll:
		return s.resting[0]
	}
	return nil
}

// rest closes the member when nothing that it gave out can be acked any more,
// unless somebody woke it before.
func (s *feedSet) rest(m *member, rested <-chan struct{}, wait time.Duration, e *Engine) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-rested:
		return
	case <-timer.C:
	}
	if err := s.release(m); err != nil {
		e.log.Warn("leaving a consumer group", "error", err)
	}
}

func closeMember(m *member) error { return rondo.Op("close an event stream", m.consumer.Close()) }

// closeAll ends every feed and refuses new ones.
func (s *feedSet) closeAll() error {
	s.mu.Lock()
	s.closed = true
	feeds := slices.Collect(maps.Keys(s.open))
	resting := slices.Clone(s.resting)
	s.mu.Unlock()
	var errs []error
	for _, f := range feeds {
		errs = append(errs, f.Close())
	}
	for _, m := range resting {
		errs = append(errs, s.release(m))
	}
	s.ran.Wait()
	return errors.Join(errs...)
}
