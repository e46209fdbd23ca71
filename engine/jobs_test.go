package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/memory"
	"github.com/rondo-engine/rondo/store/sqlite"
)

// office is an engine with people who use it, on a store that outlives it.
type office struct {
	*engine.Engine
	t    *testing.T
	ids  *rondo.IDs
	seen *ledger
}

// ledger counts what engines have committed.
type ledger struct {
	mu            sync.Mutex
	requests      int
	interventions map[rondo.ID]int // by instance
	acted         atomic.Int64
	notify        func(acted int64)
}

func (l *ledger) Committed(c engine.Commit) {
	l.mu.Lock()
	for _, out := range c.Sent {
		if out.Stream == "consent.check.requested" || out.Stream == "ai_review.requested" ||
			out.Stream == "human_review.requested" || out.Stream == "case.set_status.requested" {
			l.requests++
		}
	}
	for _, i := range c.Interventions {
		l.interventions[i.InstanceID]++
	}
	notify := l.notify
	l.mu.Unlock()
	if n := len(c.Interventions); n > 0 {
		acted := l.acted.Add(int64(n))
		if notify != nil {
			notify(acted)
		}
	}
}

func (l *ledger) asked() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.requests
}

// openOffice starts an engine whose clock is ahead of the real one.
func openOffice(t *testing.T, s store.Store, ahead time.Duration) *office {
	t.Helper()
	clock := func() time.Time { return time.Now().Add(ahead) }
	seen := &ledger{interventions: map[rondo.ID]int{}}
	e, err := engine.New(engine.Config{Store: s, Observer: seen, Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &office{Engine: e, t: t, ids: rondo.NewIDs(clock), seen: seen}
}

func (o *office) close() { o.Stop(context.WithoutCancel(o.t.Context())) }

// publish makes a definition the active one of product skin.
func (o *office) publish(body string) rondo.Definition {
	o.t.Helper()
	draft, err := o.CreateDefinition(o.t.Context(), user(), rondo.NewDefinition{ProductID: "skin", Source: []byte(body)})
	if err != nil {
		o.t.Fatal(err)
	}
	active, err := o.PublishDefinition(o.t.Context(), user(), draft.ID, "test")
	if err != nil {
		o.t.Fatal(err)
	}
	return active
}

// many does something for n cases, some at once.
func (o *office) many(n int, do func(i int) error) {
	o.t.Helper()
	var group errgroup.Group
	group.SetLimit(64)
	for i := range n {
		group.Go(func() error { return do(i) })
	}
	if err := group.Wait(); err != nil {
		o.t.Fatal(err)
	}
}

func (o *office) send(eventType, caseID, correlation, payload string) error {
	e := event.Envelope{
		EventID: o.ids.New(), Type: eventType, SchemaVersion: event.SchemaVersion, OccurredAt: time.Now().UTC(),
		CorrelationID: correlation, CaseID: caseID, OrgID: "acme", ProductID: "skin", Payload: json.RawMessage(payload),
	}
	receipt, err := o.PublishEvent(o.t.Context(), user(), e.Encode())
	if err == nil && receipt.Outcome != rondo.OutcomeApplied {
		err = fmt.Errorf("%s of %s was %s: %s", eventType, caseID, receipt.Outcome, receipt.Error)
	}
	return err
}

// start brings n cases in.
func (o *office) start(n int) {
	o.t.Helper()
	o.many(n, func(i int) error {
		return o.send(event.TypeCaseCreated, caseName(i), caseName(i), `{"patient_id":"p1","images":[{"id":"i1","type":"DERMOSCOPIC"}]}`)
	})
}

func caseName(i int) string { return fmt.Sprintf("c-%04d", i) }

func (o *office) instances(filter store.InstanceFilter) []*rondo.Instance {
	o.t.Helper()
	filter.OrgID = "acme"
	rows, err := o.Instances(o.t.Context(), user(), filter, store.Page{})
	if err != nil {
		o.t.Fatal(err)
	}
	return rows
}

// finished waits for the end of a job.
func (o *office) finished(id rondo.ID) rondo.Job {
	o.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		job, err := o.Job(o.t.Context(), user(), id)
		if err != nil {
			o.t.Fatal(err)
		}
		if job.Status == rondo.JobCompleted {
			return job
		}
		if time.Now().After(deadline) {
			o.t.Fatalf("the job did not end: %+v", job)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (o *office) results(id rondo.ID) map[rondo.ID]rondo.JobResult {
	o.t.Helper()
	rows, err := o.JobResults(o.t.Context(), user(), id, store.Page{})
	if err != nil {
		o.t.Fatal(err)
	}
	byInstance := make(map[rondo.ID]rondo.JobResult, len(rows))
	for _, row := range rows {
		byInstance[row.InstanceID] = row
	}
	return byInstance
}

var (
	running    = store.InstanceFilter{Status: rondo.StatusRunning}
	haltAction = rondo.Action{Name: rondo.ActionHalt, ReasonCode: "manual_halt", Note: "recall"}
)

const oneReview = `{"name": "one review", "start_step": "ai_review", "steps": {
	"ai_review": {"kind": "run_ai_review", "transitions": {"on_complete": "done"}},
	"done": {"kind": "emit_final", "transitions": {"on_complete": "TERMINAL"}}}}`

// jobStores are the stores that jobs are tried on.
func jobStores(t *testing.T, try func(t *testing.T, s store.Store)) {
	t.Run("memory", func(t *testing.T) { try(t, memory.Open(memory.Options{Embedded: true})) })
	t.Run("sqlite", func(t *testing.T) { try(t, openSQLite(t)) })
}

func openSQLite(t *testing.T) store.Store {
	t.Helper()
	s, err := sqlite.Open(filepath.Join(t.TempDir(), "rondo.db"), sqlite.Options{Embedded: true, Synchronous: sqlite.Normal})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestABulkActionIsDoneToEveryInstanceOfTheFilterOnce(t *testing.T) {
	jobStores(t, func(t *testing.T, s store.Store) {
		o := openOffice(t, s, 0)
		defer o.close()
		o.publish(oneReview)
		o.start(40)
		gone := o.instances(store.InstanceFilter{CaseID: caseName(7)})[0]
		if _, err := o.Act(t.Context(), user(), gone.ID, rondo.Action{Name: rondo.ActionCancel, Reason: "not needed"}); err != nil {
			t.Fatal(err)
		}
		wanted := store.InstanceFilter{ProductID: "skin"}
		preview, err := o.PreviewBulk(t.Context(), user(), wanted, haltAction)
		if err != nil || preview.Count != 40 || len(preview.Sample) != rondo.BulkSample || preview.Migration != nil {
			t.Fatalf("the preview is of %d with a sample of %d (%v)", preview.Count, len(preview.Sample), err)
		}
		if n := len(o.instances(running)); n != 39 {
			t.Fatalf("%d instances run after a preview, want 39", n)
		}
		job, err := o.Bulk(t.Context(), user(), wanted, json.RawMessage(`{"product_id":"skin"}`), haltAction)
		if err != nil || job.Total != 40 {
			t.Fatalf("the job is about %d (%v), want 40", job.Total, err)
		}
		job = o.finished(job.ID)
		if job.Applied != 39 || job.Refused != 1 || job.Failed != 0 || job.FinishedAt.IsZero() || job.CreatedBy != "ann" {
			t.Fatalf("the job ended as %+v", job)
		}
		if refused := o.results(job.ID)[gone.ID]; refused.Outcome != rondo.JobRefused || refused.Detail == "" {
			t.Fatalf("the cancelled instance got %+v", refused)
		}
		for _, i := range o.instances(store.InstanceFilter{Status: rondo.StatusHalted}) {
			if i.HaltReason != "manual_halt" || i.HaltNote != "recall" {
				t.Fatalf("instance %s halted for %q: %q", i.ID, i.HaltReason, i.HaltNote)
			}
		}
		stranger := rondo.Principal{Tenant: "other", User: "eve", Scopes: []string{rondo.ScopeIntervene}}
		if _, err := o.Job(t.Context(), stranger, job.ID); rondo.CodeOf(err) != rondo.CodeNotFound {
			t.Fatalf("another organisation reads the job: %v", err)
		}
		if _, err := o.JobResults(t.Context(), stranger, job.ID, store.Page{}); rondo.CodeOf(err) != rondo.CodeNotFound {
			t.Fatalf("another organisation reads the results: %v", err)
		}
	})
}

func TestABulkActionThatMakesNoSenseIsRefusedBeforeAJobIsMade(t *testing.T) {
	o := openOffice(t, memory.Open(memory.Options{Embedded: true}), 0)
	defer o.close()
	draft, err := o.CreateDefinition(t.Context(), user(), rondo.NewDefinition{ProductID: "skin", Source: []byte(oneReview)})
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []struct {
		name   string
		filter store.InstanceFilter
		action rondo.Action
		code   rondo.Code
	}{
		{"everything", store.InstanceFilter{}, haltAction, rondo.CodeInvalid},
		{"completing a step", running, rondo.Action{Name: rondo.ActionCompleteStep}, rondo.CodeInvalid},
		{"an unknown action", running, rondo.Action{Name: "explode"}, rondo.CodeInvalid},
		{"an unknown reason code", running, rondo.Action{Name: rondo.ActionHalt, ReasonCode: "bored"}, rondo.CodeInvalid},
		{"an unknown target", running, rondo.Action{Name: rondo.ActionMigrate, ToDefinition: o.ids.New()}, rondo.CodeInvalid},
		{"a draft as target", running, rondo.Action{Name: rondo.ActionMigrate, ToDefinition: draft.ID}, rondo.CodeWrongState},
	} {
		t.Run(wrong.name, func(t *testing.T) {
			if _, err := o.PreviewBulk(t.Context(), user(), wrong.filter, wrong.action); rondo.CodeOf(err) != wrong.code {
				t.Errorf("the preview answers %v, want %s", err, wrong.code)
			}
			if _, err := o.Bulk(t.Context(), user(), wrong.filter, nil, wrong.action); rondo.CodeOf(err) != wrong.code {
				t.Errorf("the job answers %v, want %s", err, wrong.code)
			}
		})
	}
	if jobs, err := o.JobList(t.Context(), user(), store.Page{}); err != nil || len(jobs) != 0 {
		t.Fatalf("%d jobs were made (%v)", len(jobs), err)
	}
}

// wantOnce checks that a job that was cut short acted on every instance once.
func wantOnce(t *testing.T, o *office, id rondo.ID, total int) {
	t.Helper()
	job := o.finished(id)
	if job.Applied != total || job.Refused != 0 || job.Failed != 0 || job.Total != total {
		t.Fatalf("the job ended as %+v, want %d applied", job, total)
	}
	halted := o.instances(store.InstanceFilter{Status: rondo.StatusHalted})
	if len(halted) != total {
		t.Fatalf("%d instances halted, want %d", len(halted), total)
	}
	results := o.results(id)
	for _, i := range halted {
		done, err := o.Interventions(t.Context(), user(), i.ID)
		if err != nil || len(done) != 1 || results[i.ID].Outcome != rondo.JobApplied {
			t.Fatalf("instance %s has %d interventions and the result %+v (%v)", i.ID, len(done), results[i.ID], err)
		}
	}
}

func TestAJobGoesOnInAnotherEngineWhenItsEngineStops(t *testing.T) {
	const total = 400
	jobStores(t, func(t *testing.T, s store.Store) {
		first := openOffice(t, s, 0)
		first.publish(oneReview)
		first.start(total)
		some := make(chan struct{})
		var once sync.Once
		first.seen.mu.Lock()
		first.seen.notify = func(acted int64) {
			if acted >= 50 {
				once.Do(func() { close(some) })
			}
		}
		first.seen.mu.Unlock()
		job, err := first.Bulk(t.Context(), user(), running, nil, haltAction)
		if err != nil {
			t.Fatal(err)
		}
		<-some
		first.close()
		second := openOffice(t, s, 0) // the claim was given back: no time has to pass
		defer second.close()
		wantOnce(t, second, job.ID, total)
	})
}

// mortal is a store that its process loses: from then on every call fails, also
// the one that is on its way, whose commit may have happened.
type mortal struct {
	store.Store
	lives atomic.Int64 // commits of job results until the end
	after bool         // the last commit happens, but nobody learns of it
	dead  chan struct{}
	once  sync.Once
}

func (m *mortal) die() { m.once.Do(func() { close(m.dead) }) }

func (m *mortal) gone() bool {
	select {
	case <-m.dead:
		return true
	default:
		return false
	}
}

var errKilled = &rondo.Error{Code: rondo.CodeUnavailable, Message: "the process was killed"}

func (m *mortal) Update(ctx context.Context, load store.Load, decide store.Decide) (store.Committed, error) {
	if m.gone() {
		return store.Committed{}, errKilled
	}
	last := false
	committed, err := m.Store.Update(ctx, load, func(loaded *store.Loaded) (*store.Write, error) {
		write, err := decide(loaded)
		if write != nil && len(write.JobResults) > 0 && m.lives.Add(-1) == 0 {
			last = true
			if !m.after {
				return nil, errKilled
			}
		}
		return write, err
	})
	if last {
		m.die()
		return store.Committed{}, errKilled
	}
	return committed, err
}

func (m *mortal) RenewJob(ctx context.Context, id rondo.ID, now time.Time, lease time.Duration) error {
	if m.gone() {
		return errKilled
	}
	return m.Store.RenewJob(ctx, id, now, lease)
}

func (m *mortal) FinishJob(ctx context.Context, id rondo.ID, now time.Time) error {
	if m.gone() {
		return errKilled
	}
	return m.Store.FinishJob(ctx, id, now)
}

func TestAJobSurvivesTheDeathOfItsEngineAtAnyPoint(t *testing.T) {
	const total = 200
	for _, after := range []bool{false, true} {
		for _, lives := range []int64{1, 2, 3} {
			name := fmt.Sprintf("commit %d is lost", lives)
			if after {
				name = fmt.Sprintf("commit %d happens unseen", lives)
			}
			t.Run(name, func(t *testing.T) {
				jobStores(t, func(t *testing.T, s store.Store) {
					dying := &mortal{Store: s, after: after, dead: make(chan struct{})}
					dying.lives.Store(lives)
					first := openOffice(t, dying, 0)
					first.publish(oneReview)
					first.start(total)
					job, err := first.Bulk(t.Context(), user(), running, nil, haltAction)
					if err != nil {
						t.Fatal(err)
					}
					<-dying.dead
					if taken, ok, err := s.ClaimJob(t.Context(), time.Now(), time.Second); ok || err != nil {
						t.Fatalf("job %s was free (%v) while the claim of the dead engine lasts", taken.ID, err)
					}
					second := openOffice(t, s, 31*time.Second)
					defer second.close()
					wantOnce(t, second, job.ID, total)
					first.close()
				})
			})
		}
	}
}

func TestAJobTellsWhatItCouldNotActOn(t *testing.T) {
	jobStores(t, func(t *testing.T, s store.Store) {
		o := openOffice(t, s, 0)
		defer o.close()
		o.publish(oneReview)
		o.start(3)
		there := o.instances(running)[0]
		items := []rondo.JobItem{{InstanceID: there.ID, Key: there.Key()}}
		for range 300 {
			items = append(items, rondo.JobItem{InstanceID: o.ids.New(), Key: rondo.CaseKey{OrgID: "acme", CaseID: "purged"}})
		}
		job := rondo.Job{
			ID: o.ids.New(), OrgID: "acme", Action: rondo.ActionCancel, Params: json.RawMessage(`{"reason":"recall"}`),
			Status: rondo.JobRunning, CreatedBy: "ann", CreatedAt: time.Now(),
		}
		if err := s.CreateJob(t.Context(), job, items); err != nil {
			t.Fatal(err)
		}
		ended := o.finished(job.ID)
		if ended.Applied != 1 || ended.Refused != 0 || ended.Failed != 300 {
			t.Fatalf("the job ended as %+v", ended)
		}
		if gone := o.results(job.ID)[items[1].InstanceID]; gone.Outcome != rondo.JobFailed || gone.Detail != "the instance is not there any more" {
			t.Fatalf("the purged instance got %+v", gone)
		}
	})
}

func TestAHaltOfManyFitsTheStepsThatAreInFlight(t *testing.T) {
	o := openOffice(t, memory.Open(memory.Options{Embedded: true}), 0)
	defer o.close()
	o.publish(oneReview)
	o.start(5)
	for _, test := range []struct {
		kind             string
		applied, refused int
	}{
		{"request_human_review", 0, 5},
		{"run_ai_review", 5, 0},
	} {
		code := rondo.ReasonCode{
			Scope: "halt", Code: "only_" + test.kind, Label: "Only " + test.kind, ApplicableStepKinds: []string{test.kind}, Active: true,
		}
		if _, err := o.CreateReasonCode(t.Context(), user(), code, false); err != nil {
			t.Fatal(err)
		}
		job, err := o.Bulk(t.Context(), user(), running, nil, rondo.Action{Name: rondo.ActionHalt, ReasonCode: code.Code})
		if err != nil {
			t.Fatal(err)
		}
		if ended := o.finished(job.ID); ended.Applied != test.applied || ended.Refused != test.refused {
			t.Fatalf("halting with a code for %s: %+v", test.kind, ended)
		}
	}
}

// What a job is asked to do reaches every instance as it was asked.
func TestEveryActionCanBeDoneToMany(t *testing.T) {
	o := openOffice(t, openSQLite(t), 0)
	defer o.close()
	o.publish(oneReview)
	const total = 5
	o.start(total)
	do := func(filter store.InstanceFilter, action rondo.Action) {
		t.Helper()
		job, err := o.Bulk(t.Context(), user(), filter, nil, action)
		if err != nil {
			t.Fatal(err)
		}
		if ended := o.finished(job.ID); ended.Applied != total || ended.Total != total {
			t.Fatalf("%s: %+v: %+v", action.Name, ended, o.results(job.ID))
		}
	}
	halted := store.InstanceFilter{Status: rondo.StatusHalted}
	override := json.RawMessage(`{"product_id":"other"}`)
	do(running, haltAction)
	do(halted, rondo.Action{Name: rondo.ActionRetryStep, Reason: "again", InputOverride: override})
	for _, i := range o.instances(running) {
		var input struct {
			Product string `json:"product_id"`
		}
		live := i.Machine.Live[0]
		if err := json.Unmarshal(live.Input, &input); err != nil || input.Product != "other" || live.Number != 2 {
			t.Fatalf("attempt %d was asked with %s (%v)", live.Number, live.Input, err)
		}
	}
	do(running, haltAction)
	do(halted, rondo.Action{Name: rondo.ActionResume, Reason: "go on"})
	do(running, rondo.Action{Name: rondo.ActionSetMode, Mode: rondo.ModeClientDriven, Reason: "by hand"})
	do(store.InstanceFilter{Mode: rondo.ModeClientDriven}, rondo.Action{Name: rondo.ActionSupersede, Mode: rondo.ModeActive, Reason: "anew"})
	do(running, rondo.Action{
		Name: rondo.ActionSkipStep, StepID: "ai_review", Outcome: "on_complete", Reason: "known",
		Output: json.RawMessage(`{"confidence":0.9,"diagnoses":[],"raw_response_id":"r"}`),
	})
	if n := len(o.instances(store.InstanceFilter{Status: rondo.StatusCompleted, Mode: rondo.ModeActive})); n != total {
		t.Fatalf("%d instances completed, want %d", n, total)
	}
}

// The clock of the second engine is so far ahead that it takes every claim for
// ended: both work on the job at the same time.
func TestTwoEnginesThatWorkOnOneJobActOnEveryInstanceOnce(t *testing.T) {
	const total = 300
	jobStores(t, func(t *testing.T, s store.Store) {
		first := openOffice(t, s, 0)
		defer first.close()
		first.publish(oneReview)
		first.start(total)
		second := openOffice(t, s, 31*time.Second)
		defer second.close()
		job, err := first.Bulk(t.Context(), user(), running, nil, haltAction)
		if err != nil {
			t.Fatal(err)
		}
		wantOnce(t, second, job.ID, total)
	})
}
