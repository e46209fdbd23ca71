package explain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
)

// stepMarks tells when attempts began and ended, in order. Ends are numbered
// (Seq); begins are not, but attempts get their ids in the order they begin. At
// one and the same time an end therefore comes after the begins of all that have
// an older id, and begins that are left come last.
func (f *Facts) stepMarks() []mark {
	var begins, ends []mark
	ids := map[string]rondo.ID{} // of the attempt behind an entry
	for i := range f.Steps {
		row := &f.Steps[i]
		if !instantly(f.stepAt(row.StepID, row.CompletedAt).Contract.Behaviour) && !row.StartedAt.IsZero() {
			e := f.stepStarted(&rondo.Attempt{
				RowID: row.ID, StepID: row.StepID, Number: row.Attempt, Input: row.Input, StartedAt: row.StartedAt,
			}, unbuilt(row))
			begins, ids[e.ID] = append(begins, mark{at: row.StartedAt, entry: e}), row.ID
		}
		e := f.stepEnded(row)
		ends, ids[e.ID] = append(ends, mark{at: row.CompletedAt, entry: e}), row.ID
	}
	open := func(att *rondo.Attempt) {
		if att.StartedAt.IsZero() {
			return // it waits out a backoff: it is told when it begins
		}
		e := f.stepStarted(att, false)
		begins, ids[e.ID] = append(begins, mark{at: att.StartedAt, entry: e}), att.RowID
	}
	for i := range f.Instance.Machine.Live {
		open(&f.Instance.Machine.Live[i])
	}
	for i := range f.Instance.Machine.Forks {
		open(&f.Instance.Machine.Forks[i].Attempt)
	}
	older := func(a, b mark) int {
		x, y := ids[a.entry.ID], ids[b.entry.ID]
		return bytes.Compare(x[:], y[:])
	}
	slices.SortStableFunc(begins, func(a, b mark) int {
		if order := a.at.Compare(b.at); order != 0 {
			return order
		}
		return older(a, b)
	})
	slices.SortStableFunc(ends, func(a, b mark) int { return a.at.Compare(b.at) }) // within a time they are by Seq already
	out := make([]mark, 0, len(begins)+len(ends))
	for _, end := range ends {
		for len(begins) > 0 && (begins[0].at.Before(end.at) || begins[0].at.Equal(end.at) && older(begins[0], end) <= 0) {
			out, begins = append(out, begins[0]), begins[1:]
		}
		out = append(out, end)
	}
	return append(out, begins...)
}

// unbuilt reports whether an attempt failed because its request could not be
// built: nobody was asked.
func unbuilt(row *rondo.Step) bool {
	return row.Status == rondo.StepFailed && row.StartedAt.Equal(row.CompletedAt) &&
		text(row.Error, "code") == "contract_violation" && strings.HasPrefix(text(row.Error, "message"), "the request ")
}

func (f *Facts) stepStarted(att *rondo.Attempt, unbuilt bool) Entry {
	step := f.stepAt(att.StepID, att.StartedAt)
	var what string
	switch behaviour := step.Contract.Behaviour; {
	case behaviour == definition.BehaviourRequest && unbuilt:
		what = "its request could not be built"
	case behaviour == definition.BehaviourRequest:
		what = fmt.Sprintf("%s was asked with %s", named(Text(step.Contract.ClientModule), "the module"), step.Contract.Requested)
		if f.modeAt(att.StartedAt) == rondo.ModeClientDriven {
			what = "the client is to call " + named(Text(step.Contract.ClientModule), "the module")
		}
	case behaviour == definition.BehaviourDelay:
		what = "a delay"
	case behaviour == definition.BehaviourWait:
		what = "waits for " + step.WaitFor
	case behaviour == definition.BehaviourManual:
		what = "a person is to complete it"
	case behaviour == definition.BehaviourParallel:
		what = fmt.Sprintf("%d branches, of which %d must join", len(step.Branches), step.Need)
	default:
		what = "begun"
	}
	return Entry{
		ID: "begin-" + att.RowID.String(), Kind: EntryStepStarted, StepID: Text(att.StepID),
		Text: fmt.Sprintf("%s began, attempt %d: %s.", att.StepID, att.Number, what),
		Detail: encoded(struct {
			Kind    string          `json:"kind"`
			Attempt int             `json:"attempt"`
			Input   json.RawMessage `json:"input"`
		}{step.Kind, att.Number, att.Input}),
	}
}

func (f *Facts) stepEnded(row *rondo.Step) Entry {
	return Entry{
		ID: "end-" + row.ID.String(), Kind: EntryStepEnded, StepID: Text(row.StepID), Text: f.endText(row),
		Detail: encoded(struct {
			Seq           int              `json:"seq"`
			Kind          string           `json:"kind"`
			Status        rondo.StepStatus `json:"status"`
			Attempt       int              `json:"attempt"`
			Outcome       Text             `json:"outcome"`
			CorrelationID Text             `json:"correlation_id"`
			Input         json.RawMessage  `json:"input"`
			Output        json.RawMessage  `json:"output"`
			Error         json.RawMessage  `json:"error"`
		}{row.Seq, row.Kind, row.Status, row.Attempt, Text(row.Outcome), Text(row.CorrelationID), row.Input, row.Output, row.Error}),
	}
}

