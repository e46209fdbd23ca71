package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

var updateTests = []test{
	{name: "everything in a write is there afterwards", run: func(d *db) {
		write, instance := d.fullWrite(key("c-1"))
		d.commit(write)
		d.wantWritten(write, instance)
	}},
	{name: "a second handle reads what the first has committed", run: func(d *db) {
		second := d.again()
		write, instance := d.fullWrite(key("c-1"))
		d.commit(write)
		second.wantWritten(write, instance)
	}},
	{name: "a nil write writes nothing", run: func(d *db) {
		committed, err := d.Update(d.ctx(), store.Load{Cases: []rondo.CaseKey{key("c-1")}},
			func(*store.Loaded) (*store.Write, error) { return nil, nil })
		if err != nil || len(committed.Seqs) != 0 {
			d.t.Fatalf("got %v, %v; want nothing", committed, err)
		}
	}},
	{name: "an empty write writes nothing", run: func(d *db) {
		if committed := d.commit(&store.Write{}); len(committed.Seqs) != 0 {
			d.t.Fatalf("got %v; want no numbers", committed)
		}
	}},
	{name: "an error from decide comes back and writes nothing", run: func(d *db) {
		write, instance := d.fullWrite(key("c-1"))
		broken := errors.New("decide is broken")
		_, err := d.Update(d.ctx(), loadFor(write), func(*store.Loaded) (*store.Write, error) { return write, broken })
		if !errors.Is(err, broken) {
			d.t.Fatalf("error is %v, want the one that decide returned", err)
		}
		d.wantNothing(write, instance)
	}},
	{name: "an error from decide keeps its code", run: func(d *db) {
		_, err := d.Update(d.ctx(), store.Load{}, func(*store.Loaded) (*store.Write, error) {
			return nil, rondo.WrongState("it is halted")
		})
		wantCode(d.t, err, rondo.CodeWrongState)
	}},
	{name: "a write that breaks a rule writes nothing else either", run: testFailingWrite},
	{name: "an update under a cancelled context fails and writes nothing", run: func(d *db) {
		write, instance := d.fullWrite(key("c-1"))
		ctx, cancel := context.WithCancel(d.ctx())
		cancel()
		if _, err := d.Update(ctx, loadFor(write), func(*store.Loaded) (*store.Write, error) { return write, nil }); err == nil {
			d.t.Fatal("it succeeded; want the context's error")
		}
		d.wantNothing(write, instance)
	}},
	{name: "the store is usable after a write that failed", run: func(d *db) {
		event := d.newEvent(key("c-1"), "case.created")
		d.commit(&store.Write{Events: []rondo.EventRecord{event}})
		d.refused(&store.Write{Events: []rondo.EventRecord{event}})
		d.start(key("c-1"))
	}},
	{name: "an instance is replaced whole", run: func(d *db) {
		first := d.start(key("c-1"))
		next := change(first, func(i *rondo.Instance) {
			i.ProductID, i.Mode, i.Status = "cardio", rondo.ModeClientDriven, rondo.StatusHalted
			i.HaltReason, i.HaltNote, i.HaltStepID = "ai_review_failed", "see log", "ai_review"
			i.DeadlineExceeded = true
			i.SupersedesID, i.SupersededByID = d.ids.New(), d.ids.New()
			i.DeadlineAt = epoch.AddDate(1, 0, 0)
			i.WakeAt = epoch.AddDate(0, 1, 0)
			i.Context = rondo.Context{"ai_review": json.RawMessage(`{"confidence":0.5}`)}
			i.Machine = rondo.Machine{Finished: 3}
			i.SnapshotHash = "other"
			i.DefinitionID = d.ids.New()
		})
		d.commit(&store.Write{Instances: []store.InstanceWrite{next}})
		same(d.t, "the replaced instance", d.state(key("c-1")).Instance, next.Instance)
	}},
	{name: "values outside the store are not part of it", run: testAliasing},
}

