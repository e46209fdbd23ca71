// Package explain says what a case is doing: what a client must do next
// (NextStep), what the case waits for and who can help (Why), and what happened
// so far (Timeline).
//
// It only reads. Every answer is a pure function of what is stored about one
// instance and the time: the same facts give the same answer, word by word and
// in the same order. It decides nothing: what the machine (internal/flow) would
// do is read from the state that the machine left, never guessed again.
//
// The types are what goes on the wire: snake_case, members without a value are
// null, times are RFC 3339 in UTC with microseconds. Sentences give times in
// UTC too, without the date when it is today's.
//
// It imports the root package, event, internal/definition and internal/cond.
package explain

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
)

// Facts is everything that is stored about one instance. Only Instance, Snapshot
// and Now are always needed; a method says what else it reads.
type Facts struct {
	Instance      *rondo.Instance
	Snapshot      *definition.Snapshot // drives Instance; steps of earlier snapshots may be missing in it
	Steps         []rondo.Step         // finished attempts, by Seq
	Events        []rondo.EventRecord  // ledger rows, oldest first
	Interventions []rondo.Intervention // oldest first
	ReasonCodes   []rondo.ReasonCode   // what the organisation can use, for labels
	Former        []Former             // what drove Instance before migrations, oldest first
	// Conversation is the id of the conversation that a step opens, by the step's
	// correlation id; nil = it is not told.
	Conversation func(correlationID string) string
	Now          time.Time
}

// Former is a snapshot that an instance has left.
type Former struct {
	Until    time.Time // when it was left
	Snapshot *definition.Snapshot
}

// timeForm always has six digits, so that times sort as text.
const timeForm = `"2006-01-02T15:04:05.000000Z"`

// Time is a time on the wire; zero is null.
type Time time.Time

// MarshalJSON writes the time or null.
func (t Time) MarshalJSON() ([]byte, error) {
	if time.Time(t).IsZero() {
		return []byte("null"), nil
	}
	return []byte(time.Time(t).UTC().Format(timeForm)), nil
}

// Equal reports whether both are the same instant.
func (t Time) Equal(u Time) bool { return time.Time(t).Equal(time.Time(u)) }

// UnmarshalText reads what MarshalJSON writes.
func (t *Time) UnmarshalText(text []byte) error {
	return (*time.Time)(t).UnmarshalText(text)
}

// Text is a text on the wire; empty is null.
type Text string

// MarshalJSON writes the text or null.
func (t Text) MarshalJSON() ([]byte, error) {
	if t == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(t))
}

// UnmarshalText reads what MarshalJSON writes.
func (t *Text) UnmarshalText(text []byte) error {
	*t = Text(text)
	return nil
}

// Seconds is a length of time on the wire; none is null.
type Seconds int64

// MarshalJSON writes the seconds or null.
func (s Seconds) MarshalJSON() ([]byte, error) {
	if s == 0 {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, int64(s), 10), nil
}

// step is a step of the snapshot; an empty one when the snapshot has none of
// that name, so that history of an earlier snapshot can still be told.
func (f *Facts) step(id string) *definition.Step {
	if f.Snapshot != nil {
		if step := f.Snapshot.Steps[id]; step != nil {
			return step
		}
	}
	return &definition.Step{ID: id, Contract: &definition.Contract{}}
}

// snapshotAt is the snapshot that drove the instance at a time.
func (f *Facts) snapshotAt(at time.Time) *definition.Snapshot {
	for _, former := range f.Former {
		if at.Before(former.Until) {
			return former.Snapshot
		}
	}
	return f.Snapshot
}

// stepAt is a step of the snapshot that drove the instance at a time.
func (f *Facts) stepAt(id string, at time.Time) *definition.Step {
	if snapshot := f.snapshotAt(at); snapshot != nil && snapshot.Steps[id] != nil {
		return snapshot.Steps[id]
	}
	return f.step(id)
}

// modeAt is the mode of the instance at a time.
func (f *Facts) modeAt(at time.Time) rondo.Mode {
	for i := range f.Interventions {
		done := &f.Interventions[i]
		if done.Action == string(rondo.ActionSetMode) && done.CreatedAt.After(at) {
			return rondo.Mode(text(done.Before, "mode"))
		}
	}
	return f.Instance.Mode
}

// rank is the place of a step in topological order; unknown ones come last.
func (f *Facts) rank(id string) int {
	if f.Snapshot == nil {
		return 0
	}
	if i := slices.Index(f.Snapshot.Order, id); i >= 0 {
		return i
	}
	return len(f.Snapshot.Order)
}

// live returns the open attempts, first in topological order first.
func (f *Facts) live() []*rondo.Attempt {
	out := make([]*rondo.Attempt, 0, len(f.Instance.Machine.Live))
	for i := range f.Instance.Machine.Live {
		out = append(out, &f.Instance.Machine.Live[i])
	}
	slices.SortStableFunc(out, func(a, b *rondo.Attempt) int { return f.rank(a.StepID) - f.rank(b.StepID) })
	return out
}

// lastRow is the newest finished attempt of a step; nil = none.
func (f *Facts) lastRow(stepID string) *rondo.Step {
	for i := len(f.Steps) - 1; i >= 0; i-- {
		if f.Steps[i].StepID == stepID {
			return &f.Steps[i]
		}
	}
	return nil
}

// late reports whether the deadline has passed: then only cancel and supersede
// are left.
func (f *Facts) late() bool {
	return f.Instance.DeadlineExceeded || !f.Now.Before(f.Instance.DeadlineAt)
}

// label is what the organisation calls a reason code; "" = nothing.
func (f *Facts) label(code string) string {
	for _, c := range f.ReasonCodes {
		if c.Scope == "halt" && c.Code == code {
			return c.Label
		}
	}
	return ""
}

// path is where an action on the instance is posted.
func (f *Facts) path(action rondo.ActionName) string {
	return "/workflow-instances/" + f.Instance.ID.String() + "/" + strings.ReplaceAll(string(action), "_", "-")
}

// member is a member of a JSON object; nil = absent or not an object.
func member(raw json.RawMessage, name string) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil {
		return nil
	}
	return object[name]
}

// text is a text member of a JSON object; "" when it is anything else.
func text(raw json.RawMessage, name string) string {
	var s string
	if json.Unmarshal(member(raw, name), &s) != nil {
		return ""
	}
	return s
}
