package bustest

import (
	"slices"
	"testing"
	"time"

	"github.com/rondo-engine/rondo/bus"
)

func redelivery(t *testing.T, s *suite) {
	p := s.process(t)
	publish(t, p, "a", 0, 3)
	one := s.impatient(t, p, "g", "a")
	first := fetchN(t, one, 3)
	ack(t, one, first[1:2])
	two := s.impatient(t, p, "g", "a")
	second := fetchN(t, two, 2)
	if got, want := names(second), []string{nameOf("a", 0), nameOf("a", 2)}; !slices.Equal(got, want) {
		t.Errorf("got %v again, want %v", got, want)
	}
	for i, d := range second {
		if d.Attempt <= 1 {
			t.Errorf("delivery %d came again as attempt %d", i, d.Attempt)
		}
	}
	ack(t, two, second)
	nothing(t, two, s.AckWait*3)
}

func ackedStays(t *testing.T, s *suite) {
	p := s.process(t)
	publish(t, p, "a", 0, 10)
	c := s.impatient(t, p, "g", "a")
	got := fetchN(t, c, 10)
	slices.Reverse(got)
	for i := range got { // one by one, newest first: sparse acks above the position
		ack(t, c, got[i:i+1])
	}
	nothing(t, c, s.AckWait*3)
}

func ackTwice(t *testing.T, s *suite) {
	p := s.process(t)
	publish(t, p, "a", 0, 4)
	c := s.impatient(t, p, "g", "a")
	got := fetchN(t, c, 4)
	ack(t, c, got[:2])
	ack(t, c, got[:2])
	ack(t, c, append(slices.Clone(got), got...))
	ack(t, c, nil)
	nothing(t, c, s.AckWait*2)
	publish(t, p, "a", 4, 5)
	if got := names(drain(t, c, 1)); got[0] != nameOf("a", 4) {
		t.Errorf("got %v, want a/4", got)
	}
}

func closeHandsOver(t *testing.T, s *suite) {
	p, q := s.process(t), s.process(t)
	publish(t, p, "a", 0, 10)
	leaving, staying := s.impatient(t, p, "g", "a"), s.impatient(t, q, "g", "a")
	got := fetchSome(t, []bus.Consumer{leaving, staying})
	holder, other := leaving, staying
	if got.by == 1 {
		holder, other = staying, leaving
	}
	ack(t, holder, got.deliveries[:1])
	if err := holder.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	rest := names(drain(t, other, 9))
	exactly(t, append(rest, names(got.deliveries[:1])...), "a", 10)
	nothing(t, other, s.AckWait*2)
}

func restart(t *testing.T, s *suite) {
	p := s.process(t)
	publish(t, p, "a", 0, 10)
	c := s.impatient(t, p, "g", "a")
	got := fetchN(t, c, 10)
	ack(t, c, []bus.Delivery{got[0], got[1], got[4], got[8]})
	if err := c.Close(); err != nil {
		t.Fatalf("close consumer: %v", err)
	}
	if err := p.Close(); err != nil {
		t.Fatalf("close process: %v", err)
	}
	q := s.process(t)
	publish(t, q, "a", 10, 12)
	c = s.impatient(t, q, "g", "a")
	again := names(drain(t, c, 8))
	slices.Sort(again)
	var want []string
	for _, n := range []int{2, 3, 5, 6, 7, 9, 10, 11} {
		want = append(want, nameOf("a", n))
	}
	slices.Sort(want)
	if !slices.Equal(again, want) {
		t.Errorf("after a restart got %v, want %v", again, want)
	}
	nothing(t, c, s.AckWait*2)
}

func killedProcess(t *testing.T, s *suite) {
	p := s.process(t)
	publish(t, p, "a", 0, 10)
	c := s.impatient(t, p, "g", "a")
	got := fetchN(t, c, 6)
	ack(t, c, got[:3])
	p.Kill()

	q := s.process(t)
	publish(t, q, "a", 10, 20)
	heir := s.impatient(t, q, "g", "a")
	seen := map[string]bool{}
	for _, name := range names(got[:3]) {
		seen[name] = true // may come again: the acks may have died with the process
	}
	eventually(t, "all 20 entries were delivered", func() bool {
		deliveries := fetch(t, heir, 50)
		ack(t, heir, deliveries)
		for _, name := range names(deliveries) {
			seen[name] = true
		}
		return len(seen) == 20
	})
}

func lossHeals(t *testing.T, s *suite) {
	loser, ok := s.storage.(Loser)
	if !ok {
		return // nothing but the whole database can be lost
	}
	p := s.process(t)
	c := s.subscribe(t, p, "g", "a", "b")
	publish(t, p, "a", 0, 5)
	drain(t, c, 5)
	for round := range 3 {
		loser.Lose(t)
		publish(t, p, "b", round*5, round*5+5)
		got := names(drain(t, c, 5))
		for i, name := range got {
			if name != nameOf("b", round*5+i) {
				t.Fatalf("round %d: got %v", round, got)
			}
		}
	}
	// A group that joined before the loss and waits in Fetch is created again too.
	loser.Lose(t)
	got := make(chan []bus.Delivery, 1)
	go func() {
		deliveries, err := c.Fetch(t.Context(), 1)
		if err != nil {
			t.Errorf("fetch: %v", err)
		}
		got <- deliveries
	}()
	publish(t, p, "a", 5, 6)
	select {
	case deliveries := <-got:
		ack(t, c, deliveries)
	case <-time.After(patience):
		t.Fatal("the waiting fetch got nothing after the loss")
	}
}

// batch is what one of several consumers fetched.
type batch struct {
	by         int
	deliveries []bus.Delivery
}

// fetchSome returns the 10 entries that one of the consumers gets; the other
// fetches stop. Which consumer it is depends on the driver.
func fetchSome(t *testing.T, consumers []bus.Consumer) batch {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		for i, c := range consumers {
			if got := tryFetch(t, c, 10); len(got) > 0 {
				for len(got) < 10 {
					got = append(got, fetch(t, c, 10-len(got))...)
				}
				return batch{by: i, deliveries: got}
			}
		}
	}
	t.Fatal("no consumer got anything")
	return batch{}
}
