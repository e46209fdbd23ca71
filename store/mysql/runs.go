package mysql

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/internal/sqlstore"
)

// runTexts are the fixed parts of the statements that commit runs.
type runTexts struct {
	flights, entries                   string // up to the condition
	newRuns, steps, keep, newFlights   string // up to VALUES
	artifacts, uses, raised            string
	replaceStep, replaceEntry, retaken string // after the rows
	change                             string
}

func newRunTexts(t *sqlstore.Tables) *runTexts {
	insert := func(table *sqlstore.Table) string {
		return "INSERT INTO " + table.Name + " (" + table.Names("") + ") VALUES "
	}
	replace := func(columns []sqlstore.Column) string {
		set := make([]string, len(columns))
		for i, c := range columns {
			set[i] = c.Name + " = VALUES(" + c.Name + ")"
		}
		return " ON DUPLICATE KEY UPDATE " + strings.Join(set, ", ")
	}
	var change []string
	for _, c := range t.Runs.Columns[sqlstore.RunFixed:] {
		change = append(change, c.Name+" = ?")
	}
	return &runTexts{
		flights: "SELECT " + t.Flights.Names("") + " FROM flights WHERE ", entries: "SELECT " + t.StepCache.Names("") + " FROM step_cache WHERE ",
		newRuns: insert(&t.Runs), steps: insert(&t.RunSteps), keep: insert(&t.StepCache), newFlights: insert(&t.Flights),
		artifacts: insert(&t.Artifacts), uses: insert(&t.ArtifactUses), raised: insert(&t.Raised),
		replaceStep:  replace(t.RunSteps.Columns[sqlstore.RunStepKey:]),
		replaceEntry: replace(t.StepCache.Columns[sqlstore.StepCacheKey:]),
		retaken:      replace(t.Flights.Columns[2:]),
		change:       "UPDATE runs SET " + strings.Join(change, ", ") + " WHERE id = ?",
	}
}

// CommitRuns implements store.Runs: two round trips. The first locks the runs and
// then the flights, in one order for all, and reads them; the second writes and
// commits. A name that had neither flight nor entry cannot be locked: if it has one
// by the time it is written, the whole is decided again.
func (s *Store) CommitRuns(ctx context.Context, c store.RunCommit) ([]store.RunResult, error) {
	if len(c.Writes) == 0 {
		return nil, nil
	}
	var results []store.RunResult
	err := races().Commit(func() (err error) {
		results, err = s.commitRunsOnce(ctx, &c)
		return err
	})
	if err = s.explain(ctx, err); err != nil {
		s.forget(err)
		return nil, err
	}
	return results, nil
}

func (s *Store) commitRunsOnce(ctx context.Context, c *store.RunCommit) ([]store.RunResult, error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, &sqlstore.UnreachableError{Err: err}
	}
	defer conn.Close()
	loaded, err := s.loadRuns(ctx, conn, c)
	if err != nil {
		return nil, rollback(ctx, conn, err)
	}
	plan, err := sqlstore.PlanRuns("mysql", c, loaded)
	if err != nil {
		return nil, rollback(ctx, conn, err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sqlstore.CommitTimeout)
	defer cancel()
	return plan.Results, s.writeRuns(ctx, conn, plan)
}

func (s *Store) loadRuns(ctx context.Context, conn *sql.Conn, c *store.RunCommit) (*sqlstore.RunsLoaded, error) {
	want, loaded := sqlstore.WantedBy(c), sqlstore.NewRunsLoaded()
	var r reading
	r.text = append(r.text, "BEGIN"...)
	r.end()
	ids := make([]any, len(want.Runs))
	for i, id := range want.Runs {
		ids[i] = sqlstore.ID(id)
	}
	r.text = append(r.text, "SELECT id, tenant_id, status, fence FROM runs WHERE id IN ("...)
	r.text = appendRow(r.text, ids)
	r.text = append(r.text, ") ORDER BY id FOR UPDATE"...)
	r.add(loaded.KeepRun)
	if len(want.Flights) > 0 {
		r.text = append(r.text, s.runTexts.flights...)
		r.text = appendFlights(r.text, want.Flights)
		r.text = append(r.text, " ORDER BY tenant_id, name FOR UPDATE"...)
		r.add(loaded.KeepFlight)
	}
	if len(want.Takeoffs) > 0 {
		r.text = append(r.text, s.runTexts.entries...)
		r.text = appendFlights(r.text, want.Takeoffs)
		r.add(loaded.KeepEntry)
		r.text = appendStatement(r.text, sqlstore.AliveOwners, []any{c.At.UnixMicro()})
		r.add(loaded.KeepOwner)
	}
	return loaded, r.run(ctx, conn)
}

