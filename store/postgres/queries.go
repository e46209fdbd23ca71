package postgres

import (
	"fmt"
	"strings"

	"github.com/rondo-engine/rondo/store/internal/sqlstore"
)

// queries are the texts of the write path's statements. Those named …Many take
// arrays and have one text for every size.
type queries struct {
	lockCases, instances, parked, seen, active string
	update, updateMany, move, moveMany         string
	insert, insertMany                         map[string]string // by table
	rejudge, unpark, park, duplicate           string
	sent, sentMany                             string
	outbox, outboxMany                         string
	guardJoins, log, ack                       string
}

func newQueries(t *sqlstore.Tables) *queries {
	const keys = "unnest($1::text[], $2::text[]) AS k (o, c)"
	q := &queries{
		lockCases: "SELECT pg_advisory_xact_lock(k) FROM unnest($1::bigint[]) AS k",
		instances: "SELECT " + sqlstore.HeldColumns(&t.Instances, "i.", "i.id = k.id AND i.version = k.version AND i.token = k.token") + ", k.nr " +
			"FROM unnest($1::text[], $2::text[], $3::uuid[], $4::bigint[], $5::bigint[]) WITH ORDINALITY AS k (o, c, id, version, token, nr) " +
			"JOIN instances i ON i.org_id = k.o AND i.case_id = k.c",
		parked: "SELECT " + t.Events.Names("e.") + " FROM " + keys + " JOIN parked p ON p.org_id = k.o AND p.case_id = k.c " +
			"JOIN events e ON e.org_id = p.org_id AND e.event_id = p.event_id ORDER BY e.id",
		seen: "SELECT e.case_id, e.outcome, e.org_id, e.event_id FROM unnest($1::text[], $2::uuid[]) AS k (o, e) " +
			"JOIN events e ON e.org_id = k.o AND e.event_id = k.e",
		active: "SELECT d.id, d.snapshot_hash, d.org_id, d.active_product FROM definitions d WHERE d.org_id = ANY($1::text[]) AND d.active_product = ANY($2::text[])",
		rejudge: "UPDATE events SET outcome = v.outcome, instance_id = v.instance, processed = v.processed, verdict = v.verdict, error = v.error " +
			"FROM unnest($1::text[], $2::uuid[], $3::text[], $4::uuid[], $5::bigint[], $6::text[], $7::text[]) AS v (org, event, outcome, instance, processed, verdict, error) " +
			"WHERE events.org_id = v.org AND events.event_id = v.event",
		unpark: "DELETE FROM parked USING unnest($1::text[], $2::text[], $3::uuid[]) AS v (org, kase, event) " +
			"WHERE parked.org_id = v.org AND parked.case_id = v.kase AND parked.event_id = v.event",
		park: "INSERT INTO parked (org_id, case_id, event_id) SELECT e.org_id, e.case_id, e.event_id FROM unnest($1::text[], $2::uuid[]) AS v (org, event) " +
			"JOIN events e ON e.org_id = v.org AND e.event_id = v.event ON CONFLICT DO NOTHING",
		duplicate: "UPDATE events SET duplicates = duplicates + v.times FROM unnest($1::text[], $2::uuid[], $3::bigint[]) AS v (org, event, times) " +
			"WHERE events.org_id = v.org AND events.event_id = v.event",
		sent:       "DELETE FROM outbox WHERE seq = $1",
		sentMany:   "DELETE FROM outbox WHERE seq = ANY($1::bigint[])",
		guardJoins: "SELECT 1 / (joins = $1)::int FROM log_head WHERE id = 1 FOR UPDATE",
		ack:        sqlstore.Number(sqlstore.AckQuery),
		insert:     map[string]string{},
		insertMany: map[string]string{},
	}
	q.rejudge = guarded(q.rejudge, "$8::bigint")
	q.duplicate = guarded(q.duplicate, "$4::bigint")
	for _, table := range []*sqlstore.Table{&t.Instances, &t.Steps, &t.Events, &t.Parked, &t.Interventions, &t.DeadLetters, &t.Attributes, &t.Loose, &t.JobResults} {
		q.insert[table.Name] = "INSERT INTO " + table.Name + " (" + table.Names("") + ") VALUES (" + parameters(table, "", 1) + ")"
		q.insertMany[table.Name] = "INSERT INTO " + table.Name + " (" + table.Names("") + ") SELECT * FROM unnest(" + parameters(table, "[]", 1) + ")"
	}
	q.outbox = "INSERT INTO outbox (" + t.Outbox.Names("") + ") VALUES (" + parameters(&t.Outbox, "", 1) + ") RETURNING seq"
	q.outboxMany = "INSERT INTO outbox (" + t.Outbox.Names("") + ") SELECT * FROM unnest(" + parameters(&t.Outbox, "[]", 1) + ") RETURNING seq"
	q.log = fmt.Sprintf("WITH head AS (UPDATE log_head SET seq = seq + $1 WHERE id = 1 RETURNING seq - $1 AS base) "+
		"INSERT INTO log_entries (%s) SELECT head.base + v.nr, %s FROM head, unnest(%s) WITH ORDINALITY AS v (%s, nr) ORDER BY v.nr RETURNING seq",
		t.Log.Names(""), t.Outbox.Names("v."), parameters(&t.Outbox, "[]", 2), t.Outbox.Names(""))
	q.update, q.updateMany = updates(&t.Instances)
	q.move, q.moveMany = updates(t.Moving())
	return q
}

// updates are guarded by the version: parameter 1 is the previous one, the
// columns follow.
func updates(t *sqlstore.Table) (oneRow, manyRows string) {
	var one, many strings.Builder
	for i, c := range t.Columns[sqlstore.MutableFrom:] {
		if i > 0 {
			one.WriteString(", ")
			many.WriteString(", ")
		}
		fmt.Fprintf(&one, "%s = $%d", c.Name, i+sqlstore.MutableFrom+2)
		fmt.Fprintf(&many, "%s = v.%s", c.Name, c.Name)
	}
	oneRow = guarded("UPDATE instances SET "+one.String()+" WHERE version = $1 AND id = $2 AND org_id = $3 AND case_id = $4", "1")
	manyRows = guarded("UPDATE instances i SET "+many.String()+" FROM unnest($1::bigint[], "+parameters(t, "[]", 2)+") AS v (previous, "+t.Names("")+") "+
		"WHERE i.id = v.id AND i.version = v.previous AND i.org_id = v.org_id AND i.case_id = v.case_id",
		fmt.Sprintf("$%d::bigint", len(t.Columns)+2))
	return oneRow, manyRows
}

// guarded runs a change and divides by zero unless it changed exactly want rows.
func guarded(change, want string) string {
	return "WITH changed AS (" + change + " RETURNING 1) SELECT 1 / (COUNT(*) = " + want + ")::int FROM changed"
}

func parameters(t *sqlstore.Table, suffix string, first int) string {
	var b strings.Builder
	for i, c := range t.Columns {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "$%d::%s%s", first+i, typeOf(c.Kind), suffix)
	}
	return b.String()
}

func typeOf(k sqlstore.Kind) string {
	switch k {
	case sqlstore.Int:
		return "bigint"
	case sqlstore.Text:
		return "text"
	case sqlstore.Bytes:
		return "bytea"
	case sqlstore.Float:
		return "double precision"
	default:
		return "uuid"
	}
}
