package mysql

import (
	"context"
	"database/sql"
	"errors"

	"github.com/go-sql-driver/mysql"

	"github.com/rondo-engine/rondo/store/internal/sqlstore"
)

// connections runs the shared part on the pool.
type connections struct{ db *sql.DB }

// Reader implements sqlstore.Runner.
func (c *connections) Reader() sqlstore.Querier { return c.db }

// attempts is how often work that lost a race runs.
const attempts = 10

// Write implements sqlstore.Runner.
func (c *connections) Write(ctx context.Context, work func(sqlstore.Querier) error) error {
	var err error
	for range attempts {
		if err = c.once(ctx, work); !again(err) {
			break
		}
	}
	return err
}

func (c *connections) once(ctx context.Context, work func(sqlstore.Querier) error) error {
	tx, err := c.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := work(tx); err != nil {
		_ = tx.Rollback() // the first error is the one that says why
		return err
	}
	if err := tx.Commit(); err != nil {
		if _, ok := errors.AsType[*mysql.MySQLError](err); ok {
			return err
		}
		return sqlstore.Ambiguous("mysql: commit", err)
	}
	return nil
}

// migrationSeconds is how long one process waits for another's migration.
const migrationSeconds = 600

// MigrationLock implements sqlstore.Runner. The lock is of the server, so its
// name has the database in it.
func (c *connections) MigrationLock(ctx context.Context, work func(sqlstore.Querier) error) (err error) {
	conn, err := c.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	const name = "CONCAT('rondo:', LEFT(SHA1(DATABASE()), 40))"
	var got sql.NullInt64
	if err := conn.QueryRowContext(ctx, "SELECT GET_LOCK("+name+", ?)", migrationSeconds).Scan(&got); err != nil {
		return err
	}
	if got.Int64 != 1 {
		return errors.New("another process is still migrating: try again when it is done")
	}
	defer func() {
		_, unlock := conn.ExecContext(context.WithoutCancel(ctx), "DO RELEASE_LOCK("+name+")")
		err = errors.Join(err, unlock)
	}()
	return work(conn)
}

// Close implements sqlstore.Runner.
func (c *connections) Close() error { return c.db.Close() }
