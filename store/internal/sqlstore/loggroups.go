package sqlstore

import (
	"context"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// allPositions reads where every group stands, by group and stream.
func (c *Cold) allPositions(ctx context.Context, s session) ([]store.GroupState, error) {
	return list(ctx, s, readPosition,
		"SELECT p.grp, p.stream, p.position, p.acked, g.fence FROM log_positions p JOIN log_groups g ON g.grp = p.grp ORDER BY p.grp, p.stream")
}

// LogLag implements store.Log. Only entries above the lowest position are looked
// at: while every group is up to date that is next to nothing.
func (c *Cold) LogLag(ctx context.Context, limit int) ([]store.GroupLag, error) {
	const op = "measure the lag of groups"
	positions, err := c.allPositions(ctx, c.reader())
	if err != nil || len(positions) == 0 {
		return nil, c.wrap(op, err)
	}
	lowest := slices.MinFunc(positions, func(a, b store.GroupState) int { return int(a.Cursor - b.Cursor) }).Cursor
	type entry struct {
		seq    int64
		stream string
	}
	newest, err := list(ctx, c.reader(), func(values []any) (entry, error) {
		r := reader{values: values}
		e := entry{seq: r.int(), stream: r.text()}
		return e, wrapRead("log entry", r.err)
	}, "SELECT seq, stream FROM log_entries WHERE seq > ? ORDER BY seq DESC LIMIT ?", lowest, int64(limit))
	if err != nil {
		return nil, c.wrap(op, err)
	}
	byStream := map[string][]int64{}
	for _, e := range newest {
		byStream[e.stream] = append(byStream[e.stream], e.seq)
	}
	lags := make([]store.GroupLag, len(positions))
	for i := range positions {
		position := &positions[i]
		lags[i] = store.GroupLag{Group: position.Group, Stream: position.Stream}
		for _, seq := range byStream[position.Stream] {
			if !ackedBy(position, seq) {
				lags[i].Entries++
			}
		}
	}
	return lags, nil
}

// LogRetire implements store.Log. It locks what joining locks. The group's row
// stays, because fences never go down; joins is raised so that every process
// reads again which streams are listened to.
func (c *Cold) LogRetire(ctx context.Context, group string, now time.Time) error {
	return c.write(ctx, "retire a group", func(s session) error {
		if err := s.each(ctx, func([]any) error { return nil }, "SELECT seq FROM log_head WHERE id = 1"+c.dialect.Lock); err != nil {
			return err
		}
		var owner string
		var until time.Time
		err := s.each(ctx, func(values []any) error {
			r := reader{values: values}
			owner, until = r.text(), r.time()
			return r.err
		}, "SELECT owner, lease_until FROM log_groups WHERE grp = ?"+c.dialect.Lock, group)
		if err != nil {
			return err
		}
		streams, err := list(ctx, s, ReadText, "SELECT stream FROM log_positions WHERE grp = ?", group)
		switch {
		case err != nil:
			return err
		case len(streams) == 0:
			return rondo.NotFound("consumer group")
		case owner != "" && until.After(now):
			return rondo.WrongState("the consumer group is being read")
		}
		if _, err := s.exec(ctx, "DELETE FROM log_positions WHERE grp = ?", group); err != nil {
			return err
		}
		return c.forsake(ctx, s, streams)
	})
}

// forsake removes the relayed entries of streams that nobody listens to any more.
// The head outlives the entries.
func (c *Cold) forsake(ctx context.Context, s session, streams []string) error {
	listened, err := list(ctx, s, ReadText, "SELECT DISTINCT stream FROM log_positions")
	if err != nil {
		return err
	}
	head, err := c.head(ctx, s)
	if err != nil {
		return err
	}
	if _, err := s.exec(ctx, "UPDATE log_head SET seq = ?, joins = joins + 1 WHERE id = 1", head); err != nil {
		return err
	}
	for _, stream := range streams {
		if slices.Contains(listened, stream) {
			continue
		}
		if _, err := s.exec(ctx, "DELETE FROM log_entries WHERE stream = ? AND relayed = 1", stream); err != nil {
			return err
		}
	}
	return nil
}

// Waiting implements store.Ledger.
func (c *Cold) Waiting(ctx context.Context) (store.Waiting, error) {
	var waiting store.Waiting
	err := c.reader().each(ctx, func(values []any) error {
		r := reader{values: values}
		waiting = store.Waiting{Parked: int(r.int()), DeadLetters: int(r.int())}
		return r.err
	}, "SELECT (SELECT COUNT(*) FROM parked), (SELECT COUNT(*) FROM dead_letters WHERE status = ?)", string(rondo.DeadLetterOpen))
	return waiting, c.wrap("count what waits", err)
}
