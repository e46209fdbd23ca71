package storetest

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// finished commits an instance that ended, with something of everything that can
// belong to one.
func (d *db) finished(key rondo.CaseKey, status rondo.Status, ended time.Time) (*rondo.Instance, rondo.EventRecord) {
	d.t.Helper()
	instance := d.newInstance(key)
	instance.Status, instance.CompletedAt, instance.Machine = status, ended, rondo.Machine{Finished: 1}
	created, rejected := d.newEvent(key, "case.created"), d.judged(key, rondo.OutcomeRejected, "case.created")
	created.InstanceID, rejected.InstanceID = instance.ID, instance.ID
	stray := d.judged(key, rondo.OutcomeUnmatched, "lab.completed")
	stray.ReceivedAt = ended
	d.commit(&store.Write{
		Instances:     []store.InstanceWrite{{Instance: instance}},
		Steps:         []rondo.Step{d.newStep(instance, "consent", 1, 1)},
		Events:        []rondo.EventRecord{created, rejected, stray, d.parkedAt(key, ended)},
		Interventions: []rondo.Intervention{d.newIntervention(instance)},
		Attributes:    []rondo.Attribute{attribute(instance, "p", text("x"))},
	})
	return instance, created
}

func (d *db) parkedAt(key rondo.CaseKey, at time.Time) rondo.EventRecord {
	event := d.newParked(key)
	event.ReceivedAt = at
	return event
}

// wantGone fails when anything of a purged case is left.
func (d *db) wantGone(instance *rondo.Instance, created rondo.EventRecord) {
	d.t.Helper()
	org := instance.OrgID
	_, err := d.Instance(d.ctx(), org, instance.ID)
	wantCode(d.t, err, rondo.CodeNotFound)
	_, err = d.Event(d.ctx(), org, created.EventID)
	wantCode(d.t, err, rondo.CodeNotFound)
	same(d.t, "its steps", must(d.Steps(d.ctx(), org, instance.ID))(d.t), []rondo.Step{})
	same(d.t, "its events", must(d.Events(d.ctx(), org, instance.ID, store.Page{}))(d.t), []rondo.EventRecord{})
	same(d.t, "its interventions", must(d.Interventions(d.ctx(), org, instance.ID))(d.t), []rondo.Intervention{})
	same(d.t, "its attributes", must(d.Attributes(d.ctx(), org, instance.ID))(d.t), []rondo.Attribute{})
	found := must(d.Instances(d.ctx(), store.InstanceFilter{OrgID: org, CaseID: instance.CaseID, Where: where("p", "=", text("x")).Where}, store.Page{}))(d.t)
	same(d.t, "a search for it", joined(found), "")
	same(d.t, "events of its case", must(d.EventList(d.ctx(), store.EventFilter{OrgID: org, CaseID: instance.CaseID}, store.Page{}))(d.t), []rondo.EventRecord{})
	state := d.state(instance.Key())
	if state.Instance != nil || len(state.Parked) > 0 {
		d.t.Fatalf("a batch still sees the case: %+v", state)
	}
}

func (d *db) purge(org string, except []string, before time.Time, limit int) int {
	d.t.Helper()
	return must(d.Purge(d.ctx(), org, except, before, limit))(d.t)
}

