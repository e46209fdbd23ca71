package explain

import (
	"fmt"
	"strings"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
)

// summary says all of w in a sentence or a few.
func (f *Facts) summary(w *Why) string {
	switch f.Instance.Status {
	case rondo.StatusCompleted:
		return fmt.Sprintf("Completed %s, %s after it started.", f.at(w.Ended.At), span(f.Instance.CompletedAt.Sub(f.Instance.StartedAt)))
	case rondo.StatusCancelled:
		return f.cancelled(w.Ended)
	case rondo.StatusHalted:
		return f.halted(w)
	}
	switch len(w.Waiting) {
	case 0:
		return "Running with no step in flight. The liveness sweeper looks for such cases and gets them moving."
	case 1:
		return w.Waiting[0].Text + f.lateness(w)
	}
	texts := make([]string, 0, len(w.Waiting))
	for i := range w.Waiting {
		texts = append(texts, w.Waiting[i].StepID+": "+w.Waiting[i].Text)
	}
	return fmt.Sprintf("%d steps are open. %s%s", len(w.Waiting), strings.Join(texts, " "), f.lateness(w))
}

// lateness adds what is wrong with a running case.
func (f *Facts) lateness(w *Why) string {
	if f.late() {
		return fmt.Sprintf(" Its deadline passed %s: it halts at its next wake-up, and only cancel and supersede are left.", f.at(Time(f.Instance.DeadlineAt)))
	}
	if n := len(w.Parked); n > 0 {
		return fmt.Sprintf(" %s until the case can use %s.", parked(n), them(n))
	}
	return ""
}

func (f *Facts) cancelled(e *Ending) string {
	by := ""
	if e.By != "" {
		by = " by " + string(e.By)
	}
	if e.SupersededByID != "" {
		return fmt.Sprintf("Cancelled %s%s: instance %s took its place.", f.at(e.At), by, e.SupersededByID)
	}
	if e.Reason == "" {
		return fmt.Sprintf("Cancelled %s%s.", f.at(e.At), by)
	}
	return fmt.Sprintf("Cancelled %s%s: %s", f.at(e.At), by, sentence(string(e.Reason)))
}

func (f *Facts) halted(w *Why) string {
	h := w.Halt
	var b strings.Builder
	fmt.Fprintf(&b, "Halted %s in %s with %s", f.at(h.Since), h.StepID, h.ReasonCode)
	if h.Label != "" {
		fmt.Fprintf(&b, " (%s)", h.Label)
	}
	if h.By != "" {
		fmt.Fprintf(&b, " by %s", h.By)
	}
	switch code := text(h.Error, "code"); {
	case h.By != "" || h.ReasonCode == deadlineReason || h.Attempt == 0:
	case h.Outcome == Text(rondo.StepCompleted):
		b.WriteString(": its outcome leads to a halt")
	case code == "" || code == h.ReasonCode:
		fmt.Fprintf(&b, ": its attempt %d %s%s", h.Attempt, ended(string(h.Outcome)), bracketed(failureWords(h.Error)))
	default:
		fmt.Fprintf(&b, ": its attempt %d %s with %s%s", h.Attempt, ended(string(h.Outcome)), code, bracketed(failureWords(h.Error)))
	}
	b.WriteString(".")
	if h.Note != "" {
		b.WriteString(" Note: " + sentence(string(h.Note)))
	}
	if n := len(w.Parked); n > 0 {
		fmt.Fprintf(&b, " %s: resume applies %s.", parked(n), them(n))
	}
	if h.Deadline {
		fmt.Fprintf(&b, " The deadline passed %s: only cancel and supersede are left.", f.at(Time(f.Instance.DeadlineAt)))
		return b.String()
	}
	fmt.Fprintf(&b, " Resume it, retry or skip the step, or cancel or supersede the case; the deadline is %s.", f.clock(Time(f.Instance.DeadlineAt)))
	return b.String()
}

