package storetest

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// create stores a draft.
func (d *db) create(draft rondo.Definition) rondo.Definition {
	d.t.Helper()
	return must(d.CreateDefinition(d.ctx(), draft, d.newRevision(draft, "created")))(d.t)
}

// publish makes a draft active with a snapshot of the given hash.
func (d *db) publish(draft rondo.Definition, hash string) rondo.Definition {
	d.t.Helper()
	return d.edit(draft, "published", func(c *store.DefinitionChange) {
		c.Definition.Status = rondo.DefinitionActive
		c.Definition.SnapshotHash = hash
		c.Definition.PublishedAt, c.Definition.UpdatedAt = epoch.Add(time.Hour), epoch.Add(time.Hour)
		c.Snapshot = []byte(`{"frozen":  "` + hash + `"}`)
	})
}

// published is create and publish.
func (d *db) published(org, product, hash string) rondo.Definition {
	d.t.Helper()
	return d.publish(d.create(d.newDefinition(org, product)), hash)
}

// edit changes a definition that is there.
func (d *db) edit(of rondo.Definition, reason string, edit func(*store.DefinitionChange)) rondo.Definition {
	d.t.Helper()
	rev := d.newRevision(of, reason)
	return must(d.ChangeDefinition(d.ctx(), of.OrgID, of.ID, func(now rondo.Definition) (store.DefinitionChange, error) {
		change := store.DefinitionChange{Definition: now, Revision: rev}
		edit(&change)
		return change, nil
	}))(d.t)
}

func (d *db) definition(of rondo.Definition) rondo.Definition {
	d.t.Helper()
	return must(d.Definition(d.ctx(), of.OrgID, of.ID))(d.t)
}

func (d *db) reasons(of rondo.Definition) []string {
	d.t.Helper()
	var reasons []string
	for _, rev := range must(d.Revisions(d.ctx(), of.OrgID, of.ID))(d.t) {
		reasons = append(reasons, rev.Reason)
	}
	return reasons
}

