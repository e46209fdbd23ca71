package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store/internal/sqlstore"
)

// few is up to how many rows one-row statements cost less than arrays.
const few = 7

// guard is what a division by zero means at a place in the batch.
type guard int

const (
	guardVersion guard = iota
	guardLedger
	guardJoins
	guardFlights
)

// writing collects the statements of one commit. guard is that of the statement
// that ran last.
type writing struct {
	queries *queries
	tables  *sqlstore.Tables
	batch   *pgx.Batch
	guard   guard
}

// under queues a guarded statement. Statements answer in order, so the one whose
// answer is missing is the one after the last that answered.
func (w *writing) under(g guard, query string, args ...any) {
	w.batch.Queue(query, args...).Query(func(rows pgx.Rows) error {
		rows.Close()
		if rows.Err() != nil {
			w.guard = g
		}
		return rows.Err()
	})
}

func (w *writing) rows(plan *sqlstore.Plan) error {
	w.updates(plan.Updates)
	w.run(plan.Before)
	for _, insert := range plan.Inserts {
		if len(insert.Rows) > few {
			w.batch.Queue(w.queries.insertMany[insert.Table.Name], columnsOf(insert.Table, insert.Rows)...)
			continue
		}
		for _, row := range insert.Rows {
			w.batch.Queue(w.queries.insert[insert.Table.Name], row...)
		}
	}
	w.rejudged(plan.Rejudged)
	w.run(plan.After)
	w.duplicates(plan.Duplicates)
	switch {
	case len(plan.Sent) > few:
		w.batch.Queue(w.queries.sentMany, plan.Sent)
	default:
		for _, seq := range plan.Sent {
			w.batch.Queue(w.queries.sent, seq)
		}
	}
	for i := range plan.Acks {
		args, err := sqlstore.AckArgs(&plan.Acks[i])
		if err != nil {
			return err
		}
		w.batch.Queue(w.queries.ack, args...)
	}
	return nil
}

func (w *writing) run(statements []sqlstore.Statement) {
	for _, s := range statements {
		w.batch.Queue(sqlstore.Number(s.Query), s.Args...)
	}
}

// updates replaces instances. Most only move, and then most columns stay as they
// are: neither sent nor written.
func (w *writing) updates(updates []sqlstore.InstanceUpdate) {
	var moved, changed []sqlstore.InstanceUpdate
	for _, u := range updates {
		if u.Moves {
			u.Row = u.MovingRow()
			moved = append(moved, u)
		} else {
			changed = append(changed, u)
		}
	}
	w.replace(w.tables.Moving(), moved, w.queries.move, w.queries.moveMany)
	w.replace(&w.tables.Instances, changed, w.queries.update, w.queries.updateMany)
}

func (w *writing) replace(t *sqlstore.Table, updates []sqlstore.InstanceUpdate, one, many string) {
	if len(updates) <= few {
		for i := range updates {
			w.under(guardVersion, one, append([]any{updates[i].Previous}, updates[i].Row...)...)
		}
		return
	}
	previous, rows := make([]int64, len(updates)), make([][]any, len(updates))
	for i := range updates {
		previous[i], rows[i] = updates[i].Previous, updates[i].Row
	}
	args := append([]any{previous}, columnsOf(t, rows)...)
	w.under(guardVersion, many, append(args, int64(len(rows)))...)
}

