package explain

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
)

// The kinds of a timeline's entries.
const (
	EntryStarted      = "started"      // the instance began
	EntryStepStarted  = "step_started" // an attempt began
	EntryStepEnded    = "step_ended"   // an attempt ended
	EntryEvent        = "event"        // an inbound event and its verdict
	EntryIntervention = "intervention" // what a person did
	EntryHalted       = "halted"       // the case halted by itself
	EntryDeadline     = "deadline"     // the deadline passed
	EntryEnded        = "ended"        // completed or cancelled
)

// Entry is one thing that happened. Its ID is unique within the instance and
// never changes; an entry says the same for ever, but for two things: the verdict
// of an event that was parked, and how often an event came again.
type Entry struct {
	ID     string          `json:"id" doc:"Unique within the instance, stable"`
	At     Time            `json:"at" format:"date-time"`
	Kind   string          `json:"kind" enum:"started,step_started,step_ended,event,intervention,halted,deadline,ended"`
	StepID Text            `json:"step_id" nullable:"true"`
	Text   string          `json:"text" doc:"What happened, in a sentence"`
	Detail json.RawMessage `json:"detail" doc:"The facts behind the sentence"`
}

// Timeline is what happened to a case and what is open now.
type Timeline struct {
	InstanceID string  `json:"instance_id" format:"uuid"`
	Items      []Entry `json:"items" nullable:"false" doc:"What happened, oldest first"`
	Open       []Wait  `json:"open" nullable:"false" doc:"What is in flight now"`
}

// Timeline reads everything. Entries are ordered by the time of their commit;
// those of one commit by cause: the event or intervention, the attempts that it
// ended and began, in their order, and then what that meant for the case.
func (f Facts) Timeline() Timeline {
	return Timeline{InstanceID: f.Instance.ID.String(), Items: f.entries(), Open: f.waits()}
}

// mark is an entry with its place among those of the same time.
type mark struct {
	at    time.Time
	place int
	entry Entry
}

// The order of entries of one time.
const (
	placeEvent = iota
	placeStarted
	placeIntervention
	placeStep
	placeHalted
	placeDeadline
	placeEnded
)

func (f *Facts) entries() []Entry {
	inst := f.Instance
	marks := make([]mark, 0, 2*len(f.Steps)+len(f.Events)+len(f.Interventions)+4)
	add := func(at time.Time, place int, e Entry) {
		e.At = Time(at)
		marks = append(marks, mark{at, place, e})
	}
	add(inst.StartedAt, placeStarted, f.started())
	for i := range f.Events {
		add(f.Events[i].ReceivedAt, placeEvent, f.event(&f.Events[i]))
	}
	for i := range f.Interventions {
		add(f.Interventions[i].CreatedAt, placeIntervention, f.intervention(&f.Interventions[i]))
	}
	for _, s := range f.stepMarks() {
		add(s.at, placeStep, s.entry)
	}
	for _, h := range f.halts() {
		add(h.at, placeHalted, h.entry)
	}
	if inst.DeadlineExceeded {
		add(inst.DeadlineAt, placeDeadline, Entry{ID: "deadline", Kind: EntryDeadline, Text: "The deadline passed."})
	}
	if inst.Status.Terminal() {
		add(inst.CompletedAt, placeEnded, f.endedEntry())
	}
	slices.SortStableFunc(marks, func(a, b mark) int {
		if order := a.at.Compare(b.at); order != 0 {
			return order
		}
		return a.place - b.place
	})
	out := make([]Entry, 0, len(marks))
	for _, m := range marks {
		out = append(out, m.entry)
	}
	return out
}

func (f *Facts) started() Entry {
	inst := f.Instance
	name := f.Snapshot.Name
	if len(f.Former) > 0 {
		name = f.Former[0].Snapshot.Name
	}
	text := fmt.Sprintf("The case started in %s mode on %s.", f.modeAt(inst.StartedAt), name)
	if !inst.SupersedesID.IsZero() {
		text += " It takes the place of instance " + inst.SupersedesID.String() + "."
	}
	return Entry{ID: "started", Kind: EntryStarted, Text: text, Detail: encoded(struct {
		DeadlineAt   Time `json:"deadline_at"`
		SupersedesID Text `json:"supersedes_id"`
	}{Time(inst.DeadlineAt), textID(inst.SupersedesID)})}
}

func textID(id rondo.ID) Text {
	if id.IsZero() {
		return ""
	}
	return Text(id.String())
}

func (f *Facts) intervention(done *rondo.Intervention) Entry {
	who := done.PerformedBy
	if who == "" {
		who = "somebody"
	}
	said := fmt.Sprintf("%s: %s.", who, strings.ReplaceAll(done.Action, "_", " "))
	if done.Reason != "" {
		said = fmt.Sprintf("%s: %s (%s).", who, strings.ReplaceAll(done.Action, "_", " "), done.Reason)
	}
	return Entry{ID: "intervention-" + done.ID.String(), Kind: EntryIntervention, StepID: Text(text(done.Before, "halt_step_id")), Text: said, Detail: encoded(struct {
		Action string          `json:"action"`
		By     string          `json:"performed_by"`
		Reason Text            `json:"reason"`
		Before json.RawMessage `json:"before"`
		After  json.RawMessage `json:"after"`
	}{done.Action, done.PerformedBy, Text(done.Reason), done.Before, done.After})}
}

func (f *Facts) endedEntry() Entry {
	text := "The case completed."
	if f.Instance.Status == rondo.StatusCancelled {
		text = f.cancelled(f.ending())
	}
	return Entry{ID: "ended", Kind: EntryEnded, Text: text, Detail: encoded(f.ending())}
}

// instantly reports whether steps of the behaviour begin and end in one commit:
// their end tells all.
func instantly(b definition.Behaviour) bool {
	switch b {
	case definition.BehaviourCondition, definition.BehaviourEmit, definition.BehaviourFinal, definition.BehaviourHalt:
		return true
	}
	return false
}
