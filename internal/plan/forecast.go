package plan

import (
	"errors"
	"time"

	"github.com/rondo-engine/rondo"
)

// Decision is what a forecast says of a step.
type Decision string

// The decisions.
const (
	WouldRun     Decision = "would_run"
	WouldReuse   Decision = "reuse"
	UnknownUntil Decision = "unknown_until"
	WouldFail    Decision = "would_fail"    // without being computed
	NeverReached Decision = "never_reached" // something before it would fail
)

// PlannedStep is what a run would do with one step.
type PlannedStep struct {
	Step     int
	Decision Decision
	// Until are the steps whose outcome decides: those that the step reads and that
	// would run, or are not known themselves. Of a step that would never be reached
	// they are those in its way.
	Until      []int
	Reason     rondo.Reason // zero while it is not known
	StaleInput bool
	Keyed      Keyed        // zero while the input is not known
	Output     *Output      // what would be reused; nil = not known
	Err        *rondo.Error // of WouldFail
}

// Lookup asks for one key.
type Lookup struct {
	Step int
	Key  string
}

// Forecast is the dry run: it decides step by step what a run would do, with the
// functions that the run uses, and asks whoever drives it for what the cache knows:
//
//	f := NewForecast(input)
//	for asks := f.Next(); len(asks) > 0; asks = f.Next() {
//		f.Answer(now, …)
//	}
//	f.Steps()
//
// It is not safe for concurrent use.
type Forecast struct {
	in         ForecastInput
	w          *Workflow
	candidates []bool
	seeds      []bool
	rebuild    string
	steps      []PlannedStep
	redone     []bool // something before it would run, or may
	waits      []int
	ready      []int
	asked      []int
	sources    Sources
}

// NewForecast begins one.
func NewForecast(in ForecastInput) *Forecast {
	w := in.Workflow
	n := len(w.Steps)
	f := &Forecast{
		in: in, w: w, seeds: make([]bool, n), steps: make([]PlannedStep, n),
		redone: make([]bool, n), waits: make([]int, n),
	}
	for _, i := range in.Seeds {
		f.seeds[i] = true
	}
	f.rebuild = RebuildOf(in.Change, in.All)
	f.sources = in.sources(func(step int) (Output, bool) {
		if out := f.steps[step].Output; out != nil {
			return *out, true
		}
		return Output{}, false
	})
	for i := range w.Steps {
		f.steps[i].Step = i
		f.waits[i] = len(w.Steps[i].Needs)
	}
	var linked []Linked
	linked, f.candidates = Link(in)
	for i := range linked {
		l := &linked[i]
		out := l.Base.Output()
		f.steps[l.Step] = PlannedStep{
			Step: l.Step, Decision: WouldReuse, Reason: rondo.Reason{Code: rondo.ReasonBase},
			StaleInput: l.StaleInput, Output: &out, Keyed: Keyed{InputHash: l.Base.InputHash, Key: l.Base.CacheKey},
		}
	}
	for _, i := range w.order {
		if f.waits[i] == 0 {
			f.ready = append(f.ready, i)
		}
	}
	return f
}

// RebuildOf is Question.Rebuild of a run: the type of a change that rebuilds
// everything.
func RebuildOf(change *rondo.ChangeRequest, all bool) string {
	switch {
	case !all:
		return ""
	case change == nil || change.Type == "":
		return "*"
	}
	return change.Type
}

// Candidates says which steps are not linked from the base run.
func (f *Forecast) Candidates() []bool { return f.candidates }

// Prefetch returns keys that are likely to be asked for: those that candidates had
// in the base run. Who looks them up at once saves a question for each level.
func (f *Forecast) Prefetch() []string {
	var keys []string
	for i := range f.w.Steps {
		if base, ok := f.in.Base[f.w.Steps[i].ID]; ok && f.candidates[i] && base.CacheKey != "" {
			keys = append(keys, base.CacheKey)
		}
	}
	return keys
}

// Next returns what is to be looked up now; nothing when the forecast is made.
func (f *Forecast) Next() []Lookup {
	for len(f.ready) > 0 {
		i := f.ready[len(f.ready)-1]
		f.ready = f.ready[:len(f.ready)-1]
		if !f.candidates[i] {
			f.settle(i, false)
			continue
		}
		f.consider(i, nil, time.Time{})
	}
	asks := make([]Lookup, len(f.asked))
	for n, i := range f.asked {
		asks[n] = Lookup{Step: i, Key: f.steps[i].Keyed.Key}
	}
	return asks
}

