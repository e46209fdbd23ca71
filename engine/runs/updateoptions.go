package runs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/plan"
)

// checkOptions refuses modes and policies that are not known, and modes of steps
// that the workflow does not have.
func checkOptions(w *plan.Workflow, options rondo.RunOptions) error {
	if !knownMode(options.Mode) {
		return badOption("/mode", "the mode "+quoted(string(options.Mode))+" is not known", "use, refresh, bypass, only or verify")
	}
	for _, step := range slices.Sorted(maps.Keys(options.StepModes)) {
		if mode := options.StepModes[step]; !knownMode(mode) {
			return badOption("/stepModes", "the mode "+quoted(string(mode))+" of step "+quoted(step)+" is not known", "use, refresh, bypass, only or verify")
		}
		if _, known := w.Index(step); !known {
			return unknownStep(w, "/stepModes/"+step)
		}
	}
	switch options.FailurePolicy {
	case "", rondo.FailureContinue, rondo.FailureFast:
		return nil
	}
	return badOption("/failurePolicy", "the failure policy "+quoted(string(options.FailurePolicy))+" is not known", "continue or fail_fast")
}

// checkChangedSteps refuses steps that neither the workflow has nor the one of the
// base run had: of the latter it may have removed some.
func checkChangedSteps(w, base *plan.Workflow, changed []string) error {
	for i, step := range changed {
		if _, known := w.Index(step); known {
			continue
		}
		if _, known := base.Index(step); !known {
			return unknownStep(w, fmt.Sprintf("/changedSteps/%d", i))
		}
	}
	return nil
}

// namedSteps is how many steps an error names at most.
const namedSteps = 20

func unknownStep(w *plan.Workflow, at string) error {
	var names []string
	for i := range w.Steps[:min(len(w.Steps), namedSteps)] {
		names = append(names, w.Steps[i].ID)
	}
	if len(w.Steps) > namedSteps {
		names = append(names, fmt.Sprintf("and %d more", len(w.Steps)-namedSteps))
	}
	return &rondo.Error{
		Code: rondo.CodeInvalid, Message: "the workflow has no such step", Hint: "it has " + strings.Join(names, ", "),
		Fields: []rondo.FieldError{{Code: "target_unknown", Pointer: at, Message: "name a step of the workflow"}},
	}
}

func knownMode(mode rondo.CacheMode) bool {
	switch mode {
	case "", rondo.CacheUse, rondo.CacheRefresh, rondo.CacheBypass, rondo.CacheOnly, rondo.CacheVerify:
		return true
	}
	return false
}

func badOption(at, message, allowed string) error {
	return &rondo.Error{
		Code: rondo.CodeInvalid, Message: message, Hint: "it is " + allowed,
		Fields: []rondo.FieldError{{Code: "not_allowed", Pointer: at, Message: "must be " + allowed}},
	}
}
