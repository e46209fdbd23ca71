package sqlite

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/rondo-engine/rondo/store/internal/sqlstore"
)

// writer owns the connections to a file: one that writes and a pool that reads.
type writer struct {
	turn    chan struct{} // holds one token while someone writes
	db      *sql.DB
	conn    *sql.Conn
	readers *sql.DB
	reader  *reader // on readers
	busy    time.Duration

	gathering gathering

	// The rest belongs to whoever has the turn.
	statements map[string]sqldriver.Stmt
	args       []sqldriver.NamedValue
	hot        hot
	trust      sqlstore.Trust
}

func openWriter(path string, opts Options) (*writer, error) {
	// The journal mode needs the file to itself for a moment, so a second process
	// that opens it at the same time must already be willing to wait.
	wait := "busy_timeout(1000)"
	// The cache is kept small on purpose: at the commit after a page split SQLite
	// walks through all of it, and what is not in it is in the kernel's cache.
	db, err := openPool(path, 1, wait, "journal_mode(WAL)", "synchronous("+string(opts.Synchronous)+")",
		"foreign_keys(1)", "wal_autocheckpoint(4000)", "cache_size(-16384)", "temp_store(MEMORY)")
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(context.Background())
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	// Every commit empties the caches of readers. Mapped, the pages of the file are
	// read from the kernel's cache without a copy each: a list that must look at
	// thousands of rows takes a third of the time.
	readers, err := openPool(path, opts.Readers, wait, "query_only(1)", "cache_size(-16384)", "mmap_size(1073741824)", "temp_store(MEMORY)")
	if err != nil {
		return nil, errors.Join(err, conn.Close(), db.Close())
	}
	return &writer{
		turn: make(chan struct{}, 1), db: db, conn: conn, readers: readers, reader: &reader{DB: readers}, busy: opts.BusyTimeout,
		statements: map[string]sqldriver.Stmt{},
	}, nil
}

// Close waits for the transaction under way.
func (w *writer) Close() error {
	w.turn <- struct{}{}
	defer func() { <-w.turn }()
	var errs []error
	for _, s := range w.statements {
		errs = append(errs, s.Close())
	}
	clear(w.statements)
	for _, s := range w.gathering.statements {
		errs = append(errs, s.Close())
	}
	clear(w.gathering.statements)
	return errors.Join(append(errs, w.reader.forget(), w.readers.Close(), w.conn.Close(), w.db.Close())...)
}

func (w *writer) lock(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case w.turn <- struct{}{}:
		return nil
	default:
	}
	select {
	case w.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *writer) unlock() { <-w.turn }

// Write implements sqlstore.Runner. Who gives up meanwhile may be told so by a
// statement that was done all the same: a BEGIN is therefore undone whatever it
// says, and a COMMIT is not given up.
func (w *writer) Write(ctx context.Context, work func(sqlstore.Querier) error) error {
	if err := w.lock(ctx); err != nil {
		return err
	}
	defer w.unlock()
	w.hot.forget()
	whole := context.WithoutCancel(ctx)
	return w.patiently(ctx, func() error {
		_, err := w.conn.ExecContext(ctx, "BEGIN IMMEDIATE")
		if err == nil {
			err = work(w.conn)
		}
		if err == nil {
			_, err = w.conn.ExecContext(whole, "COMMIT")
		}
		if err != nil {
			_, _ = w.conn.ExecContext(whole, "ROLLBACK") // fails when there is nothing to undo
		}
		return err
	})
}

// patiently runs work again while another process holds the file.
func (w *writer) patiently(ctx context.Context, work func() error) error {
	until := time.Now().Add(w.busy)
	for {
		err := work()
		if !isBusy(err) || time.Now().After(until) || ctx.Err() != nil {
			return err
		}
	}
}

// exec runs a one-row statement of the write path below database/sql. The caller
// has the turn and is inside raw.
func (w *writer) exec(c sqldriver.Conn, query string, values ...any) (sqldriver.Result, error) {
	stmt, err := w.prepare(c, query)
	if err != nil {
		return nil, err
	}
	run, ok := stmt.(sqldriver.StmtExecContext)
	if !ok {
		return nil, fmt.Errorf("statement %T cannot be executed", stmt)
	}
	return run.ExecContext(context.Background(), w.bind(values))
}

// query calls row with the values of every row; they are valid until the next
// row, except that byte slices and strings are row's to keep.
func (w *writer) query(c sqldriver.Conn, row func([]any) error, query string, values ...any) (err error) {
	stmt, err := w.prepare(c, query)
	if err != nil {
		return err
	}
	run, ok := stmt.(sqldriver.StmtQueryContext)
	if !ok {
		return fmt.Errorf("statement %T cannot be queried", stmt)
	}
	rows, err := run.QueryContext(context.Background(), w.bind(values))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	dest := make([]sqldriver.Value, len(rows.Columns()))
	found := make([]any, len(dest))
	for {
		switch err := rows.Next(dest); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		for i := range dest {
			found[i] = dest[i]
		}
		if err := row(found); err != nil {
			return err
		}
	}
}

func (w *writer) prepare(c sqldriver.Conn, query string) (sqldriver.Stmt, error) {
	if stmt := w.statements[query]; stmt != nil {
		return stmt, nil
	}
	stmt, err := c.Prepare(query)
	if err != nil {
		return nil, err
	}
	w.statements[query] = stmt
	return stmt, nil
}

func (w *writer) bind(values []any) []sqldriver.NamedValue {
	args := w.args[:0]
	for i, v := range values {
		args = append(args, sqldriver.NamedValue{Ordinal: i + 1, Value: v})
	}
	w.args = args
	return args
}
