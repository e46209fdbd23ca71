package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// definitions are all versions of all workflows, with their frozen copies.
type definitions struct {
	byID      map[rondo.ID]*definitionRow
	ordered   []*definitionRow // ascending by id
	snapshots map[string][]byte
	left      map[line]int // highest version that left a line
}

type definitionRow struct {
	definition rondo.Definition
	revisions  []rondo.DefinitionRevision // ascending by id
}

// line is the sequence that a definition's version counts in.
type line struct {
	org, product, name string
	kind               rondo.DefinitionKind
}

func lineOf(d *rondo.Definition) line {
	switch {
	case d.OrgID == "":
		return line{kind: d.Kind, name: d.Name}
	case d.Kind == rondo.KindCase:
		return line{kind: d.Kind, org: d.OrgID, product: d.ProductID}
	default:
		return line{kind: d.Kind, org: d.OrgID, name: d.Name}
	}
}

// nextVersion is one more than the highest version ever given in a line.
func (ds *definitions) nextVersion(of line) int {
	highest := ds.left[of]
	for _, row := range ds.ordered {
		if lineOf(&row.definition) == of {
			highest = max(highest, row.definition.Version)
		}
	}
	return highest + 1
}

// leave keeps the version of a draft that moves to another line from being given
// again.
func (ds *definitions) leave(d *rondo.Definition) {
	if ds.left == nil {
		ds.left = map[line]int{}
	}
	ds.left[lineOf(d)] = max(ds.left[lineOf(d)], d.Version)
}

// active finds what a new case would start.
func (ds *definitions) active(key store.StartKey) (store.ActiveDefinition, bool) {
	row := ds.activeCase(key.OrgID, key.ProductID)
	if row == nil {
		row = ds.activeCase(key.OrgID, "")
	}
	if row == nil {
		return store.ActiveDefinition{}, false
	}
	return store.ActiveDefinition{DefinitionID: row.definition.ID, SnapshotHash: row.definition.SnapshotHash}, true
}

// activeCase is the one active case definition of exactly (org, product); a
// template, which has no org, never is.
func (ds *definitions) activeCase(org, product string) *definitionRow {
	if org == "" {
		return nil
	}
	for _, row := range ds.ordered {
		d := &row.definition
		if d.Status == rondo.DefinitionActive && d.Kind == rondo.KindCase && d.OrgID == org && d.ProductID == product {
			return row
		}
	}
	return nil
}

