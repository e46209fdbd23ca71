package runs

import (
	"context"
	"errors"
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// Taint marks a cache entry bad: it is never reused again, from either tier. The
// answer lists every run that has its result, as its producer or later, with the
// steps that came after it there and the artifacts of them all. CodeNotFound when
// there is no such entry.
//
// With Rebuild each of these runs that has completed and was not replaced by a
// completed update run is redone: by an update run whose only seed is the step and
// whose change is the one that the run itself had. The step is computed once for
// all of them, because their keys are the same, and what follows only where the new
// result differs. Runs that have not completed, and those that were replaced, are
// listed and left alone.
//
// Asking again does nothing twice: a run that is being redone, or was, names the run
// that does it. A request that names the result it means also leaves an entry alone
// that was computed anew since. What could not be started is told in Tainted.Error.
func (s *Service) Taint(ctx context.Context, p rondo.Principal, request TaintRequest) (Tainted, error) {
	const op = "taint a cache entry"
	if request.Why == "" {
		return Tainted{}, &rondo.Error{Code: rondo.CodeInvalid, Op: op, Message: "a tainted entry needs a reason", Hint: "say what is wrong with it: it is shown wherever the entry is"}
	}
	entry, recomputed, err := s.mark(ctx, p.Tenant, request)
	if err != nil {
		return Tainted{}, rondo.Op(op, err)
	}
	tainted := Tainted{
		Key: request.Key, Workflow: entry.WorkflowName, StepID: entry.StepID, OutputHash: entry.OutputHash, Recomputed: recomputed,
		Runs: []TaintedRun{}, Artifacts: []string{},
	}
	users, err := s.cacheUsers(ctx, p.Tenant, request.Key)
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
	for i, use := range using {
		if err := s.redo(ctx, p, use, using, request.Rebuild, &tainted, &tainted.Runs[i]); err != nil {
			tainted.Runs[i].NotRebuilt, tainted.Error = NotRebuiltError, rebuildError(use.RunID, err)
		}
	}
	return tainted, nil
}

// mark marks the entry, unless it has another result than the one that is meant.
// The entry it returns has the bad result's hash.
func (s *Service) mark(ctx context.Context, tenant string, request TaintRequest) (entry rondo.CacheEntry, recomputed bool, err error) {
	if request.OutputHash != "" {
		found, err := s.store.LookupCache(ctx, tenant, []string{request.Key}, s.now())
		if err != nil {
			return entry, false, err
		}
		if now := found[request.Key].Entry; now != nil && now.OutputHash != request.OutputHash {
			entry = *now
			entry.OutputHash = request.OutputHash
			return entry, true, nil
		}
	}
	if entry, err = s.store.TaintCache(ctx, tenant, request.Key, request.Why); err != nil {
		return entry, false, err
	}
	return entry, false, rondo.Op("drop a tainted entry from the hot tier", s.dropHot(ctx, tenant, []string{request.Key}))
}

// rebuildError is what callers are told of a run that could not be redone.
func rebuildError(id rondo.ID, err error) string {
	text := "run " + id.String() + " could not be rebuilt"
	if e, ok := errors.AsType[*rondo.Error](err); ok && e.Message != "" {
		text += ": " + e.Message
	}
	return text + "; ask again"
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

// redo says how a run that used a bad entry is redone, and lets it be if that is
// asked for and not under way.
func (s *Service) redo(ctx context.Context, p rondo.Principal, use store.CacheUser, using []store.CacheUser, rebuild bool, tainted *Tainted, run *TaintedRun) error {
	switch use.Status {
	case rondo.RunQueued, rondo.RunRunning:
		run.NotRebuilt = NotRebuiltRunning
	case rondo.RunFailed:
		run.NotRebuilt = NotRebuiltFailed
	case rondo.RunCancelled:
		run.NotRebuilt = NotRebuiltCancelled
	case rondo.RunCompleted:
		by, replaced, err := s.redone(ctx, p.Tenant, use, using)
		if err != nil {
			return err
		}
		if !by.IsZero() {
			run.RebuiltBy = by.String()
			return nil
		}
		if replaced {
			run.NotRebuilt = NotRebuiltReplaced
			return nil
		}
		if !rebuild {
			return nil
		}
		if by, err = s.rebuild(ctx, p, use); err != nil {
			return err
		}
		run.RebuiltBy = by.String()
		tainted.Rebuilds = append(tainted.Rebuilds, by.String())
	}
	return nil
}

// redone looks for what became of a run since: the update run that redoes it for
// the sake of the step, under way or completed, and whether another one replaced it.
// One that has the bad result itself redoes nothing.
func (s *Service) redone(ctx context.Context, tenant string, use store.CacheUser, using []store.CacheUser) (by rondo.ID, replaced bool, err error) {
	page := store.Page{Limit: cachePage}
	for {
		updates, err := s.store.RunList(ctx, store.RunFilter{TenantID: tenant, Base: use.RunID}, page)
		if err != nil {
			return rondo.ID{}, false, rondo.Op("look for newer runs", err)
		}
		for i := range updates {
			update := &updates[i]
			bad := slices.ContainsFunc(using, func(u store.CacheUser) bool { return u.RunID == update.ID })
			completed := update.Status == rondo.RunCompleted
			if (completed || !update.Status.Ended()) && !bad && slices.Equal(update.Options.ChangedSteps, []string{use.StepID}) {
				return update.ID, completed, nil
			}
			replaced = replaced || completed
		}
		if len(updates) < cachePage {
			return rondo.ID{}, replaced, nil
		}
		page.After = updates[len(updates)-1].ID
	}
}

// rebuild starts an update run of a run that used a bad entry.
func (s *Service) rebuild(ctx context.Context, p rondo.Principal, use store.CacheUser) (rondo.ID, error) {
	request := UpdateRequest{BaseRunID: use.RunID}
	base, err := s.updatable(ctx, p.Tenant, request)
	if err != nil {
		return rondo.ID{}, err
	}
	w, _, err := s.updateWorkflows(ctx, p.Tenant, &base.run, request)
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
	s.seed(ctx, u, seeds, nil, false)
	run, err := s.startUpdate(ctx, u)
	if err != nil {
		return rondo.ID{}, err
	}
	return run.ID, nil
}