// fullWrite uses every part of a Write, for one new instance.
func (d *db) fullWrite(key rondo.CaseKey) (*store.Write, *rondo.Instance) {
	instance := d.newInstance(key)
	instance.WakeAt = epoch.Add(15 * 60e9)
	event := d.newEvent(key, "case.created")
	event.InstanceID, event.Verdict, event.Error = instance.ID, "on_path", "none really"
	return &store.Write{
		Instances: []store.InstanceWrite{{Instance: instance}},
		Steps: []rondo.Step{
			d.newStep(instance, "consent", 1, 1),
			d.newStep(instance, "ai_review", 1, 2),
		},
		Events:        []rondo.EventRecord{event},
		Outbox:        d.outgoing("workflow.started", 2),
		Interventions: []rondo.Intervention{d.newIntervention(instance)},
		DeadLetters:   []rondo.DeadLetter{d.newDeadLetter(key.OrgID)},
		Attributes:    []rondo.Attribute{attribute(instance, rondo.TagPath, text("urgent"))},
	}, instance
}

func (d *db) wantWritten(write *store.Write, instance *rondo.Instance) {
	d.t.Helper()
	org, t := instance.OrgID, d.t
	same(t, "the instance", must(d.Instance(d.ctx(), org, instance.ID))(t), instance)
	same(t, "the steps", must(d.Steps(d.ctx(), org, instance.ID))(t), write.Steps)
	same(t, "the events", must(d.Events(d.ctx(), org, instance.ID, store.Page{}))(t), write.Events)
	sameBytes(t, "the envelope", must(d.Event(d.ctx(), org, write.Events[0].EventID))(t).Envelope, write.Events[0].Envelope)
	same(t, "the interventions", must(d.Interventions(d.ctx(), org, instance.ID))(t), write.Interventions)
	same(t, "the attributes", must(d.Attributes(d.ctx(), org, instance.ID))(t), write.Attributes)
	same(t, "the dead letters", must(d.DeadLetters(d.ctx(), store.DeadLetterFilter{OrgID: org}, store.Page{}))(t), write.DeadLetters)
	count, oldest, err := d.Backlog(d.ctx())
	if err != nil || count != len(write.Outbox) || !oldest.Equal(epoch) {
		t.Fatalf("the backlog is %d since %v (%v), want %d since %v", count, oldest, err, len(write.Outbox), epoch)
	}
}

func (d *db) wantNothing(write *store.Write, instance *rondo.Instance) {
	d.t.Helper()
	org, t := instance.OrgID, d.t
	_, err := d.Instance(d.ctx(), org, instance.ID)
	wantCode(t, err, rondo.CodeNotFound)
	if state := d.state(instance.Key()); state.Instance != nil || len(state.Parked) != 0 {
		t.Fatalf("the case has state: %+v", state)
	}
	_, err = d.Event(d.ctx(), org, write.Events[0].EventID)
	wantCode(t, err, rondo.CodeNotFound)
	same(t, "steps of nothing", must(d.Steps(d.ctx(), org, instance.ID))(t), []rondo.Step{})
	same(t, "interventions of nothing", must(d.Interventions(d.ctx(), org, instance.ID))(t), []rondo.Intervention{})
	same(t, "attributes of nothing", must(d.Attributes(d.ctx(), org, instance.ID))(t), []rondo.Attribute{})
	same(t, "dead letters of nothing", must(d.DeadLetters(d.ctx(), store.DeadLetterFilter{OrgID: org}, store.Page{}))(t), []rondo.DeadLetter{})
	if next := must(d.NextWake(d.ctx()))(t); !next.IsZero() {
		t.Fatalf("something wakes at %v", next)
	}
	if count, _, err := d.Backlog(d.ctx()); err != nil || count != 0 {
		t.Fatalf("the backlog is %d (%v), want 0", count, err)
	}
}

