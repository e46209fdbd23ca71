package sqlite

import (
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/internal/sqlstore"
)

// queries are the texts of the write path's statements.
type queries struct {
	live, cancelled, parked, seen, active, listened, streams string
	fileVersion                                              string
	update                                                   map[[2]bool]string // by Moves and SameWake
	rejudge, unpark, park                                    string
	duplicate, sent                                          string
	insert                                                   map[string]string // by table
}

func newQueries(t *sqlstore.Tables) queries {
	q := queries{
		live: "SELECT " + t.Instances.Names("") + ", EXISTS (SELECT 1 FROM parked p WHERE p.org_id = ?1 AND p.case_id = ?2) " +
			"FROM instances WHERE org_id = ?1 AND case_id = ?2 AND live = 1",
		cancelled: "SELECT " + t.Instances.Names("") + " FROM instances WHERE org_id = ? AND case_id = ? AND live IS NULL ORDER BY id DESC LIMIT 1",
		parked: "SELECT " + t.Events.Names("e.") + " FROM parked p JOIN events e ON e.org_id = p.org_id AND e.event_id = p.event_id " +
			"WHERE p.org_id = ? AND p.case_id = ? ORDER BY e.id",
		seen:        "SELECT case_id, outcome FROM events WHERE org_id = ? AND event_id = ?",
		active:      "SELECT id, snapshot_hash FROM definitions WHERE org_id = ?1 AND active_product IN (?2, '') ORDER BY active_product DESC LIMIT 1",
		streams:     "SELECT DISTINCT stream FROM log_positions",
		fileVersion: "PRAGMA data_version",
		listened:    "SELECT joins, MAX(COALESCE((SELECT seq FROM log_entries ORDER BY seq DESC LIMIT 1), 0), seq) FROM log_head WHERE id = 1",
		rejudge:     "UPDATE events SET outcome = ?, instance_id = ?, processed = ?, verdict = ?, error = ? WHERE org_id = ? AND event_id = ?",
		unpark:      "DELETE FROM parked WHERE org_id = ? AND case_id = ? AND event_id = ?",
		park: "INSERT INTO parked (org_id, case_id, event_id) SELECT org_id, case_id, event_id FROM events " +
			"WHERE org_id = ? AND event_id = ? ON CONFLICT DO NOTHING",
		duplicate: "UPDATE events SET duplicates = duplicates + ? WHERE org_id = ? AND event_id = ?",
		sent:      "DELETE FROM outbox WHERE seq = ?",
		insert:    map[string]string{},
	}
	q.update = map[[2]bool]string{}
	for _, same := range [][2]bool{{false, false}, {false, true}, {true, false}, {true, true}} {
		var set []string
		for i, c := range t.Instances.Columns {
			if !left(i, c.Name, same) {
				set = append(set, c.Name+" = ?")
			}
		}
		q.update[same] = "UPDATE instances SET " + strings.Join(set, ", ") + " WHERE id = ? AND org_id = ? AND case_id = ? AND version = ?"
	}
	for _, table := range []*sqlstore.Table{&t.Instances, &t.Steps, &t.Events, &t.Parked, &t.Outbox, &t.Log, &t.Interventions, &t.DeadLetters, &t.Attributes, &t.Loose, &t.JobResults} {
		q.insert[table.Name] = "INSERT INTO " + table.Name + " (" + table.Names("") + ") VALUES (" + sqlstore.Marks(len(table.Columns)) + ")"
	}
	return q
}

// left reports whether an update leaves a column out: SQLite deletes and inserts
// the entries of every index that an assigned column is part of, also when the
// value stays the same.
func left(nr int, column string, same [2]bool) bool {
	return nr < sqlstore.MutableFrom || same[0] && nr < sqlstore.MovingFrom || same[1] && column == "wake_at"
}

// Update implements store.Cases. The whole batch, decide included, is one write
// transaction. It first takes every event for new, which nearly all are: the
// ledger's unique key refuses the batch if one is not, and then the batch is
// decided again with the ledger looked up.
func (s *Store) Update(ctx context.Context, load store.Load, decide store.Decide) (store.Committed, error) {
	var committed store.Committed
	if err := s.lock(ctx); err != nil {
		return committed, err
	}
	defer s.unlock()
	err := s.patiently(ctx, func() error {
		return s.conn.Raw(func(dc any) error {
			c, ok := dc.(sqldriver.Conn)
			if !ok {
				return fmt.Errorf("connection is %T", dc)
			}
			var err error
			b := &batch{Store: s, conn: c, trusting: s.trust.Trusting()}
			committed, err = s.transaction(b, load, decide)
			if b.trusting && (isUnique(err) || errors.Is(err, sqlstore.ErrNotVouched)) {
				s.trust.Lose()
				b.trusting = false
				committed, err = s.transaction(b, load, decide)
			}
			return err
		})
	})
	if err != nil {
		return store.Committed{}, s.explain(err)
	}
	return committed, nil
}

func (s *Store) explain(err error) error {
	const op = "sqlite: update"
	decided, fromDecide := errors.AsType[sqlstore.DecideError](err)
	_, known := errors.AsType[*rondo.Error](err)
	switch {
	case fromDecide:
		return decided.Err
	case known:
		return err
	case isUnique(err):
		return sqlstore.Forbidden(op, err)
	default:
		return faultOf(err).Explain(op, err)
	}
}

func (s *Store) transaction(b *batch, load store.Load, decide store.Decide) (store.Committed, error) {
	if _, err := b.exec("BEGIN IMMEDIATE"); err != nil {
		return store.Committed{}, err
	}
	committed, loaded, write, err := s.fill(b, load, decide)
	if err != nil {
		_, _ = b.exec("ROLLBACK") // fails when the database has already undone it
		return store.Committed{}, err
	}
	if _, err := b.exec("COMMIT"); err != nil {
		s.hot.forget()
		_, _ = b.exec("ROLLBACK")
		if isBusy(err) {
			return store.Committed{}, err
		}
		return store.Committed{}, sqlstore.Ambiguous("sqlite: commit", err)
	}
	if write != nil {
		s.hot.keep(loaded, write)
	}
	return committed, nil
}

// fill does everything between BEGIN and COMMIT.
func (s *Store) fill(b *batch, load store.Load, decide store.Decide) (store.Committed, *store.Loaded, *store.Write, error) {
	loaded, err := b.load(load)
	if err != nil {
		return store.Committed{}, nil, nil, err
	}
	write, err := decide(loaded)
	if b.trusting && len(load.Events) > 0 && (err != nil || write == nil || !sqlstore.Vouched(load.Events, write.Events)) {
		return store.Committed{}, nil, nil, sqlstore.ErrNotVouched
	}
	if err != nil {
		return store.Committed{}, nil, nil, sqlstore.DecideError{Err: err}
	}
	if write == nil {
		return store.Committed{}, nil, nil, nil
	}
	plan, err := sqlstore.NewPlan(s.tables, loaded, write)
	if err != nil {
		return store.Committed{}, nil, nil, err
	}
	if err := b.write(plan); err != nil {
		return store.Committed{}, nil, nil, err
	}
	seqs, err := b.send(plan.Outgoing)
	return store.Committed{Seqs: seqs}, loaded, write, err
}
