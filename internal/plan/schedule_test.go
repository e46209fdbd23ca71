package plan

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rondo-engine/rondo"
)

// A run with random ends of its steps, held against what the graph says.
func TestSchedulesOfRandomGraphs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w, err := Compile([]byte(drawShape(t, 15).document()), server{})
		if err != nil {
			t.Fatal(err)
		}
		policy := rapid.SampledFrom([]rondo.FailurePolicy{"", rondo.FailureContinue, rondo.FailureFast}).Draw(t, "policy")
		p := &player{t: t, w: w, s: NewSchedule(w, policy), policy: policy, ends: make([]string, len(w.Steps))}
		p.admit(p.s.Begin())
		p.play()
		status, failed, _ := p.s.Ended()
		if status == rondo.RunFailed && rapid.Bool().Draw(t, "retry") {
			if failed < 0 || p.ends[failed] != "failed" {
				t.Fatalf("failed step %d is %q", failed, p.ends[failed])
			}
			kept := slices.Clone(p.ends)
			for i, end := range p.ends {
				if end != "ran" && end != "reused" {
					p.ends[i] = ""
				}
			}
			p.cancelled = false
			p.admit(p.s.Retry())
			p.play()
			for i, end := range kept {
				if (end == "ran" || end == "reused") && p.ends[i] != end {
					t.Fatalf("step %d was done again", i)
				}
			}
		}
	})
}

// player drives a schedule and remembers how steps ended: ran, reused, failed,
// never, dropped; "" = not yet.
type player struct {
	t         *rapid.T
	w         *Workflow
	s         *Schedule
	policy    rondo.FailurePolicy
	ends      []string
	open      []int
	started   []int
	cancelled bool
}

func (p *player) admit(ready []int) {
	for _, i := range ready {
		if p.ends[i] != "" || slices.Contains(p.open, i) {
			p.t.Fatalf("step %d is ready twice", i)
		}
		for _, need := range p.w.Steps[i].Needs {
			if p.ends[need] != "ran" && p.ends[need] != "reused" {
				p.t.Fatalf("step %d is ready before %d", i, need)
			}
		}
		p.open = append(p.open, i)
	}
}

func (p *player) end(i int, how string) {
	if p.ends[i] != "" {
		p.t.Fatalf("step %d ends twice: %s, %s", i, p.ends[i], how)
	}
	p.ends[i] = how
	p.open = slices.DeleteFunc(p.open, func(j int) bool { return j == i })
	p.started = slices.DeleteFunc(p.started, func(j int) bool { return j == i })
}

func (p *player) play() {
	for {
		if got := p.s.Running(); !slices.Equal(got, slices.Sorted(slices.Values(p.started))) || p.s.RunningCount() != len(got) {
			p.t.Fatalf("running %v, want %v", got, p.started)
		}
		_, _, ended := p.s.Ended()
		if ended != (len(p.open) == 0) {
			p.t.Fatalf("ended = %t with %v open", ended, p.open)
		}
		if ended {
			break
		}
		p.act()
	}
	p.judge()
}

func (p *player) act() {
	i := rapid.SampledFrom(p.open).Draw(p.t, "step")
	switch rapid.IntRange(0, 12).Draw(p.t, "what") {
	case 0:
		never := p.s.Fail(i)
		p.end(i, "failed")
		p.never(never)
	case 1:
		if rapid.IntRange(0, 3).Draw(p.t, "cancel") == 0 {
			p.cancelled = true
			p.never(p.s.Cancel())
		}
	case 2, 3, 4:
		if !slices.Contains(p.started, i) {
			p.s.Start(i)
			p.started = append(p.started, i)
		}
	case 5:
		if p.s.Stopped() {
			p.s.Drop(i)
			p.end(i, "dropped")
		}
	case 6, 7:
		p.end(i, "reused")
		p.admit(p.s.Done(i, false))
	default:
		p.end(i, "ran")
		p.admit(p.s.Done(i, true))
	}
}

func (p *player) never(steps []int) {
	for _, i := range steps {
		if slices.Contains(p.started, i) {
			p.t.Fatalf("step %d runs and never will", i)
		}
		p.end(i, "never")
		if again := p.s.Done(i, true); again != nil {
			p.t.Fatalf("a step that never runs was done: %v", again)
		}
	}
}

