package runs

import (
	"context"
	"encoding/hex"
	"strings"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/plan"
)

// asked is a step with the question that is being decided about it.
type asked struct {
	ref
	q plan.Question
}

// ready reports whether the step is still to be decided about.
func (r ref) ready() bool {
	return !r.d.gone && !r.d.closed && r.d.steps[r.step].phase == phaseReady
}

// settle decides about every step that is ready: all that need it are looked up in
// one go, before any of them takes a slot.
func (sh *shard) settle(ctx context.Context) {
	ready := sh.ready
	sh.ready = nil
	var look, why []asked
	for _, r := range ready {
		st := r.d.steps[r.step]
		if !r.ready() || !sh.resolve(r.d, r.step) {
			continue
		}
		a := asked{r, sh.question(r.d, r.step)}
		if st.found != nil { // its artifacts were looked for
			a.q.Found, st.found = st.found, nil
			why = sh.decide(a, why)
			continue
		}
		verdict := plan.Decide(&r.d.w.Steps[r.step], a.q)
		if verdict.Act == plan.ActLookup || verdict.Compare {
			look = append(look, a)
			continue
		}
		why = sh.decide(a, why)
	}
	for len(look) > 0 {
		if sh.written > commitBytes { // the rest has its turn after the commit
			for _, a := range look {
				sh.ready = append(sh.ready, a.ref)
			}
			break
		}
		n := min(lookAtOnce, len(look))
		why = sh.lookUp(ctx, look[:n], why)
		look = look[n:]
	}
	if len(why) > 0 {
		sh.explainMisses(ctx, why)
	}
}

// resolve makes the input and the key of a step, once.
func (sh *shard) resolve(d *driven, i int) bool {
	st := d.steps[i]
	if st.resolved {
		return true
	}
	input, err := d.w.Resolve(i, d.sources)
	if err != nil {
		sh.stepFailed(d, i, &rondo.StepError{Code: string(rondo.CodeInputSelector), Message: clipped(err.Error())})
		return false
	}
	st.input, st.keyed, st.resolved = input, d.w.Key(i, d.run.TenantID, d.run.ID, input), true
	sh.hold(d, len(input))
	st.name = st.keyed.Key
	if st.name == "" || d.modeOf(i) == rondo.CacheBypass {
		st.name = flightName(d.run.ID, d.w.Steps[i].ID, st.keyed.InputHash)
	}
	return true
}

// flightName names the flight of a step whose result is not kept.
func flightName(run rondo.ID, step, inputHash string) string {
	var b strings.Builder
	b.Grow(len("exec:") + 36 + 1 + len(step) + 1 + hex.EncodedLen(32))
	b.WriteString("exec:")
	b.WriteString(run.String())
	b.WriteByte(':')
	b.WriteString(step)
	b.WriteByte(':')
	b.WriteString(inputHash)
	return b.String()
}

// question is what a decision about a step rests on, but for the cache.
func (sh *shard) question(d *driven, i int) plan.Question {
	q := plan.Question{
		Mode: d.modeOf(i), Forced: d.run.Options.Force && d.seeds != nil && d.seeds[i], Rebuild: d.rebuild,
		Keyed: d.steps[i].keyed, UpstreamRan: d.sched.UpstreamRan(i), Now: sh.s.now(),
	}
	if base, ok := d.baseStep(i); ok {
		q.BaseKey = base.CacheKey
	}
	return q
}

// decide does with a step what is right for it. Misses that need a reason are
// gathered in why. Nothing is done about a step that is not ready any more: another
// of the same round may have failed and ended its run.
func (sh *shard) decide(a asked, why []asked) []asked {
	if !a.ready() {
		return why
	}
	d, i := a.d, a.step
	st := d.steps[i]
	verdict := plan.Decide(&d.w.Steps[i], a.q)
	switch verdict.Act {
	case plan.ActReuse:
		sh.skip(d, i, a.q.Found.Entry, a.q.Found.Artifacts, verdict.Reason)
	case plan.ActWait:
		sh.await(flight{d.run.TenantID, st.name}, a.ref)
	case plan.ActFail:
		if verdict.Reason.Code == rondo.ReasonFirstRun && a.q.Previous == nil && !a.explained() {
			return append(why, a)
		}
		st.reason = verdict.Reason
		sh.stepFailed(d, i, &rondo.StepError{Code: string(verdict.Err.Code), Message: verdict.Err.Message})
	default:
		if st.tries == 0 || st.reason.Code == "" {
			if verdict.Reason.Code == rondo.ReasonFirstRun && a.q.Previous == nil && !a.explained() {
				return append(why, a)
			}
			st.reason = verdict.Reason
		}
		sh.run(a, verdict)
	}
	return why
}

// noManifest says that there is nothing to compare with.
var noManifest = &plan.Manifest{}

// explained reports whether it was looked for something to compare with.
func (a *asked) explained() bool { return a.q.Previous == noManifest }

// run lets a step be computed.
func (sh *shard) run(a asked, verdict plan.Verdict) {
	st := a.d.steps[a.step]
	found := a.q.Found
	st.again = found == nil || found.Entry != nil || verdict.Compare
	st.old = nil
	if verdict.Compare && found != nil {
		st.old = found.Entry
	}
	sh.enqueue(a.d, a.step)
}

