package plan

import (
	"time"

	"github.com/rondo-engine/rondo"
)

// stepState is where a step stands in a schedule.
type stepState uint8

const (
	stepWaits   stepState = iota // for what it depends on
	stepReady                    // it may run; it may be told nothing of for a while
	stepRunning                  // it was told to run
	stepDone
	stepFailed
	stepNever // what it depends on failed, or the run was ended
)

// Schedule is what may run next in one run. It knows neither time nor skills: who
// drives the run tells it what happened. Every call costs what it returns and the
// steps that depend on the one it is about. It is not safe for concurrent use.
type Schedule struct {
	w      *Workflow
	policy rondo.FailurePolicy
	state  []stepState
	waits  []int  // dependencies that are not done
	ran    []bool // the step was computed in this run
	redone []bool // something before the step was

	left      int // steps that have not ended
	running   int
	failed    int // the first that failed; −1 = none
	stopped   bool
	cancelled bool
}

// NewSchedule returns the schedule of a run in which nothing has happened.
func NewSchedule(w *Workflow, policy rondo.FailurePolicy) *Schedule {
	s := &Schedule{w: w, policy: policy}
	s.reset()
	return s
}

func (s *Schedule) reset() {
	n := len(s.w.Steps)
	s.state, s.waits, s.ran, s.redone = make([]stepState, n), make([]int, n), make([]bool, n), make([]bool, n)
	for i := range s.w.Steps {
		s.waits[i] = len(s.w.Steps[i].Needs)
	}
	s.left, s.running, s.failed, s.stopped, s.cancelled = n, 0, -1, false, false
}

// Begin returns the steps that are ready at first.
func (s *Schedule) Begin() []int {
	return s.Resume(func(int) (done, ran bool) { return false, false })
}

// Resume begins in the middle: was tells which steps are done already, and whether
// they were computed in this run or reused. A step that is done although something
// before it is not stays done. It returns the steps that are ready, in order.
func (s *Schedule) Resume(was func(step int) (done, ran bool)) []int {
	s.reset()
	var ready []int
	for _, i := range s.w.order {
		if done, ran := was(i); done {
			s.state[i] = stepDone
			s.left--
			s.feed(i, ran)
		} else if s.waits[i] == 0 {
			s.state[i] = stepReady
			ready = append(ready, i)
		}
	}
	return ready
}

// Retry makes everything that failed or never ran wait again, as a run that is
// resumed does, and returns the steps that are ready. Nothing may be running.
func (s *Schedule) Retry() []int {
	before, ran := s.state, s.ran
	return s.Resume(func(step int) (bool, bool) { return before[step] == stepDone, ran[step] })
}

// feed tells what depends on a step that it is done.
func (s *Schedule) feed(step int, ran bool) {
	s.ran[step] = ran
	touched := ran || s.redone[step]
	for _, fed := range s.w.Steps[step].Feeds {
		s.waits[fed]--
		s.redone[fed] = s.redone[fed] || touched
	}
}

// Start notes that a ready step runs.
func (s *Schedule) Start(step int) {
	if s.state[step] == stepReady {
		s.state[step] = stepRunning
		s.running++
	}
}

// Done notes that a step is done, computed (ran) or reused, and returns what became
// ready. A step that is not open any more is left alone.
func (s *Schedule) Done(step int, ran bool) []int {
	if !s.end(step, stepDone) {
		return nil
	}
	s.feed(step, ran)
	if s.stopped {
		return nil
	}
	var ready []int
	for _, fed := range s.w.Steps[step].Feeds {
		if s.waits[fed] == 0 && s.state[fed] == stepWaits {
			s.state[fed] = stepReady
			ready = append(ready, fed)
		}
	}
	return ready
}

// end moves an open step to its end.
func (s *Schedule) end(step int, to stepState) bool {
	switch s.state[step] {
	case stepRunning:
		s.running--
	case stepReady:
	default:
		return false
	}
	s.state[step] = to
	s.left--
	return true
}

// Fail notes that a step failed for good and returns the steps that will never run
// because of it: what depends on it, and when the run fails fast everything that
// does not run already. Those that run then are the driver's to end: see Running
// and Drop.
func (s *Schedule) Fail(step int) []int {
	if !s.end(step, stepFailed) {
		return nil
	}
	if s.failed < 0 {
		s.failed = step
	}
	if s.policy == rondo.FailureFast {
		return s.stop()
	}
	var never []int
	todo := []int{step}
	for len(todo) > 0 {
		last := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, fed := range s.w.Steps[last].Feeds {
			if s.state[fed] == stepWaits {
				s.state[fed] = stepNever
				s.left--
				never = append(never, fed)
				todo = append(todo, fed)
			}
		}
	}
	return never
}

// Cancel ends the run: it returns the steps that will never run. Those that run are
// the driver's to end.
func (s *Schedule) Cancel() []int {
	s.cancelled = true
	return s.stop()
}

func (s *Schedule) stop() []int {
	if s.stopped {
		return nil
	}
	s.stopped = true
	var never []int
	for _, i := range s.w.order {
		if s.state[i] == stepWaits || s.state[i] == stepReady {
			s.state[i] = stepNever
			s.left--
			never = append(never, i)
		}
	}
	return never
}

// Drop notes that a step was ended before its end: it was cancelled.
func (s *Schedule) Drop(step int) { s.end(step, stepNever) }

// Ended says whether nothing is left to do, and then how the run ended. failedStep
// is the first that failed, −1 = none.
func (s *Schedule) Ended() (status rondo.RunStatus, failedStep int, ended bool) {
	switch {
	case s.left > 0:
		return rondo.RunRunning, s.failed, false
	case s.failed >= 0 && !s.cancelled:
		return rondo.RunFailed, s.failed, true
	case s.cancelled:
		return rondo.RunCancelled, s.failed, true
	}
	return rondo.RunCompleted, -1, true
}

// UpstreamRan reports whether something before a step, near or far, was computed in
// this run.
func (s *Schedule) UpstreamRan(step int) bool { return s.redone[step] }

// RunningCount is how many steps run.
func (s *Schedule) RunningCount() int { return s.running }

// Left is how many steps have not ended.
func (s *Schedule) Left() int { return s.left }

// Stopped reports whether the run was cancelled or fails fast: what still runs is
// to be ended.
func (s *Schedule) Stopped() bool { return s.stopped }

// Open reports whether a step is ready or running.
func (s *Schedule) Open(step int) bool {
	return s.state[step] == stepReady || s.state[step] == stepRunning
}

// Running returns the steps that run, in the order of the file. It looks at all.
func (s *Schedule) Running() []int {
	var list []int
	for i, state := range s.state {
		if state == stepRunning {
			list = append(list, i)
		}
	}
	return list
}

// maxBackoff is the longest time between two attempts.
const maxBackoff = 5 * time.Minute

// NextAttempt says whether a step is tried again after its attempt-th attempt (from
// 1) failed, and after how long: backoff·2^(attempt−1), at most five minutes.
// Attempts count from the last time that the run was resumed.
func NextAttempt(step *Step, attempt int, retryable bool) (delay time.Duration, again bool) {
	if !retryable || attempt >= step.MaxAttempts {
		return 0, false
	}
	delay = step.Backoff
	for range attempt - 1 {
		if delay *= 2; delay >= maxBackoff {
			return maxBackoff, true
		}
	}
	return min(delay, maxBackoff), true
}
