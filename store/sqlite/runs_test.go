package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/sqlite"
	"github.com/rondo-engine/rondo/store/storetest"
)

func TestRuns(t *testing.T) {
	files := map[store.Store]func() store.Store{}
	storetest.Runs(t, storetest.Harness{
		Open: func(t *testing.T, opts storetest.Options) store.Store {
			path := filepath.Join(t.TempDir(), "rondo.db")
			open := func() store.Store {
				return openFile(t, path, sqlite.Options{Embedded: opts.Embedded, Synchronous: sqlite.Normal})
			}
			first := open()
			files[first] = open
			return first
		},
		Again: func(_ *testing.T, first store.Store) store.Store { return files[first]() },
	})
}

func BenchmarkRuns(b *testing.B) {
	for _, level := range []sqlite.Synchronous{sqlite.Full, sqlite.Normal} {
		b.Run(string(level), func(b *testing.B) {
			s := openFile(b, filepath.Join(b.TempDir(), "rondo.db"), sqlite.Options{Synchronous: level})
			if err := s.Migrate(b.Context()); err != nil {
				b.Fatal(err)
			}
			storetest.BenchmarkRuns(b, s)
		})
	}
}