func (w *writing) rejudged(events []sqlstore.Rejudged) {
	if len(events) == 0 {
		return
	}
	n := len(events)
	orgs, ids, outcomes := make([]string, n), make([]pgtype.UUID, n), make([]string, n)
	instances, processed, verdicts, errs := make([]pgtype.UUID, n), make([]int64, n), make([]string, n), make([]string, n)
	var parkedOrgs, freedOrgs, freedCases []string
	var parked, freed []pgtype.UUID
	for i := range events {
		e := &events[i]
		orgs[i], ids[i], outcomes[i], instances[i], verdicts[i], errs[i] = e.Key.OrgID, uuid(e.Key.EventID), e.Outcome, uuid(e.InstanceID), e.Verdict, e.Error
		if e.Processed {
			processed[i] = 1
		}
		if e.Parked() {
			parkedOrgs, parked = append(parkedOrgs, e.Key.OrgID), append(parked, ids[i])
		} else {
			freedOrgs, freedCases, freed = append(freedOrgs, e.Key.OrgID), append(freedCases, e.CaseID), append(freed, ids[i])
		}
	}
	w.under(guardLedger, w.queries.rejudge, orgs, ids, outcomes, instances, processed, verdicts, errs, int64(n))
	if len(parked) > 0 {
		w.batch.Queue(w.queries.park, parkedOrgs, parked)
	}
	if len(freed) > 0 {
		w.batch.Queue(w.queries.unpark, freedOrgs, freedCases, freed)
	}
}

func (w *writing) duplicates(events []sqlstore.Duplicate) {
	if len(events) == 0 {
		return
	}
	orgs, ids, times := make([]string, len(events)), make([]pgtype.UUID, len(events)), make([]int64, len(events))
	for i, d := range events {
		orgs[i], ids[i], times[i] = d.Key.OrgID, uuid(d.Key.EventID), d.Times
	}
	w.under(guardLedger, w.queries.duplicate, orgs, ids, times, int64(len(events)))
}

// outgoing queues events where they are picked up and fills in their numbers.
func (s *Store) outgoing(ctx context.Context, w *writing, events []rondo.Outgoing, seqs []int64) error {
	if len(events) == 0 {
		return nil
	}
	if s.embedded {
		return s.log(ctx, w, events, seqs)
	}
	rows := sqlstore.OutboxRows(events)
	if len(rows) > few {
		w.numbered(s.queries.outboxMany, columnsOf(&s.tables.Outbox, rows), func(n int, seq int64) { seqs[n] = seq })
		return nil
	}
	for i, row := range rows {
		w.numbered(s.queries.outbox, row, func(_ int, seq int64) { seqs[i] = seq })
	}
	return nil
}

// numbered queues an insert that returns the numbers it gave, in order.
func (w *writing) numbered(query string, args []any, got func(n int, seq int64)) {
	w.batch.Queue(query, args...).Query(func(rows pgx.Rows) error {
		var seq int64
		n := 0
		_, err := pgx.ForEachRow(rows, []any{&seq}, func() error {
			got(n, seq)
			n++
			return nil
		})
		return err
	})
}

// log queues entries for the log. The row of log_head is locked last, so that
// commits queue behind each other as shortly as numbering without gaps allows.
func (s *Store) log(ctx context.Context, w *writing, events []rondo.Outgoing, seqs []int64) error {
	joins, streams, err := s.streams.Current(func() (int64, []string, error) { return s.readStreams(ctx) })
	if err != nil {
		return err
	}
	w.under(guardJoins, s.queries.guardJoins, joins)
	taken := sqlstore.Listened(events, streams)
	if len(taken) == 0 {
		return nil
	}
	chosen := make([]rondo.Outgoing, len(taken))
	for n, i := range taken {
		chosen[n] = events[i]
	}
	args := append([]any{int64(len(taken))}, columnsOf(&s.tables.Outbox, sqlstore.OutboxRows(chosen))...)
	w.numbered(s.queries.log, args, func(n int, seq int64) { seqs[taken[n]] = seq })
	return nil
}

func (s *Store) readStreams(ctx context.Context) (joins int64, streams []string, err error) {
	if err := s.pool.QueryRow(ctx, "SELECT joins FROM log_head WHERE id = 1").Scan(&joins); err != nil {
		return 0, nil, err
	}
	rows, err := s.pool.Query(ctx, "SELECT DISTINCT stream FROM log_positions")
	if err != nil {
		return 0, nil, err
	}
	streams, err = pgx.CollectRows(rows, pgx.RowTo[string])
	return joins, streams, err
}
