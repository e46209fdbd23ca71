package storetest

import (
	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// newOther is a draft of a conversation or a run.
func (d *db) newOther(kind rondo.DefinitionKind, org, name, semver string) rondo.Definition {
	draft := d.newDefinition(org, "")
	draft.Kind, draft.Name, draft.Semver = kind, name, semver
	return draft
}

// publishing tries to make a draft active.
func (d *db) publishing(draft rondo.Definition) error {
	rev := d.newRevision(draft, "published")
	_, err := d.ChangeDefinition(d.ctx(), draft.OrgID, draft.ID, func(now rondo.Definition) (store.DefinitionChange, error) {
		now.Status, now.SnapshotHash = rondo.DefinitionActive, "hash"
		return store.DefinitionChange{Definition: now, Revision: rev}, nil
	})
	return err
}

var activeTests = []test{
	{name: "publishing a conversation archives the active one of its name", run: func(d *db) {
		first := d.publish(d.create(d.newOther(rondo.KindConversation, "acme", "greet", "")), "hash-1")
		others := []rondo.Definition{
			d.publish(d.create(d.newOther(rondo.KindConversation, "acme", "triage", "")), "hash-2"),
			d.publish(d.create(d.newOther(rondo.KindConversation, "other", "greet", "")), "hash-3"),
			d.publish(d.create(d.newOther(rondo.KindRun, "acme", "greet", "1.0.0")), "hash-4"),
			d.published("acme", "", "hash-5"),
		}
		second := d.publish(d.create(d.newOther(rondo.KindConversation, "acme", "greet", "")), "hash-6")
		if got := d.definition(first).Status; got != rondo.DefinitionArchived {
			d.t.Fatalf("the replaced conversation is %s, want archived", got)
		}
		same(d.t, "its reasons", d.reasons(first), []string{"created", "published", "replaced by version 2"})
		for _, active := range append(others, second) {
			same(d.t, "a definition that stays active", d.definition(active), active)
		}
	}},
	{name: "a name has one active conversation", run: func(d *db) {
		active := d.publish(d.create(d.newOther(rondo.KindConversation, "acme", "greet", "")), "hash-1")
		second := d.newOther(rondo.KindConversation, "acme", "greet", "")
		second.Status = rondo.DefinitionActive
		_, err := d.CreateDefinition(d.ctx(), second, d.newRevision(second, "created"))
		wantCode(d.t, err, rondo.CodeConflict)
		same(d.t, "the active conversation", d.definition(active), active)
	}},
	{name: "many versions of a run are active, each once", run: func(d *db) {
		one := d.publish(d.create(d.newOther(rondo.KindRun, "acme", "etl", "1.0.0")), "hash-1")
		two := d.publish(d.create(d.newOther(rondo.KindRun, "acme", "etl", "1.1.0")), "hash-2")
		d.publish(d.create(d.newOther(rondo.KindRun, "other", "etl", "1.0.0")), "hash-3")
		d.publish(d.create(d.newOther(rondo.KindRun, "acme", "ETL", "1.0.0")), "hash-4")
		twin := d.create(d.newOther(rondo.KindRun, "acme", "etl", "1.0.0"))
		wantCode(d.t, d.publishing(twin), rondo.CodeConflict)
		same(d.t, "the refused twin", d.definition(twin), twin)
		same(d.t, "its reasons", d.reasons(twin), []string{"created"})
		for _, active := range []rondo.Definition{one, two} {
			same(d.t, "an active version", d.definition(active), active)
		}
		d.edit(one, "archived", func(c *store.DefinitionChange) { c.Definition.Status = rondo.DefinitionArchived })
		must(0, d.publishing(twin))(d.t)
		created := d.newOther(rondo.KindRun, "acme", "etl", "1.1.0")
		created.Status = rondo.DefinitionActive
		_, err := d.CreateDefinition(d.ctx(), created, d.newRevision(created, "created"))
		wantCode(d.t, err, rondo.CodeConflict)
	}},
	{name: "of twins of a run published at the same time one becomes active", run: func(d *db) {
		const callers = 6
		second := d.again()
		drafts := make([]rondo.Definition, callers)
		for i := range drafts {
			drafts[i] = d.create(d.newOther(rondo.KindRun, "acme", "etl", "1.0.0"))
		}
		errs := make([]error, callers)
		together(callers, func(i int) { errs[i] = []*db{d, second}[i%2].publishing(drafts[i]) })
		published := 0
		for _, err := range errs {
			if err == nil {
				published++
				continue
			}
			wantCode(d.t, err, rondo.CodeConflict)
		}
		if published != 1 {
			d.t.Fatalf("%d twins were published, want 1", published)
		}
	}},
}

var kindTests = []test{
	{name: "a reason code is found by its id, of an organisation or of the system", run: func(d *db) {
		system, own, foreign := d.newReason("", "halt", "late", "Late"), d.newReason("acme", "halt", "late", "Ours"), d.newReason("other", "halt", "late", "Theirs")
		for _, code := range []rondo.ReasonCode{system, own, foreign} {
			must(0, d.PutReasonCode(d.ctx(), code))(d.t)
		}
		same(d.t, "our code", must(d.ReasonCode(d.ctx(), "acme", own.ID))(d.t), own)
		same(d.t, "the system's code", must(d.ReasonCode(d.ctx(), "acme", system.ID))(d.t), system)
		for _, id := range []rondo.ID{foreign.ID, d.ids.New()} {
			_, err := d.ReasonCode(d.ctx(), "acme", id)
			wantCode(d.t, err, rondo.CodeNotFound)
		}
	}},
	{name: "every version of a step kind is listed, newest first", run: func(d *db) {
		one := must(d.PutStepKind(d.ctx(), newKind("acme", "pay", "active")))(d.t)
		two := must(d.PutStepKind(d.ctx(), newKind("acme", "pay", "active")))(d.t)
		theirs := must(d.PutStepKind(d.ctx(), newKind("other", "pay", "active")))(d.t)
		same(d.t, "the versions", must(d.StepKindVersions(d.ctx(), "acme", "pay"))(d.t), []rondo.StepKind{two, one})
		same(d.t, "kinds of every organisation", must(d.EveryStepKind(d.ctx()))(d.t), []rondo.StepKind{two, theirs})
		same(d.t, "versions of nothing", must(d.StepKindVersions(d.ctx(), "acme", "PAY"))(d.t), []rondo.StepKind{})
	}},
	{name: "an archived step kind has no active version until it is put again", run: func(d *db) {
		for range 2 {
			must(d.PutStepKind(d.ctx(), newKind("acme", "pay", "active")))(d.t)
		}
		foreign := must(d.PutStepKind(d.ctx(), newKind("other", "pay", "active")))(d.t)
		must(0, d.ArchiveStepKind(d.ctx(), "acme", "pay"))(d.t)
		same(d.t, "our kinds", must(d.StepKinds(d.ctx(), "acme"))(d.t), []rondo.StepKind{})
		same(d.t, "their kinds", must(d.StepKinds(d.ctx(), "other"))(d.t), []rondo.StepKind{foreign})
		for _, version := range must(d.StepKindVersions(d.ctx(), "acme", "pay"))(d.t) {
			if version.Status != "archived" {
				d.t.Fatalf("version %d is %s, want archived", version.Version, version.Status)
			}
		}
		must(0, d.ArchiveStepKind(d.ctx(), "acme", "pay"))(d.t)
		three := must(d.PutStepKind(d.ctx(), newKind("acme", "pay", "active")))(d.t)
		same(d.t, "our kinds again", must(d.StepKinds(d.ctx(), "acme"))(d.t), []rondo.StepKind{three})
		wantCode(d.t, d.ArchiveStepKind(d.ctx(), "acme", "nothing"), rondo.CodeNotFound)
	}},
}
