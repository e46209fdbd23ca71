package store

import (
	"fmt"

	"github.com/rondo-engine/rondo"
)

// SecondActive is the error for a definition that would be active in a place that
// another one has.
func SecondActive(op string, d *rondo.Definition) error {
	err := &rondo.Error{Code: rondo.CodeConflict, Op: op, Hint: "create a draft and publish it"}
	switch d.Kind {
	case rondo.KindCase:
		err.Message = fmt.Sprintf("product %q of %q has an active case definition already", d.ProductID, d.OrgID)
	case rondo.KindRun:
		err.Message = fmt.Sprintf("version %s of %q is active already", d.Semver, d.Name)
		err.Hint = "give it another version, or archive the active one first"
	default:
		err.Message = fmt.Sprintf("%s %q of %q has an active definition already", d.Kind, d.Name, d.OrgID)
	}
	return err
}
