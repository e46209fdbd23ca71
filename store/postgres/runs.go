package postgres

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/internal/sqlstore"
)

// runQueries are the texts of the statements that commit runs. All take arrays.
type runQueries struct {
	alive, runs, flights, entries                   string
	newRuns, changeRuns, steps, keep                string
	newFlights, stillUnknown, changeFlights, landed string
	artifacts, uses, raised                         string
	obeyed, endedRuns, replacedEntries              string
	changed                                         *sqlstore.Table // what changeRuns takes
}

func newRunQueries(t *sqlstore.Tables) *runQueries {
	insert := func(table *sqlstore.Table, tail string) string {
		return "INSERT INTO " + table.Name + " (" + table.Names("") + ") SELECT * FROM unnest(" + parameters(table, "[]", 1) + ")" + tail
	}
	replace := func(table *sqlstore.Table, key int) string {
		return insert(table, " ON CONFLICT ("+names(table.Columns[:key])+") DO UPDATE SET "+assign(table.Columns[key:], "excluded"))
	}
	const keys = " FROM unnest($1::text[], $2::bytea[]) AS k (tenant, name) JOIN "
	state := t.Runs.Columns[sqlstore.RunFixed:]
	q := &runQueries{
		alive: sqlstore.Number(sqlstore.AliveOwners),
		runs:  "SELECT id, tenant_id, status, fence FROM runs WHERE id = ANY($1::uuid[]) ORDER BY id FOR UPDATE",
		flights: "SELECT " + t.Flights.Names("f.") + keys + "flights f ON f.tenant_id = k.tenant AND f.name = k.name " +
			"ORDER BY f.tenant_id, f.name FOR UPDATE OF f",
		entries:      "SELECT " + t.StepCache.Names("c.") + keys + "step_cache c ON c.tenant_id = k.tenant AND c.name = k.name",
		newRuns:      insert(&t.Runs, ""),
		steps:        replace(&t.RunSteps, sqlstore.RunStepKey),
		keep:         replace(&t.StepCache, sqlstore.StepCacheKey),
		newFlights:   insert(&t.Flights, ""),
		stillUnknown: "SELECT 1 / (COUNT(*) = 0)::int" + keys + "step_cache c ON c.tenant_id = k.tenant AND c.name = k.name",
		artifacts:    insert(&t.Artifacts, ""),
		uses:         insert(&t.ArtifactUses, " ON CONFLICT DO NOTHING"),
		raised:       insert(&t.Raised, " ON CONFLICT DO NOTHING"),
		changeFlights: "UPDATE flights f SET owner = v.owner, fence = v.fence FROM unnest(" + parameters(&t.Flights, "[]", 1) + ") AS v (" + t.Flights.Names("") + ") " +
			"WHERE f.tenant_id = v.tenant_id AND f.name = v.name",
		landed:    "DELETE FROM flights f USING unnest($1::text[], $2::bytea[]) AS v (tenant, name) WHERE f.tenant_id = v.tenant AND f.name = v.name",
		obeyed:    "DELETE FROM run_signals WHERE id = ANY($1::uuid[])",
		endedRuns: "DELETE FROM run_signals WHERE run_id = ANY($1::uuid[])",
		replacedEntries: "WITH gone AS (DELETE FROM artifact_uses WHERE used_by = ANY($1::bytea[]) RETURNING artifact_id) " +
			"INSERT INTO artifact_uses (artifact_id, used_by) SELECT artifact_id, '\\x00'::bytea FROM gone ON CONFLICT DO NOTHING",
	}
	q.changed = &sqlstore.Table{Name: t.Runs.Name, Columns: slices.Concat(t.Runs.Columns[:1], state)}
	q.changeRuns = "UPDATE runs r SET " + assign(state, "v") + " FROM unnest(" + parameters(q.changed, "[]", 1) + ") AS v (" + q.changed.Names("") + ") WHERE r.id = v.id"
	return q
}

func names(columns []sqlstore.Column) string { return (&sqlstore.Table{Columns: columns}).Names("") }

// assign sets columns to those of the same name of another row.
func assign(columns []sqlstore.Column, from string) string {
	set := make([]string, len(columns))
	for i, c := range columns {
		set[i] = c.Name + " = " + from + "." + c.Name
	}
	return strings.Join(set, ", ")
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
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, &sqlstore.UnreachableError{Err: err}
	}
	defer conn.Release() // the pool closes a connection that is not idle
	loaded, err := s.loadRuns(ctx, conn, c)
	if err != nil {
		if conn.Conn().IsClosed() {
			err = &sqlstore.UnreachableError{Err: err}
		}
		return nil, rollback(ctx, conn, err)
	}
	plan, err := sqlstore.PlanRuns("postgres", c, loaded)
	if err != nil {
		return nil, rollback(ctx, conn, err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sqlstore.CommitTimeout)
	defer cancel()
	return plan.Results, s.writeRuns(ctx, conn, plan)
}

