package sqlite

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/rondo-engine/rondo/store/internal/sqlstore"
)

// A caller may give up at any moment of a write, also just when the database has
// begun or committed: the next write must find the connection free.
func TestAWriteGivenUpLeavesNoTransactionOpen(t *testing.T) {
	w, err := openWriter(filepath.Join(t.TempDir(), "rondo.db"), Options{Synchronous: "OFF", Readers: 1, BusyTimeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	write := func(ctx context.Context) error {
		return w.Write(ctx, func(q sqlstore.Querier) error {
			_, err := q.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS things (n INTEGER)")
			return err
		})
	}
	for i := range 3000 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%300)*time.Microsecond)
		_ = write(ctx) // whether it was given up is chance
		cancel()
		if err := write(t.Context()); err != nil {
			t.Fatalf("after %d writes that were given up: %v", i+1, err)
		}
	}
}
