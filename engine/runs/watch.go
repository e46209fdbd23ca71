package runs

import (
	"context"
	"sync"
	"time"

	"github.com/rondo-engine/rondo"
)

// watchers wake those who watch runs of this process.
type watchers struct {
	mu sync.Mutex
	of map[rondo.ID][]chan struct{}
}

func (w *watchers) add(id rondo.ID) (woken <-chan struct{}, remove func()) {
	c := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of == nil {
		w.of = map[rondo.ID][]chan struct{}{}
	}
	w.of[id] = append(w.of[id], c)
	return c, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		kept := w.of[id][:0:0]
		for _, other := range w.of[id] {
			if other != c {
				kept = append(kept, other)
			}
		}
		if len(kept) == 0 {
			delete(w.of, id)
			return
		}
		w.of[id] = kept
	}
}

// notify wakes those who watch a run.
func (s *Service) notify(id rondo.ID) {
	s.watchers.mu.Lock()
	defer s.watchers.mu.Unlock()
	for _, c := range s.watchers.of[id] {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// Watch tells every change of a run whose Seq is above after, by Seq, until the
// run has ended, tell fails or ctx ends. The run itself is told when its status is
// not what it was, and at first.
func (s *Service) Watch(ctx context.Context, p rondo.Principal, id rondo.ID, after int64, tell func(Event) error) error {
	woken, remove := s.watchers.add(id)
	defer remove()
	poll := time.NewTimer(s.cfg.Poll)
	defer poll.Stop()
	var status rondo.RunStatus
	for {
		run, err := s.store.Run(ctx, p.Tenant, id)
		if err != nil {
			return rondo.Op("watch a run", err)
		}
		if after, err = s.tellSteps(ctx, run, run.Status != status, after, tell); err != nil {
			return err
		}
		if run.Status != status {
			status = run.Status
			after = max(after, run.Seq)
			if err := tell(Event{Seq: run.Seq, Run: run, At: runChanged(run)}); err != nil {
				return err
			}
		}
		if status.Ended() {
			return nil
		}
		poll.Reset(s.cfg.Poll)
		select {
		case <-ctx.Done():
			return rondo.Op("watch a run", ctx.Err())
		case <-woken:
		case <-poll.C:
		}
	}
}

// tellSteps tells the steps that changed up to what the run was read with, and
// returns the last Seq; runFollows says that the run itself is told next.
func (s *Service) tellSteps(ctx context.Context, run *rondo.Run, runFollows bool, after int64, tell func(Event) error) (int64, error) {
	if run.Seq <= after {
		return after, nil
	}
	steps, err := s.store.RunSteps(ctx, run.ID, after, false)
	if err != nil {
		return after, rondo.Op("watch a run", err)
	}
	for i := range steps {
		seen := asSeen(run, steps[i])
		step := &seen
		if step.Seq > run.Seq {
			break // what is newer than the run comes with its next state
		}
		at := step.CompletedAt
		if at.IsZero() {
			at = step.StartedAt
		}
		more := runFollows && step.Seq == run.Seq || i+1 < len(steps) && steps[i+1].Seq == step.Seq
		if err := tell(Event{Seq: step.Seq, Step: step, More: more, At: at}); err != nil {
			return after, err
		}
		after = step.Seq
	}
	return after, nil
}

// runChanged is when the status of a run became what it is.
func runChanged(run *rondo.Run) time.Time {
	switch {
	case !run.CompletedAt.IsZero():
		return run.CompletedAt
	case !run.StartedAt.IsZero():
		return run.StartedAt
	}
	return run.CreatedAt
}
