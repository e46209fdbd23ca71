package sqlite

import (
	sqldriver "database/sql/driver"
	"fmt"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/internal/sqlstore"
)

// batch is one write transaction of the write path.
type batch struct {
	*Store
	conn     sqldriver.Conn
	trusting bool // take every event for new
}

func (b *batch) exec(query string, values ...any) (sqldriver.Result, error) {
	return b.writer.exec(b.conn, query, values...)
}

func (b *batch) query(row func([]any) error, query string, values ...any) error {
	return b.writer.query(b.conn, row, query, values...)
}

// changeOne runs a statement that must change exactly one row.
func (b *batch) changeOne(missing error, query string, values ...any) error {
	result, err := b.exec(query, values...)
	if err != nil {
		return err
	}
	n, err := result.RowsAffected()
	if err == nil && n != 1 {
		err = missing
	}
	return err
}

func (b *batch) load(load store.Load) (*store.Loaded, error) {
	loaded := sqlstore.NewLoaded(load)
	err := b.query(func(values []any) error {
		version, ok := values[0].(int64)
		if !ok {
			return fmt.Errorf("data_version is %T", values[0])
		}
		b.hot.at(version)
		return nil
	}, b.queries.fileVersion)
	if err != nil {
		return nil, err
	}
	for key := range loaded.Cases {
		if instance := b.hot.get(key); instance != nil {
			sqlstore.Keep(loaded, instance)
			continue
		}
		if err := b.loadCase(loaded, key); err != nil {
			return nil, err
		}
	}
	if b.trusting {
		load.Events = nil
	}
	for _, key := range load.Events {
		err := b.query(func(values []any) error {
			seen, err := sqlstore.ReadSeen(values)
			loaded.Seen[key] = seen
			return err
		}, b.queries.seen, key.OrgID, sqlstore.ID(key.EventID))
		if err != nil {
			return nil, err
		}
	}
	for _, key := range load.Starts {
		if _, known := loaded.Active[key]; known || key.OrgID == "" {
			continue
		}
		err := b.query(func(values []any) error {
			active, err := sqlstore.ReadActive(values)
			loaded.Active[key] = active
			return err
		}, b.queries.active, key.OrgID, key.ProductID)
		if err != nil {
			return nil, err
		}
	}
	return loaded, nil
}

// loadCase reads the live instance of a case, which is nearly always there, else
// the newest cancelled one, and what is parked.
func (b *batch) loadCase(loaded *store.Loaded, key rondo.CaseKey) error {
	found, parked := false, true
	read := func(values []any) error {
		instance, err := sqlstore.ReadInstance(values)
		if err != nil {
			return err
		}
		found = true
		sqlstore.Keep(loaded, instance)
		return nil
	}
	err := b.query(func(values []any) error {
		last := len(values) - 1
		parked = values[last] != int64(0)
		return read(values[:last])
	}, b.queries.live, key.OrgID, key.CaseID)
	if err == nil && !found {
		err = b.query(read, b.queries.cancelled, key.OrgID, key.CaseID)
	}
	if err != nil || !parked {
		return err
	}
	return b.query(func(values []any) error {
		event, err := sqlstore.ReadEvent(values)
		if err == nil {
			sqlstore.KeepParked(loaded, event)
		}
		return err
	}, b.queries.parked, key.OrgID, key.CaseID)
}