var retentionTests = []test{
	{name: "a policy is stored per organisation and replaced", run: func(d *db) {
		same(d.t, "no policies", must(d.RetentionPolicies(d.ctx()))(d.t), []rondo.RetentionPolicy{})
		all := rondo.RetentionPolicy{KeepFinished: 90 * 24 * time.Hour, Reason: "the law: 90 days", UpdatedBy: "admin", UpdatedAt: epoch}
		ours := rondo.RetentionPolicy{OrgID: "acme", KeepFinished: 0, UpdatedBy: "u-1", UpdatedAt: epoch.Add(time.Minute)}
		must(0, d.PutRetentionPolicy(d.ctx(), rondo.RetentionPolicy{OrgID: "acme", KeepFinished: time.Hour, UpdatedBy: "u-0", UpdatedAt: epoch}))(d.t)
		must(0, d.PutRetentionPolicy(d.ctx(), all))(d.t)
		must(0, d.again().PutRetentionPolicy(d.ctx(), ours))(d.t)
		same(d.t, "the policies", must(d.RetentionPolicies(d.ctx()))(d.t), []rondo.RetentionPolicy{all, ours})
	}},
	{name: "an instance goes with everything that belongs to it", run: func(d *db) {
		before := epoch.Add(24 * time.Hour)
		for i, status := range []rondo.Status{rondo.StatusCompleted, rondo.StatusCancelled} {
			gone, created := d.finished(key(fmt.Sprint("gone-", i)), status, epoch.Add(time.Hour))
			kept, event := d.finished(key(fmt.Sprint("kept-", i)), status, before)
			if n := d.purge("acme", nil, before, 10); n != 1 {
				d.t.Fatalf("%d instances were purged, want 1", n)
			}
			d.wantGone(gone, created)
			same(d.t, "what is kept", must(d.Instance(d.ctx(), "acme", kept.ID))(d.t), kept)
			same(d.t, "the kept event", must(d.Event(d.ctx(), "acme", event.EventID))(d.t), &event)
			if n := len(must(d.EventList(d.ctx(), store.EventFilter{OrgID: "acme", CaseID: kept.CaseID}, store.Page{}))(d.t)); n != 4 {
				d.t.Fatalf("%d events of the kept case are left, want 4", n)
			}
		}
	}},
	{name: "what has not ended is never purged", run: func(d *db) {
		running := d.startAt(key("running"), epoch)
		halted := d.newInstance(key("halted"))
		halted.Status = rondo.StatusHalted
		d.commit(&store.Write{Instances: []store.InstanceWrite{{Instance: halted}}})
		if n := d.purge("", nil, epoch.Add(1000*24*time.Hour), 10); n != 0 {
			d.t.Fatalf("%d instances were purged, want none", n)
		}
		same(d.t, "the running instance", d.state(running.Key()).Instance, running)
		same(d.t, "the halted instance", d.state(halted.Key()).Instance, halted)
	}},
	{name: "a purged case can be created anew", run: func(d *db) {
		instance, created := d.finished(key("c-1"), rondo.StatusCompleted, epoch)
		if n := d.purge("acme", nil, epoch.Add(time.Hour), 10); n != 1 {
			d.t.Fatalf("%d instances were purged, want 1", n)
		}
		again := d.newInstance(key("c-1"))
		created.InstanceID = again.ID
		d.commit(&store.Write{
			Instances:  []store.InstanceWrite{{Instance: again}},
			Events:     []rondo.EventRecord{created},
			Steps:      []rondo.Step{d.newStep(again, "consent", 1, 1)},
			Attributes: []rondo.Attribute{attribute(again, "p", text("x"))},
		})
		same(d.t, "the new instance", d.state(key("c-1")).Instance, again)
		same(d.t, "a search", d.caseIDs(where("p", "=", text("x")), store.Page{}), "c-1")
		if again.ID == instance.ID {
			d.t.Fatal("the new instance has the old id")
		}
	}},
	{name: "the instance that replaced a purged one stays, with the events of the case", run: func(d *db) {
		old, _ := d.finished(key("c-1"), rondo.StatusCancelled, epoch)
		next := d.start(key("c-1"))
		if n := d.purge("acme", nil, epoch.Add(time.Hour), 10); n != 1 {
			d.t.Fatalf("%d instances were purged, want 1", n)
		}
		_, err := d.Instance(d.ctx(), "acme", old.ID)
		wantCode(d.t, err, rondo.CodeNotFound)
		state := d.state(key("c-1"))
		same(d.t, "the next instance", state.Instance, next)
		if len(state.Parked) != 1 {
			d.t.Fatalf("the case has %d parked events, want 1", len(state.Parked))
		}
	}},
	{name: "an event that came lately outlives the last instance of its case", run: func(d *db) {
		d.finished(key("c-1"), rondo.StatusCompleted, epoch)
		late := d.parkedAt(key("c-1"), epoch.Add(2*time.Hour))
		d.commit(&store.Write{Events: []rondo.EventRecord{late}})
		d.purge("acme", nil, epoch.Add(time.Hour), 10)
		same(d.t, "what is parked", d.state(key("c-1")).Parked, []rondo.EventRecord{late})
		same(d.t, "the events of the case", must(d.EventList(d.ctx(), store.EventFilter{OrgID: "acme", CaseID: "c-1"}, store.Page{}))(d.t), []rondo.EventRecord{late})
	}},
	{name: "the oldest go first, no more than asked for", run: func(d *db) {
		var kept []string
		for i, minutes := range []int{5, 1, 4, 2, 3} {
			id := fmt.Sprint("c-", minutes)
			status := []rondo.Status{rondo.StatusCompleted, rondo.StatusCancelled}[i%2]
			d.finished(key(id), status, epoch.Add(time.Duration(minutes)*time.Minute))
			if minutes > 3 {
				kept = append([]string{id}, kept...)
			}
		}
		if n := d.purge("acme", nil, epoch.Add(time.Hour), 3); n != 3 {
			d.t.Fatalf("%d instances were purged, want 3", n)
		}
		same(d.t, "what is kept", d.caseIDs(store.InstanceFilter{}, store.Page{}), fmt.Sprint(kept[0], " ", kept[1]))
		if n := d.purge("acme", nil, epoch.Add(time.Hour), 0); n != 0 {
			d.t.Fatalf("%d instances were purged, want none", n)
		}
	}},
	{name: "an organisation is purged alone, or all but some", run: func(d *db) {
		orgs := []string{"acme", "other", "Other", "third"}
		for _, org := range orgs {
			d.finished(rondo.CaseKey{OrgID: org, CaseID: "c-1"}, rondo.StatusCompleted, epoch)
		}
		left := func() string {
			var found []string
			for _, org := range orgs {
				if len(must(d.Instances(d.ctx(), store.InstanceFilter{OrgID: org}, store.Page{}))(d.t)) > 0 {
					found = append(found, org)
				}
			}
			return strings.Join(found, " ")
		}
		before := epoch.Add(time.Hour)
		d.purge("other", nil, before, 10)
		same(d.t, "what is left after one", left(), "acme Other third")
		d.purge("", []string{"acme", "nobody"}, before, 10)
		same(d.t, "what is left after the rest", left(), "acme")
	}},
	{name: "more than one transaction's worth goes in one call", run: func(d *db) {
		const cases = 45
		for i := range cases {
			d.finished(key(fmt.Sprint("c-", i)), rondo.StatusCompleted, epoch.Add(time.Duration(i)*time.Second))
		}
		if n := d.purge("", nil, epoch.Add(time.Hour), 100); n != cases {
			d.t.Fatalf("%d instances were purged, want %d", n, cases)
		}
		same(d.t, "what is left", d.caseIDs(store.InstanceFilter{}, store.Page{}), "")
	}},
	{name: "many purges at once remove each instance once", run: func(d *db) {
		const cases = 30
		for i := range cases {
			d.finished(key(fmt.Sprint("c-", i)), rondo.StatusCompleted, epoch.Add(time.Duration(i%7)*time.Second))
		}
		handles := []*db{d, d.again()}
		var purged atomic.Int64
		together(4, func(i int) {
			n, err := handles[i%2].Purge(d.ctx(), "", nil, epoch.Add(time.Hour), cases)
			if err != nil {
				d.t.Errorf("purge: %v", err)
			}
			purged.Add(int64(n))
		})
		if n := purged.Load(); n != cases {
			d.t.Fatalf("%d instances were purged, want %d", n, cases)
		}
	}},
	{name: "cases that are created anew while they are purged keep what is new", run: func(d *db) {
		const cases = 12
		for i := range cases {
			d.finished(key(fmt.Sprint("c-", i)), rondo.StatusCancelled, epoch)
		}
		second := d.again()
		together(2, func(i int) {
			if i == 0 {
				if _, err := second.Purge(d.ctx(), "acme", nil, epoch.Add(time.Hour), cases); err != nil {
					d.t.Errorf("purge: %v", err)
				}
				return
			}
			for n := range cases {
				instance := d.newInstance(key(fmt.Sprint("c-", n)))
				event := d.newEvent(instance.Key(), "case.created")
				event.InstanceID = instance.ID
				if _, err := d.try(&store.Write{Instances: []store.InstanceWrite{{Instance: instance}}, Events: []rondo.EventRecord{event}}); err != nil {
					d.t.Errorf("create a case anew: %v", err)
				}
			}
		})
		list := must(d.Instances(d.ctx(), store.InstanceFilter{OrgID: "acme"}, store.Page{}))(d.t)
		if len(list) != cases {
			d.t.Fatalf("%d instances are left, want the %d new ones", len(list), cases)
		}
		for _, instance := range list {
			if n := len(must(d.Events(d.ctx(), "acme", instance.ID, store.Page{}))(d.t)); instance.Status != rondo.StatusRunning || n != 1 {
				d.t.Fatalf("case %s is %s with %d events", instance.CaseID, instance.Status, n)
			}
		}
	}},
	{name: "a purge leaves the log as it is", opts: embedded, run: func(d *db) {
		instance, _ := d.finished(key("c-1"), rondo.StatusCompleted, epoch)
		outgoing := d.newOutgoing("workflow.completed")
		outgoing.InstanceID = instance.ID
		d.commit(&store.Write{Outbox: []rondo.Outgoing{outgoing}})
		d.purge("acme", nil, epoch.Add(time.Hour), 10)
		if entries := must(d.LogRead(d.ctx(), []string{"workflow.completed"}, 0, 10))(d.t); len(entries) != 1 {
			d.t.Fatalf("the log has %d entries, want 1", len(entries))
		}
	}},
}
