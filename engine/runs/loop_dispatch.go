package runs

import (
	"context"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/plan"
	"github.com/rondo-engine/rondo/skill"
	"github.com/rondo-engine/rondo/store"
)

// remoteType is the type of skills that remote workers have: they take no slot.
const remoteType = "remote"

// remoteStep reports whether remote workers do a step.
func (d *driven) remoteStep(i int) bool {
	spec, ok := d.w.SkillOf(i)
	return ok && spec.Type == remoteType
}

// enqueue lets a step wait for a slot, or for whoever computes the same already.
func (sh *shard) enqueue(d *driven, i int) {
	st := d.steps[i]
	if f := (flight{d.run.TenantID, st.name}); sh.flying[f] && !st.held {
		sh.await(f, ref{d, i})
		return
	}
	if d.remoteStep(i) {
		now := sh.s.now()
		if !st.held {
			if err := d.askable(i, sh.s.cfg.IDs, now, now.Add(sh.s.timeout(d.w.Steps[i].Timeout))); err != nil {
				sh.stepFailed(d, i, &rondo.StepError{Code: string(rondo.CodeInputSelector), Message: clipped(err.Error())})
				return
			}
		}
		if !sh.s.stopping.Load() {
			sh.takeOff(d, i)
		}
		return
	}
	st.phase = phaseQueued
	sh.queue.push(d, i)
}

// dispatch takes flights for the steps whose turn it is, while slots are free.
func (sh *shard) dispatch() {
	if sh.s.stopping.Load() {
		return
	}
	for {
		next, ok := sh.queue.pop(func(tenant string) bool { return sh.s.slots.take(tenant, sh) })
		if !ok {
			return
		}
		st := next.d.steps[next.step]
		if f := (flight{next.d.run.TenantID, st.name}); sh.flying[f] && !st.held {
			sh.s.slots.give(next.d.run.TenantID)
			sh.await(f, next)
			continue
		}
		sh.takeOff(next.d, next.step)
	}
}

// takeOff puts the takeoff of a step into the next commit: the row of its next
// attempt, and for a remote worker the request. A step that kept its flight goes on
// with it.
func (sh *shard) takeOff(d *driven, i int) {
	now := sh.s.now()
	st, def := d.steps[i], &d.w.Steps[i]
	sh.flying[flight{d.run.TenantID, st.name}] = true
	st.phase, st.asked = phaseTaking, false
	st.attempt++
	st.tries++
	st.started, st.correlation = now, sh.s.cfg.IDs.New()
	d.sched.Start(i)
	row := d.row(i, rondo.RunStepRunning)
	var outbox []rondo.Outgoing
	if d.remoteStep(i) {
		deadline := now.Add(sh.s.timeout(def.Timeout))
		outbox = []rondo.Outgoing{d.stepRequest(i, sh.s.cfg.IDs.New(), now, deadline)}
	}
	sh.mark(d)
	if st.held {
		d.next.onwards = append(d.next.onwards, onward{step: i, row: row, outbox: outbox})
		return
	}
	d.next.takeoffs = append(d.next.takeoffs, store.Takeoff{Name: st.name, Key: st.name == st.keyed.Key, Again: st.again, Step: row, Outbox: outbox})
	d.next.taking = append(d.next.taking, i)
}

