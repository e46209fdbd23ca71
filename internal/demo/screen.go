package demo

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine"
)

// Screen prints what happens to cases, one short line each, and a running
// total now and then.
type Screen struct {
	mu      sync.Mutex
	out     io.Writer
	colours bool
	now     func() time.Time
	counts  counts
	lines   int // since the last total
}

type counts struct{ running, completed, escalated, retried, halted, cancelled int }

// totalEvery is how many case lines go by between two totals.
const totalEvery = 12

// NewScreen writes to out; colours only where a person looks.
func NewScreen(out io.Writer, colours bool, now func() time.Time) *Screen {
	return &Screen{out: out, colours: colours, now: now}
}

// Continue sets the counts that an earlier run left behind.
func (s *Screen) Continue(running, halted int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.running, s.counts.halted = running, halted
}

// Committed prints the lines of one commit.
func (s *Screen) Committed(c engine.Commit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, change := range c.Changes {
		s.change(change)
	}
	for _, step := range c.Steps {
		if step.Status == rondo.StepFailed {
			s.counts.retried++
		}
	}
	if s.lines >= totalEvery {
		s.lines = 0
		s.total()
	}
}

func (s *Screen) change(c engine.Change) {
	after := c.After
	was := rondo.Status("")
	if c.Before != nil {
		was = c.Before.Status
	}
	if c.Before == nil {
		s.counts.running++
		s.line(after, dim, "started", "product "+after.ProductID)
	}
	if step, confidence, ok := escalated(c); ok {
		s.counts.escalated++
		s.line(after, yellow, "escalated", fmt.Sprintf("confidence %.4g, waiting for %s", confidence, step))
	}
	if after.Status == was || (was == "" && after.Status == rondo.StatusRunning) {
		return
	}
	switch after.Status {
	case rondo.StatusCompleted:
		s.counts.running--
		s.counts.completed++
		s.line(after, green, "completed", fmt.Sprintf("in %.1f s, %d steps", after.CompletedAt.Sub(after.StartedAt).Seconds(), after.Machine.Finished))
	case rondo.StatusHalted:
		s.counts.running--
		s.counts.halted++
		s.line(after, red, "halted", fmt.Sprintf("%s at %s", after.HaltReason, after.HaltStepID))
	case rondo.StatusCancelled:
		if was == rondo.StatusHalted {
			s.counts.halted--
		} else {
			s.counts.running--
		}
		s.counts.cancelled++
		s.line(after, red, "cancelled", after.CancelledReason)
	case rondo.StatusRunning:
		s.counts.halted--
		s.counts.running++
		s.line(after, yellow, "resumed", "at "+c.Before.HaltStepID)
	}
}

// Total prints the counts so far.
func (s *Screen) Total() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total()
}

// escalated reports whether a case has just begun to wait for a person because
// the AI was not confident.
func escalated(c engine.Change) (step string, confidence float64, ok bool) {
	if c.Before == nil || len(c.Before.Context["branch_confidence"]) > 0 || len(c.After.Context["branch_confidence"]) == 0 {
		return "", 0, false
	}
	var review struct {
		Confidence float64 `json:"confidence"`
	}
	if json.Unmarshal(c.After.Context["ai_review"], &review) != nil {
		return "", 0, false
	}
	for _, attempt := range c.After.Machine.Live {
		if attempt.Kind == "request_human_review" {
			return attempt.StepID, review.Confidence, true
		}
	}
	return "", 0, false
}

const (
	dim    = "\x1b[2m"
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	bold   = "\x1b[1m"
	reset  = "\x1b[0m"
)

func (s *Screen) line(i *rondo.Instance, colour, what, detail string) {
	s.lines++
	_, _ = fmt.Fprintf(s.out, "  %s  %-26s %s  %s\n", s.paint(dim, s.now().Format("15:04:05")), i.CaseID, s.paint(colour, fmt.Sprintf("%-9s", what)), detail)
}

func (s *Screen) total() {
	c := s.counts
	// Another process on the same database may have ended what this one counted.
	text := fmt.Sprintf("%d running · %d completed · %d escalated · %d failed attempts · %d halted", max(c.running, 0), c.completed, c.escalated, c.retried, max(c.halted, 0))
	_, _ = fmt.Fprintf(s.out, "  %s\n", s.paint(bold, "── "+text+" ──"))
}

func (s *Screen) paint(colour, text string) string {
	if !s.colours {
		return text
	}
	return colour + text + reset
}
