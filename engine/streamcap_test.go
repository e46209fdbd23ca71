package engine_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus/redis"
	"github.com/rondo-engine/rondo/engine"
	"github.com/rondo-engine/rondo/internal/testenv"
	"github.com/rondo-engine/rondo/modules"
	"github.com/rondo-engine/rondo/store/memory"
)

const (
	askedFor    = "consent.check.requested"
	capPatience = 40 * time.Second // less than a minute: nothing may be saved by asking again
)

// tally counts cases that completed and requests that were committed.
type tally struct {
	mu                  sync.Mutex
	completed, requests int
}

func (c *tally) Committed(commit engine.Commit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, change := range commit.Changes {
		if change.After.Status == rondo.StatusCompleted {
			c.completed++
		}
	}
	for _, sent := range commit.Sent {
		if sent.Stream == askedFor {
			c.requests++
		}
	}
}

func (c *tally) counts() (completed, requests int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.completed, c.requests
}

// fullStream is an engine with a cap of 10 on a Redis of its own and a module
// that has joined its group and reads no more.
type fullStream struct {
	t      *testing.T
	bus    *redis.Bus
	engine *engine.Engine
	tally  *tally
}

func newFullStream(t *testing.T) *fullStream {
	b, err := redis.New(testenv.Redis(t), redis.Options{Silent: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	s := &fullStream{t: t, bus: b, tally: &tally{}}
	s.engine, err = engine.New(engine.Config{Store: memory.Open(memory.Options{}), Bus: b, StreamCap: 10, Observer: s.tally})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.engine.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.engine.Stop(context.Background()) })
	publishTemplate(t, s.engine, "ai_only")
	if err := s.module().Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// module starts the modules.
func (s *fullStream) module() *modules.Suite {
	s.t.Helper()
	suite := modules.New(s.bus, modules.Config{})
	if err := suite.Start(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	return suite
}

func (s *fullStream) cases(from, to int) {
	s.t.Helper()
	for i := from; i < to; i++ {
		receipt, err := s.engine.PublishEvent(s.t.Context(), user(), caseCreated(fmt.Sprintf("c%d", i)))
		if err != nil || receipt.Outcome != rondo.OutcomeApplied {
			s.t.Fatalf("case.created was %q (%v)", receipt.Outcome, err)
		}
	}
}

func (s *fullStream) lag() engine.Lag {
	s.t.Helper()
	lag, err := s.engine.Lag(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return lag
}

// entries is how many requests Redis keeps.
func (s *fullStream) entries() int64 {
	s.t.Helper()
	lengths, err := s.bus.Shorten(s.t.Context(), 1_000_000, 1_000_000)
	if err != nil {
		s.t.Fatal(err)
	}
	return lengths[askedFor]
}

func (s *fullStream) until(what string, holds func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(capPatience); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			completed, requests := s.tally.counts()
			s.t.Fatalf("%s did not come to pass; %d cases completed, %d requests were committed, Redis has %d, lag %+v", what, completed, requests, s.entries(), s.lag())
		}
	}
}

// fill starts cases until the stream of requests is held, and then more.
func (s *fullStream) fill(total int) {
	s.t.Helper()
	s.cases(0, 11)
	s.until("holding the full stream", func() bool { return slices.Contains(s.lag().Held, askedFor) })
	s.cases(11, total)
	s.until("only the rest waits in the outbox", func() bool { return s.lag().Unsent == total-11 })
	if n := s.entries(); n != 11 {
		s.t.Errorf("Redis keeps %d requests, want 11: the cap and the one that showed it is full", n)
	}
}

func TestAModuleThatDoesNotReadFillsTheDatabaseNotRedis(t *testing.T) {
	t.Parallel()
	s := newFullStream(t)
	s.fill(50)
	defer s.module().Stop(context.Background())
	s.until("every case completes", func() bool { completed, _ := s.tally.counts(); return completed == 50 })
	s.until("nothing is held", func() bool { lag := s.lag(); return len(lag.Held) == 0 && lag.Unsent == 0 })
	if _, requests := s.tally.counts(); requests != 50 {
		t.Errorf("%d requests for 50 cases: some were asked for again", requests)
	}
}

func TestRetiringADeadGroupFreesItsStream(t *testing.T) {
	t.Parallel()
	s := newFullStream(t)
	s.fill(15)
	var group string
	for _, g := range s.lag().Groups {
		if g.Stream == askedFor && g.Entries > 0 {
			group = g.Group
		}
	}
	s.until("the group can be retired", func() bool { return s.bus.Retire(t.Context(), group) == nil })
	s.until("what waited is sent", func() bool { lag := s.lag(); return len(lag.Held) == 0 && lag.Unsent == 0 })
}

func TestATinyCapIsRefused(t *testing.T) {
	_, err := engine.New(engine.Config{Store: memory.Open(memory.Options{}), StreamCap: 9})
	if rondo.CodeOf(err) != rondo.CodeInvalid {
		t.Errorf("got %v, want code %s", err, rondo.CodeInvalid)
	}
}
