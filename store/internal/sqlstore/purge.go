package sqlstore

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rondo-engine/rondo"
)

// purgeChunk is how many instances one transaction removes: a purge never holds up
// the commits of cases for longer than that takes.
const purgeChunk = 20

// endedRow is an instance that may go.
type endedRow struct {
	id    rondo.ID
	key   rondo.CaseKey
	ended int64
}

func readEnded(values []any) (endedRow, error) {
	r := reader{values: values}
	row := endedRow{id: r.id(), key: rondo.CaseKey{OrgID: r.text(), CaseID: r.text()}, ended: r.int()}
	return row, wrapRead("ended instance", r.err)
}

// Purge implements store.Retention.
func (c *Cold) Purge(ctx context.Context, org string, except []string, before time.Time, limit int) (int, error) {
	const op = "purge"
	if limit <= 0 {
		return 0, nil
	}
	ended, err := c.ended(ctx, org, except, before, limit)
	if err != nil {
		return 0, c.wrap(op, err)
	}
	purged := 0
	for chunk := range slices.Chunk(ended, purgeChunk) {
		gone := 0
		err := c.write(ctx, op, func(s session) error {
			gone, err = c.remove(ctx, s, chunk, before)
			return err
		})
		if err != nil {
			return purged, err
		}
		purged += gone
	}
	return purged, nil
}

// ended finds the oldest instances by the index (status, org, completed_at): what
// other orgs keep for longer is passed over, not read.
func (c *Cold) ended(ctx context.Context, org string, except []string, before time.Time, limit int) ([]endedRow, error) {
	var oldest []endedRow
	for _, status := range []rondo.Status{rondo.StatusCompleted, rondo.StatusCancelled} {
		orgs := []string{org}
		if org == "" {
			var err error
			if orgs, err = c.orgs(ctx, status, except); err != nil {
				return nil, err
			}
		}
		for _, of := range orgs {
			found, err := list(ctx, c.reader(), readEnded, "SELECT id, org_id, case_id, completed_at FROM instances "+
				"WHERE status = ? AND org_id = ? AND completed_at < ? ORDER BY completed_at, id LIMIT ?", string(status), of, before.UnixMicro(), int64(limit))
			if err != nil {
				return nil, err
			}
			oldest = append(oldest, found...)
		}
	}
	slices.SortFunc(oldest, func(a, b endedRow) int { return cmp.Or(cmp.Compare(a.ended, b.ended), bytes.Compare(a.id[:], b.id[:])) })
	return oldest[:min(limit, len(oldest))], nil
}

// orgs walks from org to org without reading what is between them.
func (c *Cold) orgs(ctx context.Context, status rondo.Status, except []string) ([]string, error) {
	var found []string
	query := "SELECT org_id FROM instances WHERE status = ? AND completed_at IS NOT NULL ORDER BY org_id LIMIT 1"
	args := []any{string(status)}
	for {
		next, err := list(ctx, c.reader(), ReadText, query, args...)
		if err != nil || len(next) == 0 {
			return found, err
		}
		if !slices.Contains(except, next[0]) {
			found = append(found, next[0])
		}
		query = "SELECT org_id FROM instances WHERE status = ? AND org_id > ? AND completed_at IS NOT NULL ORDER BY org_id LIMIT 1"
		args = []any{string(status), next[0]}
	}
}

// remove takes out instances with all that belongs to them, and with the last
// instance of a case its older events that never reached one, and its lock row.
// The log and the outbox are not touched: what was said stays said.
func (c *Cold) remove(ctx context.Context, s session, chunk []endedRow, before time.Time) (int, error) {
	chunk = slices.Clone(chunk)
	slices.SortFunc(chunk, func(a, b endedRow) int {
		return cmp.Or(cmp.Compare(a.key.OrgID, b.key.OrgID), cmp.Compare(a.key.CaseID, b.key.CaseID), bytes.Compare(a.id[:], b.id[:]))
	})
	keys := make([]rondo.CaseKey, len(chunk))
	ids := map[string][]rondo.ID{} // by org
	for i, row := range chunk {
		keys[i] = row.key
		ids[row.key.OrgID] = append(ids[row.key.OrgID], row.id)
	}
	keys = slices.Compact(keys)
	if err := c.lockCases(ctx, s, keys); err != nil {
		return 0, err
	}
	var gone int64
	for _, org := range slices.Sorted(maps.Keys(ids)) {
		n, err := c.removeInstances(ctx, s, org, ids[org])
		if err != nil {
			return 0, err
		}
		gone += n
	}
	for _, key := range keys {
		if err := c.removeCase(ctx, s, key, before); err != nil {
			return 0, err
		}
	}
	return int(gone), nil
}

