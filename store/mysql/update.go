package mysql

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/internal/sqlstore"
)

// races tells what a batch may lose against, and what the server itself refused.
func races() sqlstore.Races {
	return sqlstore.Races{Again: again, Event: isRace, Refused: func(err error) bool {
		_, ok := errors.AsType[*mysql.MySQLError](err)
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
	return hasNumber(err, duplicateEntry) && strings.Contains(err.Error(), "events_key")
}

func (s *Store) explain(ctx context.Context, err error) error {
	const op = "mysql: update"
	decided, fromDecide := errors.AsType[sqlstore.DecideError](err)
	_, known := errors.AsType[*rondo.Error](err)
	switch {
	case err == nil:
		return nil
	case fromDecide:
		return decided.Err
	case known:
		return err
	case hasNumber(err, duplicateEntry):
		return sqlstore.Forbidden(op, err)
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
		s.server.Store(nil)
	}
}

// once runs one transaction on one connection. Whatever happens, the connection
// goes back clean or not at all.
func (s *Store) once(ctx context.Context, load store.Load, decide store.Decide) (store.Committed, error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return store.Committed{}, &sqlstore.UnreachableError{Err: err}
	}
	defer conn.Close()
	loaded, err := s.load(ctx, conn, load)
	if err != nil {
		return store.Committed{}, rollback(ctx, conn, err)
	}
	write, err := decide(loaded)
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
	if err == nil {
		s.recent.Keep(write, plan.Token)
	}
	return committed, err
}

// rollback ends the transaction and keeps the reason for it. A connection that
// cannot roll back is not used again.
func rollback(ctx context.Context, conn *sql.Conn, reason error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if _, err := conn.ExecContext(ctx, "ROLLBACK"); err != nil {
		_ = conn.Raw(func(any) error { return sqldriver.ErrBadConn }) // tells the pool to drop it
		if reason == nil {
			return err
		}
	}
	return reason
}

// commit writes a plan and commits it in one packet.
func (s *Store) commit(ctx context.Context, conn *sql.Conn, plan *sqlstore.Plan) (store.Committed, error) {
	server, err := s.settings(ctx, conn)
	if err != nil {
		return store.Committed{}, rollback(ctx, conn, err)
	}
	w := &writing{Store: s, packet: newPacket(conn, server.packet), stride: server.stride, seqs: make([]int64, len(plan.Outgoing))}
	if err := w.rows(ctx, plan); err != nil {
		return store.Committed{}, rollback(ctx, conn, s.refusal(err))
	}
	if err := w.outgoing(ctx, plan.Outgoing); err != nil {
		return store.Committed{}, rollback(ctx, conn, s.refusal(err))
	}
	w.add("COMMIT")
	w.statement()
	if err := w.send(ctx); err != nil {
		if _, ok := errors.AsType[*mysql.MySQLError](err); !ok && faultOf(err) != sqlstore.Oversize {
			_ = conn.Raw(func(any) error { return sqldriver.ErrBadConn })
			return store.Committed{}, sqlstore.Ambiguous("mysql: commit", err)
		}
		return store.Committed{}, rollback(ctx, conn, s.refusal(err))
	}
	if len(w.seqs) == 0 {
		w.seqs = nil
	}
	return store.Committed{Seqs: w.seqs}, nil
}

// refusal says which guard stopped a packet.
func (s *Store) refusal(err error) error {
	switch {
	case hasNumber(err, columnNull) && strings.Contains(err.Error(), "'seq'"):
		s.streams.Forget()
		return sqlstore.ErrAgain
	case hasNumber(err, columnNull) && strings.Contains(err.Error(), "'version'"), hasNumber(err, manyRows):
		return sqlstore.VersionConflict("mysql", err)
	case hasNumber(err, outOfRange):
		return sqlstore.Unknown("mysql: update", "an event to judge again or count")
	default:
		return err
	}
}
