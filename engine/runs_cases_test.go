package engine_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/bus/redis"
	"github.com/rondo-engine/rondo/engine"
	"github.com/rondo-engine/rondo/engine/runs"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/plan"
	"github.com/rondo-engine/rondo/internal/testenv"
	"github.com/rondo-engine/rondo/skill"
	"github.com/rondo-engine/rondo/store"
)

// bench is where the steps of the tests' runs are worked on: title@1 answers with
// its input, refuse@1 fails for good, forever@1 goes on until it is stopped.
type bench struct{}

func (bench) Skill(name string) (plan.SkillSpec, bool) {
	switch name {
	case "title@1", "refuse@1", "forever@1":
		return plan.SkillSpec{Type: "go"}, true
	case "remote@1":
		return plan.SkillSpec{Type: "remote"}, true
	}
	return plan.SkillSpec{}, false
}

func (bench) Prompt(string, string) (json.RawMessage, bool) { return nil, false }
func (bench) Config(string, string) (json.RawMessage, bool) { return nil, false }

// craft has the functions of a bench. started hears of steps that go on for ever.
type craft struct{ started chan rondo.ID }

func (c craft) Skill(name string, _ plan.SkillSpec) (skill.Skill, error) {
	return skill.Func(func(ctx context.Context, call skill.Call) (skill.Result, error) {
		switch name {
		case "refuse@1":
			return skill.Fail(rondo.CodeSkillError, "no paper left", false), nil
		case "forever@1":
			c.started <- call.RunID
			<-ctx.Done()
			return skill.Result{}, ctx.Err()
		}
		return skill.Result{OK: true, Data: call.Input}, nil
	}), nil
}

// press is a run service on the store of a bureau.
type press struct {
	*runs.Service
	craft craft
}

func openPress(t *testing.T, b *bureau) *press {
	t.Helper()
	p := &press{craft: craft{started: make(chan rondo.ID, 8)}}
	kept, ok := any(b.store).(store.Runs)
	if !ok {
		t.Fatal("the store keeps no runs")
	}
	p.Service = must(runs.New(runs.Config{
		Store: b.RunStore(kept), Definitions: b.RunDefinitions(), Skills: p.craft, Environment: bench{}, Relay: b.RunRelay(), Poll: 10 * time.Millisecond,
	}))(t)
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("stopping the run service: %v", err)
		}
	})
	b.OnRunAnswer(p.Deliver)
	return p
}

// printing opens a bureau with a press on which the workflow report has one step
// of a skill.
func printing(t *testing.T, name string) (*bureau, *press) {
	t.Helper()
	return printingOn(t, nil, name)
}

func printingOn(t *testing.T, on bus.Bus, name string) (*bureau, *press) {
	t.Helper()
	var p *press
	b := openBureauOn(t, on, func(b *bureau) engine.RunDriver { p = openPress(t, b); return p })
	publishRun(t, b.Engine, `{"name":"report","version":"1.0.0",
		"input_schema":{"type":"object","properties":{"title":{"type":"string"}},"required":["title"]},
		"steps":[{"id":"print","skill":"`+name+`","input":{"title":{"trigger":"title"}}}]}`)
	return b, p
}

func TestACaseGoesOnWhenItsRunIsComplete(t *testing.T) {
	t.Parallel()
	b, p := printing(t, "title@1")
	b.begin(t, building, "active")
	i := b.until(t, "completed", completed)
	steps, _, err := b.Steps(t.Context(), author, i.ID)
	if err != nil || len(steps) == 0 {
		t.Fatalf("steps %v: %v", steps, err)
	}
	id := engine.RunID(author.Tenant, steps[0].CorrelationID)
	if got, want := string(i.Context["build"]), `{"run_id":"`+id.String()+`","status":"completed"}`; got != want {
		t.Errorf("the step left %s, want %s", got, want)
	}
	kept, _ := any(b.store).(store.Runs)
	run := must(kept.Run(t.Context(), author.Tenant, id))(t)
	if run.Status != rondo.RunCompleted || string(run.TriggerPayload) != `{"title":"Summer"}` || run.Case == nil || run.Case.CaseID != "c-1" || run.ProductID != "skin" || run.CorrelationID != steps[0].CorrelationID {
		t.Errorf("the run is %+v of %+v", run, run.Case)
	}
	again := runs.Request{WorkflowName: "report", TriggerPayload: json.RawMessage(`{"title":"Summer"}`), ID: id}
	if same := must(p.Trigger(t.Context(), author, again))(t); same.Status != rondo.RunCompleted {
		t.Errorf("asking again started the run again: %+v", same)
	}
}

func TestACaseGoesTheWayOfFailureWhenItsRunDoes(t *testing.T) {
	t.Parallel()
	b, _ := printing(t, "refuse@1")
	b.begin(t, building, "active")
	i := b.until(t, "at the way of a failure", at("mend"))
	steps, _, err := b.Steps(t.Context(), author, i.ID)
	if err != nil || len(steps) == 0 || !strings.Contains(string(steps[0].Error), "no paper left") || !strings.Contains(string(steps[0].Error), `"failed_step_id":"print"`) {
		t.Errorf("the step is %+v (%v), want it to say which step of the run failed and why", steps, err)
	}
}

func TestACaseGoesTheWayOfFailureWhenItsInputIsRefused(t *testing.T) {
	t.Parallel()
	b, _ := printing(t, "title@1")
	b.begin(t, strings.Replace(building, `"{{case.metadata.title}}"`, "7", 1), "active")
	b.until(t, "at the way of a failure", at("mend"))
}

