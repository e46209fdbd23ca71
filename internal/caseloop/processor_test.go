package caseloop

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/definition"
	"github.com/rondo-engine/rondo/internal/flow"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/memory"
)

const (
	benchOrg     = "acme"
	benchProduct = "skin"
)

// doubtful is a store that can be told to commit and say that it does not know.
type doubtful struct {
	*memory.Store
	ambiguous bool
}

func (d *doubtful) Update(ctx context.Context, load store.Load, decide store.Decide) (store.Committed, error) {
	committed, err := d.Store.Update(ctx, load, decide)
	if err == nil && d.ambiguous {
		d.ambiguous = false
		return store.Committed{}, fmt.Errorf("test: %w", store.ErrAmbiguous)
	}
	return committed, err
}

// processorBench is a processor over a store in memory.
type processorBench struct {
	t         *testing.T
	store     *doubtful
	processor *Processor
	ids       *rondo.IDs
}

func newProcessorBench(t *testing.T) *processorBench {
	t.Helper()
	s := &doubtful{Store: memory.Open(memory.Options{})}
	ids := rondo.NewIDs(time.Now)
	return &processorBench{
		t: t, store: s, ids: ids,
		processor: &Processor{Store: s, Snapshots: NewSnapshots(s), Now: time.Now, NewID: ids.New},
	}
}

// publish makes a definition the active one.
func (b *processorBench) publish(source string) *flow.Start {
	b.t.Helper()
	env := definition.Environment{ReasonCodes: definition.SystemReasonCodes()}
	draft, err := definition.ParseDraft([]byte(source))
	if err != nil {
		b.t.Fatal(err)
	}
	document, hash, err := definition.Freeze(draft.Body, env)
	if err != nil {
		b.t.Fatal(err)
	}
	snapshot, err := definition.Compile(document)
	if err != nil {
		b.t.Fatal(err)
	}
	d := rondo.Definition{ID: b.ids.New(), OrgID: benchOrg, Kind: rondo.KindCase, Name: draft.Name, Status: rondo.DefinitionDraft, DefaultMode: rondo.ModeActive, Body: draft.Body}
	revision := func() rondo.DefinitionRevision {
		return rondo.DefinitionRevision{ID: b.ids.New(), DefinitionID: d.ID, OrgID: benchOrg}
	}
	if _, err := b.store.CreateDefinition(b.t.Context(), d, revision()); err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.store.ChangeDefinition(b.t.Context(), benchOrg, d.ID, func(d rondo.Definition) (store.DefinitionChange, error) {
		d.Status, d.SnapshotHash = rondo.DefinitionActive, hash
		return store.DefinitionChange{Definition: d, Snapshot: document, Revision: revision()}, nil
	}); err != nil {
		b.t.Fatal(err)
	}
	return &flow.Start{DefinitionID: d.ID, Snapshot: snapshot}
}

// apply commits inputs as one batch and returns what became of each.
func (b *processorBench) apply(inputs ...*Input) []Result {
	b.t.Helper()
	results := make([]Result, len(inputs))
	for i, in := range inputs {
		in.Done = func(r Result) { results[i] = r }
	}
	b.processor.Apply(b.t.Context(), inputs)
	return results
}

func (b *processorBench) event(eventType, correlation, payload string) *Input {
	e := &event.Envelope{
		EventID: b.ids.New(), Type: eventType, SchemaVersion: event.SchemaVersion, OccurredAt: time.Now(), CorrelationID: correlation,
		CaseID: "case-1", OrgID: benchOrg, ProductID: benchProduct, Payload: json.RawMessage(payload),
	}
	return &Input{Key: e.Key(), Event: &Event{Envelope: e, Raw: e.Encode()}}
}

func (b *processorBench) command(instance *rondo.Instance, c flow.Command) *Input {
	c.By = "ann"
	return &Input{Key: instance.Key(), Command: &Command{InstanceID: instance.ID, ProductID: benchProduct, Command: c}}
}

// start begins the case on the active definition.
func (b *processorBench) start() *rondo.Instance {
	b.t.Helper()
	r := b.apply(b.event(event.TypeCaseCreated, "case-1", `{"patient_id":"p"}`))[0]
	if r.Err != nil || r.Outcome != rondo.OutcomeApplied {
		b.t.Fatalf("the case did not start: %+v", r)
	}
	return r.Instance
}

