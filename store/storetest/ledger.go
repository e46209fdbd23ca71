package storetest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

var ledgerTests = []test{
	{name: "an instance that is not there is not found", run: func(d *db) {
		_, err := d.Instance(d.ctx(), "acme", d.ids.New())
		wantCode(d.t, err, rondo.CodeNotFound)
		_, err = d.Event(d.ctx(), "acme", d.ids.New())
		wantCode(d.t, err, rondo.CodeNotFound)
	}},
	{name: "instances are listed newest first, by every filter", run: testInstanceFilters},
	{name: "pages of instances do not shift when more arrive", run: func(d *db) {
		var want []rondo.ID
		for i := range 7 {
			want = append([]rondo.ID{d.start(key(fmt.Sprint(i))).ID}, want...)
		}
		var got []rondo.ID
		page := store.Page{Limit: 3}
		for {
			list := must(d.Instances(d.ctx(), store.InstanceFilter{OrgID: "acme"}, page))(d.t)
			if len(list) == 0 {
				break
			}
			for _, instance := range list {
				got = append(got, instance.ID)
			}
			page.After = got[len(got)-1]
			d.start(key(fmt.Sprint("late-", len(got)))) // newer than every page still to come
		}
		same(d.t, "the pages", got, want)
	}},
	{name: "steps are listed by number", run: func(d *db) {
		instance, other := d.start(key("c-1")), d.start(key("c-2"))
		first, second, third := d.newStep(instance, "z", 1, 1), d.newStep(instance, "a", 1, 2), d.newStep(instance, "a", 2, 3)
		failed := d.newStep(instance, "b", 1, 4)
		failed.Status, failed.Output, failed.Error = rondo.StepFailed, nil, json.RawMessage(`{"code":"boom"}`)
		failed.TimeoutAt, failed.Outcome, failed.Input = time.Time{}, "", nil
		d.commit(&store.Write{Steps: []rondo.Step{third, d.newStep(other, "z", 1, 1), first}})
		d.commit(&store.Write{Steps: []rondo.Step{failed, second}})
		same(d.t, "the steps", must(d.Steps(d.ctx(), "acme", instance.ID))(d.t), []rondo.Step{first, second, third, failed})
	}},
	{name: "events of an instance are listed oldest first, in pages", run: func(d *db) {
		instance, other := d.start(key("c-1")), d.start(key("c-2"))
		events := make([]rondo.EventRecord, 5)
		for i := range events {
			events[i] = d.newEvent(key("c-1"), "ai_review.completed")
			events[i].InstanceID = instance.ID
			events[i].ReceivedAt = epoch.Add(-time.Duration(i) * time.Minute) // the id is the order, not this
		}
		unrelated := d.newEvent(key("c-1"), "ai_review.completed")
		theirs := d.newEvent(key("c-2"), "ai_review.completed")
		theirs.InstanceID = other.ID
		d.commit(&store.Write{Events: []rondo.EventRecord{events[3], unrelated, events[0], events[4]}})
		d.commit(&store.Write{Events: []rondo.EventRecord{events[2], theirs, events[1]}})
		list := func(page store.Page) []rondo.EventRecord {
			return must(d.Events(d.ctx(), "acme", instance.ID, page))(d.t)
		}
		same(d.t, "all events", list(store.Page{}), events)
		same(d.t, "the first page", list(store.Page{Limit: 2}), events[:2])
		same(d.t, "the next page", list(store.Page{Limit: 2, After: events[1].ID}), events[2:4])
		same(d.t, "the last page", list(store.Page{Limit: 2, After: events[3].ID}), events[4:])
		same(d.t, "the page after", list(store.Page{Limit: 2, After: events[4].ID}), []rondo.EventRecord{})
	}},
	{name: "interventions are listed oldest first", run: func(d *db) {
		instance, other := d.start(key("c-1")), d.start(key("c-2"))
		first, second := d.newIntervention(instance), d.newIntervention(instance)
		first.CreatedAt, first.Reason, first.Before = epoch.Add(time.Hour), "", nil
		d.commit(&store.Write{Interventions: []rondo.Intervention{second, d.newIntervention(other)}})
		d.commit(&store.Write{Interventions: []rondo.Intervention{first}})
		same(d.t, "the interventions", must(d.Interventions(d.ctx(), "acme", instance.ID))(d.t), []rondo.Intervention{first, second})
	}},
	{name: "dead letters are listed newest first, of one organisation or of all", run: func(d *db) {
		ours, theirs, nobodys, oursToo := d.newDeadLetter("acme"), d.newDeadLetter("other"), d.newDeadLetter(""), d.newDeadLetter("acme")
		d.commit(&store.Write{DeadLetters: []rondo.DeadLetter{oursToo, ours, theirs}})
		d.commit(&store.Write{DeadLetters: []rondo.DeadLetter{nobodys}})
		list := func(org string, page store.Page) []rondo.DeadLetter {
			return must(d.DeadLetters(d.ctx(), store.DeadLetterFilter{OrgID: org}, page))(d.t)
		}
		same(d.t, "ours", list("acme", store.Page{Limit: 10}), []rondo.DeadLetter{oursToo, ours})
		same(d.t, "all", list("", store.Page{}), []rondo.DeadLetter{oursToo, nobodys, theirs, ours})
		same(d.t, "a page of all", list("", store.Page{Limit: 2, After: oursToo.ID}), []rondo.DeadLetter{nobodys, theirs})
		sameBytes(d.t, "the body", list("acme", store.Page{})[0].Body, oursToo.Body)
	}},
}

