package mysql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
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

// Connections die while runs are committed. What succeeded is there, what failed is
// not, and what the store cannot know it says so about.
func TestLostConnectionsAndCommitsOfRuns(t *testing.T) {
	ctx := t.Context()
	address := testenv.MySQL(t)
	s := openURL(t, address, mysql.Options{})
	if err := s.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	ids, now := rondo.NewIDs(time.Now), time.Now()
	db := connect(t, address)
	var killing sync.WaitGroup
	done := make(chan struct{})
	killing.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				killOne(ctx, db)
			}
		}
	})
	outcome := map[rondo.ID]error{}
	for range 60 {
		run := &rondo.Run{ID: ids.New(), TenantID: "acme", WorkflowName: "w", Status: rondo.RunRunning, CreatedAt: now}
		results, err := s.CommitRuns(ctx, store.RunCommit{Owner: "owner", At: now, Writes: []store.RunWrite{{Run: run, Insert: true}}})
		if err == nil && results[0].Err != nil {
			t.Errorf("a new run was refused: %v", results[0].Err)
		}
		outcome[run.ID] = err
	}
	close(done)
	killing.Wait()
	for id, err := range outcome {
		if errors.Is(err, store.ErrAmbiguous) {
			continue
		}
		var found error
		for range 20 { // connections that were killed last are found dead first
			if _, found = s.Run(ctx, "acme", id); rondo.CodeOf(found) != rondo.CodeUnavailable {
				break
			}
		}
		if there := found == nil; there != (err == nil) {
			t.Errorf("a commit said %v, and the run: %v", err, found)
		}
	}
}

// killOne ends the connection to the database that is at work for longest. Failing
// is fine: it may be gone already.
func killOne(ctx context.Context, db *sql.DB) {
	var id int64
	row := db.QueryRowContext(ctx, "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID() ORDER BY id LIMIT 1")
	if row.Scan(&id) == nil {
		_, _ = db.ExecContext(ctx, fmt.Sprint("KILL ", id))
	}
}
