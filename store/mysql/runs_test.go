package mysql_test

import (
	"testing"

	"github.com/rondo-engine/rondo/internal/testenv"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/mysql"
	"github.com/rondo-engine/rondo/store/storetest"
)

func TestRuns(t *testing.T) {
	handles := map[store.Store]func() store.Store{}
	storetest.Runs(t, storetest.Harness{
		Open: func(t *testing.T, opts storetest.Options) store.Store {
			url := testenv.MySQL(t)
			open := func() store.Store { return openURL(t, url, mysql.Options{Embedded: opts.Embedded}) }
			first := open()
			handles[first] = open
			return first
		},
		Again: func(_ *testing.T, first store.Store) store.Store { return handles[first]() },
	})
}

func BenchmarkRuns(b *testing.B) {
	s := openURL(b, testenv.MySQL(b), mysql.Options{})
	if err := s.Migrate(b.Context()); err != nil {
		b.Fatal(err)
	}
	storetest.BenchmarkRuns(b, s)
}
