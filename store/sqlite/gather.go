package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"github.com/rondo-engine/rondo/store/internal/sqlstore"
)

// gathering lets short writes of many callers share transactions, and with them
// the waits for the disk: what arrives while a transaction runs is queued, and
// whoever has the turn next runs all of it in one. A lone write runs at once.
type gathering struct {
	mu    sync.Mutex
	queue []*errand

	statements map[string]*sql.Stmt // belongs to whoever has the turn
}

// errand is the work of one caller.
type errand struct {
	work  func(context.Context, sqlstore.Querier) error
	done  chan struct{} // closed when err is final
	err   error
	taken bool // guarded by gathering.mu: it cannot be withdrawn any more
}

// errandsAtOnce bounds a transaction.
const errandsAtOnce = 256

// Gather implements sqlstore.Runner.
func (w *writer) Gather(ctx context.Context, work func(context.Context, sqlstore.Querier) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	mine := &errand{work: work, done: make(chan struct{})}
	w.gathering.mu.Lock()
	w.gathering.queue = append(w.gathering.queue, mine)
	w.gathering.mu.Unlock()
	for {
		select {
		case <-mine.done:
			return mine.err
		default:
		}
		select {
		case <-mine.done:
		case w.turn <- struct{}{}:
			w.runErrands(context.WithoutCancel(ctx))
			w.unlock()
		case <-ctx.Done():
			if w.gathering.withdraw(mine) {
				return ctx.Err()
			}
			<-mine.done // a transaction cannot be left half way
		}
	}
}

// Alone implements sqlstore.Runner.
func (w *writer) Alone(ctx context.Context, work func(context.Context, sqlstore.Querier) error) error {
	return w.Gather(ctx, work)
}

// take removes the oldest errands from the queue.
func (g *gathering) take() []*errand {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := min(len(g.queue), errandsAtOnce)
	taken := g.queue[:n:n]
	g.queue = g.queue[n:]
	for _, e := range taken {
		e.taken = true
	}
	return taken
}

// withdraw takes an errand back, if no transaction has it yet.
func (g *gathering) withdraw(mine *errand) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if mine.taken {
		return false
	}
	for i, e := range g.queue {
		if e == mine {
			g.queue = append(g.queue[:i:i], g.queue[i+1:]...)
			break
		}
	}
	return true
}

// runErrands runs what is queued in one transaction. The caller has the turn.
func (w *writer) runErrands(ctx context.Context) {
	errands := w.gathering.take()
	if len(errands) == 0 {
		return
	}
	err := w.patiently(ctx, func() error { return w.errandTransaction(ctx, errands) })
	for _, e := range errands {
		if err != nil {
			e.err = err
		}
		close(e.done)
	}
}

// errandTransaction leaves what became of each errand in its err. Its own error is
// that of all of them: nothing was written, or a commit may have been.
func (w *writer) errandTransaction(ctx context.Context, errands []*errand) error {
	q := preparing{w}
	exec := func(query string) error {
		_, err := q.ExecContext(ctx, query)
		return err
	}
	if err := exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	undo := func(err error) error {
		_ = exec("ROLLBACK") // fails when the database has already undone it
		return err
	}
	written := 0
	for _, e := range errands {
		if len(errands) == 1 {
			if e.err = e.work(ctx, q); e.err != nil {
				return undo(e.err)
			}
		} else if err := errandSavepoint(ctx, e, q, exec); err != nil {
			return undo(err)
		}
		if e.err == nil {
			written++
		}
	}
	if written == 0 {
		return undo(nil)
	}
	if err := exec("COMMIT"); err != nil {
		if isBusy(err) {
			return undo(err)
		}
		return undo(sqlstore.Ambiguous("sqlite: commit", err))
	}
	return nil
}

// errandSavepoint runs one errand so that its error undoes its own statements. An
// error is one of the whole transaction: some, such as a full disk, make SQLite
// undo all of it, and then the savepoint is gone too.
func errandSavepoint(ctx context.Context, e *errand, q sqlstore.Querier, exec func(string) error) error {
	if err := exec("SAVEPOINT errand"); err != nil {
		return err
	}
	if e.err = e.work(ctx, q); e.err != nil {
		if err := exec("ROLLBACK TO errand"); err != nil {
			return errors.Join(e.err, err)
		}
	}
	return exec("RELEASE errand")
}

// preparing is the writing connection with its statements prepared once.
type preparing struct{ w *writer }

// preparedLimit bounds the statements kept; there are far fewer that run often.
const preparedLimit = 256

func (p preparing) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	known := p.w.gathering.statements
	if stmt := known[query]; stmt != nil || len(known) >= preparedLimit {
		return stmt, nil
	}
	stmt, err := p.w.conn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	if known == nil {
		known = map[string]*sql.Stmt{}
		p.w.gathering.statements = known
	}
	known[query] = stmt
	return stmt, nil
}

// ExecContext implements sqlstore.Querier.
func (p preparing) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	stmt, err := p.prepare(ctx, query) //nolint:sqlclosecheck // kept; the writer closes it
	if err != nil {
		return nil, err
	}
	if stmt == nil {
		return p.w.conn.ExecContext(ctx, query, args...)
	}
	return stmt.ExecContext(ctx, args...)
}

// QueryContext implements sqlstore.Querier.
func (p preparing) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	stmt, err := p.prepare(ctx, query) //nolint:sqlclosecheck // kept; the writer closes it
	if err != nil {
		return nil, err
	}
	if stmt == nil {
		return p.w.conn.QueryContext(ctx, query, args...)
	}
	return stmt.QueryContext(ctx, args...)
}
