package breaker_test

import (
	"context"
	"errors"
	"iter"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/agent/agenttest"
	"github.com/rondo-engine/rondo/agent/breaker"
	"github.com/rondo-engine/rondo/agent/echo"
)

// moody is an agent that fails as told.
type moody struct {
	mu    sync.Mutex
	err   error
	wait  chan struct{} // calls block until it is closed; nil = they do not
	calls int
}

func (m *moody) Info() agent.Info { return agent.Info{Provider: "moody", Model: "m"} }

func (m *moody) Start(ctx context.Context, s agent.Session) iter.Seq2[agent.Chunk, error] {
	return m.Send(ctx, s, rondo.Activity{})
}

func (m *moody) Send(context.Context, agent.Session, rondo.Activity) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		m.mu.Lock()
		m.calls++
		err, wait := m.err, m.wait
		m.mu.Unlock()
		if wait != nil {
			<-wait
		}
		if !yield(agent.Chunk{Delta: &agent.Delta{ID: "1", Text: "hm"}}, nil) {
			return
		}
		if err != nil {
			yield(agent.Chunk{}, err)
		}
	}
}

func (m *moody) become(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = err
}

func (m *moody) called() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls
}

func fails(kind agent.ErrorKind, status int) error {
	return &agent.Error{Provider: "moody", Kind: kind, Status: status, Message: "no"}
}

// bench is a breaker on an agent, with a clock that stands still.
type bench struct {
	t       *testing.T
	inner   *moody
	agent   agent.Agent
	now     time.Time
	changes []bool
}

func newBench(t *testing.T, change func(*breaker.Config)) *bench {
	t.Helper()
	b := &bench{t: t, inner: &moody{}, now: time.Unix(0, 0)}
	cfg := breaker.Config{
		Failures: 3, CoolDown: 10 * time.Second,
		Now:      func() time.Time { return b.now },
		OnChange: func(open bool) { b.changes = append(b.changes, open) },
	}
	if change != nil {
		change(&cfg)
	}
	b.agent = breaker.New(b.inner, cfg)
	return b
}

// call makes a call and reports whether it reached the agent.
func (b *bench) call() (reached bool, err error) {
	before := b.inner.called()
	for _, failed := range b.agent.Send(b.t.Context(), agent.Session{}, rondo.Activity{}) {
		if failed != nil {
			err = failed
		}
	}
	return b.inner.called() > before, err
}

// calls makes some and wants them all to reach the agent, or none.
func (b *bench) calls(n int, reach bool) {
	b.t.Helper()
	for i := range n {
		if reached, err := b.call(); reached != reach || !reach && agent.KindOf(err) != agent.KindOpen {
			b.t.Fatalf("call %d of %d: reached the agent = %t with %v, want %t", i+1, n, reached, err, reach)
		}
	}
}

var down = fails(agent.KindUnreachable, 0)

func TestItOpensAfterFailuresInARow(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]error{
		"unreachable": down,
		"5xx":         fails(agent.KindRefused, 503),
		"out of time": context.DeadlineExceeded,
	} {
		b := newBench(t, nil)
		b.inner.become(failure)
		b.calls(2, true)
		b.inner.become(nil)
		b.calls(1, true) // starts the count again
		b.inner.become(failure)
		b.calls(3, true)
		b.calls(5, false)
		if diff := cmp.Diff([]bool{true}, b.changes); diff != "" {
			t.Errorf("%s: changes (-want +got):\n%s", name, diff)
		}
	}
}

func TestWhatConcernsOneUserIsNotCounted(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]error{
		"400":       fails(agent.KindRefused, 400),
		"401":       fails(agent.KindRefused, 401),
		"429":       fails(agent.KindRefused, 429),
		"token":     fails(agent.KindToken, 503),
		"malformed": fails(agent.KindMalformed, 0),
		"too large": fails(agent.KindTooLarge, 0),
		"given up":  context.Canceled,
	} {
		b := newBench(t, nil)
		b.inner.become(failure)
		b.calls(20, true)
		if len(b.changes) > 0 {
			t.Errorf("%s: it opened", name)
		}
	}
	// What says nothing about the agent does not start the count again either.
	b := newBench(t, nil)
	for _, failure := range []error{down, down, context.Canceled, fails(agent.KindToken, 0), down} {
		b.inner.become(failure)
		b.calls(1, true)
	}
	b.calls(1, false)
}

