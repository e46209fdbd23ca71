package plan

import (
	"time"

	"github.com/rondo-engine/rondo"
)

// Act is what is to be done with a step.
type Act int

// The acts.
const (
	ActRun     Act = iota + 1 // compute it
	ActReuse                  // take the entry
	ActLookup                 // ask the cache, then decide again
	ActWait                   // another computes the same: wait for it, then decide again
	ActFail                   // Err says why
	ActUnknown                // the input is not known yet (forecasts only)
)

// Question is what a decision about one step rests on. The step is one that is not
// linked from the base (see Link).
type Question struct {
	Mode   rondo.CacheMode // ModeOf
	Forced bool            // it is a seed of a run with force
	// Rebuild is the type of a change that rebuilds everything; "" = it does not.
	Rebuild string
	Keyed   Keyed
	// Unknown says that the input, and with it Keyed, is not known yet.
	Unknown bool
	// BaseKey is the key that the step had in the base run; "" = none.
	BaseKey string
	// UpstreamRan says that a step before it, near or far, was computed in this run.
	UpstreamRan bool
	// Previous is the manifest to compare with: of the base run, else of the nearest
	// entry; nil = there is none.
	Previous *Manifest
	// Found is what the cache answered; nil = it was not asked.
	Found *Found
	Now   time.Time
}

// Found is what the cache knows of a key. The zero value is a miss.
type Found struct {
	Entry            *rondo.CacheEntry // nil = none
	ArtifactsPresent bool              // all its artifacts and their bytes are there; asked of entries that have any
	Hot              bool              // it was in the hot tier
	Flying           bool              // someone alive computes it
	Awaited          bool              // the entry is what this step waited for
	// Artifacts are those of the entry. Only forecasts need them here.
	Artifacts []rondo.Artifact
}

// Verdict is a decision.
type Verdict struct {
	Act    Act
	Reason rondo.Reason // of ActRun and ActReuse
	// Write says that the result of ActRun is to be kept under the key.
	Write bool
	// Compare says that the result of ActRun is to be compared with the entry that is
	// there, if there is one.
	Compare bool
	Err     *rondo.Error // of ActFail
}

// ModeOf returns the cache mode of a step in a run.
func ModeOf(o rondo.RunOptions, stepID string) rondo.CacheMode {
	if mode := o.StepModes[stepID]; mode != "" {
		return mode
	}
	if o.Mode != "" {
		return o.Mode
	}
	return rondo.CacheUse
}

// Decide says what to do with a step. It is asked once before the cache is, and
// again with what the cache answered.
//
// Force and a change that rebuilds everything let a step run without a look, except
// in mode only, which never computes anything.
func Decide(step *Step, q Question) Verdict {
	run := Verdict{Act: ActRun, Write: q.Mode != rondo.CacheBypass && step.Cached && (q.Unknown || q.Keyed.Key != "")}
	run.Compare = q.Mode == rondo.CacheVerify && run.Write
	if q.Mode != rondo.CacheOnly {
		if reason, always := runsAlways(step, q); always {
			run.Reason = reason
			return run
		}
	}
	if q.Unknown && step.Cached {
		return Verdict{Act: ActUnknown}
	}
	why := rondo.Reason{Code: rondo.ReasonUncacheable, Detail: q.Keyed.Uncacheable}
	if !step.Cached {
		why.Detail = KeyDisabled
	}
	if q.Keyed.Key != "" {
		if q.Found == nil {
			return Verdict{Act: ActLookup}
		}
		ok, bad := Judge(q.Found.Entry, q.Now, q.Found.ArtifactsPresent)
		switch {
		case ok:
			return Verdict{Act: ActReuse, Reason: whyReuse(q)}
		case q.Found.Flying:
			return Verdict{Act: ActWait}
		case bad.Code != "":
			why = bad
		default:
			why = WhyRun(q.Keyed.Manifest, q.Previous)
		}
	}
	if q.Mode == rondo.CacheOnly {
		return Verdict{Act: ActFail, Reason: why, Err: &rondo.Error{
			Code:    rondo.CodeCacheOnlyMiss,
			Message: "there is no result for step " + step.ID + ", and the mode only computes none: " + Sentence(why),
			Hint:    "run it in mode use",
		}}
	}
	run.Reason = why
	return run
}

// runsAlways names why a step runs whatever the cache has.
func runsAlways(step *Step, q Question) (rondo.Reason, bool) {
	switch {
	case q.Forced:
		return rondo.Reason{Code: rondo.ReasonForced}, true
	case q.Rebuild != "":
		return rondo.Reason{Code: rondo.ReasonForced, Detail: q.Rebuild}, true
	case !step.Cached:
		return rondo.Reason{}, false // for a reason of its own
	case q.Mode == rondo.CacheRefresh:
		return rondo.Reason{Code: rondo.ReasonRefresh}, true
	case q.Mode == rondo.CacheBypass:
		return rondo.Reason{Code: rondo.ReasonRefresh, Detail: DetailBypass}, true
	case q.Mode == rondo.CacheVerify:
		return rondo.Reason{Code: rondo.ReasonRefresh, Detail: DetailVerify}, true
	}
	return rondo.Reason{}, false
}

// whyReuse names where a good entry came from.
func whyReuse(q Question) rondo.Reason {
	switch {
	case q.Found.Awaited:
		return rondo.Reason{Code: rondo.ReasonInflight}
	case q.UpstreamRan && q.BaseKey == q.Keyed.Key:
		return rondo.Reason{Code: rondo.ReasonCutoff}
	case q.Found.Hot:
		return rondo.Reason{Code: rondo.ReasonCacheHot}
	}
	return rondo.Reason{Code: rondo.ReasonCacheCold}
}
