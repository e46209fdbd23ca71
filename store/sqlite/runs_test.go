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
