package embedded_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/rondo-engine/rondo/bus/bustest"
	"github.com/rondo-engine/rondo/bus/embedded"
	"github.com/rondo-engine/rondo/internal/testenv"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/mysql"
	"github.com/rondo-engine/rondo/store/postgres"
	"github.com/rondo-engine/rondo/store/sqlite"
)

// database opens connections of its own to the same database, as every rondo
// process does.
type database func() (store.Store, error)

func sqliteFile(t testing.TB) database {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rondo.db")
	return func() (store.Store, error) {
		return sqlite.Open(path, sqlite.Options{Embedded: true, Synchronous: sqlite.Normal})
	}
}

func postgresServer(t testing.TB) database {
	t.Helper()
	url := testenv.Postgres(t)
	return func() (store.Store, error) { return postgres.Open(url, postgres.Options{Embedded: true}) }
}

func mysqlServer(t testing.TB) database {
	t.Helper()
	url := testenv.MySQL(t)
	return func() (store.Store, error) { return mysql.Open(url, mysql.Options{Embedded: true}) }
}

func TestConformanceOnDatabases(t *testing.T) {
	if testing.Short() {
		t.Skip("takes real time")
	}
	for name, create := range map[string]func(testing.TB) database{
		"sqlite": sqliteFile, "postgres": postgresServer, "mysql": mysqlServer,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // they mostly wait
			bustest.Run(t, bustest.Harness{
				Open:   func(t *testing.T) bustest.Storage { return create(t) },
				Stress: 3000,
			})
		})
	}
}

func (d database) open(t testing.TB) store.Store {
	t.Helper()
	s, err := d()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close store: %v", err)
		}
	})
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func (d database) Process(t *testing.T) bustest.Process {
	t.Helper()
	s := d.open(t)
	log := &mortalLog{Log: s}
	b := newBus(s, log, embedded.Options{LeaseTTL: time.Second, Standby: 50 * time.Millisecond})
	return bustest.Process{Bus: b, Trim: b.Trim, Kill: func() { log.dead.Store(true) }}
}

func (d database) Stored(t *testing.T, stream string) int {
	t.Helper()
	entries, err := d.open(t).LogRead(t.Context(), []string{stream}, 0, 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func BenchmarkPublishFetchAckOnSQLite(b *testing.B) {
	s := sqliteFile(b).open(b)
	p := newBus(s, s, embedded.Options{})
	defer p.Close()
	bustest.BenchmarkPublishFetchAck(b, p, 128)
}
