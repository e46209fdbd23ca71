package bustest

import (
	"context"
	"testing"
	"time"

	"github.com/rondo-engine/rondo/bus"
)

// everything is a time after which nothing has been published.
func everything() time.Time { return time.Now().Add(time.Hour) }

func trim(t *testing.T, p Process, before time.Time) int64 {
	t.Helper()
	n, err := p.Trim(t.Context(), before)
	if err != nil {
		t.Fatalf("trim: %v", err)
	}
	return n
}

func trimDropsAcked(t *testing.T, s *suite) {
	p := s.process(t)
	one, two := s.subscribe(t, p, "one", "a"), s.subscribe(t, p, "two", "a")
	publish(t, p, "a", 0, 50)
	drain(t, one, 50)
	drain(t, two, 50)
	// Acks may be written lazily, so trimming may need a moment to see them.
	dropped := int64(0)
	eventually(t, "all acked entries were trimmed", func() bool {
		dropped += trim(t, p, everything())
		nothing(t, one, 20*time.Millisecond)
		nothing(t, two, 20*time.Millisecond)
		return s.storage.Stored(t, "a") == 0
	})
	if dropped != 50 {
		t.Errorf("trim counted %d entries, want 50", dropped)
	}
	publish(t, p, "a", 50, 55)
	drain(t, one, 5)
	drain(t, two, 5)
}

func trimKeepsUnacked(t *testing.T, s *suite) {
	p := s.process(t)
	fast, slow := s.subscribe(t, p, "fast", "a"), s.impatient(t, p, "slow", "a")
	idle := s.subscribe(t, p, "idle", "b")
	publish(t, p, "a", 0, 30)
	publish(t, p, "b", 0, 30)
	drain(t, fast, 30)
	got := fetchN(t, slow, 20) // 10 are not even read
	ack(t, slow, got[:8])
	ack(t, slow, got[12:20]) // 8 to 11 stay open
	for range 5 {
		nothing(t, fast, 20*time.Millisecond)
		trim(t, p, everything())
	}
	if n := s.storage.Stored(t, "a"); n < 14 {
		t.Errorf("%d entries of a are left, want at least the 14 that a group has not acked", n)
	}
	if n := s.storage.Stored(t, "b"); n != 30 {
		t.Errorf("%d entries of b are left, want all 30: nothing was read", n)
	}
	seen := map[string]bool{}
	eventually(t, "the slow group got everything", func() bool {
		deliveries := fetch(t, slow, 30)
		ack(t, slow, deliveries)
		for _, d := range deliveries {
			seen[string(d.Envelope)] = true
		}
		for _, n := range []int{8, 9, 10, 11, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29} {
			if !seen[nameOf("a", n)] {
				return false
			}
		}
		return true
	})
	exactly(t, names(drain(t, idle, 30)), "b", 30)
}

func trimKeepsYoung(t *testing.T, s *suite) {
	p := s.process(t)
	c := s.subscribe(t, p, "g", "a")
	publish(t, p, "a", 0, 10)
	drain(t, c, 10)
	for range 5 {
		nothing(t, c, 20*time.Millisecond)
		if n := trim(t, p, time.Now().Add(-time.Hour)); n != 0 {
			t.Fatalf("trim dropped %d entries that are younger than it was told", n)
		}
	}
	if n := s.storage.Stored(t, "a"); n != 10 {
		t.Errorf("%d entries are left, want 10", n)
	}
}

// tryFetch fetches for a moment.
func tryFetch(t *testing.T, c bus.Consumer, limit int) []bus.Delivery {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	got, err := c.Fetch(ctx, limit)
	if err != nil {
		return nil
	}
	return got
}
