package runs

import (
	"context"
	"log/slog"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/plan"
	"github.com/rondo-engine/rondo/store"
)

// Service drives runs. It is safe for concurrent use.
type Service struct {
	cfg   Config
	store store.Runs
	now   func() time.Time
	log   *slog.Logger
}

// New makes a Service. It does no I/O.
func New(cfg Config) (*Service, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Service{cfg: cfg, store: cfg.Store, now: cfg.Now, log: cfg.Log}, nil
}

var errNotYet = &rondo.Error{Code: rondo.CodeUnavailable, Message: "runs are not driven yet"}

// Start takes a name as owner and begins to drive runs. It returns when the store
// has answered.
func (s *Service) Start(context.Context) error { return errNotYet }

// Stop begins no further attempts, gives those under way a grace until ctx ends,
// and leaves what has not ended to others.
func (s *Service) Stop(context.Context) error { return errNotYet }

// Trigger starts a run and returns it when it is durable, before its steps ran.
func (s *Service) Trigger(context.Context, rondo.Principal, Request) (*rondo.Run, error) {
	return nil, errNotYet
}

// Cancel ends a run that is queued or running: CodeWrongState otherwise. The
// answer is the run as it is then; one that another process drives ends a moment
// later.
func (s *Service) Cancel(context.Context, rondo.Principal, rondo.ID) (*rondo.Run, error) {
	return nil, errNotYet
}

// Retry goes on with a failed run from what failed: CodeWrongState otherwise.
func (s *Service) Retry(context.Context, rondo.Principal, rondo.ID) (*rondo.Run, error) {
	return nil, errNotYet
}

// Deliver takes a remote worker's answer in: run.step.completed or run.step.failed.
// Nil means that it is durable, or that nothing waits for it any more; delivering
// again changes nothing. CodeNotFound and CodeInvalid: it never will be taken.
func (s *Service) Deliver(context.Context, *event.Envelope) error { return errNotYet }

// Watch tells every change of a run whose Seq is above after, by Seq, until the
// run has ended, tell fails or ctx ends.
func (s *Service) Watch(ctx context.Context, p rondo.Principal, id rondo.ID, after int64, tell func(Event) error) error {
	return errNotYet
}

// prepared is what is known of a new run beside its record.
type prepared struct {
	// Of an update run: rows of the steps that are linked from the base, as they are
	// to be stored but for RunID and Seq. Every other step is a candidate.
	linked []rondo.RunStep
	base   *baseRun // nil = none
}

// baseRun is what an update run knows of its base: the last attempt of each step
// that is done, and the artifacts that those have attached.
type baseRun struct {
	run       rondo.Run
	steps     map[string]rondo.RunStep
	artifacts map[rondo.ID]rondo.Artifact
}

// loadBase reads a base run whole.
func (s *Service) loadBase(ctx context.Context, tenant string, id rondo.ID) (*baseRun, error) {
	return nil, errNotYet
}

// start makes a run durable and drives it. Trigger and Update check; start does
// not. The run's ID, TriggerType, payload, options and creator are set by the
// caller; status, times and Seq are set here. A run whose ID is there already is
// returned as it is.
func (s *Service) start(ctx context.Context, run *rondo.Run, w *plan.Workflow, p prepared) (*rondo.Run, error) {
	return nil, errNotYet
}
