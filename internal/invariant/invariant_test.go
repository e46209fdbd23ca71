package invariant_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/definition"
	"github.com/rondo-engine/rondo/internal/flow"
	"github.com/rondo-engine/rondo/internal/invariant"
)

const wide = `
name: wide
start_step: ask
steps:
  ask: {kind: set_case_status, params: {status: open}, transitions: {on_complete: both}}
  both: {kind: parallel, params: {branches: {a: ai, b: look}}, transitions: {on_complete: done}}
  ai: {kind: run_ai_review, timeout_seconds: 60, max_retries: 1, transitions: {on_complete: JOIN}}
  look: {kind: manual, params: {title: Look, outcomes: [fine]}, transitions: {fine: JOIN}}
  done: {kind: emit_final, transitions: {on_complete: TERMINAL}}
`

// forked is a case, made by the machine itself, whose two branches are in flight
// after one step was completed and another skipped with an output.
func forked(t *testing.T) invariant.Case {
	t.Helper()
	env := definition.Environment{ReasonCodes: definition.SystemReasonCodes()}
	draft, err := definition.ParseDraft([]byte(wide))
	if err != nil {
		t.Fatal(err)
	}
	document, _, err := definition.Freeze(draft.Body, env)
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := definition.Compile(document)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ids := rondo.NewIDs(func() time.Time { return now })
	c := invariant.Case{Snapshot: snapshot}
	state := flow.State{Start: &flow.Start{DefinitionID: ids.New(), Snapshot: snapshot}}
	apply := func(in flow.Input) {
		d := flow.Decide(state, in, flow.Env{Now: now, NewID: ids.New})
		if d.Refused != nil || d.Instance == nil {
			t.Fatalf("%+v was not applied: %v", in, d.Refused)
		}
		state.Instance, state.Snapshot = d.Instance, snapshot
		c.Instance = d.Instance
		c.Steps = append(c.Steps, d.Steps...)
		if d.Event != nil {
			c.Events = append(c.Events, *d.Event)
		}
		if d.Intervention != nil {
			c.Interventions = append(c.Interventions, *d.Intervention)
		}
	}
	created := event.Envelope{
		EventID: ids.New(), Type: event.TypeCaseCreated, SchemaVersion: event.SchemaVersion, OccurredAt: now,
		CorrelationID: "c", CaseID: "c", OrgID: "o", ProductID: "p", Payload: json.RawMessage(`{}`),
	}
	apply(flow.Event{Envelope: &created, Raw: created.Encode()})
	apply(flow.Command{
		Action: string(rondo.ActionSkipStep), By: "ann", StepID: "ask", Outcome: "on_complete",
		Output: json.RawMessage(`{"previous_status":"a","new_status":"b"}`),
	})
	return c
}

func TestWhatTheMachineMakesIsSound(t *testing.T) {
	if found := invariant.Check(forked(t)); len(found) > 0 {
		t.Errorf("found %v", found)
	}
}

func TestWhatIsBrokenIsFound(t *testing.T) {
	for _, test := range []struct {
		name  string
		want  string
		wreck func(c *invariant.Case)
	}{
		{"a branch without its fork", "I3", func(c *invariant.Case) { c.Instance.Machine.Forks = nil }},
		{"an attempt in a branch that has joined", "I3", func(c *invariant.Case) { c.Instance.Machine.Forks[0].Branches["a"] = rondo.BranchDone }},
		{"an attempt in another branch than its step", "I3", func(c *invariant.Case) { c.Instance.Machine.Live[0].Branch = "b" }},
		{"a branch with nothing in flight", "I22", func(c *invariant.Case) { c.Instance.Machine.Live = c.Instance.Machine.Live[:1] }},
		{"two open attempts at a step", "I3", func(c *invariant.Case) {
			second := c.Instance.Machine.Live[0]
			second.Number, second.CorrelationID = 2, "other"
			c.Instance.Machine.Live = append(c.Instance.Machine.Live, second)
		}},
		{"a gap in the attempts of a fork", "I11", func(c *invariant.Case) { c.Instance.Machine.Forks[0].Attempt.Number = 2 }},
		{"a correlation id used twice", "I11", func(c *invariant.Case) {
			c.Instance.Machine.Live[0].CorrelationID = c.Instance.Machine.Forks[0].Attempt.CorrelationID
		}},
		{"an output of a skipped row that the context does not have", "I9", func(c *invariant.Case) { delete(c.Instance.Context, "ask") }},
		{"a context without a row", "I9", func(c *invariant.Case) { c.Instance.Context["ai"] = json.RawMessage(`{}`) }},
		{"a missing row", "I10", func(c *invariant.Case) { c.Steps = nil }},
		{"an ended case with a fork", "I5", func(c *invariant.Case) {
			c.Instance.Status, c.Instance.Machine.Live = rondo.StatusCompleted, nil
		}},
		{"a superseded case that was not cancelled", "I5", func(c *invariant.Case) {
			c.Instance.Status, c.Instance.SupersededByID = rondo.StatusCompleted, rondo.ID{1}
		}},
		{"no wake-up", "I7", func(c *invariant.Case) { c.Instance.WakeAt = time.Time{} }},
		{"a delay that was over early", "I7", func(c *invariant.Case) {
			c.Steps[0].Kind, c.Steps[0].Status, c.Steps[0].Input = "delay", rondo.StepCompleted, json.RawMessage(`{"due_at":"2027-01-01T00:00:00Z"}`)
		}},
		{"an attempt after the deadline", "I8", func(c *invariant.Case) { c.Instance.Machine.Forks[0].Attempt.StartedAt = c.Instance.DeadlineAt }},
		{"more attempts than anyone asked for", "I11", func(c *invariant.Case) { c.Instance.Machine.Live[0].Number = 9 }},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := forked(t)
			test.wreck(&c)
			found := invariant.Check(c)
			if !slices.ContainsFunc(found, func(v invariant.Violation) bool { return v.Invariant == test.want }) {
				t.Errorf("found %v, want %s", found, test.want)
			}
		})
	}
}

// A step that was renamed by a migration has its history under two names.
func TestHistoryIsReadAcrossAMigration(t *testing.T) {
	c := forked(t)
	c.Instance.Context["asked"] = c.Instance.Context["ask"]
	delete(c.Instance.Context, "ask")
	if found := invariant.Check(c); len(found) == 0 {
		t.Fatal("a context under another name must be found")
	}
	c.Interventions = append(c.Interventions, rondo.Intervention{
		Action: string(rondo.ActionMigrate), After: json.RawMessage(`{"renamed":{"ask":"asked"},"finished_rows":1}`),
	})
	if found := invariant.Check(c); len(found) > 0 {
		t.Errorf("found %v", found)
	}
}
