package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// outbox holds unsent events, ascending by Seq.
type outbox struct {
	last int64
	rows []*outboxRow
}

type outboxRow struct {
	event        rondo.Outgoing
	claimedUntil time.Time
}

func (o *outbox) add(event rondo.Outgoing) int64 {
	o.last++
	event.Seq = o.last
	o.rows = append(o.rows, &outboxRow{event: event})
	return event.Seq
}

func (o *outbox) remove(seqs []int64) {
	if len(seqs) == 0 || len(o.rows) == 0 {
		return
	}
	gone := slices.Sorted(slices.Values(seqs))
	o.rows = slices.DeleteFunc(o.rows, func(row *outboxRow) bool {
		_, found := slices.BinarySearchFunc(gone, row.event.Seq, cmp.Compare[int64])
		return found
	})
}

// ClaimUnsent implements store.Outbox.
func (s *Store) ClaimUnsent(ctx context.Context, now, olderThan time.Time, lease time.Duration, limit int, which store.Streams) ([]rondo.Outgoing, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var claimed []rondo.Outgoing
	for _, row := range s.outbox.rows {
		if len(claimed) >= limit {
			break
		}
		if row.claimedUntil.After(now) || row.event.CreatedAt.After(olderThan) || !which.Has(row.event.Stream) {
			continue
		}
		row.claimedUntil = stored(now.Add(lease))
		claimed = append(claimed, row.event)
	}
	return claimed, nil
}

// MarkSent implements store.Outbox.
func (s *Store) MarkSent(ctx context.Context, seqs []int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outbox.remove(seqs)
	return nil
}

// Backlog implements store.Outbox.
func (s *Store) Backlog(ctx context.Context) (int, time.Time, error) {
	if err := ctx.Err(); err != nil {
		return 0, time.Time{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var oldest time.Time
	for _, row := range s.outbox.rows {
		if oldest.IsZero() || row.event.CreatedAt.Before(oldest) {
			oldest = row.event.CreatedAt
		}
	}
	return len(s.outbox.rows), oldest, nil
}