func (s *Store) loadRuns(ctx context.Context, conn *pgxpool.Conn, c *store.RunCommit) (*sqlstore.RunsLoaded, error) {
	want, loaded := sqlstore.WantedBy(c), sqlstore.NewRunsLoaded()
	ids := make(pgtype.FlatArray[pgtype.UUID], len(want.Runs))
	for i, id := range want.Runs {
		ids[i] = uuid(id)
	}
	batch := &pgx.Batch{}
	batch.Queue("BEGIN")
	batch.Queue(s.runQueries.runs, ids).Query(each(loaded.KeepRun))
	if len(want.Flights) > 0 {
		tenants, flights := flightArrays(want.Flights)
		batch.Queue(s.runQueries.flights, tenants, flights).Query(each(loaded.KeepFlight))
	}
	if len(want.Takeoffs) > 0 {
		tenants, flights := flightArrays(want.Takeoffs)
		batch.Queue(s.runQueries.entries, tenants, flights).Query(each(loaded.KeepEntry))
		batch.Queue(s.runQueries.alive, c.At.UnixMicro()).Query(each(loaded.KeepOwner))
	}
	return loaded, conn.SendBatch(ctx, batch).Close()
}

func flightArrays(keys []sqlstore.FlightKey) (tenants pgtype.FlatArray[string], flights pgtype.FlatArray[[]byte]) {
	for _, key := range keys {
		tenants, flights = append(tenants, key.Tenant), append(flights, []byte(key.Name))
	}
	return tenants, flights
}

// writeRuns writes a plan and commits it in one round trip.
func (s *Store) writeRuns(ctx context.Context, conn *pgxpool.Conn, plan *sqlstore.RunPlan) error {
	q, t := s.runQueries, s.tables
	w := &writing{queries: s.queries, tables: t, batch: &pgx.Batch{}}
	for _, change := range []struct {
		query string
		table *sqlstore.Table
		rows  [][]any
	}{
		{q.newRuns, &t.Runs, plan.NewRuns},
		{q.changeRuns, q.changed, plan.Runs},
		{q.newFlights, &t.Flights, plan.NewFlights},
		{q.changeFlights, &t.Flights, plan.Flights},
		{q.landed, &sqlstore.Table{Columns: t.Flights.Columns[:2]}, plan.Landed},
		{q.steps, &t.RunSteps, plan.Steps},
		{q.keep, &t.StepCache, plan.Entries},
		{q.artifacts, &t.Artifacts, plan.Artifacts},
		{q.replacedEntries, &sqlstore.Table{Columns: t.ArtifactUses.Columns[1:]}, single(plan.ReplacedEntries)},
		{q.uses, &t.ArtifactUses, plan.Uses},
		{q.raised, &t.Raised, plan.Raised},
		{q.obeyed, &sqlstore.Table{Columns: t.Runs.Columns[:1]}, single(plan.Obeyed)},
		{q.endedRuns, &sqlstore.Table{Columns: t.Runs.Columns[:1]}, single(plan.EndedRuns)},
	} {
		if len(change.rows) > 0 {
			w.batch.Queue(change.query, columnsOf(change.table, change.rows)...)
		}
	}
	if len(plan.Unknown) > 0 {
		w.under(guardFlights, q.stillUnknown, columnsOf(&sqlstore.Table{Columns: t.Flights.Columns[:2]}, plan.Unknown)...)
	}
	seqs := make([]int64, len(plan.Outgoing))
	if err := s.outgoing(ctx, w, plan.Outgoing, seqs); err != nil {
		return rollback(ctx, conn, err)
	}
	done := false
	w.batch.Queue("COMMIT").Exec(func(pgconn.CommandTag) error {
		done = true
		return nil
	})
	err := conn.SendBatch(ctx, w.batch).Close()
	if done {
		plan.Numbered(seqs)
		return nil
	}
	refused, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case !ok || refused.Severity == "FATAL" || refused.Severity == "PANIC":
		return sqlstore.Ambiguous("postgres: commit", err)
	case refused.Code == divisionByZero:
		if w.guard == guardJoins {
			s.streams.Forget()
		}
		err = sqlstore.ErrAgain
	case refused.Code == uniqueViolation && (refused.ConstraintName == "runs_pkey" || refused.ConstraintName == "flights_pkey"):
		err = sqlstore.ErrAgain // another brought it first: deciding again sees it
	}
	return rollback(ctx, conn, err)
}

// single is rows of one value each.
func single(values []any) [][]any {
	rows := make([][]any, len(values))
	for i, v := range values {
		rows[i] = []any{v}
	}
	return rows
}
