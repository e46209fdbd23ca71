// Package mysql keeps everything in MariaDB (10.6 or newer) or MySQL (8.0.1 or
// newer), for any number of Rondo processes.
//
// # How it works
//
//   - An Update is two packets of text: BEGIN, the lock of the case rows and the
//     reads in the first; all writes and COMMIT in the second. Instances are
//     replaced by one INSERT … ON DUPLICATE KEY UPDATE.
//   - The case row is the lock. It is taken by its own statement, and what it
//     protects is read by the statements after it, each with a fresh view (READ
//     COMMITTED).
//   - A missed version assigns NULL to a column that forbids it: the statement
//     fails, and with it the packet, before its COMMIT.
//   - Deadlocks and lock timeouts are decided again inside.
//
// Strings are VARBINARY: the collations of the two databases pad, fold or differ,
// bytes do not. It imports the root package, the port, internal/sqlstore and the
// driver.
package mysql

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"embed"
	"errors"
	"io/fs"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"

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
	// LockTimeout is how long a statement waits for a lock. Default 30 s.
	LockTimeout time.Duration
}

func (o Options) withDefaults() Options {
	if o.MaxConns <= 0 {
		o.MaxConns = 10
	}
	if o.LockTimeout <= 0 {
		o.LockTimeout = 30 * time.Second
	}
	return o
}

// Store is a store in one MariaDB or MySQL database. It is safe for concurrent
// use.
type Store struct {
	*sqlstore.Cold
	db       *sql.DB
	tables   *sqlstore.Tables
	texts    *texts
	runTexts *runTexts
	streams  sqlstore.Streams
	recent   sqlstore.Recent
	embedded bool
	server   atomic.Pointer[server] // nil = not asked yet
}

// Open prepares the connections to the database at rawURL, which is
// mysql://user:password@host:port/database or mariadb://…; the first call
// connects. Parameters of the URL are those of the driver. Migrate must have run
// once before anything else is asked.
func Open(rawURL string, opts Options) (*Store, error) {
	opts = opts.withDefaults()
	config, err := parseURL(rawURL)
	if err != nil {
		return nil, err
	}
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, rondo.Op("mysql: open", err)
	}
	steps, err := sqlstore.LoadMigrations(files)
	if err != nil {
		return nil, rondo.Op("mysql: open", err)
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, badURL()
	}
	db := sql.OpenDB(&sessions{Connector: connector, setup: setup(opts)})
	db.SetMaxOpenConns(opts.MaxConns)
	db.SetMaxIdleConns(opts.MaxConns)
	db.SetConnMaxIdleTime(5 * time.Minute)
	tables := sqlstore.NewTables()
	dialect := &sqlstore.Dialect{
		Name:       "mysql",
		Lock:       " FOR UPDATE",
		SkipLocked: " FOR UPDATE SKIP LOCKED",
		LockCase: func(key rondo.CaseKey) (string, []any) {
			return "SELECT case_id FROM cases WHERE org_id = ? AND case_id = ? FOR UPDATE", []any{key.OrgID, key.CaseID}
		},
		LockRows:   true,
		Contains:   "INSTR(%s, ?) > 0",
		Ignore:     "ON DUPLICATE KEY UPDATE %s = %s",
		BigInt:     "SIGNED",
		Head:       "SELECT seq FROM log_head WHERE id = 1",
		ListIndex:  " FORCE INDEX (instances_listed)",
		Unique:     func(err error) bool { return hasNumber(err, duplicateEntry) },
		Fault:      faultOf,
		Migrations: steps,
	}
	return &Store{
		Cold:     sqlstore.NewCold(&connections{db: db}, dialect, tables),
		db:       db,
		tables:   tables,
		texts:    newTexts(tables),
		runTexts: newRunTexts(tables),
		embedded: opts.Embedded,
	}, nil
}

// parseURL reads a URL; the driver knows only its own form.
func parseURL(rawURL string) (*mysql.Config, error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Scheme != "mysql" && u.Scheme != "mariadb" || u.Hostname() == "" || strings.Trim(u.Path, "/") == "" {
		return nil, badURL()
	}
	port := u.Port()
	if port == "" {
		port = "3306"
	}
	config, err := mysql.ParseDSN("/?" + u.RawQuery)
	if err != nil {
		return nil, badURL()
	}
	config.User = u.User.Username()
	config.Passwd, _ = u.User.Password()
	config.Net, config.Addr = "tcp", net.JoinHostPort(u.Hostname(), port)
	config.DBName = strings.Trim(u.Path, "/")
	config.MultiStatements = true
	config.InterpolateParams = true
	config.MaxAllowedPacket = 0 // ask the server: a packet that it would not take is not sent
	config.Loc = time.UTC
	config.Collation = "utf8mb4_general_ci" // known to all versions; columns are binary
	return config, nil
}

// badURL leaves the cause out: it may repeat the password.
func badURL() error {
	return &rondo.Error{
		Code: rondo.CodeInvalid, Op: "mysql: open", Message: "the database URL cannot be read",
		Hint: "write it as mysql://user:password@host:3306/database",
	}
}

// sessions sets up every new connection.
type sessions struct {
	sqldriver.Connector
	setup string
}

func setup(opts Options) string {
	seconds := max(int64(opts.LockTimeout/time.Second), 1)
	return "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; " +
		"SET SESSION sql_mode = 'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION', " +
		"time_zone = '+00:00', innodb_lock_wait_timeout = " + integer(seconds)
}

// Connect implements driver.Connector.
func (s *sessions) Connect(ctx context.Context) (sqldriver.Conn, error) {
	conn, err := s.Connector.Connect(ctx)
	if err != nil {
		return nil, &sqlstore.UnreachableError{Err: err}
	}
	execer, ok := conn.(sqldriver.ExecerContext)
	if !ok {
		return nil, errors.Join(errors.New("mysql: connection cannot execute"), conn.Close())
	}
	if _, err := execer.ExecContext(ctx, s.setup, nil); err != nil {
		return nil, errors.Join(&sqlstore.UnreachableError{Err: err}, conn.Close())
	}
	return conn, nil
}
