package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// CommitRuns implements store.Runs: what is refused is found out before anything is
// written, and takeoffs come after everything else.
func (s *Store) CommitRuns(ctx context.Context, c store.RunCommit) ([]store.RunResult, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	results := make([]store.RunResult, len(c.Writes))
	for i := range c.Writes {
		w, result := &c.Writes[i], &results[i]
		row, err := s.runs.admit(w)
		if err != nil {
			result.Err = err
			continue
		}
		s.runs.put(row, w, c.Owner)
		result.Fence = row.fence
		result.Landed = s.runs.land(w, &c)
		result.Seqs = s.send(w.Outbox)
	}
	for i := range c.Writes {
		if w, result := &c.Writes[i], &results[i]; result.Err == nil {
			s.takeOff(w, &c, result)
		}
	}
	return results, nil
}

// admit finds the row that a write may change, making a new one or raising the
// fence, or says why it may not.
func (r *runs) admit(w *store.RunWrite) (*runRow, error) {
	const op = "memory: commit runs"
	row := r.byID[w.Run.ID]
	switch {
	case w.Insert && row != nil:
		return nil, &rondo.Error{Code: rondo.CodeConflict, Op: op, Message: "the run exists already", Hint: "use another id"}
	case w.Insert:
		row = &runRow{run: copyRun(w.Run), fence: 1, steps: map[attemptKey]rondo.RunStep{}}
		r.byID[w.Run.ID] = row
		r.ascending = insertByID(r.ascending, row, runID)
	case w.Resume != "" && (row == nil || row.run.TenantID != w.Run.TenantID):
		return nil, rondo.Op(op, rondo.NotFound("run"))
	case w.Resume != "" && row.run.Status != w.Resume:
		return nil, rondo.Op(op, rondo.WrongState("the run is "+string(row.run.Status)+", not "+string(w.Resume)))
	case w.Resume != "":
		row.fence++
	case row == nil || row.run.TenantID != w.Run.TenantID || row.fence != w.Fence:
		return nil, runLost(op)
	}
	return row, nil
}

// put writes everything of a write but its flights and events.
func (r *runs) put(row *runRow, w *store.RunWrite, owner string) {
	from := storedRun(w.Run)
	row.run.Status, row.run.Error, row.run.TotalSteps, row.run.Seq = from.Status, from.Error, from.TotalSteps, from.Seq
	row.run.StartedAt, row.run.CompletedAt = from.StartedAt, from.CompletedAt
	row.run.CreatedAt = stored(row.run.CreatedAt)
	row.owner = owner
	obeyed := func(signal store.RunSignal) bool { return slices.Contains(w.Signals, signal.ID) }
	if from.Status.Ended() {
		row.owner = ""
		obeyed = func(signal store.RunSignal) bool {
			return signal.RunID == w.Run.ID || slices.Contains(w.Signals, signal.ID)
		}
	}
	if len(r.signals) > 0 {
		r.signals = slices.DeleteFunc(r.signals, obeyed)
	}
	for i := range w.Steps {
		row.putStep(&w.Steps[i])
	}
	for _, artifact := range w.Artifacts {
		artifact.CreatedAt = stored(artifact.CreatedAt)
		r.artifacts[artifact.ID] = artifact
	}
	for _, event := range w.Raised {
		if !slices.ContainsFunc(r.raised, func(known store.RunRaised) bool { return known.Event.EventID == event.EventID }) {
			r.raised = append(r.raised, store.RunRaised{TenantID: w.Run.TenantID, RunID: w.Run.ID, Event: event})
		}
	}
	if len(w.Raised) > 0 {
		slices.SortFunc(r.raised, func(a, b store.RunRaised) int {
			return cmp.Or(a.Event.OccurredAt.Compare(b.Event.OccurredAt), cmp.Compare(a.Event.EventID, b.Event.EventID))
		})
	}
}

func (row *runRow) putStep(step *rondo.RunStep) {
	row.steps[attemptKey{step.StepID, step.Attempt}] = storedRunStep(step)
}

// land ends flights that are still held.
func (r *runs) land(w *store.RunWrite, c *store.RunCommit) []bool {
	landed := make([]bool, len(w.Landings))
	for i, landing := range w.Landings {
		name := cacheName{w.Run.TenantID, landing.Name}
		row := r.cache[name]
		if row == nil || row.owner != c.Owner || row.fence != landing.Fence {
			continue
		}
		landed[i] = true
		row.owner = ""
		if landing.Entry != nil {
			row.entry = storedEntry(landing.Entry)
		}
		if row.entry == nil {
			delete(r.cache, name)
		}
	}
	return landed
}

// takeOff decides the takeoffs of a write, and writes what belongs to those that
// are taken.
func (s *Store) takeOff(w *store.RunWrite, c *store.RunCommit, result *store.RunResult) {
	result.Flights = make([]store.Flight, len(w.Takeoffs))
	for i := range w.Takeoffs {
		t, flight := &w.Takeoffs[i], &result.Flights[i]
		name := cacheName{w.Run.TenantID, t.Name}
		row := s.runs.cache[name]
		switch {
		case row == nil:
			row = &cacheRow{}
			s.runs.cache[name] = row
		case t.Key && !t.Again && goodEntry(row.entry, c.At):
			flight.Entry = copyEntry(row.entry)
			continue
		case row.owner != "" && (row.owner == c.Owner || s.runs.alive(row.owner, c.At)):
			continue
		}
		flight.Taken, flight.TookOver = true, row.owner != ""
		row.owner = c.Owner
		row.fence++
		flight.Fence = row.fence
		s.runs.byID[w.Run.ID].putStep(&t.Step)
		result.Seqs = append(result.Seqs, s.send(t.Outbox)...)
	}
}