func TestACaseGoesTheWayOfFailureWhenItsRunIsCancelled(t *testing.T) {
	t.Parallel()
	b, p := printing(t, "forever@1")
	b.begin(t, building, "active")
	id := soon(t, p.craft.started, "the step of the run")
	must(p.Cancel(t.Context(), author, id))(t)
	i := b.until(t, "at the way of a failure", at("mend"))
	found := must(b.EventList(t.Context(), author, store.EventFilter{CaseID: i.CaseID, Type: event.TypeRunCancelled}, store.Page{}))(t)
	if len(found) != 1 || found[0].Outcome != rondo.OutcomeApplied {
		t.Errorf("the ledger has %+v, want one run.cancelled that was applied", found)
	}
}

func TestTheRunOfACancelledCaseIsCancelled(t *testing.T) {
	t.Parallel()
	b, p := printing(t, "forever@1")
	b.begin(t, building, "active")
	id := soon(t, p.craft.started, "the step of the run")
	must(b.Act(t.Context(), author, b.instance(t).ID, rondo.Action{Name: rondo.ActionCancel, Reason: "not needed"}))(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var last rondo.RunStatus
	err := p.Watch(ctx, author, id, 0, func(e runs.Event) error {
		if e.Run != nil {
			last = e.Run.Status
		}
		return nil
	})
	if err != nil || last != rondo.RunCancelled {
		t.Errorf("the run is %s (%v), want it cancelled", last, err)
	}
}

func TestAWorkerDoesTheWorkOfARun(t *testing.T) {
	t.Parallel()
	b, _ := printing(t, "remote@1")
	workOnce(t, b, func(done *event.Envelope) { must(b.PublishEvent(t.Context(), author, done.Encode()))(t) })
}

func TestAWorkerOnRedisDoesTheWorkOfARun(t *testing.T) {
	t.Parallel()
	on := must(redis.New(testenv.Redis(t), redis.Options{Silent: time.Millisecond}))(t)
	t.Cleanup(func() { _ = on.Close() })
	b, _ := printingOn(t, on, "remote@1")
	b.OnRunAnswer(nil) // it comes on its stream and in no other way
	workOnce(t, b, func(done *event.Envelope) {
		if err := on.Publish(t.Context(), []bus.Message{{Stream: done.Type, EventID: done.EventID, Envelope: done.Encode()}}); err != nil {
			t.Fatal(err)
		}
	})
	for stream, groups := range must(on.Lag(t.Context()))(t) {
		for _, group := range groups {
			if strings.HasPrefix(stream, "run.") && group.Group == engine.Group {
				t.Errorf("cases read %s: what becomes of every run would come to them", stream)
			}
		}
	}
	if letters := must(b.DeadLetters(t.Context(), author, store.DeadLetterFilter{}, store.Page{}))(t); len(letters) > 0 {
		t.Errorf("there are dead letters: %+v", letters)
	}
}

// workOnce begins a case, does the remote step of its run as a worker would, and
// waits for the end of the case.
func workOnce(t *testing.T, b *bureau, answer func(done *event.Envelope)) {
	t.Helper()
	ctx := t.Context()
	consumer := must(b.Bus().Subscribe(ctx, bus.Subscription{Group: "printers", Streams: []string{event.TypeRunStepRequested}}))(t)
	defer func() { _ = consumer.Close() }()
	b.begin(t, building, "active")
	waiting, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	asked := must(consumer.Fetch(waiting, 1))(t)
	request := must(event.Parse(asked[0].Envelope))(t)
	var payload struct {
		Skill string          `json:"skill"`
		Input json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal(request.Payload, &payload); err != nil || payload.Skill != "remote@1" || string(payload.Input) != `{"title":"Summer"}` || request.CaseID != "c-1" || request.RunID == "" {
		t.Errorf("asked with %+v: %s (%v)", request, request.Payload, err)
	}
	done := event.Envelope{
		EventID: event.DerivedID(request.EventID, event.TypeRunStepCompleted), Type: event.TypeRunStepCompleted, SchemaVersion: event.SchemaVersion,
		OccurredAt: time.Now(), CorrelationID: request.CorrelationID, CaseID: request.CaseID, OrgID: request.OrgID, ProductID: request.ProductID,
		RunID: request.RunID, Payload: json.RawMessage(`{"data":{"pages":3}}`),
	}
	answer(&done)
	b.until(t, "completed", completed)
}

func TestAStepOfARunMovesACase(t *testing.T) {
	t.Parallel()
	var p *press
	b := openBureau(t, func(b *bureau) engine.RunDriver { p = openPress(t, b); return p })
	publishRun(t, b.Engine, `{"name":"survey","version":"1.0.0","steps":[{"id":"ask","skill":"title@1","input":{"topic":{"const":"billing"}},
		"raise":{"event_type":"ext.customer.answered","case_id":{"trigger":"case"},"payload":{"step":"ask","path":"data"}}}]}`)
	b.begin(t, awaiting, "active")
	must(p.Trigger(t.Context(), author, runs.Request{WorkflowName: "survey", TriggerPayload: json.RawMessage(`{"case":"c-1"}`)}))(t)
	if i := b.until(t, "completed", completed); string(i.Context["wait"]) != `{"topic":"billing"}` {
		t.Errorf("the case learned %s", i.Context["wait"])
	}
}