// lockCases waits for batches that are at work on the cases; see store.Cases.
func (c *Cold) lockCases(ctx context.Context, s session, keys []rondo.CaseKey) error {
	if c.dialect.LockCase == nil {
		return nil
	}
	for _, key := range keys {
		query, args := c.dialect.LockCase(key)
		if err := s.each(ctx, func([]any) error { return nil }, query, args...); err != nil {
			return err
		}
	}
	return nil
}

// removeInstances removes instances with the rows that carry their id. An instance
// that has ended never changes, so those of the list are still to be removed; one
// that is gone already was another's.
func (c *Cold) removeInstances(ctx context.Context, s session, org string, ids []rondo.ID) (int64, error) {
	in := padded(ids)
	of := " IN (" + Marks(len(in)) + ") AND org_id = ?"
	in = append(in, org)
	loose, err := list(ctx, s, readLoose, "SELECT e.org_id, e.case_id, e.event_id, e.received_at FROM events e "+
		"JOIN loose_events l ON l.org_id = e.org_id AND l.event_id = e.event_id WHERE e.instance_id"+strings.ReplaceAll(of, "org_id", "e.org_id"), in...)
	if err != nil {
		return 0, err
	}
	for _, event := range loose {
		if err := event.remove(ctx, s); err != nil {
			return 0, err
		}
	}
	for _, table := range []string{"events", "steps", "interventions", "attributes"} {
		if _, err := s.exec(ctx, "DELETE FROM "+table+" WHERE instance_id"+of, in...); err != nil {
			return 0, err
		}
	}
	return s.exec(ctx, "DELETE FROM instances WHERE id"+of, in...)
}

// looseRow is a ledger row that is named by loose_events, and by parked while it
// waits.
type looseRow struct {
	org, kase string
	event     rondo.ID
	received  time.Time
}

func readLoose(values []any) (looseRow, error) {
	r := reader{values: values}
	row := looseRow{org: r.text(), kase: r.text(), event: r.id(), received: r.time()}
	return row, wrapRead("loose event", r.err)
}

func (l *looseRow) remove(ctx context.Context, s session) error {
	for _, table := range []string{"events", "loose_events"} {
		if _, err := s.exec(ctx, "DELETE FROM "+table+" WHERE org_id = ? AND event_id = ?", l.org, ID(l.event)); err != nil {
			return err
		}
	}
	_, err := s.exec(ctx, "DELETE FROM parked WHERE org_id = ? AND case_id = ? AND event_id = ?", l.org, l.kase, ID(l.event))
	return err
}

// removeCase removes what is left of a case that has no instance any more.
func (c *Cold) removeCase(ctx context.Context, s session, key rondo.CaseKey, before time.Time) error {
	left, err := list(ctx, s, readID, "SELECT id FROM instances WHERE org_id = ? AND case_id = ? LIMIT 1", key.OrgID, key.CaseID)
	if err != nil || len(left) > 0 {
		return err
	}
	strays, err := list(ctx, s, readLoose, "SELECT e.org_id, e.case_id, e.event_id, e.received_at FROM loose_events l JOIN events e ON e.org_id = l.org_id AND e.event_id = l.event_id "+
		"WHERE l.org_id = ? AND l.case_id = ?", key.OrgID, key.CaseID)
	if err != nil {
		return err
	}
	for _, event := range strays {
		if !event.received.Before(before) {
			continue
		}
		if err := event.remove(ctx, s); err != nil {
			return err
		}
	}
	if !c.dialect.LockRows {
		return nil
	}
	_, err = s.exec(ctx, "DELETE FROM cases WHERE org_id = ? AND case_id = ?", key.OrgID, key.CaseID)
	return err
}
