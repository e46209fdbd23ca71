package runs

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/plan"
	"github.com/rondo-engine/rondo/store"
)

// apply takes the end of an attempt in.
func (a *attempt) apply(_ context.Context, sh *shard) {
	delete(sh.working, a)
	d := a.d
	if d.gone || d.closed || d.steps[a.step] == nil || d.steps[a.step].work != a {
		return // it was given up before
	}
	d.steps[a.step].work = nil
	sh.attemptEnded(d, a.step, &a.end)
}

// attemptEnded records how an attempt ended, worked here or by a remote worker.
func (sh *shard) attemptEnded(d *driven, i int, end *outcome) {
	if end.err != nil {
		sh.attemptFailed(d, i, end.err)
		return
	}
	st, def := d.steps[i], &d.w.Steps[i]
	sh.endRemote(d, st)
	st.out = plan.Output{Data: end.data, Artifacts: end.artifacts, Hash: end.hash}
	if err := d.raise(i, end.ended); err != nil {
		// What the skill gave is good, and kept.
		d.next.artifacts = append(d.next.artifacts, end.artifacts...)
		sh.land(d, i, d.entry(i, end))
		sh.attemptFailed(d, i, &rondo.StepError{Code: string(rondo.CodeInputSelector), Message: clipped("the event that the step raises: " + err.Error())})
		return
	}
	row := d.row(i, rondo.RunStepCompleted)
	row.Data, row.OutputHash, row.Manifest, row.Debug, row.CompletedAt = end.data, end.hash, end.manifest, end.debug, end.ended
	row.ArtifactIDs = artifactIDs(end.artifacts)
	if d.modeOf(i) == rondo.CacheVerify && st.old != nil {
		same := st.old.OutputHash == end.hash
		row.Deterministic = &same
		if !same {
			sh.s.log.Warn("a step gave another output for the same key", "run", d.run.ID, "workflow", d.w.Name, "step", def.ID, "key", st.keyed.Key, "before", st.old.RunID)
		}
	}
	sh.written += len(row.Data)
	d.next.steps = append(d.next.steps, row)
	d.next.artifacts = append(d.next.artifacts, end.artifacts...)
	sh.land(d, i, d.entry(i, end))
	sh.s.cfg.Observer.StepEnded(d.w.Name, rondo.RunStepCompleted, st.reason.Code, end.ended.Sub(st.started))
	sh.stepDone(d, i, true)
}

// entry is what the cache keeps of a step that ran; nil = nothing.
func (d *driven) entry(i int, end *outcome) *rondo.CacheEntry {
	st, def := d.steps[i], &d.w.Steps[i]
	if st.name != st.keyed.Key {
		return nil // it flew under a name of its own
	}
	e := &rondo.CacheEntry{
		Key: st.keyed.Key, TenantID: d.run.TenantID, WorkflowName: d.w.Name, StepID: def.ID, InputHash: st.keyed.InputHash,
		Manifest: end.manifest, Data: end.data, ArtifactIDs: artifactIDs(end.artifacts), OutputHash: end.hash, RunID: d.run.ID,
		Class: def.Class, CreatedAt: end.ended, LastUsedAt: end.ended, DurationMs: end.ended.Sub(st.started).Milliseconds(), Cost: end.cost,
	}
	if def.TTL > 0 {
		e.ExpiresAt = end.ended.Add(def.TTL)
	}
	return e
}

func artifactIDs(artifacts []rondo.Artifact) []rondo.ID {
	if len(artifacts) == 0 {
		return nil
	}
	ids := make([]rondo.ID, len(artifacts))
	for i := range artifacts {
		ids[i] = artifacts[i].ID
	}
	return ids
}

// land gives a step's flight back with the next commit.
func (sh *shard) land(d *driven, i int, entry *rondo.CacheEntry) {
	sh.mark(d)
	if st := d.steps[i]; st.fence > 0 {
		manifest := st.keyed.Manifest
		d.next.landings = append(d.next.landings, store.Landing{Name: st.name, Fence: st.fence, Entry: entry})
		d.next.manifests = append(d.next.manifests, &manifest)
		st.fence = 0
	}
}

