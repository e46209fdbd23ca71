// Package breaker keeps an agent that is down from being asked again and again: it
// wraps an Agent and, after some failures in a row, refuses calls by itself for a
// while.
//
// # How it moves
//
// Closed, it lets every call through and counts failures in a row: connections that
// break, answers with status 5xx and calls that run out of time. What concerns one
// user alone (other statuses, tokens, a call that was given up) is not counted; an
// answer, even a refusal, starts the count again. At Failures it opens: every call
// fails with KindOpen at once. After CoolDown one call is let through to probe: if
// it succeeds the breaker closes, if it fails the cool-down begins again.
//
// It imports the root package and the agent port.
package breaker

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"sync"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
)

// Config says when the breaker opens and for how long. Its zero value works.
type Config struct {
	Failures    int           // in a row; default: 5
	CoolDown    time.Duration // default: 30 s
	MaxInFlight int           // calls at once, over which they fail with KindOpen; default: no bound
	// OnChange is told when the breaker opens and when it closes, one call at a
	// time; it must not block. Default: nobody is.
	OnChange func(open bool)
	Now      func() time.Time // default: time.Now
}

// New wraps an agent. What New returns is a Historian if and only if the agent is.
func New(inner agent.Agent, cfg Config) agent.Agent {
	if cfg.Failures <= 0 {
		cfg.Failures = 5
	}
	if cfg.CoolDown <= 0 {
		cfg.CoolDown = 30 * time.Second
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	wrapped := &guarded{inner: inner, cfg: cfg}
	if historian, ok := inner.(agent.Historian); ok {
		return &guardedHistorian{guarded: wrapped, Historian: historian}
	}
	return wrapped
}

// guardedHistorian is a guarded agent that is a Historian, too.
type guardedHistorian struct {
	*guarded
	agent.Historian
}

var (
	_ agent.Agent     = (*guarded)(nil)
	_ agent.Agent     = (*guardedHistorian)(nil)
	_ agent.Historian = (*guardedHistorian)(nil)
)

// guarded is an agent behind a breaker.
type guarded struct {
	inner agent.Agent
	cfg   Config

	mu       sync.Mutex
	failures int // in a row
	open     bool
	until    time.Time // while open: when a probe may be made
	probing  bool      // one is under way
	period   int       // counts openings and closings: calls of an earlier one say nothing now
	inFlight int
}

// Info is the agent's own.
func (g *guarded) Info() agent.Info { return g.inner.Info() }

// Start lets the call through, or fails with KindOpen.
func (g *guarded) Start(ctx context.Context, session agent.Session) iter.Seq2[agent.Chunk, error] {
	return g.guard(func() iter.Seq2[agent.Chunk, error] { return g.inner.Start(ctx, session) })
}

// Send lets the call through, or fails with KindOpen.
func (g *guarded) Send(ctx context.Context, session agent.Session, message rondo.Activity) iter.Seq2[agent.Chunk, error] {
	return g.guard(func() iter.Seq2[agent.Chunk, error] { return g.inner.Send(ctx, session, message) })
}

func (g *guarded) guard(call func() iter.Seq2[agent.Chunk, error]) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		admitted, refused := g.admit()
		if refused != nil {
			yield(agent.Chunk{}, refused)
			return
		}
		outcome := unknown
		// Deferred: a caller that panics or stops reading must not keep the place.
		defer func() { g.settle(admitted, outcome) }()
		for chunk, err := range call() {
			if err != nil {
				outcome = judge(err)
				yield(agent.Chunk{}, err)
				return
			}
			if !yield(chunk, nil) {
				return
			}
		}
		outcome = succeeded
	}
}

// outcome is what a call says about the agent.
type outcome int

const (
	unknown   outcome = iota // nothing
	succeeded                // it is there
	failed                   // it is not
)

func judge(err error) outcome {
	if errors.Is(err, context.DeadlineExceeded) {
		return failed
	}
	failure, ok := errors.AsType[*agent.Error](err)
	switch {
	case !ok || failure.Kind == agent.KindToken || failure.Kind == agent.KindOpen:
		return unknown
	case failure.Kind == agent.KindUnreachable || failure.Status >= http.StatusInternalServerError:
		return failed
	}
	return succeeded
}

// admission is the right to make one call.
type admission struct {
	period int
	probe  bool
}

// admit lets a call through or says why not.
func (g *guarded) admit() (admission, *agent.Error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cfg.MaxInFlight > 0 && g.inFlight >= g.cfg.MaxInFlight {
		return admission{}, g.refusal("too many calls are under way", time.Second)
	}
	if g.open {
		left := g.until.Sub(g.cfg.Now())
		if g.probing || left > 0 {
			return admission{}, g.refusal("it failed too often and is not asked for a while", max(left, time.Second))
		}
		g.probing = true
	}
	g.inFlight++
	return admission{period: g.period, probe: g.open}, nil
}

func (g *guarded) refusal(message string, after time.Duration) *agent.Error {
	return &agent.Error{Provider: g.inner.Info().Provider, Kind: agent.KindOpen, RetryAfter: after, Message: message}
}

// settle counts what came of a call.
func (g *guarded) settle(a admission, result outcome) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inFlight--
	if a.probe {
		g.probing = false
	}
	if a.period != g.period {
		return
	}
	switch {
	case result == unknown:
	case result == succeeded:
		g.failures = 0
		if a.probe {
			g.change(false)
		}
	case a.probe:
		g.until = g.cfg.Now().Add(g.cfg.CoolDown)
	default:
		if g.failures++; g.failures >= g.cfg.Failures {
			g.until = g.cfg.Now().Add(g.cfg.CoolDown)
			g.change(true)
		}
	}
}

func (g *guarded) change(open bool) {
	g.open, g.failures = open, 0
	g.period++
	if g.cfg.OnChange != nil {
		g.cfg.OnChange(open)
	}
}
