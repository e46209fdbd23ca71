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
}

func (p *problems) add(code, at, format string, args ...any) {
	p.errors = append(p.errors, rondo.FieldError{Code: code, Pointer: at, Message: fmt.Sprintf(format, args...)})
}

func (p *problems) warn(code, at, format string, args ...any) {
	p.warnings = append(p.warnings, rondo.FieldError{Code: code, Pointer: at, Message: fmt.Sprintf(format, args...)})
}

// sort puts the findings in order of place, each once.
func (p *problems) sort() {
	slices.SortFunc(p.errors, compareFields)
	slices.SortFunc(p.warnings, compareFields)
	p.errors = slices.Compact(p.errors)
	p.warnings = slices.Compact(p.warnings)
}
