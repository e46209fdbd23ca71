package mysql_test

import (
	"testing"

	"github.com/rondo-engine/rondo/internal/testenv"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/mysql"
	"github.com/rondo-engine/rondo/store/storetest"
)

func TestConformance(t *testing.T) {
	handles := map[store.Store]func() store.Store{}
	storetest.Run(t, storetest.Harness{
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

func BenchmarkUpdate(b *testing.B) {
	storetest.Benchmark(b, func(b *testing.B, opts storetest.Options) store.Store {
		return openURL(b, testenv.MySQL(b), mysql.Options{Embedded: opts.Embedded})
	})
}

func openURL(t testing.TB, url string, opts mysql.Options) *mysql.Store {
	t.Helper()
	s, err := mysql.Open(url, opts)
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
