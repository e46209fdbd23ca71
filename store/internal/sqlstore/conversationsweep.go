package sqlstore

import (
	"context"
	"time"
)

// DueConversations implements store.Conversations.
func (c *Cold) DueConversations(ctx context.Context, at time.Time, limit int) ([]string, error) {
	due, err := list(ctx, c.reader(), ReadText,
		"SELECT id FROM conversations WHERE attention_at <= ? ORDER BY attention_at, id LIMIT ?", at.UnixMicro(), rowLimit(limit))
	return due, c.wrap("list due conversations", err)
}

// PutOff implements store.Conversations.
func (c *Cold) PutOff(ctx context.Context, id string, until time.Time) error {
	return c.alone(ctx, "put off a conversation", func(ctx context.Context, s session) error {
		_, err := s.exec(ctx, "UPDATE conversations SET attention_at = ? WHERE id = ?", Micros(until), id)
		return err
	})
}

// ExpireConversations implements store.Conversations.
func (c *Cold) ExpireConversations(ctx context.Context, at time.Time, limit int) (int, error) {
	if limit <= 0 {
		return 0, nil
	}
	total, conversations := 0, 0
	for conversations < limit {
		met, erased, rows, err := c.sweep(ctx, at, limit-conversations)
		if err != nil {
			return total, err
		}
		total += rows
		conversations += erased
		if met == 0 {
			break
		}
	}
	keys, err := c.sweepKeys(ctx, at, limit)
	return total + keys, err
}

// swept is a conversation whose mark has come.
type swept struct {
	id      string
	expires int64
}

func readSwept(values []any) (swept, error) {
	r := reader{values: values}
	row := swept{id: r.text(), expires: r.int()}
	return row, wrapRead("expired conversation", r.err)
}

const sweepQuery = "SELECT id, expires_at FROM conversations WHERE sweep_at <= ? ORDER BY sweep_at LIMIT ?"

// sweep looks at conversations whose mark has come: it erases those that expired
// and moves the mark of the others. A look without a transaction comes first: most
// find nothing.
func (c *Cold) sweep(ctx context.Context, at time.Time, limit int) (met, erased, rows int, err error) {
	const op = "remove expired conversations"
	found, err := list(ctx, c.reader(), readSwept, sweepQuery, at.UnixMicro(), int64(limit))
	if err != nil || len(found) == 0 {
		return 0, 0, 0, c.wrap(op, err)
	}
	err = c.gather(ctx, op, func(ctx context.Context, s session) error {
		found, err := list(ctx, s, readSwept, sweepQuery+s.d.SkipLocked, at.UnixMicro(), int64(limit))
		if err != nil {
			return err
		}
		var gone, alive []any
		for _, row := range found {
			if row.expires <= at.UnixMicro() {
				gone = append(gone, row.id)
			} else {
				alive = append(alive, row.id)
			}
		}
		met, erased = len(found), len(gone)
		if len(alive) > 0 {
			if _, err := s.exec(ctx, "UPDATE conversations SET sweep_at = expires_at WHERE id IN ("+Marks(len(alive))+")", alive...); err != nil {
				return err
			}
		}
		rows, err = s.eraseConversations(ctx, gone)
		return err
	})
	if err != nil {
		return 0, 0, 0, err
	}
	return met, erased, rows, nil
}
