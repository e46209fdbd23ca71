package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

const definitionColumns = "id, org_id, product_id, kind, name, version, line, is_template, status, default_mode, body, " +
	"workflow_timeout, snapshot_hash, revision, created_by, created_at, updated_at, published_at, semver"

// line is what a definition's version counts in, within its org and kind: the
// product of a case definition, the name of everything else.
func line(d *rondo.Definition) string {
	if d.Kind == rondo.KindCase && d.OrgID != "" {
		return d.ProductID
	}
	return d.Name
}

func definitionRow(d *rondo.Definition) []any {
	return []any{
		ID(d.ID), d.OrgID, d.ProductID, string(d.Kind), d.Name, int64(d.Version), line(d), flag(d.IsTemplate),
		string(d.Status), string(d.DefaultMode), document(d.Body), d.WorkflowTimeout.Microseconds(), d.SnapshotHash,
		d.Revision, d.CreatedBy, Micros(d.CreatedAt), Micros(d.UpdatedAt), Micros(d.PublishedAt), d.Semver,
	}
}

func readDefinition(values []any) (rondo.Definition, error) {
	r := reader{values: values}
	d := rondo.Definition{
		ID: r.id(), OrgID: r.text(), ProductID: r.text(), Kind: rondo.DefinitionKind(r.text()), Name: r.text(), Version: int(r.int()),
	}
	r.text() // the line follows from the rest
	d.IsTemplate, d.Status, d.DefaultMode = r.bool(), rondo.DefinitionStatus(r.text()), rondo.Mode(r.text())
	d.Body, d.WorkflowTimeout, d.SnapshotHash = r.bytes(), time.Duration(r.int())*time.Microsecond, r.text()
	d.Revision, d.CreatedBy = r.int(), r.text()
	d.CreatedAt, d.UpdatedAt, d.PublishedAt = r.time(), r.time(), r.time()
	d.Semver = r.text()
	return d, wrapRead("definition", r.err)
}

func storedDefinition(d rondo.Definition) rondo.Definition {
	d.CreatedAt, d.UpdatedAt, d.PublishedAt = Stored(d.CreatedAt), Stored(d.UpdatedAt), Stored(d.PublishedAt)
	return d
}

// lockDefinitions makes changes of definitions serial: they are rare, and
// versions and the one active definition are decided by looking at the others.
func (c *Cold) lockDefinitions(ctx context.Context, s session) error {
	if c.dialect.Lock == "" {
		return nil
	}
	if _, err := s.exec(ctx, "INSERT INTO meta (name, value) VALUES ('definitions_lock', 0) "+c.dialect.ignore("name")); err != nil {
		return err
	}
	return s.each(ctx, func([]any) error { return nil }, "SELECT value FROM meta WHERE name = 'definitions_lock'"+c.dialect.Lock)
}

// nextVersion is one more than the highest version ever given in a line, also to
// drafts that have left it.
func nextVersion(ctx context.Context, s session, d *rondo.Definition) (int, error) {
	version := 0
	err := s.each(ctx, func(values []any) error {
		r := reader{values: values}
		version = int(r.int())
		return r.err
	}, "SELECT MAX(version) FROM (SELECT version FROM definitions WHERE org_id = ? AND kind = ? AND line = ? "+
		"UNION ALL SELECT version FROM versions_left WHERE org_id = ? AND kind = ? AND line = ?) given",
		d.OrgID, string(d.Kind), line(d), d.OrgID, string(d.Kind), line(d))
	return version + 1, err
}

// leaveLine keeps the version of a draft that moves to another line from being
// given again.
func leaveLine(ctx context.Context, s session, d *rondo.Definition) error {
	return s.insert(ctx, "versions_left", "org_id, kind, line, version", d.OrgID, string(d.Kind), line(d), int64(d.Version))
}

// CreateDefinition implements store.Definitions.
func (c *Cold) CreateDefinition(ctx context.Context, d rondo.Definition, rev rondo.DefinitionRevision) (rondo.Definition, error) {
	d = storedDefinition(d)
	d.Revision = 1
	err := c.write(ctx, "create definition", func(s session) error {
		if err := c.lockDefinitions(ctx, s); err != nil {
			return err
		}
		var err error
		if d.Version, err = nextVersion(ctx, s, &d); err != nil {
			return err
		}
		if taken, err := clashing(ctx, s, &d); err != nil || len(taken) > 0 {
			return cmp.Or(err, store.SecondActive(c.dialect.Name+": create definition", &d))
		}
		if err := s.insert(ctx, "definitions", definitionColumns, definitionRow(&d)...); err != nil {
			return err
		}
		return addRevision(ctx, s, &d, rev)
	})
	if err != nil {
		return rondo.Definition{}, err
	}
	return d, nil
}