// skip reuses an entry for a step.
func (sh *shard) skip(d *driven, i int, entry *rondo.CacheEntry, artifacts []rondo.Artifact, reason rondo.Reason) {
	now := sh.s.now()
	st := d.steps[i]
	st.out = plan.Output{Data: entry.Data, Artifacts: artifacts, Hash: entry.OutputHash}
	if err := d.raise(i, now); err != nil {
		sh.stepFailed(d, i, &rondo.StepError{Code: string(rondo.CodeInputSelector), Message: clipped("the event that the step raises: " + err.Error())})
		return
	}
	st.reason, st.started, st.correlation = reason, now, rondo.ID{}
	if st.attempt > 0 {
		st.attempt++ // behind the attempts that failed
	}
	row := d.row(i, rondo.RunStepSkipped)
	row.CacheHit, row.Data, row.OutputHash, row.ArtifactIDs = true, entry.Data, entry.OutputHash, entry.ArtifactIDs
	row.Manifest, row.SourceRunID, row.CompletedAt = entry.Manifest, entry.RunID, now
	sh.written += len(row.Data)
	d.next.steps = append(d.next.steps, row)
	sh.mark(d)
	sh.s.used(entry)
	sh.s.cfg.Observer.StepEnded(d.w.Name, rondo.RunStepSkipped, reason.Code, 0)
	sh.stepDone(d, i, false)
}

// stepDone lets what depends on a step go on.
func (sh *shard) stepDone(d *driven, i int, ran bool) {
	st := d.steps[i]
	st.phase = phaseDone
	st.keyed, st.old = plan.Keyed{}, nil
	sh.doneReading(d, i)
	sh.makeReady(d, d.sched.Done(i, ran)...)
	sh.endIfOver(d)
}

// holdAtMost is for how long a step keeps its flight between two attempts. Whoever
// waits for the same does not try in the meantime what has just failed.
const holdAtMost = 30 * time.Second

// attemptFailed records an attempt that failed and decides whether another follows.
func (sh *shard) attemptFailed(d *driven, i int, failure *rondo.StepError) {
	now := sh.s.now()
	st, def := d.steps[i], &d.w.Steps[i]
	sh.endRemote(d, st)
	row := d.row(i, rondo.RunStepFailed)
	row.CompletedAt = now
	sh.mark(d)
	delay, again := plan.NextAttempt(def, st.tries, failure.Retryable)
	if st.held = again && delay <= holdAtMost && st.fence > 0; !st.held {
		sh.land(d, i, nil)
	}
	sh.s.cfg.Observer.StepEnded(d.w.Name, rondo.RunStepFailed, st.reason.Code, now.Sub(st.started))
	if again {
		row.Error, row.RetryAt = failure, now.Add(delay)
		d.next.steps = append(d.next.steps, row)
		st.phase = phaseBackoff
		st.alarm = sh.alarms.set(row.RetryAt, d, i)
		return
	}
	if failure.Retryable && st.tries > 1 {
		failure = &rondo.StepError{
			Code: string(rondo.CodeMaxRetries), Message: clipped(fmt.Sprintf("all %d attempts failed, the last with %s: %s", st.tries, failure.Code, failure.Message)),
		}
	}
	row.Error = failure
	d.next.steps = append(d.next.steps, row)
	sh.giveUp(d, i, failure)
}

// stepFailed fails a step that nobody worked on.
func (sh *shard) stepFailed(d *driven, i int, failure *rondo.StepError) {
	now := sh.s.now()
	st := d.steps[i]
	if st.attempt > 0 {
		st.attempt++
	}
	st.started = now
	row := d.row(i, rondo.RunStepFailed)
	row.CompletedAt, row.Error = now, failure
	d.next.steps = append(d.next.steps, row)
	sh.mark(d)
	sh.s.cfg.Observer.StepEnded(d.w.Name, rondo.RunStepFailed, st.reason.Code, 0)
	sh.giveUp(d, i, failure)
}

