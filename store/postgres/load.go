package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/internal/sqlstore"
)

// load begins a transaction, locks the cases and reads what they have, in one
// round trip.
func (s *Store) load(ctx context.Context, conn *pgxpool.Conn, load store.Load) (*store.Loaded, error) {
	keys := sqlstore.CaseKeys(load.Cases)
	loaded := sqlstore.NewLoaded(load)
	batch := &pgx.Batch{}
	batch.Queue("BEGIN")
	if len(keys) > 0 {
		orgs, cases := caseArrays(keys)
		batch.Queue(s.queries.lockCases, caseLocks(keys))
		s.queueInstances(batch, keys, orgs, cases, loaded)
		batch.Queue(s.queries.parked, orgs, cases).Query(each(func(values []any) error {
			event, err := sqlstore.ReadEvent(values)
			if err == nil {
				sqlstore.KeepParked(loaded, event)
			}
			return err
		}))
	}
	s.queueSeen(batch, load.Events, loaded)
	s.queueActive(batch, load.Starts, loaded)
	return loaded, conn.SendBatch(ctx, batch).Close()
}

func (s *Store) queueInstances(batch *pgx.Batch, keys []rondo.CaseKey, orgs, cases []string, loaded *store.Loaded) {
	held := s.recent.Held(keys)
	ids := make(pgtype.FlatArray[pgtype.UUID], len(keys))
	versions, tokens := make([]int64, len(keys)), make([]int64, len(keys))
	for i, h := range held {
		if h.Instance != nil {
			ids[i], versions[i], tokens[i] = uuid(h.ID), h.Version, h.Token
		}
	}
	batch.Queue(s.queries.instances, orgs, cases, ids, versions, tokens).Query(each(func(values []any) error {
		last := len(values) - 1
		nr, ok := values[last].(int64)
		if !ok || nr < 1 || nr > int64(len(held)) {
			return fmt.Errorf("row of key %v", values[last])
		}
		instance, err := sqlstore.ReadInstanceHeld(values[:last], held[nr-1].Instance)
		if err == nil {
			sqlstore.Keep(loaded, instance)
		}
		return err
	}))
}

func (s *Store) queueSeen(batch *pgx.Batch, keys []rondo.EventKey, loaded *store.Loaded) {
	if len(keys) == 0 {
		return
	}
	orgs, events := make([]string, len(keys)), make([]pgtype.UUID, len(keys))
	for i, key := range keys {
		orgs[i], events[i] = key.OrgID, uuid(key.EventID)
	}
	batch.Queue(s.queries.seen, orgs, events).Query(each(func(values []any) error {
		return sqlstore.KeepSeen(loaded, values)
	}))
}

func (s *Store) queueActive(batch *pgx.Batch, keys []store.StartKey, loaded *store.Loaded) {
	if len(keys) == 0 {
		return
	}
	orgs, products := make([]string, 0, len(keys)), make([]string, 0, len(keys)+1)
	for _, key := range keys {
		orgs, products = append(orgs, key.OrgID), append(products, key.ProductID)
	}
	actives := sqlstore.Actives{}
	batch.Queue(s.queries.active, orgs, append(products, "")).Query(func(rows pgx.Rows) error {
		if err := each(actives.Add)(rows); err != nil {
			return err
		}
		actives.Keep(loaded, keys)
		return nil
	})
}

// each calls row with the values of every row; they are its to keep.
func each(row func([]any) error) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		for rows.Next() {
			values, err := rows.Values()
			if err != nil {
				return err
			}
			if err := row(values); err != nil {
				return err
			}
		}
		return rows.Err()
	}
}