var definitionTests = []test{
	{name: "a draft is stored with its first revision", run: func(d *db) {
		draft := d.newDefinition("acme", "derma")
		rev := d.newRevision(draft, "created")
		stored := must(d.CreateDefinition(d.ctx(), draft, rev))(d.t)
		want := draft
		want.Version, want.Revision = 1, 1
		same(d.t, "the returned definition", stored, want)
		same(d.t, "the stored definition", d.definition(draft), want)
		same(d.t, "the revisions", must(d.Revisions(d.ctx(), "acme", draft.ID))(d.t), []rondo.DefinitionRevision{rev})
	}},
	{name: "versions rise per organisation and product", run: func(d *db) {
		for _, want := range []struct {
			org, product string
			version      int
		}{
			{"acme", "derma", 1},
			{"acme", "derma", 2},
			{"acme", "cardio", 1},
			{"acme", "", 1},
			{"other", "derma", 1},
			{"acme", "derma", 3},
			{"acme", "", 2},
			{"acme", "Derma", 1},
		} {
			if got := d.create(d.newDefinition(want.org, want.product)).Version; got != want.version {
				d.t.Fatalf("(%q, %q) got version %d, want %d", want.org, want.product, got, want.version)
			}
		}
	}},
	{name: "a version is never given again, also when its definition was archived or moved away", run: func(d *db) {
		d.published("acme", "derma", "hash-1")
		d.published("acme", "derma", "hash-2")
		third := d.create(d.newDefinition("acme", "derma"))
		d.edit(third, "moved", func(c *store.DefinitionChange) { c.Definition.ProductID = "cardio" })
		d.edit(third, "moved back", func(c *store.DefinitionChange) { c.Definition.ProductID = "derma" })
		if got := d.create(d.newDefinition("acme", "derma")).Version; got != 5 {
			d.t.Fatalf("the next definition of the product has version %d, want 5: 3 and 4 were the draft's that moved", got)
		}
	}},
	{name: "versions of other kinds and of templates rise per name", run: func(d *db) {
		named := func(kind rondo.DefinitionKind, org, name string) rondo.Definition {
			definition := d.newDefinition(org, "derma")
			if org == "" {
				definition = d.newTemplate(name)
			}
			definition.Kind, definition.Name = kind, name
			return definition
		}
		for _, want := range []struct {
			definition rondo.Definition
			version    int
		}{
			{named(rondo.KindConversation, "acme", "greet"), 1},
			{named(rondo.KindConversation, "acme", "triage"), 1},
			{named(rondo.KindConversation, "acme", "greet"), 2},
			{named(rondo.KindConversation, "other", "greet"), 1},
			{named(rondo.KindCase, "acme", "greet"), 1},
			{named(rondo.KindCase, "", "ai_only"), 1},
			{named(rondo.KindCase, "", "clinician_only"), 1},
			{named(rondo.KindRun, "", "ai_only"), 1},
			{named(rondo.KindCase, "", "ai_only"), 2},
		} {
			if got := d.create(want.definition).Version; got != want.version {
				d.t.Fatalf("%s %q of %q got version %d, want %d",
					want.definition.Kind, want.definition.Name, want.definition.OrgID, got, want.version)
			}
		}
	}},
	{name: "a change stores everything and raises the revision", run: func(d *db) {
		draft := d.create(d.newDefinition("acme", "derma"))
		changed := d.edit(draft, "renamed", func(c *store.DefinitionChange) {
			c.Definition.Name, c.Definition.DefaultMode = "renamed", rondo.ModeClientDriven
			c.Definition.Body = json.RawMessage(`{"name":"renamed"}`)
			c.Definition.WorkflowTimeout = 90 * time.Second
			c.Definition.UpdatedAt = epoch.Add(time.Minute)
		})
		want := draft
		want.Name, want.DefaultMode, want.Body = "renamed", rondo.ModeClientDriven, json.RawMessage(`{"name":"renamed"}`)
		want.WorkflowTimeout, want.UpdatedAt, want.Revision = 90*time.Second, epoch.Add(time.Minute), 2
		same(d.t, "the returned definition", changed, want)
		same(d.t, "the stored definition", d.definition(draft), want)
		same(d.t, "the reasons", d.reasons(draft), []string{"created", "renamed"})
	}},
	{name: "a draft that moves to another product gets the next version there", run: func(d *db) {
		d.create(d.newDefinition("acme", "cardio"))
		draft := d.create(d.newDefinition("acme", "derma"))
		moved := d.edit(draft, "moved", func(c *store.DefinitionChange) { c.Definition.ProductID = "cardio" })
		if moved.Version != 2 || d.definition(draft).Version != 2 {
			d.t.Fatalf("the moved draft has version %d, want 2", moved.Version)
		}
	}},
	{name: "the newest version of a product is not given again when its draft moves away", run: func(d *db) {
		d.create(d.newDefinition("acme", "derma"))
		draft := d.create(d.newDefinition("acme", "derma"))
		d.edit(draft, "moved", func(c *store.DefinitionChange) { c.Definition.ProductID = "eyes" })
		if got := d.create(d.newDefinition("acme", "derma")).Version; got != 3 {
			d.t.Fatalf("the next draft of the product has version %d, want 3", got)
		}
		if back := d.edit(draft, "back", func(c *store.DefinitionChange) { c.Definition.ProductID = "derma" }); back.Version != 4 {
			d.t.Fatalf("the draft that came back has version %d, want 4", back.Version)
		}
	}},
	{name: "a version is not given by the caller", run: func(d *db) {
		draft := d.newDefinition("acme", "derma")
		draft.Version, draft.Revision = 40, 40
		created := d.create(draft)
		changed := d.edit(created, "forged", func(c *store.DefinitionChange) { c.Definition.Version, c.Definition.Revision = 50, 50 })
		if created.Version != 1 || created.Revision != 1 || changed.Version != 1 || changed.Revision != 2 {
			d.t.Fatalf("versions %d, %d and revisions %d, %d; want 1, 1 and 1, 2",
				created.Version, changed.Version, created.Revision, changed.Revision)
		}
	}},
	{name: "an error from change comes back and writes nothing", run: func(d *db) {
		draft := d.create(d.newDefinition("acme", "derma"))
		broken := errors.New("not a draft")
		_, err := d.ChangeDefinition(d.ctx(), "acme", draft.ID, func(now rondo.Definition) (store.DefinitionChange, error) {
			now.Name = "changed"
			return store.DefinitionChange{Definition: now, Revision: d.newRevision(now, "changed")}, broken
		})
		if !errors.Is(err, broken) {
			d.t.Fatalf("error is %v, want the one that change returned", err)
		}
		same(d.t, "the definition", d.definition(draft), draft)
		same(d.t, "the reasons", d.reasons(draft), []string{"created"})
	}},
	{name: "publishing archives what was active for the product", run: func(d *db) {
		first := d.published("acme", "derma", "hash-1")
		orgWide := d.published("acme", "", "hash-2")
		foreign := d.published("other", "derma", "hash-3")
		second := d.published("acme", "derma", "hash-4")

		archived := d.definition(first)
		want := first
		want.Status, want.Revision, want.UpdatedAt = rondo.DefinitionArchived, 3, second.UpdatedAt
		same(d.t, "the replaced definition", archived, want)
		same(d.t, "its reasons", d.reasons(first), []string{"created", "published", "replaced by version 2"})
		for _, active := range []rondo.Definition{second, orgWide, foreign} {
			same(d.t, "a definition that stays active", d.definition(active), active)
		}
		same(d.t, "the reasons of the new one", d.reasons(second), []string{"created", "published"})
	}},
	{name: "publishing archives the active one of the product that the change moves to", run: func(d *db) {
		there := d.published("acme", "cardio", "hash-1")
		here := d.published("acme", "derma", "hash-2")
		draft := d.create(d.newDefinition("acme", "derma"))
		d.edit(draft, "moved and published", func(c *store.DefinitionChange) {
			c.Definition.ProductID, c.Definition.Status, c.Definition.SnapshotHash = "cardio", rondo.DefinitionActive, "hash-3"
		})
		if got := d.definition(there).Status; got != rondo.DefinitionArchived {
			d.t.Fatalf("the replaced definition is %s, want archived", got)
		}
		if got := d.definition(here).Status; got != rondo.DefinitionActive {
			d.t.Fatalf("the other product's definition is %s, want active", got)
		}
	}},
	{name: "a product has one active case definition", run: func(d *db) {
		active := d.published("acme", "derma", "hash-1")
		second := d.newDefinition("acme", "derma")
		second.Status = rondo.DefinitionActive
		_, err := d.CreateDefinition(d.ctx(), second, d.newRevision(second, "created"))
		wantCode(d.t, err, rondo.CodeConflict)
		_, err = d.Definition(d.ctx(), "acme", second.ID)
		wantCode(d.t, err, rondo.CodeNotFound)
		same(d.t, "the active definition", d.definition(active), active)
	}},
	{name: "archiving leaves the product without a definition", run: func(d *db) {
		active := d.published("acme", "derma", "hash-1")
		d.edit(active, "archived", func(c *store.DefinitionChange) { c.Definition.Status = rondo.DefinitionArchived })
		start := store.StartKey{OrgID: "acme", ProductID: "derma"}
		if loaded := d.load(store.Load{Starts: []store.StartKey{start}}); len(loaded.Active) != 0 {
			d.t.Fatalf("an archived definition still starts cases: %+v", loaded.Active)
		}
		sameBytes(d.t, "the snapshot", must(d.Snapshot(d.ctx(), "hash-1"))(d.t), []byte(`{"frozen":  "hash-1"}`))
	}},
	{name: "any number of templates may be active", run: func(d *db) {
		for _, name := range []string{"ai_only", "clinician_only", "ai_only"} {
			if created := d.create(d.newTemplate(name)); created.Status != rondo.DefinitionActive || !created.IsTemplate {
				d.t.Fatalf("template %q is %+v", name, created)
			}
		}
	}},
	{name: "a snapshot is stored once and comes back byte by byte", run: func(d *db) {
		d.published("acme", "derma", "hash-1")
		d.published("other", "derma", "hash-1")
		d.published("acme", "cardio", "hash-2")
		sameBytes(d.t, "the snapshot", must(d.Snapshot(d.ctx(), "hash-1"))(d.t), []byte(`{"frozen":  "hash-1"}`))
		hashes := must(d.SnapshotHashes(d.ctx()))(d.t)
		if len(hashes) != 2 {
			d.t.Fatalf("the hashes are %q, want two", hashes)
		}
		_, err := d.Snapshot(d.ctx(), "hash-3")
		wantCode(d.t, err, rondo.CodeNotFound)
	}},
	{name: "definitions are listed newest first, by every filter", run: testDefinitionList},
	{name: "versions are given once to callers at the same time", run: func(d *db) {
		const callers = 8
		second := d.again()
		versions := make([]int, callers)
		errs := make([]error, callers)
		together(callers, func(i int) {
			handle := []*db{d, second}[i%2]
			draft := d.newDefinition("acme", "derma")
			created, err := handle.CreateDefinition(d.ctx(), draft, d.newRevision(draft, "created"))
			versions[i], errs[i] = created.Version, err
		})
		wantOneToN(d.t, "versions", versions, errs)
	}},
	{name: "of definitions published at the same time one stays active", run: func(d *db) {
		const callers = 6
		second := d.again()
		drafts := make([]rondo.Definition, callers)
		for i := range drafts {
			drafts[i] = d.create(d.newDefinition("acme", "derma"))
		}
		errs := make([]error, callers)
		together(callers, func(i int) {
			rev := d.newRevision(drafts[i], "published")
			_, errs[i] = []*db{d, second}[i%2].ChangeDefinition(d.ctx(), "acme", drafts[i].ID, func(now rondo.Definition) (store.DefinitionChange, error) {
				now.Status, now.SnapshotHash = rondo.DefinitionActive, "hash"
				return store.DefinitionChange{Definition: now, Revision: rev, Snapshot: []byte(`{}`)}, nil
			})
		})
		if err := errors.Join(errs...); err != nil {
			d.t.Fatalf("publish: %v", err)
		}
		count := map[rondo.DefinitionStatus]int{}
		for _, draft := range drafts {
			count[d.definition(draft).Status]++
		}
		same(d.t, "the statuses", count, map[rondo.DefinitionStatus]int{rondo.DefinitionActive: 1, rondo.DefinitionArchived: callers - 1})
	}},
}

