package runs

import (
	"context"
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// Taint marks a cache entry bad: it is never reused again, from either tier. The
// answer lists every run that used it, as its producer or later, with the steps
// that came after it there and the artifacts of them all. CodeNotFound when there
// is no such entry.
//
// With rebuild each of these runs that has completed and was not replaced by a
// completed update run is redone: an update run whose only seed is the step. The
// step is computed once for all of them, because their keys are the same, and what
// follows only where the new result differs. Runs that have not completed, and
// those that were replaced, are listed and left alone.
//
// Tainting an entry again goes on where the first call stopped.
func (s *Service) Taint(ctx context.Context, p rondo.Principal, key, why string, rebuild bool) (Tainted, error) {
	const op = "taint a cache entry"
	if why == "" {
		return Tainted{}, &rondo.Error{Code: rondo.CodeInvalid, Op: op, Message: "a tainted entry needs a reason", Hint: "say what is wrong with it: it is shown wherever the entry is"}
	}
	entry, err := s.store.TaintCache(ctx, p.Tenant, key, why)
	if err != nil {
		return Tainted{}, rondo.Op(op, err)
	}
	if err := s.dropHot(ctx, p.Tenant, []string{key}); err != nil {
		return Tainted{}, rondo.Op("drop a tainted entry from the hot tier", err)
	}
	users, err := s.cacheUsers(ctx, p.Tenant, key)
	if err != nil {
		return Tainted{}, rondo.Op(op, err)
	}
	tainted := Tainted{Key: key, Workflow: entry.WorkflowName, StepID: entry.StepID, Runs: []TaintedRun{}, Artifacts: []string{}}
	for _, use := range users {
		run, artifacts, err := s.touched(ctx, p.Tenant, use)
		if err != nil {
			return tainted, err
		}
		tainted.Artifacts = append(tainted.Artifacts, artifacts...)
		if rebuild {
			if run.RebuiltBy, err = s.rebuild(ctx, p, use); err != nil {
				return tainted, err
			}
			if run.RebuiltBy != "" {
				tainted.Rebuilds = append(tainted.Rebuilds, run.RebuiltBy)
			}
		}
		tainted.Runs = append(tainted.Runs, run)
	}
	slices.Sort(tainted.Artifacts)
	tainted.Artifacts = slices.Compact(tainted.Artifacts)
	return tainted, nil
}

// cacheUsers reads every use of an entry, one per run.
func (s *Service) cacheUsers(ctx context.Context, tenant, key string) ([]store.CacheUser, error) {
	var all []store.CacheUser
	page := store.Page{Limit: cachePage}
	seen := map[rondo.ID]bool{}
	for {
		users, err := s.store.CacheUsers(ctx, tenant, key, page)
		if err != nil {
			return nil, err
		}
		for _, user := range users {
			if !seen[user.RunID] {
				seen[user.RunID] = true
				all = append(all, user)
			}
		}
		if len(users) < cachePage {
			return all, nil
		}
		page.After = users[len(users)-1].RunID
	}
}

// touched names the steps of a run that a bad entry reached, in the order they
// ran, and the artifacts of those that gave any.
func (s *Service) touched(ctx context.Context, tenant string, use store.CacheUser) (TaintedRun, []string, error) {
	tainted := TaintedRun{RunID: use.RunID.String(), Status: string(use.Status), StepIDs: []string{use.StepID}}
	_, w, rows, err := s.history(ctx, tenant, use.RunID, false)
	if err != nil {
		return tainted, nil, err
	}
	if step, known := w.Index(use.StepID); known {
		tainted.StepIDs = idsOf(w, w.Closure([]int{step}))
	}
	last := lastByStep(rows)
	var artifacts []string
	for _, step := range tainted.StepIDs {
		for _, id := range last[step].ArtifactIDs {
			artifacts = append(artifacts, id.String())
		}
	}
	return tainted, artifacts, nil
}

// rebuild starts an update run of a run that used a bad entry, unless there is no
// need to: "".
func (s *Service) rebuild(ctx context.Context, p rondo.Principal, use store.CacheUser) (string, error) {
	if use.Status != rondo.RunCompleted {
		return "", nil
	}
	newer, err := s.replacedBy(ctx, p.Tenant, use.RunID)
	if err != nil || !newer.IsZero() {
		return "", err
	}
	run, err := s.Update(ctx, p, UpdateRequest{BaseRunID: use.RunID, Options: rondo.RunOptions{ChangedSteps: []string{use.StepID}}})
	if err != nil {
		return "", rondo.Op("rebuild run "+use.RunID.String(), err)
	}
	return run.ID.String(), nil
}
