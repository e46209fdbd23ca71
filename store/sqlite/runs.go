package sqlite

import (
	"context"
	sqldriver "database/sql/driver"
	"fmt"
	"strings"

	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/internal/sqlstore"
)

// runQueries are the texts of the statements that commit runs.
type runQueries struct {
	alive, runHead, insertRun    string
	stepOn, change               string // a run whose status and owner stay, or not
	step                         string
	takeOff, flight, entry, take string
	land, keep                   string
	artifact, use, raised        string
	replaced, dropUses           string // what an entry used goes to those that were replaced
	obeyed, dropSignals          string
}

func newRunQueries(t *sqlstore.Tables) runQueries {
	insert := func(table *sqlstore.Table) string {
		return "INSERT INTO " + table.Name + " (" + table.Names("") + ") VALUES (" + sqlstore.Marks(len(table.Columns)) + ")"
	}
	set := func(columns []sqlstore.Column, value string) string {
		var names []string
		for _, c := range columns {
			names = append(names, c.Name+" = "+strings.ReplaceAll(value, "%s", c.Name))
		}
		return strings.Join(names, ", ")
	}
	const row = " WHERE tenant_id = ?1 AND name = ?2"
	return runQueries{
		alive:     sqlstore.AliveOwners,
		runHead:   "SELECT tenant_id, status, fence FROM runs WHERE id = ?",
		insertRun: insert(&t.Runs) + " ON CONFLICT DO NOTHING",
		// Columns of an index are left out: SQLite would delete and insert its entries.
		stepOn: "UPDATE runs SET seq = ?, total_steps = ?, started_at = ?, error = ? WHERE id = ? AND tenant_id = ? AND fence = ? AND status = ? AND owner = ? AND live = 1",
		change: "UPDATE runs SET " + set(t.Runs.Columns[sqlstore.RunFixed:], "?") + " WHERE id = ?",
		step:   "REPLACE" + strings.TrimPrefix(insert(&t.RunSteps), "INSERT"),
		takeOff: "INSERT INTO flights (tenant_id, name, owner, fence) SELECT ?1, ?2, ?3, 1 WHERE NOT EXISTS (SELECT 1 FROM step_cache" + row + ") " +
			"ON CONFLICT DO NOTHING",
		flight:      "SELECT owner, fence FROM flights" + row,
		entry:       "SELECT " + t.StepCache.Names("") + " FROM step_cache" + row,
		take:        "REPLACE INTO flights (tenant_id, name, owner, fence) VALUES (?, ?, ?, ?)",
		land:        "DELETE FROM flights" + row + " AND owner = ?3 AND fence = ?4",
		keep:        insert(&t.StepCache) + " ON CONFLICT (tenant_id, name) DO UPDATE SET " + set(t.StepCache.Columns[sqlstore.StepCacheKey:], "excluded.%s"),
		artifact:    insert(&t.Artifacts),
		use:         insert(&t.ArtifactUses) + " ON CONFLICT DO NOTHING",
		replaced:    "INSERT OR IGNORE INTO artifact_uses (artifact_id, used_by) SELECT artifact_id, ?1 FROM artifact_uses WHERE used_by = ?2",
		dropUses:    "DELETE FROM artifact_uses WHERE used_by = ?",
		raised:      insert(&t.Raised) + " ON CONFLICT DO NOTHING",
		obeyed:      "DELETE FROM run_signals WHERE id = ?",
		dropSignals: "DELETE FROM run_signals WHERE run_id = ?",
	}
}

// CommitRuns implements store.Runs: one write transaction of one-row statements.
// The first statement of a write is the one that may be refused, so that nothing
// has to be undone.
func (s *Store) CommitRuns(ctx context.Context, c store.RunCommit) ([]store.RunResult, error) {
	if len(c.Writes) == 0 {
		return nil, nil
	}
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.unlock()
	var results []store.RunResult
	err := s.patiently(ctx, func() error {
		return s.conn.Raw(func(dc any) error {
			conn, ok := dc.(sqldriver.Conn)
			if !ok {
				return fmt.Errorf("connection is %T", dc)
			}
			var err error
			results, err = s.commitRuns(&runBatch{batch: batch{Store: s, conn: conn}, q: &s.runQueries, commit: &c})
			return err
		})
	})
	if err != nil {
		return nil, s.explain(err)
	}
	return results, nil
}

func (s *Store) commitRuns(b *runBatch) ([]store.RunResult, error) {
	if _, err := b.exec("BEGIN IMMEDIATE"); err != nil {
		return nil, err
	}
	results, err := b.fill()
	if err != nil {
		_, _ = b.exec("ROLLBACK") // fails when the database has already undone it
		return nil, err
	}
	if _, err := b.exec("COMMIT"); err != nil {
		s.hot.forget()
		_, _ = b.exec("ROLLBACK")
		if isBusy(err) {
			return nil, err
		}
		return nil, sqlstore.Ambiguous("sqlite: commit", err)
	}
	return results, nil
}

// runBatch is one write transaction of runs.
type runBatch struct {
	batch
	q      *runQueries
	commit *store.RunCommit
	owners map[string]bool // who is alive; nil until someone asks
}

// fill does everything between BEGIN and COMMIT: all writes, then all takeoffs.
func (b *runBatch) fill() ([]store.RunResult, error) {
	results := make([]store.RunResult, len(b.commit.Writes))
	for i := range b.commit.Writes {
		w, result := &b.commit.Writes[i], &results[i]
		refused, err := b.putRun(w, result)
		if err != nil {
			return nil, err
		}
		if result.Err = refused; refused != nil {
			continue
		}
		if err := b.putRest(w); err != nil {
			return nil, err
		}
		if err := b.land(w, result); err != nil {
			return nil, err
		}
		if result.Seqs, err = b.send(w.Outbox); err != nil {
			return nil, err
		}
	}
	for i := range b.commit.Writes {
		if results[i].Err != nil {
			continue
		}
		if err := b.takeOff(&b.commit.Writes[i], &results[i]); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// changes runs a statement and returns how many rows it changed.
func (b *runBatch) changes(query string, values ...any) (int64, error) {
	result, err := b.exec(query, values...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}
