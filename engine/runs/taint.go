package runs

import (
	"context"
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// Taint marks a cache entry bad: it is never reused again, from either tier. The
// answer lists every run that has its result, as its producer or later, with the
// steps that came after it there and the artifacts of them all. CodeNotFound when
// there is no such entry.
//
// With rebuild each of these runs that has completed and was not replaced by a
// completed update run is redone: by an update run whose only seed is the step and
// whose change is the one that the run itself had. The step is computed once for
// all of them, because their keys are the same, and what follows only where the new
// result differs. Runs that have not completed, and those that were replaced, are
// listed and left alone.
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
	tainted := Tainted{Key: key, Workflow: entry.WorkflowName, StepID: entry.StepID, Runs: []TaintedRun{}, Artifacts: []string{}}
	users, err := s.cacheUsers(ctx, p.Tenant, key)
	if err != nil {
		return Tainted{}, rondo.Op(op, err)
	}
	var using []store.CacheUser // of tainted.Runs
	for _, use := range users {
		run, artifacts, uses, err := s.touched(ctx, p.Tenant, &entry, use)
		if err != nil {
			return Tainted{}, err
		}
		if uses {
			using = append(using, use)
			tainted.Runs = append(tainted.Runs, run)
			tainted.Artifacts = append(tainted.Artifacts, artifacts...)
		}
	}
	slices.Sort(tainted.Artifacts)
	tainted.Artifacts = slices.Compact(tainted.Artifacts)
	if !rebuild {
		return tainted, nil
	}
	for i, use := range using {
		id, err := s.rebuild(ctx, p, use)
		if err != nil {
			return tainted, rondo.Op("rebuild run "+use.RunID.String(), err)
		}
		if !id.IsZero() {
			tainted.Runs[i].RebuiltBy = id.String()
			tainted.Rebuilds = append(tainted.Rebuilds, id.String())
		}
	}
	return tainted, nil
}

// cacheUsers reads every run that has a step of that key, newest first.
func (s *Service) cacheUsers(ctx context.Context, tenant, key string) ([]store.CacheUser, error) {
	var all []store.CacheUser
	page := store.Page{Limit: cachePage}
	for {
		users, err := s.store.CacheUsers(ctx, tenant, key, page)
		if err != nil {
			return nil, err
		}
		all = append(all, users...)
		if len(users) < cachePage {
			return all, nil
		}
		page.After = users[len(users)-1].RunID
	}
}

// touched names the steps of a run that a bad entry reached, in the order they
// run, and the artifacts of those that gave any. A run that has another result
// under the same key, one that was replaced or came later, does not use the entry.
func (s *Service) touched(ctx context.Context, tenant string, entry *rondo.CacheEntry, use store.CacheUser) (run TaintedRun, artifacts []string, uses bool, err error) {
	_, w, rows, err := s.history(ctx, tenant, use.RunID, false)
	if err != nil {
		return run, nil, false, err
	}
	last := lastByStep(rows)
	step, known := w.Index(use.StepID)
	if !known || last[use.StepID].OutputHash != entry.OutputHash {
		return run, nil, false, nil
	}
	run = TaintedRun{RunID: use.RunID.String(), Status: string(use.Status), StepIDs: idsOf(w, w.Closure([]int{step}))}
	for _, id := range run.StepIDs {
		for _, artifact := range last[id].ArtifactIDs {
			artifacts = append(artifacts, artifact.String())
		}
	}
	return run, artifacts, true, nil
}

// rebuild starts an update run of a run that used a bad entry; zero when it need
// not be.
func (s *Service) rebuild(ctx context.Context, p rondo.Principal, use store.CacheUser) (rondo.ID, error) {
	if use.Status != rondo.RunCompleted {
		return rondo.ID{}, nil
	}
	newer, err := s.replacedBy(ctx, p.Tenant, use.RunID)
	if err != nil || !newer.IsZero() {
		return rondo.ID{}, err
	}
	base, w, _, err := s.updateBase(ctx, p.Tenant, UpdateRequest{BaseRunID: use.RunID})
	if err != nil {
		return rondo.ID{}, err
	}
	seeds, _, err := w.Seeds("", []string{use.StepID})
	if err != nil {
		return rondo.ID{}, err
	}
	u := s.newUpdate(p, base, w, base.run.TriggerPayload, rondo.RunOptions{
		ChangedSteps: []string{use.StepID}, FailurePolicy: base.run.Options.FailurePolicy,
	})
	// What selectors read of the change is to be what it was; but a change that
	// rebuilds everything would do so again.
	if change := base.run.Change; change != nil && !w.Changes[change.Type].All {
		u.run.Change = change
	}
	u.seed(seeds, nil, false)
	run, err := s.startUpdate(ctx, u)
	if err != nil {
		return rondo.ID{}, err
	}
	return run.ID, nil
}
