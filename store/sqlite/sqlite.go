// Package sqlite keeps everything in one SQLite file: the embedded default, with
// nothing to install and nothing to run.
//
// # How it works
//
//   - One connection writes, under a lock of this process; BEGIN IMMEDIATE keeps
//     other processes on the same file out for the length of a transaction. That
//     is what makes Updates of a case serial: there is no lock row.
//   - Statements of the write path are prepared once and run row by row below
//     database/sql: measured, that beats multi-row statements on this driver.
//   - Reads go to a pool of their own; in WAL mode they never wait for the writer.
//   - Every commit is synced to disk before Update returns, unless
//     Options.Synchronous says otherwise.
//
// It imports the root package, the port, internal/sqlstore and the driver.
package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"time"

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

// Synchronous is how much of a crash a commit survives.
type Synchronous string

// The levels of durability.
const (
	// Full survives a loss of power.
	Full Synchronous = "FULL"
	// Normal survives a crash of the program; a loss of power may undo the newest
	// commits but never corrupts the file.
	Normal Synchronous = "NORMAL"
)

// Options say how a file is opened. The zero value works.
type Options struct {
	// Embedded writes Write.Outbox to the Log, for the embedded bus, instead of
	// the Outbox. Default false.
	Embedded bool
	// Synchronous is the durability of commits. Default Full.
	Synchronous Synchronous
	// Readers is how many connections read at once. Default 4.
	Readers int
	// BusyTimeout is how long a write waits for another process on the same file.
	// Default 30 s.
	BusyTimeout time.Duration
}

func (o Options) withDefaults() Options {
	if o.Synchronous == "" {
		o.Synchronous = Full
	}
	if o.Readers <= 0 {
		o.Readers = 4
	}
	if o.BusyTimeout <= 0 {
		o.BusyTimeout = 30 * time.Second
	}
	return o
}

// Store is a store in one file. It is safe for concurrent use.
type Store struct {
	*sqlstore.Cold
	*writer
	tables     *sqlstore.Tables
	queries    queries
	runQueries runQueries
	embedded   bool
	streams    sqlstore.Streams
}

// Open opens the file at path, creating it when it is missing. Migrate must have
// run once before anything else is asked of the store.
func Open(path string, opts Options) (*Store, error) {
	opts = opts.withDefaults()
	if opts.Synchronous != Full && opts.Synchronous != Normal {
		return nil, rondo.Invalid(fmt.Sprintf("synchronous is %q: use FULL or NORMAL", opts.Synchronous))
	}
	if path == "" {
		return nil, rondo.Invalid("the path of the SQLite file is empty: give one, for example rondo.db")
	}
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, rondo.Op("sqlite: open", err)
	}
	steps, err := sqlstore.LoadMigrations(files)
	if err != nil {
		return nil, rondo.Op("sqlite: open", err)
	}
	connections, err := openWriter(path, opts)
	if err != nil {
		return nil, sqlstore.Unavailable("sqlite: open "+path, err)
	}
	tables := sqlstore.NewTables()
	dialect := &sqlstore.Dialect{
		Name:       "sqlite",
		Contains:   "instr(%s, ?) > 0",
		Ignore:     "ON CONFLICT DO NOTHING",
		BigInt:     "INTEGER",
		Head:       headQuery,
		Unique:     isUnique,
		Fault:      faultOf,
		Migrations: steps,
	}
	return &Store{
		Cold:       sqlstore.NewCold(connections, dialect, tables),
		writer:     connections,
		tables:     tables,
		queries:    newQueries(tables),
		runQueries: newRunQueries(tables),
		embedded:   opts.Embedded,
	}, nil
}

// Writers is 1: a file has one writer, and what queues up behind it makes the
// next batch larger.
func (s *Store) Writers() int { return 1 }

// Close releases the file.
func (s *Store) Close() error { return s.writer.Close() }

// headQuery is the highest number of the log: entries have it, and log_head
// keeps it when they are trimmed.
const headQuery = "SELECT MAX(COALESCE((SELECT seq FROM log_entries ORDER BY seq DESC LIMIT 1), 0), " +
	"(SELECT seq FROM log_head WHERE id = 1))"

func dsn(path string, pragmas ...string) string {
	values := url.Values{"_pragma": pragmas}
	return "file:" + (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath() + "?" + values.Encode()
}

// openPool opens database/sql on the file.
func openPool(path string, size int, pragmas ...string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", dsn(path, pragmas...))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	return db, nil
}

var _ sqlstore.Runner = (*writer)(nil)

// Reader implements sqlstore.Runner.
func (w *writer) Reader() sqlstore.Querier { return w.reader }

// MigrationLock implements sqlstore.Runner: a write transaction keeps other
// processes out, and the schema changes whole or not at all.
func (w *writer) MigrationLock(ctx context.Context, work func(sqlstore.Querier) error) error {
	return w.Write(ctx, work)
}