// instances are all instances of the organisation, newest first.
func (b *processorBench) instances() []*rondo.Instance {
	b.t.Helper()
	found, err := b.store.Instances(b.t.Context(), store.InstanceFilter{OrgID: benchOrg}, store.Page{})
	if err != nil {
		b.t.Fatal(err)
	}
	return found
}

// job makes a job about instances.
func (b *processorBench) job(instances ...*rondo.Instance) *JobTicket {
	b.t.Helper()
	job := rondo.Job{ID: b.ids.New(), OrgID: benchOrg, Action: rondo.ActionHalt, Status: rondo.JobRunning, Total: len(instances)}
	items := make([]rondo.JobItem, 0, len(instances))
	for _, i := range instances {
		items = append(items, rondo.JobItem{InstanceID: i.ID, Key: i.Key()})
	}
	if err := b.store.CreateJob(b.t.Context(), job, items); err != nil {
		b.t.Fatal(err)
	}
	return &JobTicket{JobID: job.ID, OrgID: benchOrg}
}

func (b *processorBench) jobOutcomes(ticket *JobTicket) []string {
	b.t.Helper()
	results, err := b.store.JobResults(b.t.Context(), benchOrg, ticket.JobID, store.Page{})
	if err != nil {
		b.t.Fatal(err)
	}
	var outcomes []string
	for _, r := range results {
		outcomes = append(outcomes, r.Outcome)
	}
	return outcomes
}

const oneStep = `{"name":"one","search":["status.new_status"],"start_step":"status","steps":{
	"status":{"kind":"set_case_status","params":{"status":"open"},"transitions":{"on_complete":"done"}},
	"done":{"kind":"emit_final","transitions":{"on_complete":"TERMINAL"}}}}`

const twoSteps = `{"name":"two","start_step":"first","steps":{
	"first":{"kind":"set_case_status","params":{"status":"open"},"transitions":{"on_complete":"second"}},
	"second":{"kind":"set_case_status","params":{"status":"done"},"transitions":{"on_complete":"done"}},
	"done":{"kind":"emit_final","transitions":{"on_complete":"TERMINAL"}}}}`

func TestAnUnmatchedEventIsReplayedInPlace(t *testing.T) {
	b := newProcessorBench(t)
	created := b.event(event.TypeCaseCreated, "case-1", `{"patient_id":"p"}`)
	if r := b.apply(created)[0]; r.Outcome != rondo.OutcomeUnmatched {
		t.Fatalf("without a definition the event is %q, want unmatched", r.Outcome)
	}
	id := created.Event.Envelope.EventID
	before, err := b.store.Event(t.Context(), benchOrg, id)
	if err != nil {
		t.Fatal(err)
	}
	replay := func() *Input {
		return &Input{Key: created.Key, Event: &Event{Envelope: created.Event.Envelope, Raw: before.Envelope, Replay: true}}
	}
	b.publish(oneStep)
	results := b.apply(replay(), replay())
	if results[0].Err != nil || results[0].Outcome != rondo.OutcomeApplied || results[0].Instance == nil {
		t.Errorf("the replay was answered %+v, want applied with the instance", results[0])
	}
	if rondo.CodeOf(results[1].Err) != rondo.CodeWrongState {
		t.Errorf("a second replay of the batch was answered %v, want wrong_state", results[1].Err)
	}
	if r := b.apply(replay())[0]; rondo.CodeOf(r.Err) != rondo.CodeWrongState {
		t.Errorf("a replay of an applied event was answered %v, want wrong_state", r.Err)
	}
	after, err := b.store.Event(t.Context(), benchOrg, id)
	if err != nil {
		t.Fatal(err)
	}
	want := *before
	want.Outcome, want.Error, want.InstanceID = rondo.OutcomeApplied, "", results[0].Instance.ID
	if diff := cmp.Diff(want, *after); diff != "" {
		t.Errorf("the ledger row changed otherwise (-want +got):\n%s", diff)
	}
	if n := len(b.instances()); n != 1 {
		t.Errorf("there are %d instances, want 1", n)
	}
	unknown := b.event(event.TypeCaseCreated, "case-1", `{}`)
	unknown.Event.Replay = true
	if r := b.apply(unknown)[0]; rondo.CodeOf(r.Err) != rondo.CodeNotFound {
		t.Errorf("a replay of an unknown event was answered %v, want not_found", r.Err)
	}
}

