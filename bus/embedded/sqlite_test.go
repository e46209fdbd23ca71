package embedded_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/rondo-engine/rondo/bus/bustest"
	"github.com/rondo-engine/rondo/bus/embedded"
	"github.com/rondo-engine/rondo/store/sqlite"
)

// Every process has its own connection to one file, as two rondo processes have.
func TestConformanceOnSQLite(t *testing.T) {
	if testing.Short() {
		t.Skip("takes real time")
	}
	bustest.Run(t, bustest.Harness{
		Open:   func(t *testing.T) bustest.Storage { return file(filepath.Join(t.TempDir(), "rondo.db")) },
		Stress: 3000,
	})
}

// file is the path of a database.
type file string

func (f file) open(t testing.TB) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(string(f), sqlite.Options{Embedded: true, Synchronous: sqlite.Normal})
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

func (f file) Process(t *testing.T) bustest.Process {
	s := f.open(t)
	log := &mortalLog{Log: s}
	b := newBus(s, log, embedded.Options{LeaseTTL: time.Second, Standby: 50 * time.Millisecond})
	return bustest.Process{Bus: b, Trim: b.Trim, Kill: func() { log.dead.Store(true) }}
}

func (f file) Stored(t *testing.T, stream string) int {
	entries, err := f.open(t).LogRead(t.Context(), []string{stream}, 0, 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func BenchmarkPublishFetchAckOnSQLite(b *testing.B) {
	s := file(filepath.Join(b.TempDir(), "rondo.db")).open(b)
	p := newBus(s, s, embedded.Options{})
	defer p.Close()
	bustest.BenchmarkPublishFetchAck(b, p, 128)
}
