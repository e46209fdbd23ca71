package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/sqlite"
	"github.com/rondo-engine/rondo/store/storetest"
)

func TestConformance(t *testing.T) {
	files := map[store.Store]func() store.Store{}
	storetest.Run(t, storetest.Harness{
		Open: func(t *testing.T, opts storetest.Options) store.Store {
			path := filepath.Join(t.TempDir(), "rondo.db")
			open := func() store.Store { return openFile(t, path, sqlite.Options{Embedded: opts.Embedded}) }
			first := open()
			files[first] = open
			return first
		},
		Again: func(_ *testing.T, first store.Store) store.Store { return files[first]() },
	})
}

func openFile(t testing.TB, path string, opts sqlite.Options) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(path, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func BenchmarkUpdate(b *testing.B) {
	storetest.Benchmark(b, func(b *testing.B, opts storetest.Options) store.Store {
		return openFile(b, filepath.Join(b.TempDir(), "rondo.db"), sqlite.Options{Embedded: opts.Embedded})
	})
}
