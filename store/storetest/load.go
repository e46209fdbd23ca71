package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

var loadTests = []test{
	{name: "a case that never was has an empty state", run: func(d *db) {
		loaded := d.load(store.Load{Cases: []rondo.CaseKey{key("c-1")}})
		state, ok := loaded.Cases[key("c-1")]
		if !ok || state.Instance != nil || len(state.Parked) != 0 {
			d.t.Fatalf("got %+v (present %v), want an empty state that is there", state, ok)
		}
	}},
	{name: "cases may be named twice and in any order", run: func(d *db) {
		a, b := d.start(key("a")), d.start(key("b"))
		loaded := d.load(store.Load{Cases: []rondo.CaseKey{key("b"), key("a"), key("none"), key("b"), key("a")}})
		if len(loaded.Cases) != 3 {
			d.t.Fatalf("%d cases were loaded, want 3", len(loaded.Cases))
		}
		same(d.t, "case a", loaded.Cases[key("a")].Instance, a)
		same(d.t, "case b", loaded.Cases[key("b")].Instance, b)
	}},
	{name: "the instance that is not cancelled is loaded, whatever its id", run: func(d *db) {
		live := d.newInstance(key("c-1"))
		d.commit(&store.Write{Instances: []store.InstanceWrite{
			{Instance: d.cancelled(key("c-1"))}, {Instance: live}, {Instance: d.cancelled(key("c-1"))},
		}})
		same(d.t, "the live instance", d.state(key("c-1")).Instance, live)
	}},
	{name: "of cancelled instances the one with the highest id is loaded", run: func(d *db) {
		first, second := d.cancelled(key("c-1")), d.cancelled(key("c-1"))
		d.commit(&store.Write{Instances: []store.InstanceWrite{{Instance: second}}})
		d.commit(&store.Write{Instances: []store.InstanceWrite{{Instance: first}}})
		same(d.t, "the newest instance", d.state(key("c-1")).Instance, second)
	}},
	{name: "parked events of the case are loaded, oldest first", run: func(d *db) {
		first, second, third := d.newParked(key("c-1")), d.newParked(key("c-1")), d.newParked(key("c-1"))
		applied := d.newEvent(key("c-1"), "case.created")
		elsewhere, foreign := d.newParked(key("c-2")), d.newParked(rondo.CaseKey{OrgID: "other", CaseID: "c-1"})
		d.commit(&store.Write{Events: []rondo.EventRecord{third, elsewhere, applied, first}})
		d.commit(&store.Write{Events: []rondo.EventRecord{second, foreign}})
		same(d.t, "the parked events", d.state(key("c-1")).Parked, []rondo.EventRecord{first, second, third})
	}},
	{name: "an event that is judged is parked no longer", run: func(d *db) {
		event := d.newParked(key("c-1"))
		d.commit(&store.Write{Events: []rondo.EventRecord{event}})
		event.Outcome, event.Processed = rondo.OutcomeApplied, true
		d.commit(&store.Write{Rejudged: []rondo.EventRecord{event}})
		if parked := d.state(key("c-1")).Parked; len(parked) != 0 {
			d.t.Fatalf("parked events are %+v, want none", parked)
		}
	}},
	{name: "events that were seen are loaded, others are absent", run: func(d *db) {
		seen, unseen := d.newParked(key("c-1")), d.newEvent(key("c-1"), "case.created")
		d.commit(&store.Write{Events: []rondo.EventRecord{seen}})
		foreign := rondo.EventKey{OrgID: "other", EventID: seen.EventID}
		loaded := d.load(store.Load{Events: []rondo.EventKey{eventKey(seen), eventKey(unseen), foreign, eventKey(seen)}})
		same(d.t, "the seen events", loaded.Seen, map[rondo.EventKey]store.SeenEvent{
			eventKey(seen): {CaseID: "c-1", Outcome: rondo.OutcomeParked},
		})
	}},
	{name: "judging again changes outcome, instance, processed, verdict and error only", run: func(d *db) {
		before := d.newParked(key("c-1"))
		before.Verdict = "early"
		d.commit(&store.Write{Events: []rondo.EventRecord{before}, Duplicates: []rondo.EventKey{eventKey(before)}})
		instance := d.start(key("c-1"))
		judged := before
		judged.ID, judged.Type, judged.Envelope = d.ids.New(), "other", []byte(`{}`)
		judged.ReceivedAt = epoch.AddDate(1, 0, 0)
		judged.Duplicates = 77
		judged.Outcome, judged.InstanceID, judged.Processed, judged.Verdict, judged.Error = rondo.OutcomeRepeated, instance.ID, true, "repeated", "too late"
		d.commit(&store.Write{Rejudged: []rondo.EventRecord{judged}})
		want := before
		want.Duplicates = 1
		want.Outcome, want.InstanceID, want.Processed, want.Verdict, want.Error = rondo.OutcomeRepeated, instance.ID, true, "repeated", "too late"
		same(d.t, "the ledger row", must(d.Event(d.ctx(), "acme", before.EventID))(d.t), &want)
		events := must(d.Events(d.ctx(), "acme", instance.ID, store.Page{}))(d.t)
		same(d.t, "the events of the instance", events, []rondo.EventRecord{want})
	}},
	{name: "an event may be stored and judged again in one write, the last word counts", run: func(d *db) {
		event := d.newParked(key("c-1"))
		stale, applied := event, event
		stale.Outcome, stale.Processed, stale.Error = rondo.OutcomeStale, true, "first word"
		applied.Outcome, applied.Processed = rondo.OutcomeApplied, true
		d.commit(&store.Write{Events: []rondo.EventRecord{event}, Rejudged: []rondo.EventRecord{stale, applied}})
		same(d.t, "the ledger row", must(d.Event(d.ctx(), "acme", event.EventID))(d.t), &applied)
	}},
	{name: "duplicates count once per mention, in the same write and later", run: func(d *db) {
		event, other := d.newEvent(key("c-1"), "case.created"), d.newEvent(key("c-1"), "case.created")
		again := eventKey(event)
		d.commit(&store.Write{Events: []rondo.EventRecord{event, other}, Duplicates: []rondo.EventKey{again, again}})
		d.commit(&store.Write{Duplicates: []rondo.EventKey{again, eventKey(other), again, again}})
		for _, want := range []struct {
			event rondo.EventRecord
			count int
		}{{event, 5}, {other, 1}} {
			if got := must(d.Event(d.ctx(), "acme", want.event.EventID))(d.t).Duplicates; got != want.count {
				d.t.Fatalf("the event was counted %d times, want %d", got, want.count)
			}
		}
	}},
	{name: "a start finds the product's active definition, else the organisation's", run: testActive},
	{name: "a batch of a thousand cases is one commit like any other", run: testLargeBatch},
	{name: "numbers of outgoing events rise", run: func(d *db) {
		var seqs []int64
		for range 3 {
			committed := d.commit(&store.Write{Outbox: d.outgoing("workflow.started", 3)})
			if len(committed.Seqs) != 3 {
				d.t.Fatalf("got numbers %v for 3 events", committed.Seqs)
			}
			seqs = append(seqs, committed.Seqs...)
		}
		if !slices.IsSorted(seqs) || len(slices.Compact(slices.Clone(seqs))) != 9 || seqs[0] <= 0 {
			d.t.Fatalf("numbers %v do not rise", seqs)
		}
	}},
}