func appendFlights(b []byte, keys []sqlstore.FlightKey) []byte {
	return appendKeys(b, "tenant_id", "name", keys,
		func(k sqlstore.FlightKey) string { return k.Tenant }, func(k sqlstore.FlightKey) any { return []byte(k.Name) })
}

// writeRuns writes a plan and commits it in one packet.
func (s *Store) writeRuns(ctx context.Context, conn *sql.Conn, plan *sqlstore.RunPlan) error {
	server, err := s.settings(ctx, conn)
	if err != nil {
		return rollback(ctx, conn, err)
	}
	w := &writing{Store: s, packet: newPacket(conn, server.packet), stride: server.stride, seqs: make([]int64, len(plan.Outgoing))}
	if err := w.runs(ctx, plan); err != nil {
		return rollback(ctx, conn, runRefusal(s, err))
	}
	if err := w.outgoing(ctx, plan.Outgoing); err != nil {
		return rollback(ctx, conn, runRefusal(s, err))
	}
	w.add("COMMIT")
	w.statement()
	if err := w.send(ctx); err != nil {
		if _, ok := errors.AsType[*mysql.MySQLError](err); !ok && faultOf(err) != sqlstore.Oversize {
			_ = conn.Raw(func(any) error { return sqldriver.ErrBadConn })
			return sqlstore.Ambiguous("mysql: commit", err)
		}
		return rollback(ctx, conn, runRefusal(s, err))
	}
	plan.Numbered(w.seqs)
	return nil
}

// runRefusal says which guard stopped a packet: another brought a run, a flight or
// an entry first, or a stream got its first group. Deciding again sees it.
func runRefusal(s *Store, err error) error {
	switch {
	case hasNumber(err, columnNull) && strings.Contains(err.Error(), "'seq'"):
		s.streams.Forget()
		return sqlstore.ErrAgain
	case hasNumber(err, duplicateEntry, outOfRange):
		return errors.Join(sqlstore.ErrAgain, err)
	default:
		return err
	}
}

// runs appends everything of a plan but its events.
func (w *writing) runs(ctx context.Context, plan *sqlstore.RunPlan) error {
	x := w.runTexts
	for _, run := range plan.Runs {
		w.text = appendStatement(w.text, x.change, append(run[1:len(run):len(run)], run[0]))
		w.statement()
	}
	for _, insert := range []struct {
		head string
		rows [][]any
		tail string
	}{
		{x.newRuns, plan.NewRuns, ""},
		{x.newFlights, plan.NewFlights, ""},
		{x.newFlights, plan.Flights, x.retaken},
		{x.steps, plan.Steps, x.replaceStep},
		{x.keep, plan.Entries, x.replaceEntry},
		{x.artifacts, plan.Artifacts, ""},
		{x.raised, plan.Raised, " ON DUPLICATE KEY UPDATE event_id = event_id"},
	} {
		if err := w.insert(ctx, insert.head, insert.rows, insert.tail, nil); err != nil {
			return err
		}
	}
	if len(plan.Unknown) > 0 {
		w.add("SELECT 18446744073709551615 + IF((SELECT COUNT(*) FROM step_cache WHERE ")
		w.text = appendFlights(w.text, flightKeys(plan.Unknown))
		w.add(") = 0, 0, 1)")
		w.statement()
	}
	if len(plan.Landed) > 0 {
		w.add("DELETE FROM flights WHERE ")
		w.text = appendFlights(w.text, flightKeys(plan.Landed))
		w.statement()
	}
	if len(plan.ReplacedEntries) > 0 {
		w.add("INSERT IGNORE INTO artifact_uses (artifact_id, used_by) SELECT artifact_id, X'00' FROM artifact_uses WHERE used_by IN (")
		w.text = appendRow(w.text, plan.ReplacedEntries)
		w.add(")")
		w.statement()
	}
	w.remove("artifact_uses WHERE used_by", plan.ReplacedEntries)
	w.remove("run_signals WHERE id", plan.Obeyed)
	w.remove("run_signals WHERE run_id", plan.EndedRuns)
	return w.insert(ctx, x.uses, plan.Uses, " ON DUPLICATE KEY UPDATE artifact_id = artifact_id", nil)
}

func (w *writing) remove(from string, values []any) {
	if len(values) == 0 {
		return
	}
	w.add("DELETE FROM " + from + " IN (")
	w.text = appendRow(w.text, values)
	w.add(")")
	w.statement()
}

// flightKeys are rows of tenant and name; they come sorted.
func flightKeys(rows [][]any) []sqlstore.FlightKey {
	keys := make([]sqlstore.FlightKey, len(rows))
	for i, row := range rows {
		tenant, _ := row[0].(string)
		name, _ := row[1].([]byte)
		keys[i] = sqlstore.FlightKey{Tenant: tenant, Name: string(name)}
	}
	return keys
}
