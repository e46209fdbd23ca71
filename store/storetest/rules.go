package storetest

import (
	"errors"
	"fmt"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

var ruleTests = []test{
	{name: "an event id is stored once per organisation", run: func(d *db) {
		event := d.newEvent(key("c-1"), "case.created")
		d.commit(&store.Write{Events: []rondo.EventRecord{event}})
		twin := d.newEvent(key("c-2"), "ai_review.completed")
		twin.EventID = event.EventID
		d.refused(&store.Write{Events: []rondo.EventRecord{twin}})
		same(d.t, "the ledger row", must(d.Event(d.ctx(), "acme", event.EventID))(d.t), &event)
	}},
	{name: "two organisations may use the same event id", run: func(d *db) {
		ours := d.newEvent(key("c-1"), "case.created")
		theirs := d.newEvent(rondo.CaseKey{OrgID: "other", CaseID: "c-1"}, "case.created")
		theirs.EventID = ours.EventID
		d.commit(&store.Write{Events: []rondo.EventRecord{ours, theirs}})
		same(d.t, "our row", must(d.Event(d.ctx(), "acme", ours.EventID))(d.t), &ours)
		same(d.t, "their row", must(d.Event(d.ctx(), "other", ours.EventID))(d.t), &theirs)
	}},
	{name: "an attempt has one row", run: func(d *db) {
		instance := d.start(key("c-1"))
		d.commit(&store.Write{Steps: []rondo.Step{d.newStep(instance, "consent", 1, 1), d.newStep(instance, "consent", 2, 2)}})
		d.refused(&store.Write{Steps: []rondo.Step{d.newStep(instance, "consent", 2, 3)}})
		d.commit(&store.Write{Steps: []rondo.Step{d.newStep(instance, "consent", 3, 3), d.newStep(instance, "Consent", 2, 4)}})
	}},
	{name: "an instance id is used once", run: func(d *db) {
		first := d.start(key("c-1"))
		twin := d.newInstance(key("c-2"))
		twin.ID = first.ID
		d.refused(&store.Write{Instances: []store.InstanceWrite{{Instance: twin}}})
		same(d.t, "the first instance", d.state(key("c-1")).Instance, first)
	}},
	{name: "a case has one instance that is not cancelled", run: func(d *db) {
		for i, status := range []rondo.Status{rondo.StatusRunning, rondo.StatusHalted, rondo.StatusCompleted} {
			at := key(fmt.Sprintf("c-%d", i))
			first := d.newInstance(at)
			first.Status = status
			d.commit(&store.Write{Instances: []store.InstanceWrite{{Instance: first}}})
			d.refused(&store.Write{Instances: []store.InstanceWrite{{Instance: d.newInstance(at)}}})
			same(d.t, fmt.Sprintf("the %s instance", status), d.state(at).Instance, first)
		}
	}},
	{name: "two new instances of one case in one write are refused", run: func(d *db) {
		d.refused(&store.Write{Instances: []store.InstanceWrite{
			{Instance: d.newInstance(key("c-1"))}, {Instance: d.newInstance(key("c-1"))},
		}})
	}},
	{name: "a cancelled instance makes room for another", run: func(d *db) {
		first := d.start(key("c-1"))
		d.commit(&store.Write{Instances: []store.InstanceWrite{change(first, cancel)}})
		second := d.start(key("c-1"))
		same(d.t, "the newest instance", d.state(key("c-1")).Instance, second)
		d.refused(&store.Write{Instances: []store.InstanceWrite{{Instance: d.newInstance(key("c-1"))}}})
	}},
	{name: "one write cancels an instance and starts the next, in any order", run: func(d *db) {
		first := d.start(key("c-1"))
		second := d.newInstance(key("c-1"))
		d.commit(&store.Write{Instances: []store.InstanceWrite{{Instance: second}, change(first, cancel)}})
		third := d.newInstance(key("c-1"))
		d.commit(&store.Write{Instances: []store.InstanceWrite{change(second, cancel), {Instance: third}}})
		same(d.t, "the newest instance", d.state(key("c-1")).Instance, third)
		list := must(d.Instances(d.ctx(), store.InstanceFilter{OrgID: "acme", CaseID: "c-1"}, store.Page{}))(d.t)
		if len(list) != 3 {
			d.t.Fatalf("the case has %d instances, want 3", len(list))
		}
	}},
	{name: "a cancelled instance cannot come back beside another", run: func(d *db) {
		first := d.start(key("c-1"))
		gone := change(first, cancel)
		d.commit(&store.Write{Instances: []store.InstanceWrite{gone}})
		d.start(key("c-1"))
		d.refused(&store.Write{Instances: []store.InstanceWrite{change(gone.Instance, func(i *rondo.Instance) { i.Status = rondo.StatusRunning })}})
	}},
	{name: "two organisations may use the same case id", run: func(d *db) {
		ours := d.start(key("c-1"))
		theirs := d.start(rondo.CaseKey{OrgID: "other", CaseID: "c-1"})
		same(d.t, "our instance", d.state(ours.Key()).Instance, ours)
		same(d.t, "their instance", d.state(theirs.Key()).Instance, theirs)
	}},
	{name: "a write against an old version is a conflict", run: func(d *db) {
		first := d.start(key("c-1"))
		second := change(first, func(i *rondo.Instance) { i.HaltNote = "second" })
		d.commit(&store.Write{Instances: []store.InstanceWrite{second}})
		_, err := d.try(&store.Write{Instances: []store.InstanceWrite{change(first, func(i *rondo.Instance) { i.HaltNote = "late" })}})
		if !errors.Is(err, store.ErrConflict) {
			d.t.Fatalf("error is %v, want ErrConflict", err)
		}
		same(d.t, "the instance", d.state(key("c-1")).Instance, second.Instance)
	}},
	{name: "a write against an instance that is not there is a conflict", run: func(d *db) {
		_, err := d.try(&store.Write{Instances: []store.InstanceWrite{change(d.newInstance(key("c-1")), cancel)}})
		if !errors.Is(err, store.ErrConflict) {
			d.t.Fatalf("error is %v, want ErrConflict", err)
		}
	}},
	{name: "an instance of another organisation cannot be replaced", run: func(d *db) {
		ours := d.start(key("c-1"))
		theft := change(ours, func(i *rondo.Instance) { i.OrgID = "other" })
		_, err := d.try(&store.Write{Instances: []store.InstanceWrite{theft}})
		if !errors.Is(err, store.ErrConflict) {
			d.t.Fatalf("error is %v, want ErrConflict", err)
		}
		same(d.t, "our instance", d.state(key("c-1")).Instance, ours)
	}},
	{name: "a version may rise by more than one in a batch", run: func(d *db) {
		first := d.start(key("c-1"))
		d.commit(&store.Write{Instances: []store.InstanceWrite{change(first, func(i *rondo.Instance) { i.Version = 5 })}})
		if got := d.state(key("c-1")).Instance.Version; got != 5 {
			d.t.Fatalf("the version is %d, want 5", got)
		}
	}},
}

func cancel(i *rondo.Instance) {
	i.Status = rondo.StatusCancelled
	i.CancelledBy, i.CancelledReason = "u-1", "not needed"
	i.CompletedAt = epoch
	i.Machine = rondo.Machine{}
}
