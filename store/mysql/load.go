package mysql

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/internal/sqlstore"
)

// load begins a transaction, locks the cases and reads what they have, in one
// round trip; a second one only creates the lock rows of cases that were never
// heard of. A batch that may start cases creates missing rows right away.
func (s *Store) load(ctx context.Context, conn *sql.Conn, load store.Load) (*store.Loaded, error) {
	keys := sqlstore.CaseKeys(load.Cases)
	create := len(load.Starts) > 0
	locked, loaded, err := s.tryLoad(ctx, conn, load, keys, true, create)
	if err == nil && locked < len(keys) && !create {
		_, loaded, err = s.tryLoad(ctx, conn, load, keys, false, true)
	}
	return loaded, err
}

// reading is a packet of statements and what takes the rows of each query among
// them: the driver passes over statements without rows.
type reading struct {
	text []byte
	rows []func([]any) error
}

// add ends a query.
func (r *reading) add(row func([]any) error) {
	r.end()
	r.rows = append(r.rows, row)
}

// end ends a statement without rows.
func (r *reading) end() { r.text = append(r.text, ';') }

func (s *Store) tryLoad(ctx context.Context, conn *sql.Conn, load store.Load, keys []rondo.CaseKey, begin, create bool) (int, *store.Loaded, error) {
	loaded := sqlstore.NewLoaded(load)
	locked, parked := 0, false
	var r reading
	if begin {
		r.text = append(r.text, "BEGIN"...)
		r.end()
	}
	if len(keys) > 0 {
		if create {
			// Meeting a row locks it as FOR UPDATE would, so this takes all locks.
			r.text = appendCaseRows(r.text, keys)
			r.end()
		} else {
			r.text = append(r.text, "SELECT 1 FROM cases WHERE "...)
			r.text = appendCases(r.text, "", keys)
			r.text = append(r.text, " ORDER BY org_id, case_id FOR UPDATE"...)
			r.add(func([]any) error { locked++; return nil })
		}
		s.addStates(&r, keys, loaded, &parked)
	}
	addSeen(&r, load.Events, loaded)
	actives := sqlstore.Actives{}
	addActive(&r, load.Starts, actives)
	if len(r.text) == 0 {
		return locked, loaded, nil
	}
	if err := r.run(ctx, conn); err != nil {
		return 0, nil, err
	}
	actives.Keep(loaded, load.Starts)
	if parked {
		if err := s.loadParked(ctx, conn, keys, loaded); err != nil {
			return 0, nil, err
		}
	}
	return locked, loaded, nil
}

func (s *Store) addStates(r *reading, keys []rondo.CaseKey, loaded *store.Loaded, parked *bool) {
	recent := s.recent.Held(keys)
	held := make(map[rondo.ID]*rondo.Instance, len(recent))
	for _, h := range recent {
		if h.Instance != nil {
			held[h.ID] = h.Instance
		}
	}
	r.text = append(r.text, s.texts.instances[0]...)
	r.text = appendHeld(r.text, recent)
	r.text = append(r.text, s.texts.instances[1]...)
	r.text = appendHeld(r.text, recent)
	r.text = append(r.text, s.texts.instances[2]...)
	r.text = appendCases(r.text, "", keys)
	r.add(func(values []any) error {
		var id rondo.ID
		if first, ok := values[0].([]byte); ok {
			copy(id[:], first)
		}
		instance, err := sqlstore.ReadInstanceHeld(values, held[id])
		if err == nil {
			sqlstore.Keep(loaded, instance)
		}
		return err
	})
	r.text = append(r.text, "SELECT 1 FROM parked WHERE "...)
	r.text = appendCases(r.text, "", keys)
	r.add(func([]any) error { *parked = true; return nil })
}

// loadParked fetches parked events in a round trip of its own: they are rare, and
// looking for none by a join costs more than all the rest of a load.
func (s *Store) loadParked(ctx context.Context, conn *sql.Conn, keys []rondo.CaseKey, loaded *store.Loaded) error {
	var r reading
	r.text = append(r.text, s.texts.parked...)
	r.text = appendCases(r.text, "p.", keys)
	r.text = append(r.text, " ORDER BY e.id"...)
	r.add(func(values []any) error {
		event, err := sqlstore.ReadEvent(values)
		if err == nil {
			sqlstore.KeepParked(loaded, event)
		}
		return err
	})
	return r.run(ctx, conn)
}

func appendCaseRows(b []byte, keys []rondo.CaseKey) []byte {
	b = append(b, "INSERT INTO cases (org_id, case_id) VALUES "...)
	for i, key := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '(')
		b = appendQuoted(b, key.OrgID)
		b = append(b, ',')
		b = appendQuoted(b, key.CaseID)
		b = append(b, ')')
	}
	return append(b, " ON DUPLICATE KEY UPDATE case_id = VALUES(case_id)"...)
}

func addSeen(r *reading, keys []rondo.EventKey, loaded *store.Loaded) {
	if len(keys) == 0 {
		return
	}
	sorted := slices.Clone(keys)
	slices.SortFunc(sorted, func(a, b rondo.EventKey) int {
		return cmp.Or(cmp.Compare(a.OrgID, b.OrgID), bytes.Compare(a.EventID[:], b.EventID[:]))
	})
	r.text = append(r.text, "SELECT case_id, outcome, org_id, event_id FROM events WHERE "...)
	r.text = appendEvents(r.text, "", sorted)
	r.add(func(values []any) error { return sqlstore.KeepSeen(loaded, values) })
}

func addActive(r *reading, keys []store.StartKey, actives sqlstore.Actives) {
	if len(keys) == 0 {
		return
	}
	wanted := slices.Clone(keys)
	for _, key := range keys {
		wanted = append(wanted, store.StartKey{OrgID: key.OrgID})
	}
	slices.SortFunc(wanted, func(a, b store.StartKey) int {
		return cmp.Or(cmp.Compare(a.OrgID, b.OrgID), cmp.Compare(a.ProductID, b.ProductID))
	})
	r.text = append(r.text, "SELECT id, snapshot_hash, org_id, active_product FROM definitions WHERE "...)
	r.text = appendKeys(r.text, "org_id", "active_product", slices.Compact(wanted),
		func(k store.StartKey) string { return k.OrgID }, func(k store.StartKey) any { return k.ProductID })
	r.add(actives.Add)
}

// run sends the packet and hands out the rows of each query in turn.
func (r *reading) run(ctx context.Context, conn *sql.Conn) error {
	rows, err := conn.QueryContext(ctx, string(r.text))
	if err != nil {
		return err
	}
	defer rows.Close()
	for i, row := range r.rows {
		if i > 0 && !rows.NextResultSet() {
			if err := rows.Err(); err != nil {
				return err
			}
			return fmt.Errorf("%d of %d queries of a packet were answered", i, len(r.rows))
		}
		if err := eachRow(rows, row); err != nil {
			return err
		}
	}
	return rows.Err()
}

func eachRow(rows *sql.Rows, row func([]any) error) error {
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	values, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		if err := row(values); err != nil {
			return err
		}
	}
	return rows.Err()
}