// ChangeDefinition implements store.Definitions.
func (c *Cold) ChangeDefinition(ctx context.Context, org string, id rondo.ID, change func(rondo.Definition) (store.DefinitionChange, error)) (rondo.Definition, error) {
	var after rondo.Definition
	err := c.write(ctx, "change definition", func(s session) error {
		if err := c.lockDefinitions(ctx, s); err != nil {
			return err
		}
		found, err := list(ctx, s, readDefinition,
			"SELECT "+definitionColumns+" FROM definitions WHERE id = ? AND org_id = ?", ID(id), org)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return rondo.NotFound("workflow definition")
		}
		after, err = c.change(ctx, s, found[0], change)
		return err
	})
	if err != nil {
		return rondo.Definition{}, err
	}
	return after, nil
}

func (c *Cold) change(ctx context.Context, s session, before rondo.Definition, change func(rondo.Definition) (store.DefinitionChange, error)) (rondo.Definition, error) {
	made, err := change(before)
	if err != nil {
		return rondo.Definition{}, callerError{err}
	}
	after := storedDefinition(made.Definition)
	if err := c.checkChange(&before, &after, made.Snapshot); err != nil {
		return rondo.Definition{}, err
	}
	after.Revision, after.Version = before.Revision+1, before.Version
	if line(&after) != line(&before) {
		if after.Version, err = nextVersion(ctx, s, &after); err != nil {
			return rondo.Definition{}, err
		}
		if err := leaveLine(ctx, s, &before); err != nil {
			return rondo.Definition{}, err
		}
	}
	if err := c.makeRoom(ctx, s, &after, made.Revision); err != nil {
		return rondo.Definition{}, err
	}
	if made.Snapshot != nil {
		if _, err := s.exec(ctx, "INSERT INTO snapshots (hash, body) VALUES (?, ?) "+c.dialect.ignore("hash"), after.SnapshotHash, made.Snapshot); err != nil {
			return rondo.Definition{}, err
		}
	}
	if err := putDefinition(ctx, s, &after); err != nil {
		return rondo.Definition{}, err
	}
	return after, addRevision(ctx, s, &after, made.Revision)
}

func (c *Cold) checkChange(before, after *rondo.Definition, snapshot []byte) error {
	op := c.dialect.Name + ": change definition"
	if after.ID != before.ID || after.OrgID != before.OrgID || after.Kind != before.Kind {
		return &rondo.Error{
			Code: rondo.CodeInternal, Op: op,
			Message: fmt.Sprintf("a change of definition %s cannot change its id, org or kind", before.ID),
		}
	}
	if snapshot != nil && after.SnapshotHash == "" {
		return &rondo.Error{Code: rondo.CodeInternal, Op: op, Message: fmt.Sprintf("definition %s has a snapshot without a hash", before.ID)}
	}
	return nil
}

// clashing finds the definitions in the place that d takes when it is active: one
// per product for cases, one per name for conversations, one per name and semver
// for runs. Templates take none.
func clashing(ctx context.Context, s session, d *rondo.Definition) ([]rondo.Definition, error) {
	if d.Status != rondo.DefinitionActive || d.OrgID == "" {
		return nil, nil
	}
	where := &conditions{}
	where.add("org_id = ? AND kind = ? AND status = ? AND id <> ?", d.OrgID, string(d.Kind), string(d.Status), ID(d.ID))
	switch d.Kind {
	case rondo.KindCase:
		where.add("product_id = ?", d.ProductID)
	case rondo.KindRun:
		where.add("name = ? AND semver = ?", d.Name, d.Semver)
	default:
		where.add("name = ?", d.Name)
	}
	return list(ctx, s, readDefinition, "SELECT "+definitionColumns+" FROM definitions"+where.where(), where.args...)
}

// makeRoom archives what published replaces as the active one. Nothing replaces
// the same version of a run.
func (c *Cold) makeRoom(ctx context.Context, s session, published *rondo.Definition, rev rondo.DefinitionRevision) error {
	found, err := clashing(ctx, s, published)
	if err != nil {
		return err
	}
	for _, previous := range found {
		if published.Kind == rondo.KindRun {
			return store.SecondActive(c.dialect.Name+": change definition", published)
		}
		archived, record := store.ArchiveReplaced(previous, *published, rev)
		if err := putDefinition(ctx, s, &archived); err != nil {
			return err
		}
		if err := addRevision(ctx, s, &archived, record); err != nil {
			return err
		}
	}
	return nil
}

