package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/client"
	"github.com/rondo-engine/rondo/internal/plan"
)

// runProgress shows a run under way: on a terminal a line for every step at work
// and a bar below them, elsewhere a line for everything that happens.
type runProgress struct {
	out  io.Writer
	live bool

	mu      sync.Mutex
	total   int
	working map[string]time.Time      // since when
	again   map[string]client.RunStep // failed, and will be attempted again
	ended   map[string]rondo.RunStepStatus
	reused  int
	saved   client.RunCacheAnalysis
	asked   int // reused when saved was read
	drawn   int // lines on the screen that are drawn over
}

func newProgress(out io.Writer, live bool) *runProgress {
	return &runProgress{out: out, live: live, working: map[string]time.Time{}, again: map[string]client.RunStep{}, ended: map[string]rondo.RunStepStatus{}}
}

// expect says of how many steps the run is.
func (p *runProgress) expect(run client.Run) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if run.StepsSummary != nil {
		p.total = run.StepsSummary.Total
	}
}

// redraw is how often a terminal shows the time that passed.
const redraw = 100 * time.Millisecond

// tell takes one change in.
func (p *runProgress) tell(e client.RunEvent) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.Step == nil {
		return nil
	}
	step := *e.Step
	delete(p.working, step.StepID)
	delete(p.again, step.StepID)
	switch {
	case step.Status == rondo.RunStepRunning:
		p.working[step.StepID] = time.Now()
		if step.StartedAt != nil {
			p.working[step.StepID] = *step.StartedAt
		}
	case betweenAttempts(&step):
		p.again[step.StepID] = step
	default:
		if step.Status == rondo.RunStepSkipped && p.ended[step.StepID] != step.Status {
			p.reused++
		}
		p.ended[step.StepID] = step.Status
	}
	if !p.live {
		_, _ = fmt.Fprintln(p.out, progressLine(step))
	}
	return nil
}

// betweenAttempts reports whether an attempt failed and another follows.
func betweenAttempts(step *client.RunStep) bool {
	return step.RetryAt != nil && (step.Status == rondo.RunStepPending || step.Status == rondo.RunStepFailed)
}

// progressLine says what happened to a step: of one between attempts, that the last
// one failed.
func progressLine(step client.RunStep) string {
	if betweenAttempts(&step) {
		step.Status = rondo.RunStepFailed
	}
	line := fmt.Sprintf("%-9s  %s", statusWord(step), step.StepID)
	if step.Attempt > 1 {
		line += fmt.Sprintf(", attempt %d", step.Attempt)
	}
	if step.DurationMs != nil && step.Status != rondo.RunStepRunning && step.Status != rondo.RunStepSkipped {
		line += ", " + elapsed(time.Duration(*step.DurationMs)*time.Millisecond)
	}
	switch {
	case step.Error != nil:
		line += ": " + oneLine(plain(step.Error.Message))
	case step.Reason != nil && step.Reason.Code != "" && step.Status != rondo.RunStepCompleted:
		line += ": " + plain(plan.Sentence(*step.Reason))
	}
	if betweenAttempts(&step) {
		line += "; next attempt at " + moment(*step.RetryAt)
	}
	return line
}

// note tells something beside the steps.
func (p *runProgress) note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	_, _ = fmt.Fprintln(p.out, text)
}

// draw keeps a terminal current until ctx ends. What was saved is asked for once a
// second at most, and only when more was reused.
func (p *runProgress) draw(ctx context.Context, saved func() (client.RunCacheAnalysis, error)) {
	if !p.live {
		return
	}
	ticker := time.NewTicker(redraw)
	defer ticker.Stop()
	for tick := 1; ; tick++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		p.mu.Lock()
		more := p.reused > p.asked && tick%int(time.Second/redraw) == 0
		reused := p.reused
		p.mu.Unlock()
		if more {
			if found, err := saved(); err == nil { // the next second asks again
				p.mu.Lock()
				p.saved, p.asked = found, reused
				p.mu.Unlock()
			}
		}
		p.mu.Lock()
		p.show(terminalSize(p.out))
		p.mu.Unlock()
	}
}

