package storetest

import (
	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// judged is an event with an outcome.
func (d *db) judged(key rondo.CaseKey, outcome rondo.Outcome, eventType string) rondo.EventRecord {
	event := d.newEvent(key, eventType)
	event.Outcome, event.Processed = outcome, outcome != rondo.OutcomeParked
	return event
}

var eventListTests = []test{
	{name: "events are listed newest first by case, by outcome, by type, in pages", run: func(d *db) {
		instance := d.start(key("c-1"))
		d.start(key("c-2"))
		applied := d.judged(key("c-1"), rondo.OutcomeApplied, "case.created")
		stale := d.judged(key("c-1"), rondo.OutcomeStale, "ai_review.completed")
		parked := d.judged(key("c-1"), rondo.OutcomeParked, "ai_review.completed")
		rejected := d.judged(key("c-1"), rondo.OutcomeRejected, "case.created")
		applied.InstanceID, stale.InstanceID, rejected.InstanceID = instance.ID, instance.ID, instance.ID
		unmatched := d.judged(key("c-1"), rondo.OutcomeUnmatched, "lab.completed")
		noted := d.judged(key("c-1"), rondo.OutcomeNoted, "lab.completed") // without an instance
		elsewhere := d.judged(key("c-2"), rondo.OutcomeParked, "lab.completed")
		homeless := d.judged(key("c-3"), rondo.OutcomeUnmatched, "case.created")
		theirs := d.judged(rondo.CaseKey{OrgID: "other", CaseID: "c-1"}, rondo.OutcomeParked, "ai_review.completed")
		d.commit(&store.Write{Events: []rondo.EventRecord{noted, rejected, applied, elsewhere}})
		d.commit(&store.Write{Events: []rondo.EventRecord{unmatched, stale, parked, homeless, theirs}})
		for _, list := range []struct {
			name   string
			filter store.EventFilter
			page   store.Page
			want   []rondo.EventRecord
		}{
			{"a case", store.EventFilter{CaseID: "c-1"}, store.Page{}, []rondo.EventRecord{noted, unmatched, rejected, parked, stale, applied}},
			{"a page of a case", store.EventFilter{CaseID: "c-1"}, store.Page{Limit: 2, After: unmatched.ID}, []rondo.EventRecord{rejected, parked}},
			{"a case and a type", store.EventFilter{CaseID: "c-1", Type: "ai_review.completed"}, store.Page{}, []rondo.EventRecord{parked, stale}},
			{"a case and an outcome", store.EventFilter{CaseID: "c-1", Outcome: rondo.OutcomeApplied}, store.Page{}, []rondo.EventRecord{applied}},
			{"a case without an instance", store.EventFilter{CaseID: "c-3"}, store.Page{}, []rondo.EventRecord{homeless}},
			{"a case that is not there", store.EventFilter{CaseID: "C-1"}, store.Page{}, nil},
			{"what is parked", store.EventFilter{Outcome: rondo.OutcomeParked}, store.Page{}, []rondo.EventRecord{elsewhere, parked}},
			{"a page of what is parked", store.EventFilter{Outcome: rondo.OutcomeParked}, store.Page{Limit: 1}, []rondo.EventRecord{elsewhere}},
			{"the next page of what is parked", store.EventFilter{Outcome: rondo.OutcomeParked}, store.Page{Limit: 1, After: elsewhere.ID}, []rondo.EventRecord{parked}},
			{"what is parked of a type", store.EventFilter{Outcome: rondo.OutcomeParked, Type: "lab.completed"}, store.Page{}, []rondo.EventRecord{elsewhere}},
			{"what is unmatched", store.EventFilter{Outcome: rondo.OutcomeUnmatched}, store.Page{}, []rondo.EventRecord{homeless, unmatched}},
			{"what is rejected", store.EventFilter{Outcome: rondo.OutcomeRejected}, store.Page{}, []rondo.EventRecord{rejected}},
		} {
			list.filter.OrgID = "acme"
			same(d.t, "the list of "+list.name, must(d.EventList(d.ctx(), list.filter, list.page))(d.t), list.want)
		}
	}},
	{name: "a list of the whole ledger is refused", run: func(d *db) {
		for _, filter := range []store.EventFilter{
			{OrgID: "acme"},
			{OrgID: "acme", Outcome: rondo.OutcomeApplied},
			{OrgID: "acme", Type: "case.created"},
			{CaseID: "c-1"},
			{Outcome: rondo.OutcomeParked},
		} {
			_, err := d.EventList(d.ctx(), filter, store.Page{Limit: 1})
			wantCode(d.t, err, rondo.CodeInvalid)
		}
	}},
	{name: "an event that is judged again is listed by its new outcome", run: func(d *db) {
		instance := d.start(key("c-1"))
		event := d.judged(key("c-1"), rondo.OutcomeParked, "ai_review.completed")
		d.commit(&store.Write{Events: []rondo.EventRecord{event}})
		list := func(outcome rondo.Outcome) []rondo.EventRecord {
			return must(d.EventList(d.ctx(), store.EventFilter{OrgID: "acme", Outcome: outcome}, store.Page{}))(d.t)
		}
		judge := func(outcome rondo.Outcome, of rondo.ID) {
			event.Outcome, event.InstanceID, event.Processed = outcome, of, outcome != rondo.OutcomeParked
			d.commit(&store.Write{Rejudged: []rondo.EventRecord{event}})
			same(d.t, "the events of the case", must(d.EventList(d.ctx(), store.EventFilter{OrgID: "acme", CaseID: "c-1"}, store.Page{}))(d.t), []rondo.EventRecord{event})
		}
		judge(rondo.OutcomeApplied, instance.ID)
		same(d.t, "what is parked", list(rondo.OutcomeParked), []rondo.EventRecord{})
		judge(rondo.OutcomeParked, rondo.ID{})
		same(d.t, "what is parked again", list(rondo.OutcomeParked), []rondo.EventRecord{event})
		judge(rondo.OutcomeUnmatched, rondo.ID{})
		same(d.t, "what is parked after", list(rondo.OutcomeParked), []rondo.EventRecord{})
		same(d.t, "what is unmatched", list(rondo.OutcomeUnmatched), []rondo.EventRecord{event})
		judge(rondo.OutcomeStale, rondo.ID{})
		same(d.t, "what is unmatched after", list(rondo.OutcomeUnmatched), []rondo.EventRecord{})
	}},
	{name: "an event that stays parked belongs to the instance that it is given, and stays listed", run: func(d *db) {
		event, other := d.newParked(key("c-1")), d.newParked(key("c-1"))
		d.commit(&store.Write{Events: []rondo.EventRecord{event, other}})
		instance := d.newInstance(key("c-1"))
		event.InstanceID, event.Verdict = instance.ID, "early"
		d.commit(&store.Write{Instances: []store.InstanceWrite{{Instance: instance}}, Rejudged: []rondo.EventRecord{event}})
		list := func(filter store.EventFilter) []rondo.EventRecord {
			filter.OrgID = "acme"
			return must(d.EventList(d.ctx(), filter, store.Page{}))(d.t)
		}
		both := []rondo.EventRecord{other, event}
		same(d.t, "the events of the instance", must(d.Events(d.ctx(), "acme", instance.ID, store.Page{}))(d.t), []rondo.EventRecord{event})
		same(d.t, "the events of the case", list(store.EventFilter{CaseID: "c-1"}), both)
		same(d.t, "what is parked", list(store.EventFilter{Outcome: rondo.OutcomeParked}), both)
		same(d.t, "what the case has parked", d.state(key("c-1")).Parked, []rondo.EventRecord{event, other})
		same(d.t, "how much is parked", must(d.Waiting(d.ctx()))(d.t).Parked, 2)
		event.Outcome, event.Processed = rondo.OutcomeApplied, true
		d.commit(&store.Write{Rejudged: []rondo.EventRecord{event}})
		same(d.t, "the events of the case after", list(store.EventFilter{CaseID: "c-1"}), []rondo.EventRecord{other, event})
		same(d.t, "what is parked after", list(store.EventFilter{Outcome: rondo.OutcomeParked}), both[:1])
		same(d.t, "what the case has parked after", d.state(key("c-1")).Parked, both[:1])
	}},
	{name: "an event that comes and is judged again in one write is listed by its last outcome", run: func(d *db) {
		d.start(key("c-1"))
		event := d.judged(key("c-1"), rondo.OutcomeParked, "ai_review.completed")
		last := event
		last.Outcome, last.Processed = rondo.OutcomeRejected, true
		d.commit(&store.Write{Events: []rondo.EventRecord{event}, Rejudged: []rondo.EventRecord{last}})
		same(d.t, "what is parked", must(d.EventList(d.ctx(), store.EventFilter{OrgID: "acme", Outcome: rondo.OutcomeParked}, store.Page{}))(d.t), []rondo.EventRecord{})
		same(d.t, "what is rejected", must(d.EventList(d.ctx(), store.EventFilter{OrgID: "acme", Outcome: rondo.OutcomeRejected}, store.Page{}))(d.t), []rondo.EventRecord{last})
	}},
}
