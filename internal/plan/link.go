package plan

import (
	"encoding/json"

	"github.com/rondo-engine/rondo"
)

// BaseStep is a step of the base run with its artifacts.
type BaseStep struct {
	rondo.RunStep
	Artifacts []rondo.Artifact
}

// Output is what the step gave.
func (b *BaseStep) Output() Output {
	return Output{Data: b.Data, Artifacts: b.Artifacts, Hash: b.OutputHash}
}

// ForecastInput is a run that is to be planned: an initial one, or an update.
type ForecastInput struct {
	Workflow *Workflow
	Tenant   string
	Trigger  json.RawMessage
	Options  rondo.RunOptions

	// Of an update.
	Change     *rondo.ChangeRequest
	Base       map[string]BaseStep // by id, the last attempts; nil = an initial run
	Seeds      []int
	Candidates []bool // nil = all steps
	All        bool   // the change rebuilds everything
	// Unusable are steps whose result in the base run is not to be linked: its files
	// are gone, or it was marked bad. May be nil.
	Unusable map[string]bool

	// Nearest are manifests of the nearest entries by step id, for steps that the base
	// does not have. May be nil.
	Nearest map[string]Manifest
}

// Linked is a step that is taken from the base run as it is.
type Linked struct {
	Step       int
	Base       BaseStep
	StaleInput bool // its input would differ now
}

// Link says which steps of an update are taken from the base run, in order, and
// which are candidates after all: those that the base does not have or whose result
// there is unusable, and when the update is strict those whose input would differ,
// with everything after them.
// What is not a candidate depends only on what is not, so that all of it is known
// before the run begins. An initial run has candidates only.
func Link(in ForecastInput) (linked []Linked, candidates []bool) {
	w := in.Workflow
	candidates = make([]bool, len(w.Steps))
	for i := range candidates {
		candidates[i] = in.Base == nil || in.Candidates == nil || in.Candidates[i]
	}
	stale := make([]bool, len(w.Steps))
	sources := in.sources(func(step int) (Output, bool) {
		base, ok := in.Base[w.Steps[step].ID]
		return base.Output(), ok
	})
	for _, i := range w.order {
		for _, need := range w.Steps[i].Needs {
			candidates[i] = candidates[i] || candidates[need]
		}
		if candidates[i] {
			continue
		}
		base, ok := in.Base[w.Steps[i].ID]
		if !ok || !base.Status.Done() || in.Unusable[w.Steps[i].ID] {
			candidates[i] = true
			continue
		}
		stale[i] = isStale(w, i, sources, base)
		candidates[i] = stale[i] && in.Options.Strict
	}
	for _, i := range w.order {
		if !candidates[i] {
			linked = append(linked, Linked{Step: i, Base: in.Base[w.Steps[i].ID], StaleInput: stale[i]})
		}
	}
	return linked, candidates
}

// isStale compares the input that a step would have with the one it had.
func isStale(w *Workflow, step int, s Sources, base BaseStep) bool {
	input, err := w.Resolve(step, s)
	if err != nil {
		return true
	}
	return inputHash(input) != base.InputHash
}

// sources are what selectors see in the run.
func (in *ForecastInput) sources(step func(int) (Output, bool)) Sources {
	s := Sources{Trigger: in.Trigger, Change: in.Change, Step: step}
	if in.Base != nil {
		s.Base = func(id string) (Output, bool) {
			base, ok := in.Base[id]
			return base.Output(), ok
		}
	}
	return s
}