func TestAReplayWhoseCommitIsInDoubtIsAnsweredOnce(t *testing.T) {
	b := newProcessorBench(t)
	created := b.event(event.TypeCaseCreated, "case-1", `{"patient_id":"p"}`)
	b.apply(created)
	b.publish(oneStep)
	created.Event.Replay = true
	b.store.ambiguous = true
	if r := b.apply(created)[0]; r.Err != nil || r.Outcome != rondo.OutcomeApplied {
		t.Errorf("the replay was answered %+v, want applied", r)
	}
	if n := len(b.instances()); n != 1 {
		t.Errorf("there are %d instances, want 1", n)
	}
}

func TestAJobActsOnAnInstanceOnce(t *testing.T) {
	b := newProcessorBench(t)
	b.publish(oneStep)
	instance := b.start()
	ticket := b.job(instance)
	halt := func() *Input {
		in := b.command(instance, flow.Command{Action: string(rondo.ActionHalt), ReasonCode: "manual_halt"})
		in.Job = ticket
		return in
	}
	if r := b.apply(halt())[0]; r.Err != nil || r.Instance.Status != rondo.StatusHalted {
		t.Fatalf("the job's command was answered %+v", r)
	}
	b.apply(b.command(instance, flow.Command{Action: string(rondo.ActionResume)}))
	// The same item again, beside an input that must not suffer from it.
	results := b.apply(halt(), b.command(instance, flow.Command{Action: string(rondo.ActionSetMode), Mode: rondo.ModeClientDriven}))
	if rondo.CodeOf(results[0].Err) != rondo.CodeConflict {
		t.Errorf("the same item again was answered %v, want conflict", results[0].Err)
	}
	if r := results[1]; r.Err != nil || r.Instance.Status != rondo.StatusRunning || r.Instance.Mode != rondo.ModeClientDriven {
		t.Errorf("the other input was answered %+v, want a running instance in the new mode", r)
	}
	if diff := cmp.Diff([]string{rondo.JobApplied}, b.jobOutcomes(ticket)); diff != "" {
		t.Errorf("results of the job (-want +got):\n%s", diff)
	}
}

func TestAJobKeepsWhyAnInstanceRefused(t *testing.T) {
	b := newProcessorBench(t)
	b.publish(oneStep)
	instance := b.start()
	ticket := b.job(instance)
	in := b.command(instance, flow.Command{Action: string(rondo.ActionResume)})
	in.Job = ticket
	if r := b.apply(in)[0]; rondo.CodeOf(r.Err) != rondo.CodeWrongState {
		t.Fatalf("resuming a running instance was answered %v", r.Err)
	}
	results, err := b.store.JobResults(t.Context(), benchOrg, ticket.JobID, store.Page{})
	if err != nil || len(results) != 1 || results[0].Outcome != rondo.JobRefused || results[0].Detail == "" || results[0].InstanceID != instance.ID {
		t.Errorf("results are %+v, %v; want one that says why it was refused", results, err)
	}
}

func TestAJobWhoseCommitIsInDoubtIsNotDoneTwice(t *testing.T) {
	b := newProcessorBench(t)
	b.publish(oneStep)
	instance := b.start()
	ticket := b.job(instance)
	in := b.command(instance, flow.Command{Action: string(rondo.ActionHalt), ReasonCode: "manual_halt"})
	in.Job = ticket
	b.store.ambiguous = true
	if r := b.apply(in)[0]; rondo.CodeOf(r.Err) != rondo.CodeConflict {
		t.Errorf("the command was answered %v, want conflict: its result is there", r.Err)
	}
	if diff := cmp.Diff([]string{rondo.JobApplied}, b.jobOutcomes(ticket)); diff != "" {
		t.Errorf("results of the job (-want +got):\n%s", diff)
	}
}

