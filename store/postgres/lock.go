package postgres

import (
	"hash/fnv"
	"slices"

	"github.com/rondo-engine/rondo"
)

// caseLock is the number of the advisory lock of a case. Two cases with one number
// wait for each other now and then; nothing else comes of it.
func caseLock(key rondo.CaseKey) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key.OrgID)) // a hash never fails
	_, _ = h.Write([]byte{0})
	_, _ = h.Write([]byte(key.CaseID))
	return int64(h.Sum64()) // any 64 bits will do
}

// caseLocks are the locks of a batch in the one order in which all batches take
// them, so that two never wait for each other.
func caseLocks(keys []rondo.CaseKey) []int64 {
	locks := make([]int64, len(keys))
	for i, key := range keys {
		locks[i] = caseLock(key)
	}
	slices.Sort(locks)
	return slices.Compact(locks)
}