func putDefinition(ctx context.Context, s session, d *rondo.Definition) error {
	row := definitionRow(d)
	args := append(append([]any{}, row[2:]...), row[0]) // all but id and org_id, then id
	_, err := s.exec(ctx, "UPDATE definitions SET product_id = ?, kind = ?, name = ?, version = ?, line = ?, is_template = ?, "+
		"status = ?, default_mode = ?, body = ?, workflow_timeout = ?, snapshot_hash = ?, revision = ?, created_by = ?, "+
		"created_at = ?, updated_at = ?, published_at = ?, semver = ? WHERE id = ?", args...)
	return err
}

func addRevision(ctx context.Context, s session, d *rondo.Definition, rev rondo.DefinitionRevision) error {
	return s.insert(ctx, "revisions", "id, definition_id, org_id, changed_by, diff, reason, created_at",
		ID(rev.ID), ID(d.ID), d.OrgID, rev.ChangedBy, document(rev.Diff), rev.Reason, Micros(rev.CreatedAt))
}

// Definition implements store.Definitions.
func (c *Cold) Definition(ctx context.Context, org string, id rondo.ID) (rondo.Definition, error) {
	found, err := list(ctx, c.reader(), readDefinition,
		"SELECT "+definitionColumns+" FROM definitions WHERE id = ? AND (org_id = ? OR org_id = '')", ID(id), org)
	if err != nil {
		return rondo.Definition{}, c.wrap("read definition", err)
	}
	if len(found) == 0 {
		return rondo.Definition{}, rondo.NotFound("workflow definition")
	}
	return found[0], nil
}

// DefinitionList implements store.Definitions.
func (c *Cold) DefinitionList(ctx context.Context, filter store.DefinitionFilter, page store.Page) ([]rondo.Definition, error) {
	where := &conditions{}
	if filter.Templates {
		where.add("org_id = ''")
	} else {
		where.add("org_id <> ''")
		where.is("org_id", filter.OrgID)
	}
	where.is("product_id", filter.ProductID)
	where.is("kind", string(filter.Kind))
	where.is("status", string(filter.Status))
	where.is("name", filter.Name)
	tail := where.newest(page)
	found, err := list(ctx, c.reader(), readDefinition, "SELECT "+definitionColumns+" FROM definitions"+tail, where.args...)
	return found, c.wrap("list definitions", err)
}

// Revisions implements store.Definitions.
func (c *Cold) Revisions(ctx context.Context, org string, definition rondo.ID) ([]rondo.DefinitionRevision, error) {
	found, err := list(ctx, c.reader(), func(values []any) (rondo.DefinitionRevision, error) {
		r := reader{values: values}
		rev := rondo.DefinitionRevision{
			ID: r.id(), DefinitionID: r.id(), OrgID: r.text(), ChangedBy: r.text(), Diff: r.bytes(), Reason: r.text(), CreatedAt: r.time(),
		}
		return rev, wrapRead("revision", r.err)
	}, "SELECT id, definition_id, org_id, changed_by, diff, reason, created_at FROM revisions "+
		"WHERE definition_id = ? AND (org_id = ? OR org_id = '') ORDER BY id", ID(definition), org)
	return found, c.wrap("list revisions", err)
}

// Snapshot implements store.Definitions.
func (c *Cold) Snapshot(ctx context.Context, hash string) ([]byte, error) {
	found, err := list(ctx, c.reader(), func(values []any) ([]byte, error) {
		r := reader{values: values}
		return r.bytes(), r.err
	}, "SELECT body FROM snapshots WHERE hash = ?", hash)
	if err != nil {
		return nil, c.wrap("read snapshot", err)
	}
	if len(found) == 0 {
		return nil, rondo.NotFound("snapshot")
	}
	return found[0], nil
}

// SnapshotHashes implements store.Definitions.
func (c *Cold) SnapshotHashes(ctx context.Context) ([]string, error) {
	found, err := list(ctx, c.reader(), ReadText, "SELECT hash FROM snapshots ORDER BY hash")
	return found, c.wrap("list snapshots", err)
}

// ReadText takes one column of text.
func ReadText(values []any) (string, error) {
	r := reader{values: values}
	return r.text(), r.err
}