// show draws over what was drawn before.
func (p *runProgress) show(width, height int) {
	p.erase()
	lines := p.lines(time.Now(), width, height)
	p.drawn = len(lines)
	_, _ = io.WriteString(p.out, strings.Join(lines, "\n")+"\n")
}

// lines are what a terminal of a size shows: steps at work, longest first, those
// that wait for their next attempt, and the bar.
func (p *runProgress) lines(now time.Time, width, height int) []string {
	type work struct {
		step  string
		since time.Time
	}
	var at []work
	for step, since := range p.working {
		at = append(at, work{step, since})
	}
	slices.SortFunc(at, func(a, b work) int { return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.step, b.step)) })
	var lines []string
	most := max(height-3, 1)
	for _, w := range at {
		lines = append(lines, fmt.Sprintf("  %6s  %s", elapsed(now.Sub(w.since)), w.step))
	}
	lines = append(lines, p.waiting(now)...)
	if more := len(lines) - most; more > 0 {
		lines = append(lines[:most], fmt.Sprintf("  and %d more", more))
	}
	lines = append(lines, p.bar(width))
	for i, line := range lines {
		if runes := []rune(line); len(runes) >= width && width > 1 {
			lines[i] = string(runes[:width-1])
		}
	}
	return lines
}

// waiting says what the run waits for: attempts to come, the nearest first, or,
// when nothing is at work, what has to come from elsewhere.
func (p *runProgress) waiting(now time.Time) []string {
	var lines []string
	next := slices.SortedFunc(maps.Values(p.again), func(a, b client.RunStep) int {
		return cmp.Or(a.RetryAt.Compare(*b.RetryAt), cmp.Compare(a.StepID, b.StepID))
	})
	for _, step := range next {
		why := ""
		if step.Error != nil {
			why = " (" + oneLine(plain(step.Error.Message)) + ")"
		}
		lines = append(lines, fmt.Sprintf("  %6s  %s failed%s, attempt %d in %s", "", step.StepID, why, step.Attempt+1, span(max(step.RetryAt.Sub(now), 0))))
	}
	if left := p.total - len(p.ended); len(p.working)+len(lines) == 0 && left > 0 {
		lines = append(lines, fmt.Sprintf("  %6s  waiting for a slot, or for another run that computes the same: %s left", "", count(left, "step")))
	}
	return lines
}

// bar is the last line: how far the run is, and what reuse was good for. Where there
// is little room the bar itself shrinks first, down to nothing.
func (p *runProgress) bar(width int) string {
	const most, least = 24, 4 // cells
	done, failed := 0, 0
	for _, status := range p.ended {
		if done++; status == rondo.RunStepFailed {
			failed++
		}
	}
	total := max(p.total, done+len(p.working), 1)
	line := fmt.Sprintf("%d of %d, %d reused", done, total, p.reused)
	if failed > 0 {
		line += fmt.Sprintf(", %d failed", failed)
	}
	line += savedWords(p.saved)
	cells := min(most, width-len(line)-len("[] ")-1)
	if cells < least {
		return line
	}
	full := cells * done / total
	return fmt.Sprintf("[%s%s] %s", strings.Repeat("#", full), strings.Repeat("-", cells-full), line)
}

// savedWords says what reuse saved; "" = nothing.
func savedWords(a client.RunCacheAnalysis) string {
	if a.TimeSavedMs == 0 && a.CostSaved == 0 {
		return ""
	}
	out := ", saved " + elapsed(time.Duration(a.TimeSavedMs)*time.Millisecond)
	if a.CostSaved > 0 {
		out += fmt.Sprintf(" and a cost of %.4g", a.CostSaved)
	}
	return out
}

// clear leaves the screen to what is printed next.
func (p *runProgress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
}

func (p *runProgress) erase() {
	if p.drawn > 0 {
		_, _ = fmt.Fprintf(p.out, "\x1b[%dA\x1b[J", p.drawn)
		p.drawn = 0
	}
}

// elapsed shows how long work takes or took.
func elapsed(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", max(d, 0).Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Truncate(time.Second).String()
}

func terminalSize(out io.Writer) (width, height int) {
	if f, ok := out.(*os.File); ok {
		if width, height, err := term.GetSize(int(f.Fd())); err == nil && width > 0 && height > 0 {
			return width, height
		}
	}
	return 80, 24
}
