package store

import (
	"slices"

	"github.com/rondo-engine/rondo"
)

// loose are the outcomes that people look for: drivers find their events without
// knowing the case.
var loose = [...]rondo.Outcome{rondo.OutcomeParked, rondo.OutcomeUnmatched, rondo.OutcomeRejected}

// Loose reports whether events of an outcome can be listed without their case.
func Loose(outcome rondo.Outcome) bool { return slices.Contains(loose[:], outcome) }

// Check reports a filter that asks for more than a list to look at.
func (f EventFilter) Check() error {
	if f.OrgID == "" {
		return rondo.Invalid("a list of events needs an organisation")
	}
	if f.CaseID == "" && !Loose(f.Outcome) {
		return rondo.Invalid("a list of events needs a case_id, or one of the outcomes parked, unmatched and rejected")
	}
	return nil
}
