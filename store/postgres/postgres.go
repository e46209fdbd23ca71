// Package postgres keeps everything in PostgreSQL (15 or newer), for any number
// of Rondo processes.
//
// # How it works
//
//   - An Update is two round trips: BEGIN, the locks of the cases and the reads in
//     the first; all writes and COMMIT in the second. Statements take arrays
//     (unnest), one-row statements serve small batches.
//   - A case is held by an advisory lock, which unlike a row costs no write. It is
//     taken by its own statement, and what it protects is read by the statements
//     after it: in READ COMMITTED a statement that waits for a lock still sees the
//     rows that it joined before it waited.
//   - Events are taken for new without a look into the ledger; see sqlstore.Trust.
//   - A missed version or a changed set of consumer groups divides by zero, which
//     aborts the transaction before the COMMIT that is already on its way.
//   - Deadlocks and serialisation failures are decided again inside.
//
// Documents are bytea: jsonb would cost a parse per write and refuse bytes that
// arrived that way. It imports the root package, the port, internal/sqlstore and
// pgx.
package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"io/fs"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/internal/sqlstore"
)

var (
	_ store.Store         = (*Store)(nil)
	_ store.Conversations = (*Store)(nil)
	_ store.Runs          = (*Store)(nil)
)

//go:embed migrations/*.sql
var migrations embed.FS

// Options say how a database is opened. The zero value works.
type Options struct {
	// Embedded writes Write.Outbox to the Log, for the embedded bus, instead of
	// the Outbox. Default false.
	Embedded bool
	// MaxConns is how many connections are open at most. Default 10.
	MaxConns int
	// StatementTimeout ends a statement that takes longer. Default 30 s.
	StatementTimeout time.Duration
	// IdleTimeout ends a transaction whose client has gone silent, so that a
	// process that hangs does not hold its locks for ever. Default 60 s.
	IdleTimeout time.Duration
}

func (o Options) withDefaults() Options {
	if o.MaxConns <= 0 {
		o.MaxConns = 10
	}
	if o.StatementTimeout <= 0 {
		o.StatementTimeout = 30 * time.Second
	}
	if o.IdleTimeout <= 0 {
		o.IdleTimeout = 60 * time.Second
	}
	return o
}

// Store is a store in one PostgreSQL database. It is safe for concurrent use.
type Store struct {
	*sqlstore.Cold
	pool       *pgxpool.Pool
	tables     *sqlstore.Tables
	queries    *queries
	runQueries *runQueries
	streams    sqlstore.Streams
	recent     sqlstore.Recent
	trust      sqlstore.Trust
	embedded   bool
}

// Open prepares the connections to the database at url (postgres://…); the first
// call connects. Migrate must have run once before anything else is asked.
func Open(url string, opts Options) (*Store, error) {
	opts = opts.withDefaults()
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		// The cause is left out: it may repeat the password.
		return nil, &rondo.Error{
			Code: rondo.CodeInvalid, Op: "postgres: open", Message: "the database URL cannot be read",
			Hint: "write it as postgres://user:password@host:5432/database",
		}
	}
	config.MaxConns = int32(min(opts.MaxConns, 10_000))
	params := config.ConnConfig.RuntimeParams
	params["application_name"] = "rondo"
	params["default_transaction_isolation"] = "read committed"
	// Every statement here finds its rows by an index, and finds few. The planner
	// would rather scan a young table whose keys look alike, and then the cost of a
	// batch grows with the table.
	for _, scan := range []string{"enable_seqscan", "enable_hashjoin", "enable_mergejoin", "enable_incremental_sort", "jit"} {
		params[scan] = "off"
	}
	params["plan_cache_mode"] = "force_generic_plan" // parameters never change the plan
	params["statement_timeout"] = strconv.FormatInt(opts.StatementTimeout.Milliseconds(), 10)
	params["idle_in_transaction_session_timeout"] = strconv.FormatInt(opts.IdleTimeout.Milliseconds(), 10)

	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, rondo.Op("postgres: open", err)
	}
	steps, err := sqlstore.LoadMigrations(files)
	if err != nil {
		return nil, rondo.Op("postgres: open", err)
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		return nil, sqlstore.Unavailable("postgres: open", err)
	}
	tables := sqlstore.NewTables()
	dialect := &sqlstore.Dialect{
		Name:       "postgres",
		Numbered:   true,
		Lock:       " FOR UPDATE",
		SkipLocked: " FOR UPDATE SKIP LOCKED",
		LockCase: func(key rondo.CaseKey) (string, []any) {
			return "SELECT pg_advisory_xact_lock(?)", []any{caseLock(key)}
		},
		Contains:   "strpos(%s, ?) > 0",
		Ignore:     "ON CONFLICT DO NOTHING",
		BigInt:     "bigint",
		ListOrder:  ", mode DESC", // the primary key has only the id: the planner would walk all of it
		Head:       "SELECT seq FROM log_head WHERE id = 1",
		Unique:     func(err error) bool { return hasState(err, uniqueViolation) },
		Fault:      faultOf,
		Migrations: steps,
	}
	return &Store{
		Cold:       sqlstore.NewCold(&connections{pool: pool, db: stdlib.OpenDBFromPool(pool)}, dialect, tables),
		pool:       pool,
		tables:     tables,
		queries:    newQueries(tables),
		runQueries: newRunQueries(tables),
		embedded:   opts.Embedded,
	}, nil
}

// connections runs the shared part on the pool.
type connections struct {
	pool *pgxpool.Pool
	db   *sql.DB
}

// Reader implements sqlstore.Runner.
func (c *connections) Reader() sqlstore.Querier { return c.db }

// Write implements sqlstore.Runner.
func (c *connections) Write(ctx context.Context, work func(sqlstore.Querier) error) error {
	return races().Write(ctx, c.db, "postgres: commit", work)
}

// Gather implements sqlstore.Runner: the server gathers commits by itself.
func (c *connections) Gather(ctx context.Context, work func(context.Context, sqlstore.Querier) error) error {
	return c.Write(ctx, func(q sqlstore.Querier) error { return work(ctx, q) })
}

// Alone implements sqlstore.Runner.
func (c *connections) Alone(ctx context.Context, work func(context.Context, sqlstore.Querier) error) error {
	return races().Alone(ctx, c.db, work)
}

// migrationKey is the advisory lock that migrations hold: "rondo" in ASCII.
const migrationKey = 0x726f6e646f

// MigrationLock implements sqlstore.Runner.
func (c *connections) MigrationLock(ctx context.Context, work func(sqlstore.Querier) error) (err error) {
	conn, err := c.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", int64(migrationKey)); err != nil {
		return err
	}
	defer func() {
		_, unlock := conn.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", int64(migrationKey))
		err = errors.Join(err, unlock)
	}()
	return work(conn)
}

// Close implements sqlstore.Runner.
func (c *connections) Close() error {
	err := c.db.Close()
	c.pool.Close()
	return err
}
