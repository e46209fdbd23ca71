package sqlstore

import (
	"context"
	"fmt"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// deadLetterRow is a new dead letter: open unless it says otherwise.
func deadLetterRow(d *rondo.DeadLetter) []any {
	status := d.Status
	if status == "" {
		status = rondo.DeadLetterOpen
	}
	return []any{
		ID(d.ID), d.OrgID, d.Stream, d.EntryID, document(d.Body), d.Reason, Micros(d.ReceivedAt),
		string(status), d.SettledBy, d.Note, Micros(d.SettledAt),
	}
}

func readDeadLetter(values []any) (rondo.DeadLetter, error) {
	r := reader{values: values}
	d := rondo.DeadLetter{
		ID: r.id(), OrgID: r.text(), Stream: r.text(), EntryID: r.text(), Body: r.bytes(), Reason: r.text(), ReceivedAt: r.time(),
		Status: rondo.DeadLetterStatus(r.text()), SettledBy: r.text(), Note: r.text(), SettledAt: r.time(),
	}
	return d, wrapRead("dead letter", r.err)
}

// DeadLetters implements store.Ledger.
func (c *Cold) DeadLetters(ctx context.Context, filter store.DeadLetterFilter, page store.Page) ([]rondo.DeadLetter, error) {
	where := &conditions{}
	where.is("org_id", filter.OrgID)
	where.is("status", string(filter.Status))
	where.is("stream", filter.Stream)
	tail := where.newest(page)
	found, err := list(ctx, c.reader(), readDeadLetter, "SELECT "+c.tables.DeadLetters.Names("")+" FROM dead_letters"+tail, where.args...)
	return found, c.wrap("list dead letters", err)
}

// DeadLetter implements store.Ledger.
func (c *Cold) DeadLetter(ctx context.Context, org string, id rondo.ID) (rondo.DeadLetter, error) {
	letter, err := c.deadLetter(ctx, c.reader(), org, id, "")
	return letter, c.wrap("read dead letter", err)
}

func (c *Cold) deadLetter(ctx context.Context, s session, org string, id rondo.ID, lock string) (rondo.DeadLetter, error) {
	where := &conditions{}
	where.add("id = ?", ID(id))
	where.is("org_id", org)
	found, err := list(ctx, s, readDeadLetter, "SELECT "+c.tables.DeadLetters.Names("")+" FROM dead_letters"+where.where()+lock, where.args...)
	if err != nil {
		return rondo.DeadLetter{}, err
	}
	if len(found) == 0 {
		return rondo.DeadLetter{}, rondo.NotFound("dead letter")
	}
	return found[0], nil
}

// SettleDeadLetter implements store.Ledger.
func (c *Cold) SettleDeadLetter(ctx context.Context, org string, id rondo.ID, settled store.Settlement) (rondo.DeadLetter, error) {
	var letter rondo.DeadLetter
	err := c.write(ctx, "settle dead letter", func(s session) error {
		var err error
		if letter, err = c.deadLetter(ctx, s, org, id, c.dialect.Lock); err != nil {
			return err
		}
		if letter.Status != rondo.DeadLetterOpen {
			return rondo.WrongState(fmt.Sprintf("the dead letter is %s already", letter.Status))
		}
		letter.Status, letter.SettledBy, letter.Note, letter.SettledAt = settled.Status, settled.By, settled.Note, Stored(settled.At)
		_, err = s.exec(ctx, "UPDATE dead_letters SET status = ?, settled_by = ?, note = ?, settled_at = ? WHERE id = ?",
			string(letter.Status), letter.SettledBy, letter.Note, Micros(letter.SettledAt), ID(id))
		return err
	})
	if err != nil {
		return rondo.DeadLetter{}, err
	}
	return letter, nil
}
