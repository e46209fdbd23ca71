package sqlstore

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
)

// dueRow is a claimed instance.
type dueRow struct {
	id  rondo.ID
	key rondo.CaseKey
}

func readDue(values []any) (dueRow, error) {
	r := reader{values: values}
	row := dueRow{id: r.id(), key: rondo.CaseKey{OrgID: r.text(), CaseID: r.text()}}
	return row, wrapRead("due instance", r.err)
}

// ClaimDue implements store.Timers. A look without a transaction comes first:
// most polls find nothing and must not take a write lock to learn it.
func (c *Cold) ClaimDue(ctx context.Context, now time.Time, lease time.Duration, limit int) ([]rondo.CaseKey, error) {
	next, err := c.NextWake(ctx)
	if err != nil || limit <= 0 || next.IsZero() || next.After(now) {
		return nil, err
	}
	var keys []rondo.CaseKey
	err = c.write(ctx, "claim due cases", func(s session) error {
		due, err := list(ctx, s, readDue,
			"SELECT id, org_id, case_id FROM instances WHERE wake_at <= ? ORDER BY wake_at, id LIMIT ?"+c.dialect.SkipLocked,
			now.UnixMicro(), int64(limit))
		if err != nil || len(due) == 0 {
			return err
		}
		keys = keys[:0]
		ids := make([]any, len(due))
		for i, row := range due {
			keys = append(keys, row.key)
			ids[i] = ID(row.id)
		}
		slices.SortFunc(ids, func(a, b any) int { return bytes.Compare(a.([]byte), b.([]byte)) })
		_, err = s.exec(ctx, "UPDATE instances SET wake_at = ? WHERE id IN ("+Marks(len(ids))+")",
			append([]any{now.Add(lease).UnixMicro()}, ids...)...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return keys, nil
}

// NextWake implements store.Timers.
func (c *Cold) NextWake(ctx context.Context) (time.Time, error) {
	var next time.Time
	err := c.reader().each(ctx, func(values []any) error {
		r := reader{values: values}
		next = r.time()
		return r.err
	}, "SELECT MIN(wake_at) FROM instances WHERE wake_at IS NOT NULL")
	return next, c.wrap("read the next wake-up", err)
}

// Unarmed implements store.Timers. Its condition is that of the index
// instances_unarmed, which is empty as long as all is well; where indexes have no
// conditions, (wake_at, status) finds the same rows.
func (c *Cold) Unarmed(ctx context.Context, limit int) ([]rondo.CaseKey, error) {
	found, err := list(ctx, c.reader(), readDue, "SELECT id, org_id, case_id FROM instances "+
		"WHERE wake_at IS NULL AND (status = 'running' OR (status = 'halted' AND deadline_exceeded = 0)) ORDER BY id LIMIT ?", int64(max(limit, 0)))
	keys := make([]rondo.CaseKey, len(found))
	for i, row := range found {
		keys[i] = row.key
	}
	return keys, c.wrap("look for unarmed cases", err)
}

// ParkedAlone implements store.Timers. What is parked is little, and parked is in
// the order of the answer, so that the look ends with the last case it returns.
func (c *Cold) ParkedAlone(ctx context.Context, received time.Time, limit int) ([]rondo.CaseKey, error) {
	found, err := list(ctx, c.reader(), readKey, "SELECT DISTINCT p.org_id, p.case_id FROM parked p "+
		"JOIN events e ON e.org_id = p.org_id AND e.event_id = p.event_id "+
		"WHERE e.received_at <= ? AND NOT EXISTS (SELECT 1 FROM instances i WHERE i.org_id = p.org_id AND i.case_id = p.case_id) "+
		"ORDER BY p.org_id, p.case_id LIMIT ?", received.UnixMicro(), int64(max(limit, 0)))
	return found, c.wrap("look for events parked without an instance", err)
}

func readKey(values []any) (rondo.CaseKey, error) {
	r := reader{values: values}
	key := rondo.CaseKey{OrgID: r.text(), CaseID: r.text()}
	return key, wrapRead("case", r.err)
}
