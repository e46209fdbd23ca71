package definition

import (
	"fmt"
	"slices"

	"github.com/rondo-engine/rondo"
)

// problems gathers everything that is wrong, so that all of it is reported at
// once.
type problems struct {
	errors   []rondo.FieldError
	warnings []rondo.FieldError
	dropped  map[string]bool // places, see drop
}

func (p *problems) add(code, at, format string, args ...any) {
	p.errors = append(p.errors, rondo.FieldError{Code: code, Pointer: at, Message: fmt.Sprintf(format, args...)})
}

func (p *problems) warn(code, at, format string, args ...any) {
	p.warnings = append(p.warnings, rondo.FieldError{Code: code, Pointer: at, Message: fmt.Sprintf(format, args...)})
}

// drop notes that what was meant to stand at a place could not be read, which
// is reported already: nothing more need be said about its absence.
func (p *problems) drop(at string) {
	if p.dropped == nil {
		p.dropped = map[string]bool{}
	}
	p.dropped[at] = true
}

// lost reports whether one of the places was dropped.
func (p *problems) lost(places ...string) bool {
	return slices.ContainsFunc(places, func(at string) bool { return p.dropped[at] })
}

// sort puts the findings in order of place, each once.
func (p *problems) sort() {
	slices.SortFunc(p.errors, compareFields)
	slices.SortFunc(p.warnings, compareFields)
	p.errors = slices.Compact(p.errors)
	p.warnings = slices.Compact(p.warnings)
}
