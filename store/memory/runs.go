package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// runs is everything about runs.
type runs struct {
	owners    map[string]time.Time // until when each is alive
	byID      map[rondo.ID]*runRow
	ascending []*runRow // by id
	cache     map[cacheName]*cacheRow
	artifacts map[rondo.ID]rondo.Artifact
	loose     map[string]time.Time // content of artifacts that went → since when that is known
	signals   []store.RunSignal    // oldest first
	raised    []store.RunRaised    // oldest first
}

func newRuns() runs {
	return runs{
		owners: map[string]time.Time{}, byID: map[rondo.ID]*runRow{}, cache: map[cacheName]*cacheRow{}, artifacts: map[rondo.ID]rondo.Artifact{},
		loose: map[string]time.Time{},
	}
}

// runRow is a run with its steps.
type runRow struct {
	run   rondo.Run
	owner string // "" = none
	fence int64
	steps map[attemptKey]rondo.RunStep
}

func runID(row *runRow) rondo.ID { return row.run.ID }

// attemptKey names a row of a run's steps.
type attemptKey struct {
	step    string
	attempt int
}

// cacheName names a row of the cache: a key, or a flight that is not cached.
type cacheName struct{ tenant, name string }

// cacheRow is an entry, a flight, or both.
type cacheRow struct {
	entry *rondo.CacheEntry // nil = none
	owner string            // of the flight; "" = nobody computes it
	fence int64
}

func (r *runs) alive(owner string, at time.Time) bool { return r.owners[owner].After(at) }

// Heartbeat implements store.Runs.
func (s *Store) Heartbeat(ctx context.Context, owner string, at time.Time, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if until, known := s.runs.owners[owner]; known && !until.After(at) {
		return runLost("memory: heartbeat")
	}
	s.runs.owners[owner] = stored(at.Add(d))
	return nil
}

// LeaveRuns implements store.Runs.
func (s *Store) LeaveRuns(ctx context.Context, owner string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.runs.owners[owner]; known {
		s.runs.owners[owner] = time.Time{}
	}
	return nil
}

// ClaimRuns implements store.Runs.
func (s *Store) ClaimRuns(ctx context.Context, owner string, at time.Time, want store.Claim) ([]store.OwnedRun, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var free []*runRow
	for _, row := range s.runs.ascending {
		if !row.run.Status.Ended() && row.owner != owner && !s.runs.alive(row.owner, at) && (want.Run.IsZero() || want.Run == row.run.ID) {
			free = append(free, row)
		}
	}
	slices.SortStableFunc(free, func(a, b *runRow) int { return a.run.CreatedAt.Compare(b.run.CreatedAt) })
	place := make(map[*runRow]int, len(free)) // in the line of its tenant
	line := map[string]int{}
	for _, row := range free {
		place[row] = line[row.run.TenantID]
		line[row.run.TenantID]++
	}
	slices.SortStableFunc(free, func(a, b *runRow) int { return cmp.Compare(place[a], place[b]) })
	var claimed []store.OwnedRun
	for _, row := range free {
		if len(claimed) >= want.Limit {
			break
		}
		if place[row] >= want.Room(row.run.TenantID) {
			continue
		}
		row.owner = owner
		row.fence++
		claimed = append(claimed, store.OwnedRun{Run: copyRun(&row.run), Fence: row.fence})
	}
	return claimed, nil
}

// Signals implements store.Runs.
func (s *Store) Signals(ctx context.Context, owner string, limit int) ([]store.RunSignal, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []store.RunSignal
	for _, signal := range s.runs.signals {
		if len(found) >= limit {
			break
		}
		if row := s.runs.byID[signal.RunID]; owner != "" && row != nil && row.owner == owner {
			found = append(found, signal)
		}
	}
	return found, nil
}

// PutSignals implements store.Runs.
func (s *Store) PutSignals(ctx context.Context, signals []store.RunSignal) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, signal := range signals {
		row := s.runs.byID[signal.RunID]
		if row == nil || row.run.Status.Ended() {
			continue
		}
		if slices.ContainsFunc(s.runs.signals, func(known store.RunSignal) bool { return known.ID == signal.ID }) {
			continue
		}
		signal.At = stored(signal.At)
		s.runs.signals = insertByID(s.runs.signals, signal, func(of store.RunSignal) rondo.ID { return of.ID })
	}
	return nil
}

// RaisedByRuns implements store.Runs.
func (s *Store) RaisedByRuns(ctx context.Context, limit int) ([]store.RunRaised, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.runs.raised[:max(0, min(limit, len(s.runs.raised)))]), nil
}

// ConfirmRaised implements store.Runs.
func (s *Store) ConfirmRaised(ctx context.Context, eventIDs []string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs.raised = slices.DeleteFunc(s.runs.raised, func(r store.RunRaised) bool { return slices.Contains(eventIDs, r.Event.EventID) })
	return nil
}

// runLost says that a run, or the name of its owner, is not the caller's any more.
func runLost(op string) error {
	return &rondo.Error{
		Code: rondo.CodeLeaseLost, Op: op, Message: "another process owns it by now, or the owner's time ran out",
		Hint: "drop what was decided; whoever owns it goes on", Err: store.ErrLeaseLost,
	}
}
