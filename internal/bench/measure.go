package bench

import (
	"bytes"
	"context"
	"math"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/rondo-engine/rondo/store"
)

// countingStore counts commits and the rows they write.
type countingStore struct {
	store.Store
	commits, rows atomic.Int64
}

// Update counts what the driver writes for a batch: one row each for new ledger
// rows, finished steps, instances, events to send, and for the sent ones that
// are removed; a new instance also has its case row.
func (c *countingStore) Update(ctx context.Context, load store.Load, decide store.Decide) (store.Committed, error) {
	var last *store.Write
	committed, err := c.Store.Update(ctx, load, func(l *store.Loaded) (*store.Write, error) {
		w, err := decide(l)
		last = w
		return w, err
	})
	if err == nil && last != nil {
		rows := len(last.Instances) + len(last.Steps) + len(last.Events) + len(last.Rejudged) + len(last.Sent) +
			len(last.Acks) + len(last.Interventions) + len(last.DeadLetters) + len(last.Duplicates)
		for _, seq := range committed.Seqs {
			if seq != 0 {
				rows++
			}
		}
		for _, w := range last.Instances {
			if w.Previous == 0 {
				rows++
			}
		}
		c.commits.Add(1)
		c.rows.Add(int64(rows))
	}
	return committed, err
}

// Writers passes on what the driver says.
func (c *countingStore) Writers() int {
	if w, ok := c.Store.(interface{ Writers() int }); ok {
		return w.Writers()
	}
	return 0
}

// MarkSent counts removals that no commit took along.
func (c *countingStore) MarkSent(ctx context.Context, seqs []int64) error {
	c.commits.Add(1)
	c.rows.Add(int64(len(seqs)))
	return c.Store.MarkSent(ctx, seqs)
}

func (c *countingStore) totals() (commits, rows int64) { return c.commits.Load(), c.rows.Load() }

// percentile returns the nearest-rank percentile of sorted times.
func percentile(sorted []time.Duration, p int) time.Duration {
	rank := (len(sorted)*p + 99) / 100
	return sorted[max(rank, 1)-1]
}

func millis(d time.Duration) float64 { return round(float64(d.Microseconds()) / 1000) }

func round(v float64) float64 { return math.Round(v*100) / 100 }

// residentMB is the memory of this process, 0 where the system does not tell.
func residentMB() float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte("VmRSS:")); ok {
			fields := bytes.Fields(rest)
			if len(fields) > 0 {
				kb, _ := strconv.ParseFloat(string(fields[0]), 64)
				return round(kb / 1024)
			}
		}
	}
	return 0
}
