package sqlstore

import (
	"errors"
	"sync/atomic"

	"github.com/rondo-engine/rondo"
)

// Trust lets a batch take every event that it asks about for new, which nearly all
// are, and not look it up in the ledger: the ledger's unique key refuses the batch
// if one is not. The batch is then decided again with the ledger looked up, and so
// are those that follow, because repeats come in bursts. The zero value trusts; it
// is safe for concurrent use.
type Trust struct{ wary atomic.Int64 }

// waryFor is how many batches look events up after one met a repeat.
const waryFor = 64

// Trusting reports whether the next batch may leave the ledger alone. Each batch
// asks once.
func (t *Trust) Trusting() bool {
	if t.wary.Load() <= 0 {
		return true
	}
	t.wary.Add(-1)
	return false
}

// Lose makes the batches that follow look events up.
func (t *Trust) Lose() { t.wary.Store(waryFor) }

// ErrNotVouched says that a trusting batch asked about an event that it does not
// write, so that the unique key cannot tell whether it was new.
var ErrNotVouched = errors.New("sqlstore: the batch asked about an event that it does not write")

// Vouched reports whether every event asked about is also written.
func Vouched(asked []rondo.EventKey, written []rondo.EventRecord) bool {
	rows := make(map[rondo.EventKey]bool, len(written))
	for i := range written {
		rows[rondo.EventKey{OrgID: written[i].OrgID, EventID: written[i].EventID}] = true
	}
	for _, key := range asked {
		if !rows[key] {
			return false
		}
	}
	return true
}
