package sqlite

import (
	"path/filepath"
	"testing"
)

func TestSynchronousIsWhatTheWriterUses(t *testing.T) {
	for level, want := range map[Synchronous]int{"": 2, Full: 2, Normal: 1} { // as SQLite numbers them
		s, err := Open(filepath.Join(t.TempDir(), "level.db"), Options{Synchronous: level})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		var got int
		if err := s.conn.QueryRowContext(t.Context(), "PRAGMA synchronous").Scan(&got); err != nil || got != want {
			t.Errorf("level %q is %d (%v), want %d", level, got, err, want)
		}
	}
}
