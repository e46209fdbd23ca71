// Package modules simulates the programs around Rondo, for the demo and for
// tests: consent, clinical (images, case status), ai-review and human-review.
// They speak the real contracts over a real bus; only what they decide is made
// up, within the configured latency, failure rate and confidence distribution.
//
// What a module decides derives from the request's correlation id and the seed,
// so that a request handled twice, even by two processes, gets the same answer.
package modules

import (
	"context"
	"log/slog"
	"maps"
	"time"

	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/worker"
)

// Config shapes what the simulated modules do. The zero value answers at once,
// never fails, always grants consent and is always confident.
type Config struct {
	// Latency of consent, clinical and AI answers. Default 0.
	Latency Range
	// ReviewLatency of human reviews. Default 0.
	ReviewLatency Range
	// FailureRate is the share of AI requests that fail; three quarters of the
	// failures can be retried. Default 0.
	FailureRate float64
	// ConsentRefusal is the share of cases without consent. Default 0.
	ConsentRefusal float64
	// Confidence of AI reviews. Default: always 0.95.
	Confidence Distribution
	// Seed varies all of it. Default 0.
	Seed uint64
	// Concurrency is how many requests each module handles at once. Default 64.
	Concurrency int
	// Outcomes remembers answers, one store per module. Default: in memory.
	Outcomes func(module string) worker.Outcomes
	// Log receives what went wrong. Default: discarded.
	Log *slog.Logger
}

// Range is a span of time; answers take a time between its ends.
type Range struct{ Min, Max time.Duration }

// Distribution is a bell-like shape between 0 and 1: values lie around Mean, at
// most Spread away from it.
type Distribution struct{ Mean, Spread float64 }

// Suite is all simulated modules on one bus.
type Suite struct {
	workers []*worker.Worker
}

// New returns the modules, not running yet.
func New(b bus.Bus, cfg Config) *Suite {
	s := &Suite{}
	for name, handlers := range cfg.byModule() {
		wc := worker.Config{Group: name, Bus: b, Handlers: handlers, Concurrency: cfg.Concurrency, Log: cfg.Log}
		if cfg.Outcomes != nil {
			wc.Outcomes = cfg.Outcomes(name)
		}
		s.workers = append(s.workers, worker.New(wc))
	}
	return s
}

// Start starts every module; on error those that run are stopped again.
func (s *Suite) Start(ctx context.Context) error {
	for i, w := range s.workers {
		if err := w.Start(ctx); err != nil {
			for _, started := range s.workers[:i] {
				_ = started.Stop(ctx)
			}
			return err
		}
	}
	return nil
}

// Stop drains every module.
func (s *Suite) Stop(ctx context.Context) error {
	var first error
	for _, w := range s.workers {
		if err := w.Stop(ctx); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// byModule lists the handlers by module and requested event type.
func (c Config) byModule() map[string]map[string]worker.Handler {
	return map[string]map[string]worker.Handler{
		"consent":      {"consent.check.requested": c.consent},
		"clinical-api": {"case.images_check.requested": c.images, "case.set_status.requested": c.status},
		"ai-review":    {"ai_review.requested": c.review},
		"human-review": {"human_review.requested": c.humanReview},
	}
}

// handlers lists them by requested event type alone.
func (c Config) handlers() map[string]worker.Handler {
	all := map[string]worker.Handler{}
	for _, handlers := range c.byModule() {
		maps.Copy(all, handlers)
	}
	return all
}

// work waits out the simulated latency.
func work(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// dice draws the numbers of one request.
func (c Config) dice(request *event.Envelope) *dice { return newDice(c.Seed, request.CorrelationID) }
