package mysql

import (
	"context"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store/internal/sqlstore"
)

// writing is the packet of one commit.
type writing struct {
	*Store
	packet
	stride int64
	seqs   []int64
}

func (w *writing) rows(ctx context.Context, plan *sqlstore.Plan) error {
	if err := w.updates(ctx, plan.Updates); err != nil {
		return err
	}
	w.run(plan.Before)
	for _, insert := range plan.Inserts {
		if err := w.insert(ctx, w.texts.insert[insert.Table.Name], insert.Rows, "", nil); err != nil {
			return err
		}
	}
	w.rejudged(plan.Rejudged)
	w.run(plan.After)
	for _, d := range plan.Duplicates {
		w.add("UPDATE events SET duplicates = duplicates + " + integer(d.Times) + " WHERE ")
		w.text = appendEvents(w.text, "", []rondo.EventKey{d.Key})
		w.statement()
		w.check("ROW_COUNT() = 1")
	}
	if len(plan.Sent) > 0 {
		w.add("DELETE FROM outbox WHERE seq IN (")
		for i, seq := range plan.Sent {
			if i > 0 {
				w.text = append(w.text, ',')
			}
			w.text = appendValue(w.text, seq)
		}
		w.add(")")
		w.statement()
	}
	for i := range plan.Acks {
		args, err := sqlstore.AckArgs(&plan.Acks[i])
		if err != nil {
			return err
		}
		w.text = appendStatement(w.text, sqlstore.AckQuery, args)
		w.statement()
	}
	return w.full(ctx)
}

func (w *writing) run(statements []sqlstore.Statement) {
	for _, s := range statements {
		w.text = appendStatement(w.text, s.Query, s.Args)
		w.statement()
	}
}

// appendStatement writes a statement with its parameters in place.
func appendStatement(b []byte, query string, args []any) []byte {
	n := 0
	for i := range len(query) {
		if query[i] != '?' {
			b = append(b, query[i])
			continue
		}
		b = appendValue(b, args[n])
		n++
	}
	return b
}

// check fails the packet unless the condition holds; see refusal.
func (w *writing) check(condition string) {
	w.add("SELECT 18446744073709551615 + IF(" + condition + ", 0, 1)")
	w.statement()
}

// updates replaces instances. A row that is not there would be inserted: the
// count, 2 for each row that was replaced, tells.
func (w *writing) updates(ctx context.Context, updates []sqlstore.InstanceUpdate) error {
	rows := make([][]any, len(updates))
	for i := range updates {
		rows[i] = append([]any{updates[i].Previous}, updates[i].Row...)
	}
	return w.insert(ctx, w.texts.replace, rows, w.texts.merge, func(from, to int) {
		w.add("SELECT IF(ROW_COUNT() = " + integer(int64(2*(to-from))) + ", 1, (SELECT 1 UNION SELECT 2))")
		w.statement()
	})
}

func (w *writing) rejudged(events []sqlstore.Rejudged) {
	if len(events) == 0 {
		return
	}
	keys := make([]rondo.EventKey, len(events))
	for i := range events {
		keys[i] = events[i].Key
	}
	w.add("SELECT 18446744073709551615 + IF((SELECT COUNT(*) FROM events WHERE ")
	w.text = appendEvents(w.text, "", keys)
	w.add(") = " + integer(int64(len(events))) + ", 0, 1)")
	w.statement()
	for i := range events {
		e := &events[i]
		processed := int64(0)
		if e.Processed {
			processed = 1
		}
		id := sqlstore.ID(e.Key.EventID)
		w.text = appendStatement(w.text, "UPDATE events SET outcome = ?, instance_id = ?, processed = ?, verdict = ?, error = ? WHERE org_id = ? AND event_id = ?",
			[]any{e.Outcome, sqlstore.OptionalID(e.InstanceID), processed, e.Verdict, e.Error, e.Key.OrgID, id})
		w.statement()
		if e.Parked() {
			w.text = appendStatement(w.text, "INSERT INTO parked (org_id, case_id, event_id) SELECT org_id, case_id, event_id FROM events "+
				"WHERE org_id = ? AND event_id = ? ON DUPLICATE KEY UPDATE org_id = VALUES(org_id)", []any{e.Key.OrgID, id})
		} else {
			w.text = appendStatement(w.text, "DELETE FROM parked WHERE org_id = ? AND case_id = ? AND event_id = ?", []any{e.Key.OrgID, e.CaseID, id})
		}
		w.statement()
	}
}

// outgoing puts events where they are picked up and fills in their numbers.
func (w *writing) outgoing(ctx context.Context, events []rondo.Outgoing) error {
	if len(events) == 0 {
		return nil
	}
	if w.embedded {
		return w.log(ctx, events)
	}
	return w.insert(ctx, w.texts.insert[w.tables.Outbox.Name], sqlstore.OutboxRows(events), "", func(from, to int) {
		w.numbered(func(id int64) {
			for i := from; i < to; i++ {
				w.seqs[i] = id + int64(i-from)*w.stride
			}
		})
	})
}

// log numbers events by the row of log_head. It is locked last, so that commits
// queue behind each other as shortly as numbering without gaps allows; when a
// stream got its first group meanwhile it becomes NULL, which stops the packet.
func (w *writing) log(ctx context.Context, events []rondo.Outgoing) error {
	joins, streams, err := w.streams.Current(func() (int64, []string, error) { return w.readStreams(ctx) })
	if err != nil {
		return err
	}
	taken := sqlstore.Listened(events, streams)
	rows := make([][]any, len(taken))
	for n, i := range taken {
		rows[n] = sqlstore.LogRow(&events[i], 0)
		rows[n][0] = afterBase(n + 1)
	}
	w.text = appendStatement(w.text, "UPDATE log_head SET seq = LAST_INSERT_ID(seq) + IF(joins = ?, ?, NULL) WHERE id = 1", []any{joins, int64(len(rows))})
	w.statement()
	w.numbered(func(base int64) {
		for n, i := range taken {
			w.seqs[i] = base + int64(n+1)
		}
	})
	w.add("SET @rondo_base = LAST_INSERT_ID()")
	w.statement()
	return w.insert(ctx, w.texts.insert[w.tables.Log.Name], rows, "", nil)
}

func (w *writing) readStreams(ctx context.Context) (joins int64, streams []string, err error) {
	if err := w.conn.QueryRowContext(ctx, "SELECT joins FROM log_head WHERE id = 1").Scan(&joins); err != nil {
		return 0, nil, err
	}
	rows, err := w.conn.QueryContext(ctx, "SELECT DISTINCT stream FROM log_positions")
	if err != nil {
		return 0, nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var stream string
		if err := rows.Scan(&stream); err != nil {
			return 0, nil, err
		}
		streams = append(streams, stream)
	}
	return joins, streams, rows.Err()
}
