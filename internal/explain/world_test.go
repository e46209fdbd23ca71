package explain_test

import (
	"encoding/binary"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/definition"
	"github.com/rondo-engine/rondo/internal/explain"
	"github.com/rondo-engine/rondo/internal/flow"
)

// epoch is when every world begins.
var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// world is one case, moved by the real machine.
type world struct {
	t     *testing.T
	state flow.State
	now   time.Time
	made  uint64
	sent  uint64
	facts explain.Facts
	after func() // called after every commit; nil = nobody looks
}

func newWorld(t *testing.T, source string) *world {
	t.Helper()
	snapshot := compiled(t, source)
	w := &world{t: t, now: epoch}
	w.state = flow.State{Start: &flow.Start{DefinitionID: named(9, 1), Snapshot: snapshot}, Launched: epoch.Add(-time.Hour)}
	w.facts = explain.Facts{ReasonCodes: definition.SystemReasonCodes()}
	return w
}

func compiled(t *testing.T, source string) *definition.Snapshot {
	t.Helper()
	for _, draft := range definition.Templates() {
		if draft.Name == source {
			source = string(draft.Body)
		}
	}
	draft, err := definition.ParseDraft([]byte(source))
	if err != nil {
		t.Fatalf("parse definition: %v", err)
	}
	env := definition.Environment{ReasonCodes: definition.SystemReasonCodes()}
	if report := definition.Validate(draft.Body, env); !report.Valid() {
		t.Fatalf("definition is not valid: %+v", report.Errors)
	}
	document, _, err := definition.Freeze(draft.Body, env)
	if err != nil {
		t.Fatalf("freeze: %v", err)
	}
	snapshot, err := definition.Compile(document)
	if err != nil {
		t.Fatalf("compile: %v", err)
	}
	return snapshot
}

// named is the n-th id of a family.
func named(family byte, n uint64) rondo.ID {
	var id rondo.ID
	binary.BigEndian.PutUint64(id[8:], n)
	id[0], id[6], id[8] = family, 0x70, 0x80
	return id
}

// do decides one input a second later and takes it as committed.
func (w *world) do(in flow.Input) {
	w.t.Helper()
	w.now = w.now.Add(time.Second)
	d := flow.Decide(w.state, in, flow.Env{
		Now: w.now, NewID: func() rondo.ID { w.made++; return named(1, w.made) }, Known: event.Known,
	})
	if d.Refused != nil {
		w.t.Fatalf("refused: %v", d.Refused)
	}
	f := &w.facts
	f.Steps = append(f.Steps, d.Steps...)
	if d.Intervention != nil {
		f.Interventions = append(f.Interventions, *d.Intervention)
	}
	if d.Instance != nil {
		w.state.Instance = d.Instance
		if d.Created {
			w.state.Snapshot = w.state.Start.Snapshot
		}
	}
	for _, row := range d.Rejudged {
		w.state.Parked = slices.DeleteFunc(slices.Clone(w.state.Parked), func(p rondo.EventRecord) bool {
			return p.EventID == row.EventID && row.Outcome != rondo.OutcomeParked
		})
		at := slices.IndexFunc(f.Events, func(e rondo.EventRecord) bool { return e.EventID == row.EventID })
		f.Events[at] = row
	}
	if d.Event != nil {
		f.Events = append(f.Events, *d.Event)
		if d.Event.Outcome == rondo.OutcomeParked {
			w.state.Parked = append(slices.Clone(w.state.Parked), *d.Event)
		}
	}
	if w.after != nil {
		w.after()
	}
}

// created begins the case.
func (w *world) created(payload string) {
	w.t.Helper()
	w.event("case.created", "start", payload)
}

// event sends an event with a correlation.
func (w *world) event(eventType, correlation, payload string) {
	w.t.Helper()
	w.sent++
	e := &event.Envelope{
		EventID: named(2, w.sent), Type: eventType, SchemaVersion: event.SchemaVersion, OccurredAt: w.now, CorrelationID: correlation,
		CaseID: "case-1", OrgID: "org-1", ProductID: "product-1", Payload: json.RawMessage(payload),
	}
	w.do(flow.Event{Envelope: e, Raw: e.Encode()})
}

// answer sends an event for a live step.
func (w *world) answer(stepID, eventType, payload string) {
	w.t.Helper()
	for _, att := range w.state.Instance.Machine.Live {
		if att.StepID == stepID {
			w.event(eventType, att.CorrelationID, payload)
			return
		}
	}
	w.t.Fatalf("%s is not live", stepID)
}

// pass moves the clock and fires what is due.
func (w *world) pass(d time.Duration) {
	w.t.Helper()
	w.now = w.now.Add(d - time.Second)
	w.do(flow.Timer{})
}

func (w *world) act(c flow.Command) {
	w.t.Helper()
	c.By = "ann"
	w.do(c)
}

// seen is everything that is known now.
func (w *world) seen() explain.Facts {
	f := w.facts
	f.Instance, f.Snapshot, f.Now = w.state.Instance, w.state.Snapshot, w.now.Add(time.Second)
	return f
}