// tookOff begins the work of a step whose flight is ours.
func (sh *shard) tookOff(ctx context.Context, d *driven, i int, fence int64) {
	s, st, def := sh.s, d.steps[i], &d.w.Steps[i]
	st.fence, st.held = fence, false
	deadline := st.started.Add(s.timeout(def.Timeout))
	if d.remoteStep(i) {
		sh.awaitRemote(d, i, deadline)
		return
	}
	a := &attempt{
		sh: sh, d: d, step: i, keyed: st.keyed, giveUp: deadline.Add(s.cfg.Grace),
		call: skill.Call{
			RunID: d.run.ID, StepID: def.ID, Attempt: st.attempt, Skill: def.Skill, Input: st.input,
			Deadline: deadline, Blobs: boundedBlobs{s, d.w.ArtifactsRead(i, d.sources)},
		},
	}
	st.phase, st.work = phaseWorking, a
	sh.working[a] = struct{}{}
	sh.watchUntil(a.giveUp)
	spec, _ := d.w.SkillOf(i)
	var err error
	if a.skill, err = s.cfg.Skills.Skill(def.Skill, spec); err != nil {
		a.skill = unusable(err)
	}
	ctx, a.cancel = context.WithTimeout(ctx, s.timeout(def.Timeout))
	s.attempts.Go(func() { a.work(ctx) })
}

// unusable is a skill that cannot be made.
func unusable(err error) skill.Skill {
	return skill.Func(func(context.Context, skill.Call) (skill.Result, error) {
		return skill.Fail(rondo.CodeSkillError, "the skill cannot be used: "+err.Error(), false), nil
	})
}

// notTaken gives the slot of a step back that met something instead of a flight.
func (sh *shard) notTaken(ctx context.Context, d *driven, i int, met store.Flight) {
	st := d.steps[i]
	f := flight{d.run.TenantID, st.name}
	sh.freed(f)
	if !d.remoteStep(i) {
		sh.s.slots.give(d.run.TenantID)
	}
	if st.asked {
		// Another computes what our worker was asked for: whoever answers first.
		sh.awaitRemote(d, i, st.started.Add(sh.s.timeout(d.w.Steps[i].Timeout)))
		return
	}
	st.attempt--
	st.tries--
	if met.Entry == nil {
		sh.await(f, ref{d, i})
		return
	}
	// What was met is what there is to decide about: a cache that cannot be asked
	// would say again that there is nothing.
	st.waited = true
	entry := checked{ref{d, i}, &plan.Found{Entry: met.Entry, Awaited: true}}
	if len(met.Entry.ArtifactIDs) == 0 {
		st.found = entry.found
		sh.makeReady(d, i)
		return
	}
	st.phase = phaseChecking
	sh.s.attempts.Go(func() { sh.post(sh.s.checkArtifacts(ctx, []checked{entry})) })
}

// await lets a step wait, without a slot, until a flight of another has landed.
func (sh *shard) await(f flight, r ref) {
	st := r.d.steps[r.step]
	st.phase, st.waited = phaseWaiting, true
	sh.waits[f] = append(sh.waits[f], r)
	sh.waiting++
	if !sh.flying[f] && sh.lookAt.IsZero() {
		sh.lookAt = sh.s.now().Add(sh.s.cfg.Poll)
	}
}

// stopWaiting forgets that a step waits.
func (sh *shard) stopWaiting(f flight, r ref) {
	for k, other := range sh.waits[f] {
		if other == r {
			sh.waits[f] = append(sh.waits[f][:k:k], sh.waits[f][k+1:]...)
			sh.waiting--
			break
		}
	}
	if len(sh.waits[f]) == 0 {
		delete(sh.waits, f)
	}
}

// freed notes that this shard does not hold a flight any more. Whoever waits for it
// is woken by landed, or finds out by looking.
func (sh *shard) freed(f flight) {
	delete(sh.flying, f)
	if len(sh.waits[f]) > 0 && sh.lookAt.IsZero() {
		sh.lookAt = sh.s.now().Add(sh.s.cfg.Poll)
	}
}

// landed lets those who wait for a flight look again.
func (sh *shard) landed(f flight) {
	delete(sh.flying, f)
	for _, r := range sh.waits[f] {
		sh.waiting--
		sh.makeReady(r.d, r.step)
	}
	delete(sh.waits, f)
}

// landings are flights that ended in another shard of this process.
type landings []flight

func (in landings) apply(_ context.Context, sh *shard) {
	for _, f := range in {
		if !sh.flying[f] {
			sh.landed(f)
		}
	}
}
