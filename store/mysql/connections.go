package mysql

import (
	"context"
	"database/sql"
	"errors"

	"github.com/rondo-engine/rondo/store/internal/sqlstore"
)

// connections runs the shared part on the pool.
type connections struct{ db *sql.DB }

// Reader implements sqlstore.Runner.
func (c *connections) Reader() sqlstore.Querier { return c.db }

// Write implements sqlstore.Runner.
func (c *connections) Write(ctx context.Context, work func(sqlstore.Querier) error) error {
	return races().Write(ctx, c.db, "mysql: commit", work)
}

// Gather implements sqlstore.Runner: the server gathers commits by itself.
func (c *connections) Gather(ctx context.Context, work func(context.Context, sqlstore.Querier) error) error {
	return c.Write(ctx, func(q sqlstore.Querier) error { return work(ctx, q) })
}

// Alone implements sqlstore.Runner.
func (c *connections) Alone(ctx context.Context, work func(context.Context, sqlstore.Querier) error) error {
	return races().Alone(ctx, c.db, work)
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
