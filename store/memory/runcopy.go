package memory

import (
	"maps"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
)

func copyRun(from *rondo.Run) rondo.Run {
	to := *from
	to.Change, to.Error, to.Case = copyOf(from.Change), copyOf(from.Error), copyOf(from.Case)
	to.Options.StepModes = maps.Clone(from.Options.StepModes)
	to.Options.ChangedSteps = slices.Clone(from.Options.ChangedSteps)
	return to
}

func storedRun(from *rondo.Run) rondo.Run {
	to := copyRun(from)
	to.CreatedAt, to.StartedAt, to.CompletedAt = stored(to.CreatedAt), storedOrZero(to.StartedAt), storedOrZero(to.CompletedAt)
	return to
}

func copyRunStep(from *rondo.RunStep) rondo.RunStep {
	to := *from
	to.Error, to.Deterministic = copyOf(from.Error), copyOf(from.Deterministic)
	to.ArtifactIDs = slices.Clone(from.ArtifactIDs)
	return to
}

func storedRunStep(from *rondo.RunStep) rondo.RunStep {
	to := copyRunStep(from)
	to.RetryAt, to.StartedAt, to.CompletedAt = storedOrZero(to.RetryAt), storedOrZero(to.StartedAt), storedOrZero(to.CompletedAt)
	return to
}

func copyEntry(from *rondo.CacheEntry) *rondo.CacheEntry {
	if from == nil {
		return nil
	}
	to := *from
	to.ArtifactIDs = slices.Clone(from.ArtifactIDs)
	return &to
}

func storedEntry(from *rondo.CacheEntry) *rondo.CacheEntry {
	to := copyEntry(from)
	to.CreatedAt, to.LastUsedAt, to.ExpiresAt = stored(to.CreatedAt), stored(to.LastUsedAt), storedOrZero(to.ExpiresAt)
	return to
}

// goodEntry reports whether an entry may be used.
func goodEntry(entry *rondo.CacheEntry, at time.Time) bool {
	return entry != nil && entry.Tainted == "" && (entry.ExpiresAt.IsZero() || entry.ExpiresAt.After(at))
}

func copyOf[T any](from *T) *T {
	if from == nil {
		return nil
	}
	to := *from
	return &to
}
