package sqlstore

import (
	"context"
	"database/sql"
	"strconv"
	"strings"

	"github.com/rondo-engine/rondo"
)

// Dialect is what databases spell differently.
type Dialect struct {
	Name string
	// Numbered says that parameters are $1, $2 … and not ?.
	Numbered bool
	// Lock ends a SELECT whose rows must not change until commit; SkipLocked ends
	// one that leaves out rows that others have locked. Both are empty where a
	// write transaction excludes all others.
	Lock, SkipLocked string
	// LockCase is the statement that holds a case until commit, with parameters for
	// it, nil where a write transaction excludes all others. LockRows says that it
	// locks a row of the table cases.
	LockCase func(key rondo.CaseKey) (query string, args []any)
	LockRows bool
	// Contains is an expression, with %s for a column and ? for the text to find.
	Contains string
	// Ignore ends an INSERT that may meet an existing row and then does nothing;
	// %s is a column of the table.
	Ignore string
	// BigInt is the type of 64 bits that a parameter can be cast to.
	BigInt string
	// Head is a query for the highest number of the log.
	Head string
	// ListIndex follows FROM instances where a planner must be told which index
	// has the order of a list; ListOrder follows ORDER BY id DESC for the same.
	ListIndex, ListOrder string
	// Unique reports whether an error is a refused second row of a key.
	Unique func(error) bool
	// Fault says what kind of trouble any other error is.
	Fault func(error) Fault
	// Migrations are the statements of the schema; see LoadMigrations.
	Migrations []Migration
}

// bind spells parameters.
func (d *Dialect) bind(query string) string {
	if !d.Numbered {
		return query
	}
	return Number(query)
}

// Number spells the parameters of a statement $1, $2 … and not ?.
func Number(query string) string {
	var b strings.Builder
	b.Grow(len(query) + 16)
	n := 0
	for i := range len(query) {
		if query[i] != '?' {
			b.WriteByte(query[i])
			continue
		}
		n++
		b.WriteByte('$')
		b.WriteString(strconv.Itoa(n))
	}
	return b.String()
}

func (d *Dialect) contains(column string) string { return strings.ReplaceAll(d.Contains, "%s", column) }

func (d *Dialect) ignore(column string) string { return strings.ReplaceAll(d.Ignore, "%s", column) }

// Querier is what *sql.DB, *sql.Conn and *sql.Tx have in common.
type Querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Runner is a driver's connections.
type Runner interface {
	// Reader is for statements that change nothing.
	Reader() Querier
	// Write runs work in one transaction and commits it when work returns nil. It
	// runs work again after a deadlock or a serialisation failure.
	Write(ctx context.Context, work func(Querier) error) error
	// Gather is Write for short work that many callers do at once: it may share its
	// transaction with theirs, and an error of one undoes its own statements only.
	// work must use the context that it is given. A commit that failed may have
	// happened unless the database itself refused it.
	Gather(ctx context.Context, work func(context.Context, Querier) error) error
	// Alone is Gather for work of which every statement may commit by itself.
	Alone(ctx context.Context, work func(context.Context, Querier) error) error
	// MigrationLock runs work on one connection while no other process migrates.
	MigrationLock(ctx context.Context, work func(Querier) error) error
	// Close releases the connections.
	Close() error
}

// session is a Querier that speaks the dialect.
type session struct {
	q Querier
	d *Dialect
}

func (s session) exec(ctx context.Context, query string, args ...any) (int64, error) {
	result, err := s.q.ExecContext(ctx, s.d.bind(query), args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// each calls row with the values of every row; they are its to keep.
func (s session) each(ctx context.Context, row func([]any) error, query string, args ...any) error {
	rows, err := s.q.QueryContext(ctx, s.d.bind(query), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	for rows.Next() {
		values := make([]any, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		if err := row(values); err != nil {
			return err
		}
	}
	return rows.Err()
}

// list reads all rows of a query as one noun.
func list[T any](ctx context.Context, s session, read func([]any) (T, error), query string, args ...any) ([]T, error) {
	var found []T
	err := s.each(ctx, func(values []any) error {
		item, err := read(values)
		if err == nil {
			found = append(found, item)
		}
		return err
	}, query, args...)
	return found, err
}

// insert adds one row of a table.
func (s session) insert(ctx context.Context, table, columns string, values ...any) error {
	_, err := s.exec(ctx, "INSERT INTO "+table+" ("+columns+") VALUES ("+Marks(len(values))+")", values...)
	return err
}

// Marks is n parameters: ?, ?, ?
func Marks(n int) string {
	if n == 0 {
		return ""
	}
	return strings.Repeat("?, ", n-1) + "?"
}