func testFailingWrite(d *db) {
	old := d.start(key("old"))
	oldStep := d.newStep(old, "consent", 1, 1)
	oldEvent := d.newEvent(key("old"), "case.created")
	d.commit(&store.Write{Steps: []rondo.Step{oldStep}, Events: []rondo.EventRecord{oldEvent}})

	for _, breach := range []struct {
		name  string
		spoil func(*store.Write)
	}{
		{"an event that is in the ledger", func(w *store.Write) { w.Events = append(w.Events, oldEvent) }},
		{"an event twice", func(w *store.Write) {
			twin := w.Events[0]
			twin.ID = d.ids.New()
			w.Events = append(w.Events, twin)
		}},
		{"an attempt that has a row", func(w *store.Write) { w.Steps = append(w.Steps, d.newStep(old, "consent", 1, 2)) }},
		{"an attempt twice", func(w *store.Write) {
			twin := w.Steps[0]
			twin.ID, twin.Seq = d.ids.New(), 9
			w.Steps = append(w.Steps, twin)
		}},
		{"a second live instance", func(w *store.Write) {
			w.Instances = append(w.Instances, store.InstanceWrite{Instance: d.newInstance(key("old"))})
		}},
		{"a stale version", func(w *store.Write) {
			stale := change(old, func(i *rondo.Instance) { i.Version = 9 })
			stale.Previous = 8
			w.Instances = append(w.Instances, stale)
		}},
	} {
		write, instance := d.fullWrite(key("new"))
		breach.spoil(write)
		if _, err := d.try(write); err == nil {
			d.t.Fatalf("a write with %s succeeded", breach.name)
		}
		d.wantNothing(write, instance)
		same(d.t, "the old instance after "+breach.name, d.state(key("old")).Instance, old)
		same(d.t, "the old steps after "+breach.name, must(d.Steps(d.ctx(), "acme", old.ID))(d.t), []rondo.Step{oldStep})
	}
}

func testAliasing(d *db) {
	written := d.newInstance(key("c-1"))
	want := *written
	want.Context = maps.Clone(written.Context)
	want.Machine.Live = slices.Clone(written.Machine.Live)
	want.Machine.Steps = maps.Clone(written.Machine.Steps)
	want.Machine.Consumed = maps.Clone(written.Machine.Consumed)
	want.Machine.Forks = []rondo.Fork{{Attempt: rondo.Attempt{StepID: "both"}, Branches: maps.Clone(written.Machine.Forks[0].Branches)}}
	d.commit(&store.Write{Instances: []store.InstanceWrite{{Instance: written}}})

	vandalise := func(i *rondo.Instance) {
		i.Status = rondo.StatusHalted
		i.Context["case"] = json.RawMessage(`"gone"`)
		i.Machine.Live[0].StepID = "gone"
		i.Machine.Steps["consent"] = rondo.StepLife{Attempts: 99}
		i.Machine.Consumed["corr-9"] = "gone"
		i.Machine.Forks[0].Branches["left"] = "gone"
	}
	check := func(after string) {
		d.t.Helper()
		same(d.t, "the instance after changing "+after, must(d.Instance(d.ctx(), "acme", want.ID))(d.t), &want)
	}
	vandalise(written)
	check("what was written")
	vandalise(d.state(key("c-1")).Instance)
	check("what was loaded")
	vandalise(must(d.Instance(d.ctx(), "acme", want.ID))(d.t))
	check("what was read")
	vandalise(must(d.Instances(d.ctx(), store.InstanceFilter{OrgID: "acme"}, store.Page{}))(d.t)[0])
	check("what was listed")

	next := *must(d.Instance(d.ctx(), "acme", want.ID))(d.t)
	next.Version++
	d.commit(&store.Write{Instances: []store.InstanceWrite{{Instance: &next, Previous: want.Version}}})
	want.Version++
	vandalise(&next)
	check("what replaced it")
}
