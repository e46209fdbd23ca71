package sqlstore

import (
	"context"
	"slices"
	"time"

	"github.com/rondo-engine/rondo/store"
)

// LogTrim implements store.Log. The head outlives the entry that had it.
func (c *Cold) LogTrim(ctx context.Context, before time.Time) (int64, error) {
	var removed int64
	err := c.write(ctx, "trim the log", func(s session) error {
		removed = 0
		head, err := c.head(ctx, s)
		if err != nil {
			return err
		}
		if _, err := s.exec(ctx, "UPDATE log_head SET seq = ? WHERE id = 1 AND seq < ?", head, head); err != nil {
			return err
		}
		positions, err := list(ctx, s, readPosition,
			"SELECT p.grp, p.stream, p.position, p.acked, g.fence FROM log_positions p JOIN log_groups g ON g.grp = p.grp ORDER BY p.stream")
		if err != nil {
			return err
		}
		byStream := map[string][]store.GroupState{}
		for _, position := range positions {
			byStream[position.Stream] = append(byStream[position.Stream], position)
		}
		streams, err := list(ctx, s, ReadText, "SELECT DISTINCT stream FROM log_entries WHERE created_at < ?", before.UnixMicro())
		if err != nil {
			return err
		}
		for _, stream := range streams {
			n, err := trimStream(ctx, s, stream, byStream[stream], head, before)
			if err != nil {
				return err
			}
			removed += n
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return removed, nil
}

// trimStream removes what all groups of a stream have acked: everything up to
// the lowest cursor, and above it the entries that each group has named.
func trimStream(ctx context.Context, s session, stream string, groups []store.GroupState, head int64, before time.Time) (int64, error) {
	lowest := head
	for _, g := range groups {
		lowest = min(lowest, g.Cursor)
	}
	removed, err := s.exec(ctx, "DELETE FROM log_entries WHERE stream = ? AND created_at < ? AND seq <= ?", stream, before.UnixMicro(), lowest)
	if err != nil {
		return 0, err
	}
	above, err := list(ctx, s, func(values []any) (int64, error) {
		r := reader{values: values}
		return r.int(), r.err
	}, "SELECT seq FROM log_entries WHERE stream = ? AND created_at < ? AND seq > ?", stream, before.UnixMicro(), lowest)
	if err != nil {
		return 0, err
	}
	var acked []any
	for _, seq := range above {
		if !slices.ContainsFunc(groups, func(g store.GroupState) bool { return !ackedBy(&g, seq) }) {
			acked = append(acked, seq)
		}
	}
	for chunk := range slices.Chunk(acked, maxParameters) {
		n, err := s.exec(ctx, "DELETE FROM log_entries WHERE seq IN ("+Marks(len(chunk))+")", chunk...)
		if err != nil {
			return 0, err
		}
		removed += n
	}
	return removed, nil
}

func ackedBy(g *store.GroupState, seq int64) bool {
	if seq <= g.Cursor {
		return true
	}
	_, found := slices.BinarySearch(g.Acked, seq)
	return found
}