func testDefinitionList(d *db) {
	a := d.published("acme", "derma", "hash-1")
	b := d.create(d.newDefinition("acme", "cardio"))
	chat := d.newDefinition("acme", "derma")
	chat.Kind, chat.Name = rondo.KindConversation, "greet"
	c := d.create(chat)
	foreign := d.create(d.newDefinition("other", "derma"))
	template := d.create(d.newTemplate("ai_only"))

	for _, list := range []struct {
		name   string
		filter store.DefinitionFilter
		page   store.Page
		want   []rondo.Definition
	}{
		{"an organisation", store.DefinitionFilter{OrgID: "acme"}, store.Page{}, []rondo.Definition{c, b, a}},
		{"every organisation", store.DefinitionFilter{}, store.Page{}, []rondo.Definition{foreign, c, b, a}},
		{"templates", store.DefinitionFilter{Templates: true}, store.Page{}, []rondo.Definition{template}},
		{"templates by name", store.DefinitionFilter{Templates: true, Name: "AI_ONLY"}, store.Page{}, nil},
		{"a product", store.DefinitionFilter{OrgID: "acme", ProductID: "derma"}, store.Page{}, []rondo.Definition{c, a}},
		{"a kind", store.DefinitionFilter{OrgID: "acme", Kind: rondo.KindCase}, store.Page{}, []rondo.Definition{b, a}},
		{"a status", store.DefinitionFilter{OrgID: "acme", Status: rondo.DefinitionActive}, store.Page{}, []rondo.Definition{a}},
		{"a name", store.DefinitionFilter{OrgID: "acme", Name: "greet"}, store.Page{}, []rondo.Definition{c}},
		{"the first page", store.DefinitionFilter{OrgID: "acme"}, store.Page{Limit: 2}, []rondo.Definition{c, b}},
		{"the next page", store.DefinitionFilter{OrgID: "acme"}, store.Page{After: b.ID, Limit: 2}, []rondo.Definition{a}},
	} {
		same(d.t, "the list of "+list.name, must(d.DefinitionList(d.ctx(), list.filter, list.page))(d.t), list.want)
	}
}
