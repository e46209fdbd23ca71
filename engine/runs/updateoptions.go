package runs

import (
	"maps"
	"slices"

	"github.com/rondo-engine/rondo"
)

// checkOptions refuses modes and policies that are not known.
func checkOptions(options rondo.RunOptions) error {
	if !knownMode(options.Mode) {
		return badOption("/mode", "the mode "+quoted(string(options.Mode))+" is not known", "use, refresh, bypass, only or verify")
	}
	for _, step := range slices.Sorted(maps.Keys(options.StepModes)) {
		if mode := options.StepModes[step]; !knownMode(mode) {
			return badOption("/stepModes", "the mode "+quoted(string(mode))+" of step "+quoted(step)+" is not known", "use, refresh, bypass, only or verify")
		}
	}
	switch options.FailurePolicy {
	case "", rondo.FailureContinue, rondo.FailureFast:
		return nil
	}
	return badOption("/failurePolicy", "the failure policy "+quoted(string(options.FailurePolicy))+" is not known", "continue or fail_fast")
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
