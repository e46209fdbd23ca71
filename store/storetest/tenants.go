package storetest

import (
	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

var tenantTests = []test{
	{name: "nothing of an organisation is found by another", run: func(d *db) {
		write, instance := d.fullWrite(key("c-1"))
		write.Outbox = nil
		d.commit(write)
		for _, org := range []string{"other", "ACME", "acme ", "acm", ""} {
			_, err := d.Instance(d.ctx(), org, instance.ID)
			wantCode(d.t, err, rondo.CodeNotFound)
			_, err = d.Event(d.ctx(), org, write.Events[0].EventID)
			wantCode(d.t, err, rondo.CodeNotFound)
			same(d.t, "steps for a stranger", must(d.Steps(d.ctx(), org, instance.ID))(d.t), []rondo.Step{})
			same(d.t, "events for a stranger", must(d.Events(d.ctx(), org, instance.ID, store.Page{}))(d.t), []rondo.EventRecord{})
			same(d.t, "attributes for a stranger", must(d.Attributes(d.ctx(), org, instance.ID))(d.t), []rondo.Attribute{})
			same(d.t, "steps of many for a stranger", must(d.StepsOf(d.ctx(), org, []rondo.ID{instance.ID}))(d.t), map[rondo.ID][]rondo.Step{})
			same(d.t, "interventions for a stranger", must(d.Interventions(d.ctx(), org, instance.ID))(d.t), []rondo.Intervention{})
			if org != "" {
				same(d.t, "instances for a stranger", must(d.Instances(d.ctx(), store.InstanceFilter{OrgID: org}, store.Page{}))(d.t), []*rondo.Instance{})
				same(d.t, "tagged instances for a stranger",
					must(d.Instances(d.ctx(), store.InstanceFilter{OrgID: org, Tag: "urgent"}, store.Page{}))(d.t), []*rondo.Instance{})
				same(d.t, "the events of the case for a stranger",
					must(d.EventList(d.ctx(), store.EventFilter{OrgID: org, CaseID: "c-1"}, store.Page{}))(d.t), []rondo.EventRecord{})
				same(d.t, "parked events for a stranger",
					must(d.EventList(d.ctx(), store.EventFilter{OrgID: org, Outcome: rondo.OutcomeParked}, store.Page{}))(d.t), []rondo.EventRecord{})
				same(d.t, "dead letters for a stranger", must(d.DeadLetters(d.ctx(), store.DeadLetterFilter{OrgID: org}, store.Page{}))(d.t), []rondo.DeadLetter{})
			}
			state := d.state(rondo.CaseKey{OrgID: org, CaseID: "c-1"})
			if state.Instance != nil || len(state.Parked) != 0 {
				d.t.Fatalf("%q sees the case: %+v", org, state)
			}
		}
	}},
	{name: "an event may name an instance of its own organisation only", run: func(d *db) {
		instance := d.start(key("c-1"))
		foreign := d.newEvent(rondo.CaseKey{OrgID: "other", CaseID: "c-1"}, "case.created")
		foreign.InstanceID = instance.ID
		d.commit(&store.Write{Events: []rondo.EventRecord{foreign}})
		same(d.t, "our events", must(d.Events(d.ctx(), "acme", instance.ID, store.Page{}))(d.t), []rondo.EventRecord{})
	}},
	{name: "a definition of another organisation can be neither read nor changed", run: func(d *db) {
		ours := d.create(d.newDefinition("acme", "derma"))
		for _, org := range []string{"other", "ACME", ""} {
			_, err := d.Definition(d.ctx(), org, ours.ID)
			wantCode(d.t, err, rondo.CodeNotFound)
			same(d.t, "revisions for a stranger", must(d.Revisions(d.ctx(), org, ours.ID))(d.t), []rondo.DefinitionRevision{})
			_, err = d.ChangeDefinition(d.ctx(), org, ours.ID, func(rondo.Definition) (store.DefinitionChange, error) {
				d.t.Error("change was called with another organisation's definition")
				return store.DefinitionChange{}, rondo.Invalid("not ours")
			})
			wantCode(d.t, err, rondo.CodeNotFound)
		}
	}},
	{name: "a template is read by everyone and changed under no organisation", run: func(d *db) {
		template := d.create(d.newTemplate("ai_only"))
		for _, org := range []string{"acme", ""} {
			same(d.t, "the template", must(d.Definition(d.ctx(), org, template.ID))(d.t), template)
			if revisions := must(d.Revisions(d.ctx(), org, template.ID))(d.t); len(revisions) != 1 {
				d.t.Fatalf("the template has %d revisions, want 1", len(revisions))
			}
		}
		_, err := d.ChangeDefinition(d.ctx(), "acme", template.ID, func(rondo.Definition) (store.DefinitionChange, error) {
			return store.DefinitionChange{}, rondo.Invalid("not ours")
		})
		wantCode(d.t, err, rondo.CodeNotFound)
		changed := d.edit(template, "reworded", func(c *store.DefinitionChange) { c.Definition.DefaultMode = rondo.ModeClientDriven })
		if changed.DefaultMode != rondo.ModeClientDriven || changed.Revision != 2 {
			d.t.Fatalf("the changed template is %+v", changed)
		}
	}},
}