func (b *batch) write(plan *sqlstore.Plan) error {
	for i := range plan.Updates {
		if err := b.updateInstance(&plan.Updates[i]); err != nil {
			return err
		}
	}
	if err := b.run(plan.Before); err != nil {
		return err
	}
	for _, insert := range plan.Inserts {
		text := b.queries.insert[insert.Table.Name]
		for _, row := range insert.Rows {
			if _, err := b.exec(text, row...); err != nil {
				return err
			}
		}
	}
	for i := range plan.Rejudged {
		if err := b.rejudge(&plan.Rejudged[i]); err != nil {
			return err
		}
	}
	if err := b.run(plan.After); err != nil {
		return err
	}
	for _, d := range plan.Duplicates {
		missing := sqlstore.Unknown("sqlite: update", "event "+d.Key.EventID.String())
		if err := b.changeOne(missing, b.queries.duplicate, d.Times, d.Key.OrgID, sqlstore.ID(d.Key.EventID)); err != nil {
			return err
		}
	}
	for _, seq := range plan.Sent {
		if _, err := b.exec(b.queries.sent, seq); err != nil {
			return err
		}
	}
	for i := range plan.Acks {
		args, err := sqlstore.AckArgs(&plan.Acks[i])
		if err != nil {
			return err
		}
		if _, err := b.exec(sqlstore.AckQuery, args...); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) run(statements []sqlstore.Statement) error {
	for _, s := range statements {
		if _, err := b.exec(s.Query, s.Args...); err != nil {
			return err
		}
	}
	return nil
}

// updateInstance replaces an instance if it is still the one decided upon.
func (b *batch) updateInstance(u *sqlstore.InstanceUpdate) error {
	same := [2]bool{u.Moves, u.SameWake}
	args := make([]any, 0, len(u.Row)+1)
	for i := range u.Row {
		if !left(i, b.tables.Instances.Columns[i].Name, same) {
			args = append(args, u.Row[i])
		}
	}
	args = append(args, u.Row[0], u.Row[1], u.Row[2], u.Previous)
	result, err := b.exec(b.queries.update[same], args...)
	if err != nil {
		return err
	}
	n, err := result.RowsAffected()
	if err == nil && n != 1 {
		err = sqlstore.VersionConflict("sqlite", nil)
	}
	return err
}

func (b *batch) rejudge(r *sqlstore.Rejudged) error {
	event := sqlstore.ID(r.Key.EventID)
	missing := sqlstore.Unknown("sqlite: update", "event "+r.Key.EventID.String())
	processed := int64(0)
	if r.Processed {
		processed = 1
	}
	err := b.changeOne(missing, b.queries.rejudge, r.Outcome, sqlstore.OptionalID(r.InstanceID), processed, r.Verdict, r.Error, r.Key.OrgID, event)
	if err != nil {
		return err
	}
	if r.Parked() {
		_, err = b.exec(b.queries.park, r.Key.OrgID, event)
		return err
	}
	_, err = b.exec(b.queries.unpark, r.Key.OrgID, r.CaseID, event)
	return err
}

// send puts events where they are picked up and returns their numbers: the log
// when embedded, else the outbox.
func (b *batch) send(outgoing []rondo.Outgoing) ([]int64, error) {
	if len(outgoing) == 0 {
		return nil, nil
	}
	seqs := make([]int64, len(outgoing))
	if b.embedded {
		return seqs, b.log(outgoing, seqs)
	}
	text := b.queries.insert[b.tables.Outbox.Name]
	for i, row := range sqlstore.OutboxRows(outgoing) {
		result, err := b.exec(text, row...)
		if err != nil {
			return nil, err
		}
		if seqs[i], err = result.LastInsertId(); err != nil {
			return nil, err
		}
	}
	return seqs, nil
}

// log numbers events after the newest entry: no one else writes meanwhile, so
// there are no gaps.
func (b *batch) log(outgoing []rondo.Outgoing, seqs []int64) error {
	joins, head, err := b.logState()
	if err != nil {
		return err
	}
	streams, err := b.streams.Get(joins, b.readStreams)
	if err != nil {
		return err
	}
	text := b.queries.insert[b.tables.Log.Name]
	for _, i := range sqlstore.Listened(outgoing, streams) {
		head++
		seqs[i] = head
		if _, err := b.exec(text, sqlstore.LogRow(&outgoing[i], head)...); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) logState() (joins, head int64, err error) {
	err = b.query(func(values []any) error {
		joins, head, err = sqlstore.ReadLogState(values)
		return err
	}, b.queries.listened)
	return joins, head, err
}

func (b *batch) readStreams() ([]string, error) {
	var streams []string
	err := b.query(func(values []any) error {
		stream, err := sqlstore.ReadText(values)
		streams = append(streams, stream)
		return err
	}, b.queries.streams)
	return streams, err
}