func TestItProbesAfterTheCoolDown(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.inner.become(down)
	b.calls(3, true)
	b.now = b.now.Add(4 * time.Second)
	_, err := b.call()
	refused, ok := errors.AsType[*agent.Error](err)
	if !ok || refused.Kind != agent.KindOpen || refused.RetryAfter != 6*time.Second || refused.Provider != "moody" {
		t.Errorf("the refusal is %+v, want open for another 6s", err)
	}
	b.now = b.now.Add(6 * time.Second)
	b.calls(1, true) // the probe fails
	b.calls(2, false)
	b.now = b.now.Add(10 * time.Second)
	b.inner.become(context.Canceled)
	b.calls(2, true) // a probe that says nothing lets the next one through
	b.inner.become(nil)
	b.calls(10, true) // it succeeds
	b.inner.become(down)
	b.calls(3, true)
	b.calls(1, false)
	if diff := cmp.Diff([]bool{true, false, true}, b.changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func TestOneProbeAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		b.inner.become(down)
		b.calls(3, true)
		b.now = b.now.Add(10 * time.Second)
		b.inner.become(nil)
		b.inner.wait = make(chan struct{})
		var probe sync.WaitGroup
		probe.Go(func() {
			if reached, err := b.call(); !reached || err != nil {
				t.Errorf("the probe reached the agent = %t, %v", reached, err)
			}
		})
		synctest.Wait()
		b.calls(5, false)
		close(b.inner.wait)
		probe.Wait()
		b.calls(5, true)
	})
}

func TestCallsOfAnEarlierTimeSayNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		b.inner.become(down)
		b.inner.wait = make(chan struct{})
		var late sync.WaitGroup
		for range 5 {
			late.Go(func() {
				if _, err := b.call(); agent.KindOf(err) != agent.KindUnreachable {
					t.Errorf("a late call ends with %v, want unreachable", err)
				}
			})
		}
		synctest.Wait()
		wait := b.inner.wait
		b.inner.wait = nil
		b.calls(3, true) // it opens
		b.now = b.now.Add(10 * time.Second)
		b.inner.become(nil)
		b.calls(1, true) // it closes
		close(wait)
		late.Wait() // they fail, having begun before it opened
		b.calls(1, true)
		if diff := cmp.Diff([]bool{true, false}, b.changes); diff != "" {
			t.Errorf("changes (-want +got):\n%s", diff)
		}
	})
}

func TestAReaderThatStopsKeepsNoPlace(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(cfg *breaker.Config) { cfg.MaxInFlight = 1 })
	b.inner.become(down)
	for range 20 {
		for range b.agent.Start(t.Context(), agent.Session{}) {
			break
		}
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		for range b.agent.Start(t.Context(), agent.Session{}) {
			panic("reader")
		}
	}()
	b.calls(3, true)
	b.calls(1, false)
}

func TestCallsAtOnceAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(cfg *breaker.Config) { cfg.MaxInFlight = 2 })
		b.inner.wait = make(chan struct{})
		var two sync.WaitGroup
		for range 2 {
			two.Go(func() {
				for _, err := range b.agent.Send(t.Context(), agent.Session{}, rondo.Activity{}) {
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		synctest.Wait()
		b.calls(3, false)
		close(b.inner.wait)
		two.Wait()
		b.calls(3, true)
		if len(b.changes) > 0 {
			t.Error("being busy opened it")
		}
	})
}

// remembering is an agent that is a Historian.
type remembering struct{ moody }

func (*remembering) Remembers() int { return 7 }

func TestItIsAHistorianIfTheAgentIs(t *testing.T) {
	t.Parallel()
	if historian, ok := breaker.New(&remembering{}, breaker.Config{}).(agent.Historian); !ok || historian.Remembers() != 7 {
		t.Error("the breaker of a historian is none")
	}
	if _, ok := breaker.New(&moody{}, breaker.Config{}).(agent.Historian); ok {
		t.Error("the breaker of an agent with a memory of its own is a historian")
	}
}

func TestItIsAnAgent(t *testing.T) {
	t.Parallel()
	agenttest.Run(t, func(*testing.T) agent.Agent { return breaker.New(echo.Agent{}, breaker.Config{}) })
}