func (p *player) judge() {
	failed := slices.Contains(p.ends, "failed")
	status, _, _ := p.s.Ended()
	want := rondo.RunCompleted
	switch {
	case p.cancelled:
		want = rondo.RunCancelled
	case failed:
		want = rondo.RunFailed
	}
	if status != want || p.s.Left() != 0 {
		p.t.Fatalf("ended as %s, want %s; %v", status, want, p.ends)
	}
	for i, end := range p.ends {
		before, redone := false, false
		for j := range p.w.Steps {
			if i != j && reaches(p.w, j, i) {
				before = before || p.ends[j] == "failed"
				redone = redone || p.ends[j] == "ran"
			}
		}
		if before && end != "never" {
			p.t.Fatalf("step %d is %q although something before it failed", i, end)
		}
		if end == "never" && !before && !p.s.Stopped() {
			p.t.Fatalf("step %d never ran although nothing stopped it", i)
		}
		if done := end == "ran" || end == "reused"; done && p.s.UpstreamRan(i) != redone {
			p.t.Fatalf("UpstreamRan(%d) = %t", i, !redone)
		}
	}
}

func TestFailurePolicies(t *testing.T) {
	t.Parallel()
	// a fails; b runs; c waits for a; d waits for b; e is ready.
	document := one(step("a"), step("b"), step("c", "a"), step("d", "b"), step("e"))
	w := mustCompile(t, document)
	for policy, want := range map[rondo.FailurePolicy][]int{rondo.FailureContinue: {2}, rondo.FailureFast: {2, 3, 4}} {
		s := NewSchedule(w, policy)
		if diff := cmp.Diff([]int{0, 1, 4}, s.Begin()); diff != "" {
			t.Fatal(diff)
		}
		s.Start(0)
		s.Start(1)
		never := s.Fail(0)
		slices.Sort(never)
		if diff := cmp.Diff(want, never); diff != "" {
			t.Errorf("%s (-want +got):\n%s", policy, diff)
		}
		next := s.Done(1, true)
		if policy == rondo.FailureFast {
			if status, failed, ended := s.Ended(); next != nil || status != rondo.RunFailed || failed != 0 || !ended {
				t.Errorf("fail_fast: next %v, %s %d %t", next, status, failed, ended)
			}
			continue
		}
		if diff := cmp.Diff([]int{3}, next); diff != "" {
			t.Error(diff)
		}
		if s.Fail(1) != nil || s.Done(2, true) != nil || !s.Open(3) || s.Open(2) {
			t.Error("what ended stays ended")
		}
	}
}

func TestResumeGoesOnFromWhatIsDone(t *testing.T) {
	t.Parallel()
	w := campaign(t)
	s := NewSchedule(w, "")
	ready := s.Resume(func(i int) (done, ran bool) { return i < 6, i == 0 })
	if diff := cmp.Diff([]string{"mix_audio_for_game", "game_config_from_template", "generate_outcome_video_win", "generate_outcome_video_lose"}, ids(w, ready)); diff != "" {
		t.Errorf("ready (-want +got):\n%s", diff)
	}
	if s.Left() != 7 || !s.UpstreamRan(6) {
		t.Errorf("%d left, upstream ran %t", s.Left(), s.UpstreamRan(6))
	}
}

func TestNextAttempt(t *testing.T) {
	t.Parallel()
	plain := &Step{MaxAttempts: DefaultMaxAttempts, Backoff: DefaultBackoff}
	slow := &Step{MaxAttempts: 10, Backoff: time.Minute}
	for _, tc := range []struct {
		step      *Step
		attempt   int
		retryable bool
		delay     time.Duration
		again     bool
	}{
		{plain, 1, true, 3 * time.Second, true},
		{plain, 2, true, 6 * time.Second, true},
		{plain, 4, true, 24 * time.Second, true},
		{plain, 5, true, 0, false},
		{plain, 1, false, 0, false},
		{slow, 3, true, 4 * time.Minute, true},
		{slow, 4, true, 5 * time.Minute, true},
		{slow, 9, true, 5 * time.Minute, true},
		{slow, 10, true, 0, false},
		{&Step{MaxAttempts: 1, Backoff: time.Second}, 1, true, 0, false},
	} {
		if delay, again := NextAttempt(tc.step, tc.attempt, tc.retryable); delay != tc.delay || again != tc.again {
			t.Errorf("NextAttempt(%s, %d, %t) = %s, %t", tc.step.Backoff, tc.attempt, tc.retryable, delay, again)
		}
	}
}