func TestACaseIsSupersededInOneCommit(t *testing.T) {
	b := newProcessorBench(t)
	b.publish(oneStep)
	old := b.start()
	next := b.publish(twoSteps)
	supersede := flow.Command{Action: string(rondo.ActionSupersede)}
	results := b.apply(b.command(old, supersede), b.command(old, supersede))
	if results[0].Err != nil || results[0].Instance.DefinitionID != next.DefinitionID || results[0].Instance.SupersedesID != old.ID {
		t.Fatalf("superseding was answered %+v", results[0])
	}
	if rondo.CodeOf(results[1].Err) != rondo.CodeWrongState {
		t.Errorf("superseding what was replaced already was answered %v, want wrong_state", results[1].Err)
	}
	found := b.instances()
	if len(found) != 2 || found[0].Status != rondo.StatusRunning || found[1].Status != rondo.StatusCancelled || found[1].SupersededByID != found[0].ID {
		t.Errorf("instances are %+v", found)
	}
}

func TestAnInstanceThatTheBatchChangedCanBeSuperseded(t *testing.T) {
	b := newProcessorBench(t)
	b.publish(oneStep)
	instance := b.start()
	results := b.apply(
		b.command(instance, flow.Command{Action: string(rondo.ActionHalt), ReasonCode: "manual_halt"}),
		b.command(instance, flow.Command{Action: string(rondo.ActionSupersede)}),
	)
	if results[0].Err != nil || results[1].Err != nil {
		t.Fatalf("answers are %+v", results)
	}
	found := b.instances()
	if len(found) != 2 || found[1].Version != 3 || found[1].Status != rondo.StatusCancelled {
		t.Errorf("the old instance is %+v, want version 3 and cancelled", found[1])
	}
}

func TestAMigratedCaseGoesOnWithTheTargetInTheSameBatch(t *testing.T) {
	b := newProcessorBench(t)
	b.publish(oneStep)
	instance := b.start()
	target := b.publish(twoSteps)
	correlation := instance.Machine.Live[0].CorrelationID
	results := b.apply(
		b.command(instance, flow.Command{Action: string(rondo.ActionMigrate), Target: target, StepMap: map[string]string{"status": "first"}}),
		b.event(event.TypeSetStatusCompleted, correlation, `{"previous_status":"a","new_status":"b"}`),
	)
	if results[0].Err != nil || results[1].Outcome != rondo.OutcomeApplied {
		t.Fatalf("answers are %+v", results)
	}
	after := b.instances()[0]
	if after.SnapshotHash != target.Snapshot.Hash || len(after.Machine.Live) != 1 || after.Machine.Live[0].StepID != "second" {
		t.Errorf("the case stands at %+v of %s, want second of the target", after.Machine.Live, after.SnapshotHash)
	}
}

func TestALaterInputOfABatchReplacesASearchableValue(t *testing.T) {
	b := newProcessorBench(t)
	b.publish(oneStep)
	instance := b.start()
	skip := func(value string) *Input {
		return b.command(instance, flow.Command{
			Action: string(rondo.ActionSkipStep), StepID: "status", Outcome: "on_complete",
			Output: json.RawMessage(`{"previous_status":"a","new_status":"` + value + `"}`),
		})
	}
	target := b.publish(`{"name":"again","search":["status.new_status"],"start_step":"status","steps":{
		"status":{"kind":"set_case_status","params":{"status":"open"},"transitions":{"on_complete":"stop"}},
		"stop":{"kind":"condition","expr":"nothing.here < 1","transitions":{"on_true":"done","on_false":"done"}},
		"done":{"kind":"emit_final","transitions":{"on_complete":"TERMINAL"}}}}`)
	migrate := b.command(instance, flow.Command{Action: string(rondo.ActionMigrate), Target: target})
	if r := b.apply(migrate, skip("one")); r[1].Err != nil {
		t.Fatalf("answers are %+v", r)
	}
	attributes, err := b.store.Attributes(t.Context(), benchOrg, instance.ID)
	if err != nil || len(attributes) != 1 || len(attributes[0].Values) != 1 || attributes[0].Values[0].Text != "one" {
		t.Errorf("searchable values are %+v, %v; want what the last input left", attributes, err)
	}
}