func testInstanceFilters(d *db) {
	definition := d.ids.New()
	add := func(caseID string, edit func(*rondo.Instance)) *rondo.Instance {
		instance := d.newInstance(key(caseID))
		edit(instance)
		d.commit(&store.Write{Instances: []store.InstanceWrite{{Instance: instance}}})
		return instance
	}
	a := add("a", func(i *rondo.Instance) { i.DefinitionID = definition })
	b := add("b", func(i *rondo.Instance) {
		i.ProductID, i.Status, i.HaltReason = "cardio", rondo.StatusHalted, "step_timeout"
		i.StartedAt = epoch.Add(time.Hour)
	})
	c := add("c", func(i *rondo.Instance) {
		i.Mode, i.StartedAt = rondo.ModeClientDriven, epoch.Add(2*time.Hour)
		i.Machine.Live = append(i.Machine.Live, rondo.Attempt{StepID: "second_review", Status: rondo.StepPending, Number: 1})
	})
	e := add("e", func(i *rondo.Instance) {
		i.Status, i.CompletedAt = rondo.StatusCompleted, epoch.Add(time.Hour)
		i.Machine = rondo.Machine{Steps: map[string]rondo.StepLife{"second_review": {Attempts: 1}}}
	})
	foreign := d.newInstance(rondo.CaseKey{OrgID: "other", CaseID: "a"})
	foreign.DefinitionID = definition
	d.commit(&store.Write{Instances: []store.InstanceWrite{{Instance: foreign}}})

	for _, list := range []struct {
		name   string
		filter store.InstanceFilter
		page   store.Page
		want   []*rondo.Instance
	}{
		{"an organisation", store.InstanceFilter{OrgID: "acme"}, store.Page{}, []*rondo.Instance{e, c, b, a}},
		{"every organisation", store.InstanceFilter{}, store.Page{}, []*rondo.Instance{foreign, e, c, b, a}},
		{"nobody", store.InstanceFilter{OrgID: "ACME"}, store.Page{}, nil},
		{"a case", store.InstanceFilter{OrgID: "acme", CaseID: "a"}, store.Page{}, []*rondo.Instance{a}},
		{"a case of every organisation", store.InstanceFilter{CaseID: "a"}, store.Page{}, []*rondo.Instance{foreign, a}},
		{"a product", store.InstanceFilter{OrgID: "acme", ProductID: "cardio"}, store.Page{}, []*rondo.Instance{b}},
		{"a status", store.InstanceFilter{OrgID: "acme", Status: rondo.StatusRunning}, store.Page{}, []*rondo.Instance{c, a}},
		{"a mode", store.InstanceFilter{OrgID: "acme", Mode: rondo.ModeClientDriven}, store.Page{}, []*rondo.Instance{c}},
		{"a definition", store.InstanceFilter{OrgID: "acme", DefinitionID: definition}, store.Page{}, []*rondo.Instance{a}},
		{"a reason code", store.InstanceFilter{OrgID: "acme", ReasonCode: "step_timeout"}, store.Page{}, []*rondo.Instance{b}},
		{"a live step", store.InstanceFilter{OrgID: "acme", StepID: "ai_review"}, store.Page{}, []*rondo.Instance{c, b, a}},
		{"a second live step", store.InstanceFilter{OrgID: "acme", StepID: "second_review"}, store.Page{}, []*rondo.Instance{c}},
		{"a part of a live step's name", store.InstanceFilter{OrgID: "acme", StepID: "second"}, store.Page{}, nil},
		{"a live step of another case", store.InstanceFilter{OrgID: "acme", StepID: "ai%review"}, store.Page{}, nil},
		{"a start from", store.InstanceFilter{OrgID: "acme", StartedFrom: epoch.Add(time.Hour)}, store.Page{}, []*rondo.Instance{c, b}},
		{"a start to, exclusive", store.InstanceFilter{OrgID: "acme", StartedTo: epoch.Add(time.Hour)}, store.Page{}, []*rondo.Instance{e, a}},
		{"two filters at once", store.InstanceFilter{OrgID: "acme", Status: rondo.StatusRunning, StepID: "second_review"}, store.Page{}, []*rondo.Instance{c}},
		{"a first page", store.InstanceFilter{OrgID: "acme"}, store.Page{Limit: 2}, []*rondo.Instance{e, c}},
		{"a next page", store.InstanceFilter{OrgID: "acme"}, store.Page{Limit: 2, After: c.ID}, []*rondo.Instance{b, a}},
		{"a page of a filter", store.InstanceFilter{OrgID: "acme", StepID: "ai_review"}, store.Page{Limit: 1, After: c.ID}, []*rondo.Instance{b}},
	} {
		same(d.t, "the list of "+list.name, must(d.Instances(d.ctx(), list.filter, list.page))(d.t), list.want)
	}

	moved := change(a, func(i *rondo.Instance) { i.Machine = rondo.Machine{Live: []rondo.Attempt{{StepID: "second_review"}}} })
	d.commit(&store.Write{Instances: []store.InstanceWrite{moved}})
	got := must(d.Instances(d.ctx(), store.InstanceFilter{OrgID: "acme", StepID: "second_review"}, store.Page{}))(d.t)
	same(d.t, "the list of a live step after a move", got, []*rondo.Instance{c, moved.Instance})
}