// sentence says what one open step waits for.
func (f *Facts) sentence(w *Wait, step *definition.Step) string {
	var b strings.Builder
	attempt := fmt.Sprintf("attempt %d", w.Attempt)
	if w.MaxAttempts > 1 {
		attempt = fmt.Sprintf("attempt %d of %d", w.Attempt, w.MaxAttempts)
	}
	switch {
	case w.For == ForResume:
		fmt.Fprintf(&b, "%s (%s) stays open while the case is halted; an answer that comes is kept until resume", w.StepID, attempt)
		if w.Remaining > 0 {
			fmt.Fprintf(&b, ", and %s of its time are left then", span(time.Duration(w.Remaining)*time.Second))
		}
		return b.String() + "."
	case w.For == ForTime && w.Status == string(rondo.StepPending) && step.Contract.Behaviour != definition.BehaviourDelay:
		fmt.Fprintf(&b, "Waiting until %s to try %s again (%s)", f.clock(w.Until), w.StepID, attempt)
		if w.LastError != "" {
			fmt.Fprintf(&b, "; the attempt before failed with %s%s", w.LastError, bracketed(f.lastWords(w.StepID)))
		}
		return b.String() + "."
	case w.For == ForTime:
		fmt.Fprintf(&b, "Waiting until %s in %s%s; then it %s.", f.clock(w.Until), w.StepID, f.since(w), f.goesTo(step, definition.OnComplete))
		return b.String()
	case w.For == ForPerson:
		b.WriteString("Waiting for a person to complete " + w.StepID)
		if w.Title != "" {
			fmt.Fprintf(&b, " (%s)", w.Title)
		}
		b.WriteString(f.since(w))
		who := "anyone with " + rondo.ScopeIntervene
		if len(w.Assignees) > 0 {
			who = strings.Join(w.Assignees, ", ") + " or " + who
		}
		fmt.Fprintf(&b, "; %s can", who)
	case w.For == ForClient:
		fmt.Fprintf(&b, "Waiting for the client to call %s and publish %s for %s (%s)%s", named(w.Module, "the module"), one(w.Events), w.StepID, attempt, f.since(w))
	case step.Contract.Behaviour == definition.BehaviourWait:
		fmt.Fprintf(&b, "Waiting for the event %s", one(w.Events))
		if w.Match != "" {
			fmt.Fprintf(&b, " where %s", w.Match)
		}
		fmt.Fprintf(&b, " in %s%s", w.StepID, f.since(w))
	default:
		fmt.Fprintf(&b, "Waiting for %s to answer %s (%s)%s", named(w.Module, "a module"), step.Contract.Requested, attempt, f.since(w))
		if w.Conversation != "" {
			fmt.Fprintf(&b, ": the conversation %s with %s", w.Conversation, named(w.User, "its user"))
		}
		if w.Resends > 0 {
			fmt.Fprintf(&b, ", asked again %s", times(w.Resends))
		}
	}
	switch {
	case !time.Time(w.TimeoutAt).IsZero():
		fmt.Fprintf(&b, "; times out at %s and then %s.", f.clock(w.TimeoutAt), w.OnTimeout)
	default:
		fmt.Fprintf(&b, "; it has no timeout of its own, the case's deadline is %s.", f.clock(Time(f.Instance.DeadlineAt)))
	}
	return b.String()
}

// lastWords is what is known of how the newest finished attempt of a step failed.
func (f *Facts) lastWords(stepID string) string {
	if row := f.lastRow(stepID); row != nil {
		return failureWords(row.Error)
	}
	return ""
}

func (f *Facts) since(w *Wait) string {
	if time.Time(w.Since).IsZero() {
		return ""
	}
	return " since " + f.clock(w.Since)
}

// clock is a time of day, with its date unless that is today's.
func (f *Facts) clock(t Time) string {
	at := time.Time(t).UTC().Truncate(time.Second)
	if at.IsZero() {
		return "an unknown time"
	}
	if at.Format(time.DateOnly) == f.Now.UTC().Format(time.DateOnly) {
		return at.Format(time.TimeOnly)
	}
	return at.Format(time.DateTime)
}

// at is clock with its preposition.
func (f *Facts) at(t Time) string {
	if time.Time(t).IsZero() {
		return "at " + f.clock(t)
	}
	if clock := f.clock(t); len(clock) == len(time.TimeOnly) {
		return "at " + clock
	}
	return "on " + f.clock(t)
}

// span is a duration to read: its two largest parts.
func span(d time.Duration) string {
	d = d.Round(time.Second)
	days, rest := d/(24*time.Hour), d%(24*time.Hour)
	switch {
	case d < time.Second:
		return "less than 1s"
	case days > 0:
		return strings.TrimSuffix(fmt.Sprintf("%dd%dh", days, rest/time.Hour), "0h")
	case d >= time.Hour:
		return strings.TrimSuffix(fmt.Sprintf("%dh%dm", d/time.Hour, d%time.Hour/time.Minute), "0m")
	case d >= time.Minute:
		return strings.TrimSuffix(fmt.Sprintf("%dm%ds", d/time.Minute, d%time.Minute/time.Second), "0s")
	}
	return fmt.Sprintf("%ds", d/time.Second)
}

func named(module Text, otherwise string) string {
	if module == "" {
		return otherwise
	}
	return string(module)
}

// one is the first of a list: the event that means success.
func one(events []string) string {
	if len(events) == 0 {
		return "its answer"
	}
	return events[0]
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func parked(n int) string {
	if n == 1 {
		return "1 event is parked"
	}
	return fmt.Sprintf("%d events are parked", n)
}

func them(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

// ended is how an attempt ended, as a verb.
func ended(status string) string {
	switch rondo.StepStatus(status) {
	case rondo.StepTimedOut:
		return "timed out"
	case rondo.StepSkipped:
		return "was skipped"
	}
	return status
}

// sentence ends a person's words with a full stop.
func sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" || strings.HasSuffix(s, ".") || strings.HasSuffix(s, "!") || strings.HasSuffix(s, "?") {
		return s
	}
	return s + "."
}