func testActive(d *db) {
	orgWide := d.published("acme", "", "hash-org")
	product := d.published("acme", "derma", "hash-derma")
	d.published("other", "cardio", "hash-foreign")
	conversation := d.newDefinition("acme", "cardio")
	conversation.Kind = rondo.KindConversation
	d.publish(d.create(conversation), "hash-conversation")
	d.create(d.newDefinition("acme", "cardio")) // a draft
	must(d.CreateDefinition(d.ctx(), d.newTemplate("ai_only"), d.newRevision(rondo.Definition{}, "shipped")))(d.t)

	starts := []store.StartKey{
		{OrgID: "acme", ProductID: "derma"},
		{OrgID: "acme", ProductID: "cardio"},
		{OrgID: "acme", ProductID: "Derma"},
		{OrgID: "other", ProductID: "derma"},
		{OrgID: "none", ProductID: "derma"},
		{OrgID: "acme", ProductID: "derma"},
	}
	want := map[store.StartKey]store.ActiveDefinition{
		starts[0]: {DefinitionID: product.ID, SnapshotHash: "hash-derma"},
		starts[1]: {DefinitionID: orgWide.ID, SnapshotHash: "hash-org"},
		starts[2]: {DefinitionID: orgWide.ID, SnapshotHash: "hash-org"},
	}
	same(d.t, "the active definitions", d.load(store.Load{Starts: starts}).Active, want)
}

