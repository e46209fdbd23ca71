package bustest

import (
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
)

func groupsOf(t *testing.T, p Process) bus.Groups {
	t.Helper()
	g, ok := p.Bus.(bus.Groups)
	if !ok {
		t.Fatal("the driver does not know its groups")
	}
	return g
}

// behind is how many entries of a stream a group has not acked, -1 = the group is
// not on it.
func behind(t *testing.T, p Process, stream, group string) int64 {
	t.Helper()
	lag, err := groupsOf(t, p).Lag(t.Context())
	if err != nil {
		t.Fatalf("lag: %v", err)
	}
	for _, g := range lag[stream] {
		if g.Group == group {
			return max(g.Unread, 0) + g.Pending
		}
	}
	return -1
}

func lagTells(t *testing.T, s *suite) {
	p := s.process(t)
	quick, slow := s.subscribe(t, p, "quick", "a", "b"), s.subscribe(t, p, "slow", "a")
	publish(t, p, "a", 0, 10)
	drain(t, quick, 10)
	ack(t, slow, fetchN(t, slow, 6)[:2])
	// Positions may be stored lazily.
	eventually(t, "the lag is told", func() bool {
		return behind(t, p, "a", "quick") == 0 && behind(t, p, "b", "quick") == 0 && behind(t, p, "a", "slow") == 8
	})
	if n := behind(t, p, "b", "slow"); n != -1 {
		t.Errorf("a group that is not on a stream is %d behind on it", n)
	}
}

func retiredGroup(t *testing.T, s *suite) {
	p := s.process(t)
	keeper := s.subscribe(t, p, "keeper", "a")
	gone := s.subscribe(t, p, "gone", "a", "b")
	publish(t, p, "a", 0, 20)
	drain(t, keeper, 20)
	fetchN(t, gone, 5) // takes some, acks none, and never comes back
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the group can be retired", func() bool {
		err := groupsOf(t, p).Retire(t.Context(), "gone")
		if err != nil && rondo.CodeOf(err) != rondo.CodeWrongState {
			t.Fatalf("retire: %v", err)
		}
		return err == nil
	})
	if a, b := behind(t, p, "a", "gone"), behind(t, p, "b", "gone"); a != -1 || b != -1 {
		t.Errorf("a retired group is still %d behind on a and %d on b", a, b)
	}
	eventually(t, "all entries were trimmed", func() bool {
		trim(t, p, everything())
		nothing(t, keeper, 20*time.Millisecond)
		return s.storage.Stored(t, "a") == 0
	})
	again := s.subscribe(t, p, "gone", "a")
	publish(t, p, "a", 20, 25)
	drain(t, again, 5)
	drain(t, keeper, 5)
}

func notRetired(t *testing.T, s *suite) {
	p := s.process(t)
	c := s.subscribe(t, p, "live", "a")
	publish(t, p, "a", 0, 2)
	drain(t, c, 1) // it is at work: it has the lease, or was heard of just now
	if err := groupsOf(t, p).Retire(t.Context(), "live"); rondo.CodeOf(err) != rondo.CodeWrongState {
		t.Errorf("retire a group that is read: %v, want wrong_state", err)
	}
	if err := groupsOf(t, p).Retire(t.Context(), "nobody"); rondo.CodeOf(err) != rondo.CodeNotFound {
		t.Errorf("retire an unknown group: %v, want not_found", err)
	}
	drain(t, c, 1)
}
