package sqlstore

import (
	"context"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// ClaimUnsent implements store.Outbox.
func (c *Cold) ClaimUnsent(ctx context.Context, now, olderThan time.Time, lease time.Duration, limit int, which store.Streams) ([]rondo.Outgoing, error) {
	if limit <= 0 || (which.Only && len(which.Names) == 0) {
		return nil, nil
	}
	chosen, args := chosenStreams(which, []any{now.UnixMicro(), olderThan.UnixMicro()})
	unclaimed := " FROM outbox WHERE (claimed_until IS NULL OR claimed_until <= ?) AND created_at <= ?" + chosen + " ORDER BY seq LIMIT "
	some := false
	err := c.reader().each(ctx, func([]any) error { some = true; return nil },
		"SELECT seq"+unclaimed+"1", args...)
	if err != nil || !some {
		return nil, c.wrap("look for unsent events", err)
	}
	var claimed []rondo.Outgoing
	err = c.write(ctx, "claim unsent events", func(s session) error {
		rows, err := list(ctx, s, readOutgoing,
			"SELECT seq, "+c.tables.Outbox.Names("")+unclaimed+"?"+c.dialect.SkipLocked,
			append(args, int64(limit))...)
		if err != nil || len(rows) == 0 {
			return err
		}
		claims := []any{now.Add(lease).UnixMicro()}
		for i := range rows {
			claims = append(claims, rows[i].Seq)
		}
		claimed = rows
		_, err = s.exec(ctx, "UPDATE outbox SET claimed_until = ? WHERE seq IN ("+Marks(len(rows))+")", claims...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return claimed, nil
}

// chosenStreams is the condition for rows of the streams and args with what it
// needs.
func chosenStreams(which store.Streams, args []any) (string, []any) {
	if len(which.Names) == 0 {
		return "", args
	}
	for _, name := range which.Names {
		args = append(args, name)
	}
	if which.Only {
		return " AND stream IN (" + Marks(len(which.Names)) + ")", args
	}
	return " AND stream NOT IN (" + Marks(len(which.Names)) + ")", args
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
