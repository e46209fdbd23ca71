package sqlstore

import (
	"context"
	"slices"
	"time"

	"github.com/rondo-engine/rondo/store"
)

// trimChunk is how many entries are looked at, and removed, at a time: a trim
// never holds up the commits of cases for longer than that takes.
const trimChunk = 1000

// trimEntry is what a trim must know of an entry.
type trimEntry struct {
	seq     int64
	stream  string
	created time.Time
}

// LogTrim implements store.Log. It walks the log by number, which is the order of
// commits and so nearly that of age, and stops at the first chunk that is too
// young throughout. Positions are read once: groups only go forward meanwhile,
// and one that joins late finds what a trim just before it would have left.
func (c *Cold) LogTrim(ctx context.Context, before time.Time) (int64, error) {
	const op = "trim the log"
	positions, err := list(ctx, c.reader(), readPosition,
		"SELECT p.grp, p.stream, p.position, p.acked, g.fence FROM log_positions p JOIN log_groups g ON g.grp = p.grp")
	if err != nil {
		return 0, c.wrap(op, err)
	}
	byStream := map[string][]store.GroupState{}
	for _, position := range positions {
		byStream[position.Stream] = append(byStream[position.Stream], position)
	}
	var removed, after int64
	for {
		chunk, err := list(ctx, c.reader(), readTrimEntry,
			"SELECT seq, stream, created_at FROM log_entries WHERE seq > ? ORDER BY seq LIMIT ?", after, int64(trimChunk))
		if err != nil {
			return removed, c.wrap(op, err)
		}
		done, young := removable(chunk, byStream, before)
		if len(done) > 0 {
			n, err := c.removeEntries(ctx, op, done)
			if err != nil {
				return removed, err
			}
			removed += n
		}
		if young || len(chunk) < trimChunk {
			return removed, nil
		}
		after = chunk[len(chunk)-1].seq
	}
}

func readTrimEntry(values []any) (trimEntry, error) {
	r := reader{values: values}
	e := trimEntry{seq: r.int(), stream: r.text(), created: r.time()}
	return e, wrapRead("log entry", r.err)
}

// removable are the numbers of the old entries that every group of their stream
// has acked; young says that there is no old entry at all. An entry without a
// time stays.
func removable(chunk []trimEntry, groups map[string][]store.GroupState, before time.Time) (done []any, young bool) {
	young = true
	for _, e := range chunk {
		if e.created.IsZero() || !e.created.Before(before) {
			continue
		}
		young = false
		if !slices.ContainsFunc(groups[e.stream], func(g store.GroupState) bool { return !ackedBy(&g, e.seq) }) {
			done = append(done, e.seq)
		}
	}
	return done, young
}

// removeEntries removes ascending numbers in one transaction. The head outlives
// the entry that had it.
func (c *Cold) removeEntries(ctx context.Context, op string, seqs []any) (int64, error) {
	var removed int64
	err := c.write(ctx, op, func(s session) error {
		removed = 0
		last := seqs[len(seqs)-1]
		if _, err := s.exec(ctx, "UPDATE log_head SET seq = ? WHERE id = 1 AND seq < ?", last, last); err != nil {
			return err
		}
		for part := range slices.Chunk(seqs, maxParameters) {
			n, err := s.exec(ctx, "DELETE FROM log_entries WHERE seq IN ("+Marks(len(part))+")", part...)
			if err != nil {
				return err
			}
			removed += n
		}
		return nil
	})
	return removed, err
}

func ackedBy(g *store.GroupState, seq int64) bool {
	if seq <= g.Cursor {
		return true
	}
	_, found := slices.BinarySearch(g.Acked, seq)
	return found
}
