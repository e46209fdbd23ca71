package plan

import (
	"strings"
	"time"

	"github.com/rondo-engine/rondo"
)

// Details of reasons.
const (
	// DetailRunOnly is first_run's of a step whose results serve one run alone.
	DetailRunOnly = "run_only"
	// DetailTainted is evicted's of an entry that was marked bad.
	DetailTainted = "tainted"
	// DetailBypass and DetailVerify are refresh's of those modes.
	DetailBypass = "bypass"
	DetailVerify = "verify"
)

// WhyRun says why a step whose key has no entry runs, compared with the manifest
// it last had (of the base run, else of the nearest entry; nil = none). Of several
// things that changed it names one, in this order: the skill, its config (with
// model and output schema), its prompts, the salt, its inputs; of those the first
// by name. Equal manifests mean that the entry is gone.
func WhyRun(now Manifest, prev *Manifest) rondo.Reason {
	if prev == nil || len(prev.Components) == 0 {
		return rondo.Reason{Code: rondo.ReasonFirstRun}
	}
	if prev.V != now.V {
		return rondo.Reason{Code: rondo.ReasonFirstRun}
	}
	changed := Diff(*prev, now)
	if len(changed) == 0 {
		return rondo.Reason{Code: rondo.ReasonEvicted}
	}
	best, bestRank := rondo.Reason{}, len(reasonRanks)
	for _, d := range changed {
		reason := ReasonOf(d.Name)
		if rank := reasonRanks[reason.Code]; rank < bestRank {
			best, bestRank = reason, rank
		}
	}
	return best
}

// reasonRanks is the precedence of WhyRun.
var reasonRanks = map[rondo.ReasonWord]int{
	rondo.ReasonSkillChanged: 0, rondo.ReasonConfigChanged: 1, rondo.ReasonPromptChanged: 2,
	rondo.ReasonSaltRotated: 3, rondo.ReasonInputChanged: 4, rondo.ReasonFirstRun: 5,
}

// ReasonOf is the reason that a changed component makes.
func ReasonOf(component string) rondo.Reason {
	kind, detail, _ := strings.Cut(component, ".")
	switch kind {
	case "skill":
		return rondo.Reason{Code: rondo.ReasonSkillChanged}
	case "config":
		return rondo.Reason{Code: rondo.ReasonConfigChanged, Detail: strings.TrimPrefix(detail, "input.")}
	case "model", "output_schema":
		return rondo.Reason{Code: rondo.ReasonConfigChanged, Detail: kind}
	case "prompt":
		return rondo.Reason{Code: rondo.ReasonPromptChanged, Detail: strings.TrimPrefix(detail, "input.")}
	case "salt":
		return rondo.Reason{Code: rondo.ReasonSaltRotated}
	case "input":
		return rondo.Reason{Code: rondo.ReasonInputChanged, Detail: detail}
	case "run":
		return rondo.Reason{Code: rondo.ReasonFirstRun, Detail: DetailRunOnly}
	}
	return rondo.Reason{Code: rondo.ReasonFirstRun}
}

// Judge says whether an entry may be used: it is good, has not expired, and its
// artifacts are there. That its salt is current is in the key. nil is no entry and
// needs no reason.
func Judge(entry *rondo.CacheEntry, now time.Time, artifactsPresent bool) (ok bool, why rondo.Reason) {
	switch {
	case entry == nil:
		return false, rondo.Reason{}
	case entry.Tainted != "":
		return false, rondo.Reason{Code: rondo.ReasonEvicted, Detail: DetailTainted}
	case !entry.ExpiresAt.IsZero() && !entry.ExpiresAt.After(now):
		return false, rondo.Reason{Code: rondo.ReasonExpired}
	case len(entry.ArtifactIDs) > 0 && !artifactsPresent:
		return false, rondo.Reason{Code: rondo.ReasonArtifactMissing}
	}
	return true, rondo.Reason{}
}

// Sentence says a reason to people; "" for one that is not known.
func Sentence(r rondo.Reason) string {
	about := quoted(r.Detail)
	switch r.Code {
	case rondo.ReasonFirstRun:
		if r.Detail == DetailRunOnly {
			return "its results serve one run alone, and it had not run in this one"
		}
		return "it had never run before"
	case rondo.ReasonInputChanged:
		return "the input " + about + " is not what it was"
	case rondo.ReasonSkillChanged:
		return "its skill is another one now"
	case rondo.ReasonConfigChanged:
		if r.Detail == "" {
			return "the config of its skill is not what it was"
		}
		return "the config " + about + " is not what it was"
	case rondo.ReasonPromptChanged:
		return "the prompt " + about + " is not what it was"
	case rondo.ReasonSaltRotated:
		return "its salt was rotated"
	case rondo.ReasonExpired:
		return "the kept result had expired"
	case rondo.ReasonEvicted:
		if r.Detail == DetailTainted {
			return "the kept result was marked bad"
		}
		return "the kept result was no longer there"
	case rondo.ReasonArtifactMissing:
		return "a file of the kept result was missing"
	case rondo.ReasonForced:
		if r.Detail != "" {
			return "the change " + about + " rebuilds everything"
		}
		return "it was forced to run"
	case rondo.ReasonUncacheable:
		if r.Detail == KeyDisabled {
			return "its results are not kept: the cache is off for it"
		}
		return "its result could not be kept: " + r.Detail
	case rondo.ReasonRefresh:
		switch r.Detail {
		case DetailBypass:
			return "the run goes past the cache"
		case DetailVerify:
			return "it was computed again to compare it with the kept result"
		}
		return "the run refreshes the cache"
	}
	return reuseSentence(r)
}

func reuseSentence(r rondo.Reason) string {
	switch r.Code {
	case rondo.ReasonBase:
		return "the change cannot have touched it: it is taken from the base run"
	case rondo.ReasonCacheHot:
		return "the same was computed before: it was just now in the hot cache"
	case rondo.ReasonCacheCold:
		return "the same was computed before: it was kept in the database"
	case rondo.ReasonCutoff:
		return "steps before it ran again and gave what they had given in the base run"
	case rondo.ReasonInflight:
		return "another run was computing the same, and its result was taken"
	}
	return ""
}