func (f *Facts) endText(row *rondo.Step) string {
	step := f.stepAt(row.StepID, row.CompletedAt)
	var b strings.Builder
	switch {
	case step.Contract.Behaviour == definition.BehaviourCondition && row.Status == rondo.StepCompleted:
		fmt.Fprintf(&b, "%s: %s is %s", row.StepID, text(row.Input, "expr"), strings.TrimSpace(string(member(row.Output, "result"))))
		if seen := looked(row.Input); seen != "" {
			fmt.Fprintf(&b, " (%s)", seen)
		}
	case step.Contract.Behaviour == definition.BehaviourHalt && row.Status == rondo.StepCompleted:
		fmt.Fprintf(&b, "%s stops the case with %s", row.StepID, text(row.Input, "reason_code"))
	default:
		fmt.Fprintf(&b, "%s %s", row.StepID, ended(string(row.Status)))
		if row.Attempt > 1 {
			fmt.Fprintf(&b, ", attempt %d", row.Attempt)
		}
		if code := text(row.Error, "code"); code != "" {
			fmt.Fprintf(&b, ", with %s%s", code, bracketed(failureWords(row.Error)))
		}
		if f.triedAgain(row) {
			b.WriteString("; it is tried again")
		}
	}
	if row.Outcome != "" {
		fmt.Fprintf(&b, "; %s", row.Outcome)
		switch target := step.Transitions[row.Outcome]; target {
		case "":
		case definition.Terminal:
			b.WriteString(" ends the case")
		case definition.Join:
			b.WriteString(" joins the other branches")
		default:
			b.WriteString(" leads to " + target)
		}
	}
	return b.String() + "."
}

// triedAgain reports whether the machine itself makes another attempt.
func (f *Facts) triedAgain(row *rondo.Step) bool {
	if row.Outcome != "" || row.Status != rondo.StepFailed && row.Status != rondo.StepTimedOut {
		return false
	}
	i := slices.IndexFunc(f.Steps, func(s rondo.Step) bool { return s.ID == row.ID })
	return i >= 0 && !f.haltedThen(row, i)
}

// halts tells when the case halted by itself: after a halt step, or after an
// attempt that failed or timed out with no way out and no further attempt of the
// machine's own. A halt by hand is told by its intervention, one by the deadline
// by the deadline.
func (f *Facts) halts() []mark {
	var out []mark
	for i := range f.Steps {
		row := &f.Steps[i]
		if !f.haltedThen(row, i) {
			continue
		}
		reason, note := f.haltWords(row, i)
		said := "The case halted"
		if reason != "" {
			said += " with " + reason
			if label := f.label(reason); label != "" {
				said += " (" + label + ")"
			}
		}
		out = append(out, mark{at: row.CompletedAt, entry: Entry{
			ID: "halt-" + row.ID.String(), Kind: EntryHalted, StepID: Text(row.StepID), Text: said + ".",
			Detail: encoded(struct {
				ReasonCode Text `json:"reason_code"`
				Note       Text `json:"note"`
			}{Text(reason), Text(note)}),
		}})
	}
	return out
}

// haltedThen reports whether the row at position i of the steps halted the case.
func (f *Facts) haltedThen(row *rondo.Step, i int) bool {
	if f.stepAt(row.StepID, row.CompletedAt).Contract.Behaviour == definition.BehaviourHalt {
		return row.Status == rondo.StepCompleted
	}
	if row.Outcome != "" || row.Status != rondo.StepFailed && row.Status != rondo.StepTimedOut {
		return false
	}
	for _, later := range f.Steps[i+1:] {
		if later.StepID == row.StepID && later.Attempt == row.Attempt+1 {
			return f.asked(row.CompletedAt, later.StartedAt)
		}
	}
	for j := range f.Instance.Machine.Live {
		att := &f.Instance.Machine.Live[j]
		if att.StepID == row.StepID && att.Number == row.Attempt+1 {
			return att.Manual
		}
	}
	return true
}

// asked reports whether a person got the case moving between two times.
func (f *Facts) asked(from, to time.Time) bool {
	for _, done := range f.Interventions {
		if done.CreatedAt.Before(from) || done.CreatedAt.After(to) {
			continue
		}
		switch rondo.ActionName(done.Action) {
		case rondo.ActionResume, rondo.ActionRetryStep, rondo.ActionSkipStep:
			if text(done.Before, "status") == string(rondo.StatusHalted) {
				return true
			}
		}
	}
	return false
}

// haltWords finds the reason of a halt: in the halt step, in the instance while
// it lasts, else in the intervention that ended it.
func (f *Facts) haltWords(row *rondo.Step, i int) (reason, note string) {
	if f.stepAt(row.StepID, row.CompletedAt).Contract.Behaviour == definition.BehaviourHalt {
		return text(row.Input, "reason_code"), text(row.Input, "note")
	}
	for _, done := range f.Interventions {
		if !done.CreatedAt.Before(row.CompletedAt) && text(done.Before, "status") == string(rondo.StatusHalted) {
			return text(done.Before, "halt_reason"), text(done.Before, "halt_note")
		}
	}
	if f.Instance.Status == rondo.StatusHalted && i == len(f.Steps)-1 {
		return f.Instance.HaltReason, f.Instance.HaltNote
	}
	return "", ""
}
