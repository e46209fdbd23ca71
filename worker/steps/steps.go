// Package steps is the SDK for workers that do the steps of runs: skills of type
// remote. A worker hears `run.step.requested` and answers each request for one of its
// skills with one `run.step.completed` or `run.step.failed`. A skill is written as for
// a program that embeds Rondo, and runs in either.
//
// # Guarantees
//
// Those of package worker: a request is acked after its answer, one that is known is
// answered from memory, one that is being worked on is left alone. Beside them:
//
//  1. A skill's context ends at the attempt's deadline; whatever comes later is not
//     sent, and a request whose deadline has passed is not begun.
//  2. Requests for other skills are acked and left to other groups: give workers that
//     serve different skills different groups, and those that serve the same the same.
//  3. A skill that panics has failed; the worker goes on.
//
// It imports the standard library, the root package, event, bus, worker and the skill
// port.
package steps

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/skill"
	"github.com/rondo-engine/rondo/worker"
)

// Config describes a worker. Group, Bus and Skills are required.
type Config struct {
	// Group names the worker; all processes of a group share its requests and serve the
	// same skills.
	Group string
	// Bus delivers requests and takes answers: package bus/redis, or worker/httpbus.
	Bus bus.Bus
	// Skills by name@version. Call.Blobs keeps small artifacts for the answer; larger
	// ones are stored elsewhere and named by their uri.
	Skills map[string]skill.Skill
	// Concurrency is how many steps are worked on at once. Default 8.
	Concurrency int
	// Timeout bounds one step, whatever its deadline is. Default 1 h.
	Timeout time.Duration
	// AckWait is after which time another process of the group may get a request that
	// is not answered; a worker that died has held it until then. Where the bus allows
	// less (worker/httpbus: a minute), a longer step is begun twice, and its first
	// answer counts. Default: Timeout and a minute.
	AckWait time.Duration
	// Outcomes remembers answers. Default: the last 10,000 in memory.
	Outcomes worker.Outcomes
	// Now is the clock. Default time.Now.
	Now func() time.Time
	// Log receives what went wrong. Default: discarded.
	Log *slog.Logger
}

// New returns a worker that does not run yet: Start and Stop are those of package
// worker.
func New(cfg Config) *worker.Worker {
	if cfg.Concurrency <= 0 {
		cfg.Concurrency = 8
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = time.Hour
	}
	if cfg.AckWait <= 0 {
		cfg.AckWait = cfg.Timeout + time.Minute
	}
	if cfg.Outcomes == nil {
		cfg.Outcomes = worker.NewMemoryOutcomes(10_000)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s := &server{cfg: cfg}
	return worker.New(worker.Config{
		Group: cfg.Group, Bus: cfg.Bus, Handlers: map[string]worker.Handler{event.TypeRunStepRequested: s.handle},
		Concurrency: cfg.Concurrency, Timeout: cfg.Timeout, AckWait: cfg.AckWait, Reply: reply,
		Outcomes: cfg.Outcomes, Now: cfg.Now, Log: cfg.Log,
	})
}

// request is the payload of run.step.requested.
type request struct {
	RunID    rondo.ID        `json:"run_id"`
	StepID   string          `json:"step_id"`
	Attempt  int             `json:"attempt"`
	Skill    string          `json:"skill"`
	Input    json.RawMessage `json:"input"`
	Deadline time.Time       `json:"deadline"`
}

// errNoAnswer says that nobody waits for one, from here at least.
var errNoAnswer = errors.New("steps: no answer")

type server struct{ cfg Config }

// handle does one attempt. What it returns is a skill.Result.
func (s *server) handle(ctx context.Context, envelope *event.Envelope) (any, error) {
	var asked request
	if err := json.Unmarshal(envelope.Payload, &asked); err != nil {
		s.cfg.Log.WarnContext(ctx, "a request for a step cannot be read and is passed over", "event_id", envelope.EventID.String())
		return nil, errNoAnswer
	}
	known, ok := s.cfg.Skills[asked.Skill]
	if !ok || asked.expired(s.cfg.Now()) {
		return nil, errNoAnswer
	}
	if !asked.Deadline.IsZero() {
		bounded, cancel := context.WithTimeout(ctx, asked.Deadline.Sub(s.cfg.Now()))
		defer cancel()
		ctx = bounded
	}
	blobs := &inline{content: map[string][]byte{}}
	result, err := s.do(ctx, known, skill.Call{
		RunID: asked.RunID, StepID: asked.StepID, Attempt: asked.Attempt, Skill: asked.Skill,
		Input: asked.Input, Deadline: asked.Deadline, Blobs: blobs,
	})
	if asked.expired(s.cfg.Now()) {
		return nil, errNoAnswer
	}
	if err != nil {
		return nil, err
	}
	blobs.fill(result.Artifacts)
	return result, nil
}

func (r *request) expired(now time.Time) bool { return !r.Deadline.IsZero() && !now.Before(r.Deadline) }

// do calls a skill; a panic is its failure.
func (s *server) do(ctx context.Context, known skill.Skill, call skill.Call) (result skill.Result, err error) {
	defer func() {
		if r := recover(); r != nil {
			s.cfg.Log.ErrorContext(ctx, "a skill panicked", "skill", call.Skill, "run_id", call.RunID.String(), "step_id", call.StepID)
			result, err = skill.Fail(rondo.CodeSkillError, "the skill panicked", true), nil
		}
	}()
	return known.Do(ctx, call)
}
