package bustest

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
)

func lateGroup(t *testing.T, s *suite) {
	p := s.process(t)
	publish(t, p, "a", 0, 5)
	want := []string{nameOf("a", 0), nameOf("a", 1), nameOf("a", 2), nameOf("a", 3), nameOf("a", 4)}
	if got := names(drain(t, s.subscribe(t, p, "g", "a"), 5)); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func sharedGroup(t *testing.T, s *suite) {
	p := s.process(t)
	one, two := s.subscribe(t, p, "g", "a"), s.subscribe(t, p, "g", "a")
	publish(t, p, "a", 0, 40)
	got := names(drain(t, one, 10))
	got = append(got, names(drain(t, two, 30))...)
	exactly(t, got, "a", 40)
	nothing(t, one, s.AckWait*2)
}

func sharedAcrossProcesses(t *testing.T, s *suite) {
	p, q := s.process(t), s.process(t)
	consumers := []bus.Consumer{s.subscribe(t, p, "g", "a"), s.subscribe(t, q, "g", "a")}
	publish(t, p, "a", 0, 20)
	publish(t, q, "a", 20, 40)
	got := drainTogether(t, consumers, 40)
	exactly(t, got, "a", 40)
	for _, c := range consumers {
		nothing(t, c, s.AckWait*2)
	}
}

func everyGroup(t *testing.T, s *suite) {
	p := s.process(t)
	one, two := s.subscribe(t, p, "one", "a"), s.subscribe(t, p, "two", "a")
	publish(t, p, "a", 0, 20)
	exactly(t, names(drain(t, one, 20)), "a", 20)
	exactly(t, names(drain(t, two, 20)), "a", 20)
}

func differentStreams(t *testing.T, s *suite) {
	p := s.process(t)
	onlyA, both := s.subscribe(t, p, "g", "a"), s.subscribe(t, p, "g", "a", "b")
	publish(t, p, "b", 0, 5)
	exactly(t, names(drain(t, both, 5)), "b", 5)
	publish(t, p, "a", 0, 5)
	exactly(t, names(drain(t, onlyA, 5)), "a", 5)
	publish(t, p, "b", 5, 6)
	nothing(t, onlyA, s.AckWait)
	if got := names(drain(t, both, 1)); got[0] != nameOf("b", 5) {
		t.Errorf("got %v, want b/5", got)
	}
}

func addedStream(t *testing.T, s *suite) {
	p := s.process(t)
	publish(t, p, "b", 0, 3)
	first := s.subscribe(t, p, "g", "a")
	publish(t, p, "a", 0, 3)
	exactly(t, names(drain(t, first, 3)), "a", 3)
	second := s.subscribe(t, p, "g", "b")
	publish(t, p, "b", 3, 6)
	exactly(t, names(drain(t, second, 6)), "b", 6)
}

func orderPerStream(t *testing.T, s *suite) {
	p := s.process(t)
	c := s.subscribe(t, p, "g", "a", "b", "c")
	streams := []string{"a", "b", "c"}
	for n := 0; n < 100; n += 10 {
		var messages []bus.Message
		for m := n; m < n+10; m++ {
			for _, stream := range streams {
				messages = append(messages, message(stream, m))
			}
		}
		if err := p.Publish(t.Context(), messages); err != nil {
			t.Fatal(err)
		}
	}
	next := map[string]int{}
	for _, d := range drain(t, c, 300) {
		if want := nameOf(d.Stream, next[d.Stream]); string(d.Envelope) != want {
			t.Fatalf("stream %s: got %s, want %s", d.Stream, d.Envelope, want)
		}
		next[d.Stream]++
	}
}

func batchFetch(t *testing.T, s *suite) {
	p := s.process(t)
	publish(t, p, "a", 0, 50)
	c := s.subscribe(t, p, "g", "a")
	for _, want := range []int{20, 20, 10} {
		got := fetch(t, c, 20)
		ack(t, c, got)
		if len(got) != want {
			t.Fatalf("got %d deliveries, want %d", len(got), want)
		}
	}
}

func fetchEnds(t *testing.T, s *suite) {
	c := s.subscribe(t, s.process(t), "g", "a")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if got, err := c.Fetch(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, %v; want the context's error", got, err)
	}
}

func fetchAfterClose(t *testing.T, s *suite) {
	c := s.subscribe(t, s.process(t), "g", "a")
	failed := make(chan error, 1)
	go func() {
		_, err := c.Fetch(t.Context(), 1)
		failed <- err
	}()
	if err := c.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	select {
	case err := <-failed:
		if err == nil {
			t.Error("a waiting fetch returned no error when its consumer was closed")
		}
	case <-time.After(patience):
		t.Error("a waiting fetch did not end when its consumer was closed")
	}
	if _, err := c.Fetch(t.Context(), 1); err == nil {
		t.Error("fetch of a closed consumer returned no error")
	}
	if err := c.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
}

func fetchWakes(t *testing.T, s *suite) {
	p := s.process(t)
	c := s.subscribe(t, p, "g", "a")
	for n := range 20 {
		got := make(chan []bus.Delivery, 1)
		go func() {
			deliveries, err := c.Fetch(t.Context(), 10)
			if err != nil {
				t.Errorf("fetch: %v", err)
			}
			got <- deliveries
		}()
		publish(t, p, "a", n, n+1)
		select {
		case deliveries := <-got:
			if len(deliveries) != 1 || string(deliveries[0].Envelope) != nameOf("a", n) {
				t.Fatalf("got %v, want a/%d", names(deliveries), n)
			}
			ack(t, c, deliveries)
		case <-time.After(patience):
			t.Fatal("the waiting fetch got nothing")
		}
	}
}

func contentKept(t *testing.T, s *suite) {
	p := s.process(t)
	c := s.subscribe(t, p, "g", "a.b.completed")
	sent := []bus.Message{message("a.b.completed", 0), message("a.b.completed", 1)}
	sent[0].Envelope = []byte("{\"text\":\"é ✓ \\u0000 \\r\\n\"}")
	sent[1].Relayed = true
	if err := p.Publish(t.Context(), sent); err != nil {
		t.Fatal(err)
	}
	for i, d := range drain(t, c, 2) {
		if d.Stream != sent[i].Stream || !bytes.Equal(d.Envelope, sent[i].Envelope) || d.Relayed != sent[i].Relayed || d.Attempt != 1 || d.EntryID == "" {
			t.Errorf("got %+v, want %+v on its first attempt", d, sent[i])
		}
	}
}

func bigEnvelopes(t *testing.T, s *suite) {
	p := s.process(t)
	c := s.subscribe(t, p, "g", "a")
	var sent []bus.Message
	for n := range 40 {
		m := message("a", n)
		m.Envelope = []byte(`"` + string(bytes.Repeat([]byte{byte('a' + n%26)}, 200<<10)) + `"`)
		sent = append(sent, m)
	}
	if err := p.Publish(t.Context(), sent); err != nil {
		t.Fatal(err)
	}
	for n := 0; n < len(sent); {
		got := fetch(t, c, 16)
		for _, d := range got {
			if !bytes.Equal(d.Envelope, sent[n].Envelope) {
				t.Fatalf("envelope %d arrived with %d bytes, want %d", n, len(d.Envelope), len(sent[n].Envelope))
			}
			n++
		}
		ack(t, c, got)
	}
}

func badSubscription(t *testing.T, s *suite) {
	p := s.process(t)
	for _, sub := range []bus.Subscription{{Group: "g"}, {Streams: []string{"a"}}} {
		if _, err := p.Subscribe(t.Context(), sub); rondo.CodeOf(err) != rondo.CodeInvalid {
			t.Errorf("subscribe %+v: got %v, want code %s", sub, err, rondo.CodeInvalid)
		}
	}
}

func checkPasses(t *testing.T, s *suite) {
	if err := s.process(t).Check(t.Context()); err != nil {
		t.Errorf("check: %v", err)
	}
}

// exactly checks that every message 0 to n-1 of a stream is there once.
func exactly(t *testing.T, got []string, stream string, n int) {
	t.Helper()
	count := map[string]int{}
	for _, name := range got {
		count[name]++
	}
	for i := range n {
		if c := count[nameOf(stream, i)]; c != 1 {
			t.Errorf("%s came %d times, want once", nameOf(stream, i), c)
		}
	}
	if len(count) != n {
		t.Errorf("got %d different entries, want %d", len(count), n)
	}
}

// drainTogether lets several consumers fetch and ack n deliveries in all.
func drainTogether(t *testing.T, consumers []bus.Consumer, n int) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	batches := make(chan []bus.Delivery)
	ended := make(chan struct{})
	for _, c := range consumers {
		go func() {
			defer func() { ended <- struct{}{} }()
			for {
				got, err := c.Fetch(ctx, 7)
				if err != nil {
					return
				}
				if err := c.Ack(ctx, got); err != nil {
					t.Errorf("ack: %v", err)
				}
				batches <- got
			}
		}()
	}
	var all []string
	for open := len(consumers); open > 0; {
		select {
		case got := <-batches:
			all = append(all, names(got)...)
			if len(all) >= n {
				cancel()
			}
		case <-ended:
			open--
		}
	}
	return all
}
