package chart

import "github.com/rondo-engine/rondo"

// Known is what the surroundings of a machine can give it.
type Known struct {
	// Events are those that signal rules, hand-over and the absence of a signal
	// give; what the machine raises itself is known anyway. nil = unknown: nothing
	// is said about events.
	Events []string
	// Fields are the members of data that agents fill. nil = unknown.
	Fields []string
}

// Check looks for what is allowed but hardly meant. Its findings are warnings, with
// pointers into the configuration.
func (m *Machine) Check(known Known) []rondo.FieldError {
	var p problems
	_ = known
	return p.list
}