// testLargeBatch is beyond what one statement of most databases can carry.
func testLargeBatch(d *db) {
	const cases = 1_000
	create, replace := &store.Write{}, &store.Write{}
	var load store.Load
	for i := range cases {
		instance := d.newInstance(key(fmt.Sprintf("c-%04d", i)))
		event := d.newParked(instance.Key())
		create.Instances = append(create.Instances, store.InstanceWrite{Instance: instance})
		create.Steps = append(create.Steps, d.newStep(instance, "consent", 1, 1), d.newStep(instance, "consent", 2, 2))
		create.Events = append(create.Events, event)
		create.Outbox = append(create.Outbox, d.newOutgoing("workflow.started"))
		create.Interventions = append(create.Interventions, d.newIntervention(instance))

		replace.Instances = append(replace.Instances, change(instance, func(i *rondo.Instance) { i.Status = rondo.StatusHalted }))
		event.Outcome, event.Processed, event.InstanceID = rondo.OutcomeApplied, true, instance.ID
		replace.Rejudged = append(replace.Rejudged, event)
		replace.Duplicates = append(replace.Duplicates, eventKey(event))

		load.Cases = append(load.Cases, instance.Key())
		load.Events = append(load.Events, eventKey(event))
		load.Starts = append(load.Starts, store.StartKey{OrgID: "acme", ProductID: instance.CaseID})
	}
	committed := d.commit(create)
	if len(committed.Seqs) != cases || !slices.IsSorted(committed.Seqs) {
		d.t.Fatalf("got %d numbers, want %d that rise", len(committed.Seqs), cases)
	}
	replace.Sent = committed.Seqs
	d.commit(replace)
	d.wantBacklog(0, time.Time{})

	loaded := d.load(load)
	if len(loaded.Cases) != cases || len(loaded.Seen) != cases {
		d.t.Fatalf("%d cases and %d events were loaded, want %d of each", len(loaded.Cases), len(loaded.Seen), cases)
	}
	for i, w := range replace.Instances {
		event := replace.Rejudged[i]
		event.Duplicates = 1
		same(d.t, "an instance of the batch", loaded.Cases[w.Instance.Key()].Instance, w.Instance)
		same(d.t, "a seen event of the batch", loaded.Seen[eventKey(event)], store.SeenEvent{CaseID: event.CaseID, Outcome: rondo.OutcomeApplied})
		if i%250 == 0 { // each is a read of its own
			same(d.t, "the events of a case", must(d.Events(d.ctx(), "acme", w.Instance.ID, store.Page{}))(d.t), []rondo.EventRecord{event})
			same(d.t, "the steps of a case", must(d.Steps(d.ctx(), "acme", w.Instance.ID))(d.t), create.Steps[2*i:2*i+2])
		}
	}
}