// lookUp asks both tiers of the cache about steps and decides about them. Entries
// that have artifacts come back when those were looked for.
func (sh *shard) lookUp(ctx context.Context, look, why []asked) []asked {
	tenants := map[string][]string{}
	for _, a := range look {
		tenants[a.d.run.TenantID] = append(tenants[a.d.run.TenantID], a.q.Keyed.Key)
	}
	known := make(map[flight]*plan.Found, len(look))
	for tenant, keys := range tenants {
		sh.s.lookUp(ctx, tenant, keys, known)
	}
	var check []checked
	for _, a := range look {
		if !a.ready() {
			continue
		}
		found := plan.Found{}
		if k := known[flight{a.d.run.TenantID, a.q.Keyed.Key}]; k != nil {
			found = *k
		}
		st := a.d.steps[a.step]
		found.Awaited = st.waited && found.Entry != nil
		a.q.Found = &found
		if a.q.Mode != rondo.CacheVerify && found.Entry != nil && len(found.Entry.ArtifactIDs) > 0 {
			st.phase = phaseChecking
			check = append(check, checked{a.ref, &found})
			continue
		}
		why = sh.decide(a, why)
	}
	if len(check) > 0 {
		sh.s.attempts.Go(func() { sh.post(sh.s.checkArtifacts(ctx, check)) })
	}
	return why
}

// checked is a step with an entry whose artifacts were looked for.
type checked struct {
	ref
	found *plan.Found
}

// checkedSteps come back together.
type checkedSteps []checked

func (in checkedSteps) apply(_ context.Context, sh *shard) {
	for _, c := range in {
		if c.d.gone || c.d.closed {
			continue
		}
		if st := c.d.steps[c.step]; st.phase == phaseChecking {
			st.found = c.found
			sh.makeReady(c.d, c.step)
		}
	}
}

// checkArtifacts finds the artifacts of entries and whether their bytes are there.
// What cannot be found out counts as missing: the step is computed.
func (s *Service) checkArtifacts(ctx context.Context, check []checked) checkedSteps {
	ids := map[string][]rondo.ID{}
	for _, c := range check {
		tenant := c.d.run.TenantID
		ids[tenant] = append(ids[tenant], c.found.Entry.ArtifactIDs...)
	}
	rows := map[rondo.ID]rondo.Artifact{}
	var hashes []string
	for tenant, list := range ids {
		found, err := s.store.Artifacts(ctx, tenant, list)
		if err != nil {
			s.log.Warn("artifacts of kept results could not be read", "error", err)
		}
		for _, a := range found {
			rows[a.ID] = a
			if a.ContentHash != "" {
				hashes = append(hashes, a.ContentHash)
			}
		}
	}
	there := map[string]bool{}
	if len(hashes) > 0 && s.cfg.Blobs != nil {
		var err error
		if there, err = s.cfg.Blobs.Has(ctx, hashes); err != nil {
			s.log.Warn("the bytes of kept results could not be looked for", "error", err)
		}
	}
	for _, c := range check {
		c.found.Artifacts = pick(rows, c.found.Entry.ArtifactIDs)
		c.found.ArtifactsPresent = len(c.found.Artifacts) == len(c.found.Entry.ArtifactIDs)
		for _, a := range c.found.Artifacts {
			if a.ContentHash != "" && !there[a.ContentHash] {
				c.found.ArtifactsPresent = false
			}
		}
	}
	return check
}

// explainMisses finds what steps that missed are to be compared with, and decides.
func (sh *shard) explainMisses(ctx context.Context, why []asked) {
	sh.s.memo.fill(ctx, sh.s, why)
	for _, a := range why {
		a.q.Previous = noManifest
		if base, ok := a.d.baseStep(a.step); ok && len(base.Manifest) > 0 {
			if m, err := plan.DecodeManifest(base.Manifest); err == nil && len(m.Components) > 0 {
				a.q.Previous = &m
			}
		} else if m := sh.s.memo.previous(a.d.run.TenantID, a.d.w.Name, a.d.w.Steps[a.step].ID); m != nil {
			a.q.Previous = m
		}
		sh.decide(a, nil)
	}
}

// lookForFlights asks about flights of other processes that steps wait for: once
// a poll, all at once.
func (sh *shard) lookForFlights(ctx context.Context, now time.Time) {
	if sh.lookAt.IsZero() || now.Before(sh.lookAt) {
		return
	}
	sh.lookAt = time.Time{}
	tenants := map[string][]string{}
	for f := range sh.waits {
		if !sh.flying[f] {
			tenants[f.tenant] = append(tenants[f.tenant], f.name)
		}
	}
	for tenant, names := range tenants {
		found, err := sh.s.store.LookupCache(ctx, tenant, names, now)
		if err != nil {
			sh.lookAt = now.Add(sh.s.cfg.Poll)
			continue
		}
		for _, name := range names {
			if !found[name].Flying {
				sh.landed(flight{tenant, name})
			} else {
				sh.lookAt = now.Add(sh.s.cfg.Poll)
			}
		}
	}
}