// Answer tells what the cache knows of the keys that Next asked for, by key; those
// left out are misses.
func (f *Forecast) Answer(now time.Time, found map[string]Found) {
	asked := f.asked
	f.asked = nil
	for _, i := range asked {
		answer := found[f.steps[i].Keyed.Key]
		f.consider(i, &answer, now)
	}
}

// Steps returns what was decided, in the order of the file.
func (f *Forecast) Steps() []PlannedStep { return f.steps }

// consider decides about a candidate whose dependencies are settled.
func (f *Forecast) consider(i int, found *Found, now time.Time) {
	s, p := &f.w.Steps[i], &f.steps[i]
	q := Question{
		Mode: ModeOf(f.in.Options, s.ID), Forced: f.in.Options.Force && f.seeds[i], Rebuild: f.rebuild,
		UpstreamRan: f.redone[i], Found: found, Now: now,
	}
	if blocked := f.blockedBy(s); len(blocked) > 0 { // the run would not come here
		p.Decision, p.Until = NeverReached, blocked
		f.settle(i, false)
		return
	}
	until := f.until(s)
	q.Unknown = len(until) > 0
	if found == nil && !q.Unknown {
		input, err := f.w.Resolve(i, f.sources)
		if err != nil {
			p.fail(err)
			f.settle(i, false)
			return
		}
		p.Keyed = f.w.Key(i, f.in.Tenant, rondo.ID{}, input)
	}
	q.Keyed = p.Keyed
	q.BaseKey = f.in.Base[s.ID].CacheKey
	if found != nil && found.Entry == nil {
		q.Previous = f.previous(s)
	}
	verdict := Decide(s, q)
	p.Reason = verdict.Reason
	switch verdict.Act {
	case ActLookup:
		f.asked = append(f.asked, i)
		return
	case ActReuse:
		entry := found.Entry
		p.Decision, p.Output = WouldReuse, &Output{Data: entry.Data, Artifacts: found.Artifacts, Hash: entry.OutputHash}
		f.settle(i, false)
	case ActWait:
		p.Decision, p.Reason = WouldReuse, rondo.Reason{Code: rondo.ReasonInflight}
		f.settle(i, false)
	case ActUnknown:
		p.Decision, p.Until = UnknownUntil, until
		f.settle(i, true)
	case ActFail:
		p.Decision, p.Err = WouldFail, verdict.Err
		f.settle(i, false)
	default:
		p.Decision = WouldRun
		f.settle(i, true)
	}
}

func (p *PlannedStep) fail(err error) {
	failed, ok := errors.AsType[*rondo.Error](err)
	if !ok {
		failed = &rondo.Error{Code: rondo.CodeInternal, Err: err}
	}
	p.Decision, p.Err = WouldFail, failed
}

// until returns the steps that a step reads and whose output is not known.
func (f *Forecast) until(s *Step) []int {
	var unknown []int
	for _, read := range s.reads {
		if f.steps[read].Output == nil {
			unknown = append(unknown, read)
		}
	}
	return unknown
}

// blockedBy returns what a step depends on and would fail or never be reached.
func (f *Forecast) blockedBy(s *Step) []int {
	var blocked []int
	for _, need := range s.Needs {
		if p := &f.steps[need]; p.Decision == WouldFail || p.Decision == NeverReached {
			blocked = append(blocked, need)
		}
	}
	return blocked
}

// previous returns the manifest that a step had before.
func (f *Forecast) previous(s *Step) *Manifest {
	if base, ok := f.in.Base[s.ID]; ok {
		if m, err := DecodeManifest(base.Manifest); err == nil && len(m.Components) > 0 {
			return &m
		}
	}
	if m, ok := f.in.Nearest[s.ID]; ok {
		return &m
	}
	return nil
}

// settle lets what depends on a step go on.
func (f *Forecast) settle(i int, ran bool) {
	ran = ran || f.redone[i]
	for _, fed := range f.w.Steps[i].Feeds {
		f.redone[fed] = f.redone[fed] || ran
		if f.waits[fed]--; f.waits[fed] == 0 {
			f.ready = append(f.ready, fed)
		}
	}
}
