package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/internal/sqlstore"
)

// races tells what a batch may lose against, and what the server itself refused.
func races() sqlstore.Races {
	return sqlstore.Races{Again: again, Event: isRace, Refused: func(err error) bool {
		_, ok := errors.AsType[*pgconn.PgError](err)
		return ok
	}}
}

// Update implements store.Cases.
func (s *Store) Update(ctx context.Context, load store.Load, decide store.Decide) (store.Committed, error) {
	committed, err := races().Update(func() (store.Committed, error) { return s.once(ctx, load, decide) })
	err = s.explain(ctx, err)
	s.forget(err)
	return committed, err
}

// isRace says that another batch, of another case, brought the same event first:
// deciding again sees it.
func isRace(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && refused.Code == uniqueViolation && refused.ConstraintName == "events_pkey"
}

func (s *Store) explain(ctx context.Context, err error) error {
	const op = "postgres: update"
	decided, fromDecide := errors.AsType[sqlstore.DecideError](err)
	_, known := errors.AsType[*rondo.Error](err)
	switch {
	case err == nil:
		return nil
	case fromDecide:
		return decided.Err
	case known:
		return err
	case hasState(err, uniqueViolation):
		return sqlstore.Forbidden(op, err)
	case hasState(err, invalidText, untranslatable):
		return &rondo.Error{
			Code: rondo.CodeInvalid, Op: op, Message: "a text has bytes that PostgreSQL cannot store",
			Hint: "ids and names must be UTF-8 without NUL", Err: err,
		}
	case ctx.Err() != nil:
		return ctx.Err()
	default:
		return faultOf(err).Explain(op, err)
	}
}

// forget drops what is remembered of the database when it may have been
// exchanged for another, older one: a failover breaks connections.
func (s *Store) forget(err error) {
	if rondo.CodeOf(err) == rondo.CodeUnavailable {
		s.recent.Forget()
		s.streams.Forget()
	}
}

// once runs one transaction on one connection. Whatever happens, the connection
// goes back clean or not at all.
func (s *Store) once(ctx context.Context, load store.Load, decide store.Decide) (store.Committed, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return store.Committed{}, &sqlstore.UnreachableError{Err: err}
	}
	defer conn.Release() // the pool closes a connection that is not idle
	asked, trusting := load.Events, s.trust.Trusting()
	if trusting {
		load.Events = nil
	}
	loaded, err := s.load(ctx, conn, load)
	if err != nil {
		if conn.Conn().IsClosed() {
			err = &sqlstore.UnreachableError{Err: err}
		}
		return store.Committed{}, rollback(ctx, conn, err)
	}
	write, err := decide(loaded)
	if trusting && len(asked) > 0 && (err != nil || write == nil || !sqlstore.Vouched(asked, write.Events)) {
		s.trust.Lose()
		return store.Committed{}, rollback(ctx, conn, sqlstore.ErrAgain)
	}
	if err != nil {
		return store.Committed{}, rollback(ctx, conn, sqlstore.DecideError{Err: err})
	}
	if write == nil {
		return store.Committed{}, rollback(ctx, conn, nil)
	}
	plan, err := sqlstore.NewPlan(s.tables, loaded, write)
	if err != nil {
		return store.Committed{}, rollback(ctx, conn, err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sqlstore.CommitTimeout)
	defer cancel()
	committed, err := s.commit(ctx, conn, plan)
	switch {
	case err == nil:
		s.recent.Keep(write, plan.Token)
	case trusting && isRace(err):
		s.trust.Lose()
		err = sqlstore.ErrAgain
	}
	return committed, err
}

// rollback ends the transaction and keeps the reason for it.
func rollback(ctx context.Context, conn *pgxpool.Conn, reason error) error {
	if conn.Conn().IsClosed() {
		return reason
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if _, err := conn.Exec(ctx, "ROLLBACK"); err != nil && reason == nil {
		return err
	}
	return reason
}

// commit writes a plan and commits it in one round trip.
func (s *Store) commit(ctx context.Context, conn *pgxpool.Conn, plan *sqlstore.Plan) (store.Committed, error) {
	seqs := make([]int64, len(plan.Outgoing))
	w := &writing{queries: s.queries, tables: s.tables, batch: &pgx.Batch{}}
	if err := w.rows(plan); err != nil {
		return store.Committed{}, rollback(ctx, conn, err)
	}
	if err := s.outgoing(ctx, w, plan.Outgoing, seqs); err != nil {
		return store.Committed{}, rollback(ctx, conn, err)
	}
	done := false
	w.batch.Queue("COMMIT").Exec(func(pgconn.CommandTag) error {
		done = true
		return nil
	})
	err := conn.SendBatch(ctx, w.batch).Close()
	if done {
		return store.Committed{Seqs: committedSeqs(seqs)}, nil
	}
	var refused *pgconn.PgError
	switch {
	case !errors.As(err, &refused) || refused.Severity == "FATAL" || refused.Severity == "PANIC":
		return store.Committed{}, sqlstore.Ambiguous("postgres: commit", err)
	case refused.Code == divisionByZero && w.guard == guardJoins:
		s.streams.Forget()
		err = sqlstore.ErrAgain
	case refused.Code == divisionByZero && w.guard == guardVersion:
		err = sqlstore.VersionConflict("postgres", err)
	case refused.Code == divisionByZero:
		err = sqlstore.Unknown("postgres: update", "an event to judge again or count")
	}
	return store.Committed{}, rollback(ctx, conn, err)
}

func committedSeqs(seqs []int64) []int64 {
	if len(seqs) == 0 {
		return nil
	}
	return seqs
}
