package sqlstore

import (
	"context"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
)

// ClaimUnsent implements store.Outbox.
func (c *Cold) ClaimUnsent(ctx context.Context, now, olderThan time.Time, lease time.Duration, limit int) ([]rondo.Outgoing, error) {
	if limit <= 0 {
		return nil, nil
	}
	const unclaimed = " FROM outbox WHERE (claimed_until IS NULL OR claimed_until <= ?) AND created_at <= ? ORDER BY seq LIMIT "
	some := false
	err := c.reader().each(ctx, func([]any) error { some = true; return nil },
		"SELECT seq"+unclaimed+"1", now.UnixMicro(), olderThan.UnixMicro())
	if err != nil || !some {
		return nil, c.wrap("look for unsent events", err)
	}
	var claimed []rondo.Outgoing
	err = c.write(ctx, "claim unsent events", func(s session) error {
		rows, err := list(ctx, s, readOutgoing,
			"SELECT seq, "+c.tables.Outbox.Names("")+unclaimed+"?"+c.dialect.SkipLocked,
			now.UnixMicro(), olderThan.UnixMicro(), int64(limit))
		if err != nil || len(rows) == 0 {
			return err
		}
		args := []any{now.Add(lease).UnixMicro()}
		for i := range rows {
			args = append(args, rows[i].Seq)
		}
		claimed = rows
		_, err = s.exec(ctx, "UPDATE outbox SET claimed_until = ? WHERE seq IN ("+Marks(len(rows))+")", args...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return claimed, nil
}

// MarkSent implements store.Outbox.
func (c *Cold) MarkSent(ctx context.Context, seqs []int64) error {
	if len(seqs) == 0 {
		return nil
	}
	args := make([]any, len(seqs))
	for i, seq := range seqs {
		args[i] = seq
	}
	return c.write(ctx, "remove sent events", func(s session) error {
		for chunk := range slices.Chunk(args, maxParameters) {
			if _, err := s.exec(ctx, "DELETE FROM outbox WHERE seq IN ("+Marks(len(chunk))+")", chunk...); err != nil {
				return err
			}
		}
		return nil
	})
}

// maxParameters is how many parameters one statement of a long list takes.
const maxParameters = 500

// Backlog implements store.Outbox.
func (c *Cold) Backlog(ctx context.Context) (int, time.Time, error) {
	var count int
	var oldest time.Time
	err := c.reader().each(ctx, func(values []any) error {
		r := reader{values: values}
		count, oldest = int(r.int()), r.time()
		return r.err
	}, "SELECT COUNT(*), MIN(created_at) FROM outbox")
	return count, oldest, c.wrap("count unsent events", err)
}