// giveUp makes the failure of a step count for its run.
func (sh *shard) giveUp(d *driven, i int, failure *rondo.StepError) {
	d.steps[i].phase = phaseFailed
	sh.doneReading(d, i)
	if d.run.Error == nil {
		d.run.Error = &rondo.RunError{Code: failure.Code, Message: failure.Message, FailedStepID: d.w.Steps[i].ID}
	}
	d.sched.Fail(i)
	if d.run.Options.FailurePolicy == rondo.FailureFast {
		sh.cancelSteps(d)
	}
	sh.endIfOver(d)
}

// cancelSteps ends every step that has not ended.
func (sh *shard) cancelSteps(d *driven) {
	now := sh.s.now()
	sh.queue.remove(d)
	for i := range d.steps {
		st := d.step(i)
		switch st.phase {
		case phaseDone, phaseFailed, phaseCancelled:
			continue
		case phaseWorking, phaseRemote:
			sh.land(d, i, nil)
		default:
			if st.held {
				sh.land(d, i, nil)
			}
			if st.phase == phaseTaking {
				d.withdraw(i)
				if st.asked { // its row is there: it is that attempt that is cancelled
					break
				}
			}
			if st.attempt > 0 {
				st.attempt++
			}
			st.started, st.correlation = time.Time{}, rondo.ID{}
		}
		row := d.row(i, rondo.RunStepCancelled)
		row.CompletedAt = now
		d.next.steps = append(d.next.steps, row)
		sh.letGo(d, i, st)
		d.sched.Drop(i)
	}
	sh.ready = slices.DeleteFunc(sh.ready, func(r ref) bool { return r.d == d })
	sh.mark(d)
}

// withdraw takes the takeoff of a step out of the next commit.
func (d *driven) withdraw(i int) {
	n, st := &d.next, d.steps[i]
	if k := slices.Index(n.taking, i); k >= 0 {
		n.taking = slices.Delete(n.taking, k, k+1)
		n.takeoffs = slices.Delete(n.takeoffs, k, k+1)
	} else if k := slices.IndexFunc(n.onwards, func(o onward) bool { return o.step == i }); k >= 0 {
		n.onwards = slices.Delete(n.onwards, k, k+1)
	} else {
		return
	}
	st.tries--
	if !st.asked {
		st.attempt--
	}
}

// cancelRun ends a run; why is "" when a person wants it.
func (sh *shard) cancelRun(d *driven, why string) {
	if d.closed {
		return
	}
	d.sched.Cancel()
	sh.cancelSteps(d)
	var told *rondo.RunError
	if why != "" {
		told = &rondo.RunError{Code: string(rondo.CodeRunCancelled), Message: why}
	}
	sh.endRun(d, rondo.RunCancelled, told)
}

// endIfOver ends a run of which nothing can go on.
func (sh *shard) endIfOver(d *driven) {
	if d.closed {
		return
	}
	if status, _, over := d.sched.Ended(); over {
		sh.endRun(d, status, d.run.Error)
	}
}

// endRun ends a run with the next commit. Whatever happened before, a run that has
// ended holds no flight and takes none: nobody would give it back.
func (sh *shard) endRun(d *driven, status rondo.RunStatus, why *rondo.RunError) {
	now := sh.s.now()
	d.closed = true
	sh.queue.remove(d)
	for i, st := range d.steps {
		switch {
		case st == nil:
		case st.phase == phaseTaking:
			d.withdraw(i)
			if st.held {
				sh.land(d, i, nil)
			}
			sh.letGo(d, i, st)
		case st.fence > 0:
			sh.land(d, i, nil)
		}
	}
	d.run.Status, d.run.Error, d.run.CompletedAt = status, why, now
	d.run.Seq++
	d.tellEnded(now, sh.s.cfg.IDs.New())
	sh.mark(d)
}

// modeOf is how a step uses the cache.
func (d *driven) modeOf(i int) rondo.CacheMode {
	return plan.ModeOf(d.run.Options, d.w.Steps[i].ID)
}

func encodeManifest(m plan.Manifest) json.RawMessage {
	if len(m.Components) == 0 {
		return nil
	}
	return m.Encode()
}
