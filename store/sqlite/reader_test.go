package sqlite

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// However many keys are asked about, the statements that are kept are few, and they
// are closed with the store.
func TestLookupsArePreparedAndFew(t *testing.T) {
	t.Parallel()
	s, err := Open(filepath.Join(t.TempDir(), "runs.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	var keys []string
	for n := range 700 {
		keys = append(keys, fmt.Sprint("key ", n))
		if n > 20 && n%50 != 0 {
			continue
		}
		if _, err := s.LookupCache(t.Context(), "acme", keys, time.Now()); err != nil {
			t.Fatal(err)
		}
		if _, err := s.CacheStamps(t.Context(), "acme", keys); err != nil {
			t.Fatal(err)
		}
	}
	if kept := len(s.reader.kept); kept == 0 || kept > 20 {
		t.Errorf("%d statements are kept, want a few", kept)
	}
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}
