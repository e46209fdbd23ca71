package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
)

// event tells of an inbound event and what Rondo made of it.
func (f *Facts) event(e *rondo.EventRecord) Entry {
	said := fmt.Sprintf("%s came: %s.", e.Type, f.judged(e))
	if e.Duplicates > 0 {
		said += fmt.Sprintf(" It came again %s and was counted only.", times(e.Duplicates))
	}
	return Entry{ID: eventEntry(e), Kind: EntryEvent, Text: said, Detail: encoded(struct {
		EventID       string `json:"event_id"`
		EventType     string `json:"event_type"`
		CorrelationID Text   `json:"correlation_id"`
		Outcome       string `json:"outcome"`
		Verdict       Text   `json:"verdict"`
		Duplicates    int    `json:"duplicates"`
		Error         Text   `json:"error"`
	}{e.EventID.String(), e.Type, Text(text(e.Envelope, "correlation_id")), string(e.Outcome), Text(e.Verdict), e.Duplicates, Text(e.Error)})}
}

// What an observed event says about the way a client drives its case, as far as
// its outcome does not say the same.
const (
	verdictOnPath      = "on_path"
	verdictEarly       = "early"
	verdictSkippedGate = "skipped_gate"
)

// judged says what Rondo made of an event.
func (f *Facts) judged(e *rondo.EventRecord) string {
	said := string(e.Outcome)
	switch e.Outcome {
	case rondo.OutcomeApplied:
		said = f.applied(e)
	case rondo.OutcomeStale:
		said = "stale, " + f.stale(e)
	case rondo.OutcomeParked:
		said = "parked until the case can use it"
		if early := earliness(e); early != "" {
			said = early + "; " + said
		}
	case rondo.OutcomeRepeated:
		said = "it repeats what was known"
	case rondo.OutcomeNoted:
		said = "noted, it moves nothing"
		if row := f.emitted(e); row != nil {
			said = fmt.Sprintf("noted; what %s emitted was delivered%s", row.StepID, bracketed(text(member(e.Envelope, "payload"), "delivery_id")))
		}
	case rondo.OutcomeUnmatched:
		said = "unmatched, nothing wants it"
	}
	if e.Error != "" {
		said += " (" + e.Error + ")"
	}
	return said
}

// earliness says that a client was ahead of its case; "" when it was not.
func earliness(e *rondo.EventRecord) string {
	switch e.Verdict {
	case verdictEarly:
		return "it came early"
	case verdictSkippedGate:
		return "it came before a gate was passed"
	}
	return ""
}

// applied says how an event moved the case: at once, or when its time had come.
func (f *Facts) applied(e *rondo.EventRecord) string {
	row := f.answered(e, func(row *rondo.Step) bool { return !row.CompletedAt.Before(e.ReceivedAt) })
	early := earliness(e)
	switch {
	case row != nil && row.StartedAt.After(e.ReceivedAt):
		if early == "" {
			early = "it came early"
		}
		return fmt.Sprintf("%s; it was used when %s began", early, row.StepID)
	case row != nil && row.CompletedAt.After(e.ReceivedAt):
		return fmt.Sprintf("parked while the case was halted; it was used in %s when the case went on", row.StepID)
	case early != "":
		return early + "; it was used later"
	case e.Error != "":
		return "it was taken, and its step failed"
	case e.Verdict == verdictOnPath:
		return "it moved the case, on path"
	}
	return "it moved the case"
}

// stale says why an event came too late, or for nothing.
func (f *Facts) stale(e *rondo.EventRecord) string {
	if row := f.answered(e, func(row *rondo.Step) bool { return !row.CompletedAt.After(e.ReceivedAt) }); row != nil {
		return fmt.Sprintf("attempt %d of %s was over", row.Attempt, row.StepID)
	}
	switch {
	case strings.HasPrefix(e.Error, "no_match:"):
		return "it does not match what is waited for"
	case e.Error != "":
		return "nothing asked for it"
	case f.answered(e, func(*rondo.Step) bool { return true }) != nil:
		return "its attempt was over before it could be used"
	case f.modeAt(e.ReceivedAt) == rondo.ModeActive && f.requested(e):
		return "no attempt of this instance has its correlation_id"
	}
	return "nothing waits for it any more"
}

// answered finds the finished attempt that an event answers by its correlation
// id; nil = none.
func (f *Facts) answered(e *rondo.EventRecord, wanted func(*rondo.Step) bool) *rondo.Step {
	correlation := text(e.Envelope, "correlation_id")
	if correlation == "" {
		return nil
	}
	for i := range f.Steps {
		row := &f.Steps[i]
		if row.CorrelationID == correlation && answers(f.stepAt(row.StepID, row.CompletedAt), e.Type) && wanted(row) {
			return row
		}
	}
	return nil
}

// emitted finds the attempt whose emitted event was delivered, as an event says;
// nil = none.
func (f *Facts) emitted(e *rondo.EventRecord) *rondo.Step {
	correlation := text(e.Envelope, "correlation_id")
	for i := range f.Steps {
		row := &f.Steps[i]
		contract := f.stepAt(row.StepID, row.CompletedAt).Contract
		if correlation != "" && row.CorrelationID == correlation && contract.Behaviour == definition.BehaviourEmit && contract.Completed == e.Type {
			return row
		}
	}
	return nil
}

// requested reports whether the event type answered requests when it came.
func (f *Facts) requested(e *rondo.EventRecord) bool {
	snapshot := f.snapshotAt(e.ReceivedAt)
	return snapshot != nil && slices.ContainsFunc(snapshot.StepsFor(e.Type), func(step *definition.Step) bool { return answers(step, e.Type) })
}

func answers(step *definition.Step, eventType string) bool {
	c := step.Contract
	return c.Behaviour == definition.BehaviourRequest && c.AnsweredBy(eventType)
}