// CreateDefinition implements store.Definitions.
func (s *Store) CreateDefinition(ctx context.Context, d rondo.Definition, rev rondo.DefinitionRevision) (rondo.Definition, error) {
	if err := ctx.Err(); err != nil {
		return rondo.Definition{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.definitions.byID[d.ID] != nil {
		return rondo.Definition{}, &rondo.Error{
			Code: rondo.CodeConflict, Op: "memory: create definition",
			Message: fmt.Sprintf("definition %s exists already", d.ID), Hint: "use a new id",
		}
	}
	d = storedDefinition(d)
	if s.definitions.clash(&d) != nil {
		return rondo.Definition{}, store.SecondActive("memory: create definition", &d)
	}
	d.Version = s.definitions.nextVersion(lineOf(&d))
	d.Revision = 1
	row := &definitionRow{definition: d}
	row.record(rev)
	s.definitions.byID[d.ID] = row
	s.definitions.ordered = insertByID(s.definitions.ordered, row, definitionID)
	return d, nil
}

// ChangeDefinition implements store.Definitions.
func (s *Store) ChangeDefinition(ctx context.Context, org string, id rondo.ID, change func(rondo.Definition) (store.DefinitionChange, error)) (rondo.Definition, error) {
	if err := ctx.Err(); err != nil {
		return rondo.Definition{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.definitions.byID[id]
	if row == nil || row.definition.OrgID != org {
		return rondo.Definition{}, rondo.NotFound("workflow definition")
	}
	before := row.definition
	made, err := change(before)
	if err != nil {
		return rondo.Definition{}, err
	}
	after := storedDefinition(made.Definition)
	if after.ID != before.ID || after.OrgID != before.OrgID || after.Kind != before.Kind {
		return rondo.Definition{}, &rondo.Error{
			Code: rondo.CodeInternal, Op: "memory: change definition",
			Message: fmt.Sprintf("a change of definition %s cannot change its id, org or kind", id),
		}
	}
	if made.Snapshot != nil && after.SnapshotHash == "" {
		return rondo.Definition{}, &rondo.Error{
			Code: rondo.CodeInternal, Op: "memory: change definition",
			Message: fmt.Sprintf("definition %s has a snapshot without a hash", id),
		}
	}
	after.Revision = before.Revision + 1
	after.Version = before.Version
	if lineOf(&after) != lineOf(&before) {
		after.Version = s.definitions.nextVersion(lineOf(&after))
		s.definitions.leave(&before)
	}
	if previous := s.definitions.clash(&after); previous != nil {
		if after.Kind == rondo.KindRun {
			return rondo.Definition{}, store.SecondActive("memory: change definition", &after)
		}
		archived, rev := store.ArchiveReplaced(previous.definition, after, made.Revision)
		previous.definition = archived
		previous.record(rev)
	}
	if made.Snapshot != nil && s.definitions.snapshots[after.SnapshotHash] == nil {
		s.definitions.snapshots[after.SnapshotHash] = made.Snapshot
	}
	row.definition = after
	row.record(made.Revision)
	return after, nil
}

// record adds a revision of the row's own definition.
func (row *definitionRow) record(rev rondo.DefinitionRevision) {
	rev.DefinitionID, rev.OrgID = row.definition.ID, row.definition.OrgID
	rev.CreatedAt = stored(rev.CreatedAt)
	row.revisions = insertByID(row.revisions, rev, func(r rondo.DefinitionRevision) rondo.ID { return r.ID })
}

func storedDefinition(d rondo.Definition) rondo.Definition {
	d.CreatedAt, d.UpdatedAt, d.PublishedAt = stored(d.CreatedAt), stored(d.UpdatedAt), stored(d.PublishedAt)
	return d
}

func definitionID(row *definitionRow) rondo.ID { return row.definition.ID }

// visible finds a definition of org, or a template.
func (ds *definitions) visible(org string, id rondo.ID) *definitionRow {
	row := ds.byID[id]
	if row == nil || row.definition.OrgID != org && row.definition.OrgID != "" {
		return nil
	}
	return row
}

// Definition implements store.Definitions.
func (s *Store) Definition(ctx context.Context, org string, id rondo.ID) (rondo.Definition, error) {
	if err := ctx.Err(); err != nil {
		return rondo.Definition{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.definitions.visible(org, id)
	if row == nil {
		return rondo.Definition{}, rondo.NotFound("workflow definition")
	}
	return row.definition, nil
}

// DefinitionList implements store.Definitions.
func (s *Store) DefinitionList(ctx context.Context, filter store.DefinitionFilter, page store.Page) ([]rondo.Definition, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	rows := newestFirst(s.definitions.ordered, page, definitionID, func(row *definitionRow) bool {
		d := &row.definition
		return filter.Templates == (d.OrgID == "") &&
			(filter.Templates || is(d.OrgID, filter.OrgID)) &&
			is(d.ProductID, filter.ProductID) &&
			is(d.Kind, filter.Kind) &&
			is(d.Status, filter.Status) &&
			is(d.Name, filter.Name)
	})
	list := make([]rondo.Definition, len(rows))
	for i, row := range rows {
		list[i] = row.definition
	}
	return list, nil
}

// Revisions implements store.Definitions.
func (s *Store) Revisions(ctx context.Context, org string, definition rondo.ID) ([]rondo.DefinitionRevision, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.definitions.visible(org, definition)
	if row == nil {
		return nil, nil
	}
	return slices.Clone(row.revisions), nil
}

// Snapshot implements store.Definitions.
func (s *Store) Snapshot(ctx context.Context, hash string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	snapshot := s.definitions.snapshots[hash]
	if snapshot == nil {
		return nil, rondo.NotFound("snapshot")
	}
	return snapshot, nil
}

// SnapshotHashes implements store.Definitions.
func (s *Store) SnapshotHashes(ctx context.Context) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return sortedKeys(s.definitions.snapshots), nil
}
