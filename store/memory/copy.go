package memory

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// stored is a time as databases keep it: microseconds, in UTC.
func stored(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// copyInstance copies everything that can change in place.
func copyInstance(from *rondo.Instance) rondo.Instance {
	to := *from
	to.Context = maps.Clone(from.Context)
	to.Machine.Live = slices.Clone(from.Machine.Live)
	to.Machine.Steps = maps.Clone(from.Machine.Steps)
	to.Machine.Consumed = maps.Clone(from.Machine.Consumed)
	to.Machine.Forks = slices.Clone(from.Machine.Forks)
	for i := range to.Machine.Forks {
		to.Machine.Forks[i].Branches = maps.Clone(to.Machine.Forks[i].Branches)
	}
	return to
}

func storedInstance(from *rondo.Instance) rondo.Instance {
	to := copyInstance(from)
	to.StartedAt = stored(to.StartedAt)
	to.DeadlineAt = stored(to.DeadlineAt)
	to.CompletedAt = stored(to.CompletedAt)
	to.WakeAt = stored(to.WakeAt)
	return to
}

func storedStep(step rondo.Step) rondo.Step {
	step.StartedAt = stored(step.StartedAt)
	step.CompletedAt = stored(step.CompletedAt)
	step.TimeoutAt = stored(step.TimeoutAt)
	return step
}

// insertByID keeps rows ascending by id. Ids mostly come in order, so this is
// nearly always an append.
func insertByID[T any](rows []T, row T, id func(T) rondo.ID) []T {
	if n := len(rows); n == 0 || compareIDs(id(rows[n-1]), id(row)) < 0 {
		return append(rows, row)
	}
	at, _ := slices.BinarySearchFunc(rows, id(row), func(r T, want rondo.ID) int { return compareIDs(id(r), want) })
	return slices.Insert(rows, at, row)
}

func compareIDs(a, b rondo.ID) int { return bytes.Compare(a[:], b[:]) }

// newestFirst walks rows that ascend by id from their end, after the page's
// cursor, and returns those that match, at most the page's limit.
func newestFirst[T any](rows []T, page store.Page, id func(T) rondo.ID, match func(T) bool) []T {
	end := len(rows)
	if !page.After.IsZero() {
		end, _ = slices.BinarySearchFunc(rows, page.After, func(r T, want rondo.ID) int { return compareIDs(id(r), want) })
	}
	var found []T
	for i := end - 1; i >= 0; i-- {
		if !match(rows[i]) {
			continue
		}
		if found = append(found, rows[i]); len(found) == page.Limit {
			break
		}
	}
	return found
}

// oldestFirst is newestFirst in the other direction.
func oldestFirst[T any](rows []T, page store.Page, id func(T) rondo.ID, match func(T) bool) []T {
	var found []T
	for _, row := range rows {
		if !page.After.IsZero() && compareIDs(id(row), page.After) <= 0 || !match(row) {
			continue
		}
		if found = append(found, row); len(found) == page.Limit {
			break
		}
	}
	return found
}

// sortedKeys makes what is listed from a map independent of its order.
func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
