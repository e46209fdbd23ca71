package chart

import (
	"slices"
	"strings"

	"github.com/rondo-engine/rondo"
)

// CheckPaths looks for paths of a condition outside of the machine that lead
// nowhere, with the same eyes as Check does for guards. Its warnings are of the code
// field_never_filled and all at the same place.
func (m *Machine) CheckPaths(known Known, paths [][]string, at string) []rondo.FieldError {
	c := &checker{m: m, known: known}
	c.paths(paths, at, c.filled())
	return c.list
}

// fields finds guards on what nobody fills.
func (c *checker) fields() {
	filled := c.filled()
	for _, n := range c.m.nodes {
		for _, t := range n.all() {
			if t.guard == nil {
				continue
			}
			paths := t.guard.Paths()
			if t.onDone() { // its event has what the final state says
				paths = slices.DeleteFunc(slices.Clone(paths), func(path []string) bool { return path[0] == "event" })
			}
			c.paths(paths, t.at+"/guard", filled)
		}
	}
}

// filled is what can be there.
type filled struct {
	context []string // members of the context
	data    []string // members of the data that agents give and the machine collects
}

// filled adds what the machine itself writes to what is known.
func (c *checker) filled() filled {
	f := filled{context: slices.Clone(c.known.Context), data: slices.Clone(c.known.Fields)}
	for name := range c.m.context {
		f.context = append(f.context, name)
	}
	for _, a := range c.m.actions() {
		switch {
		case a.raise != nil && a.raise.payload != nil:
			f.data = append(f.data, a.raise.payload.fields()...)
		case a.assign != nil:
			for _, s := range a.assign.set {
				f.context = append(f.context, s.field)
				if s.field == "collectedData" {
					f.data = append(f.data, s.from.fields()...)
				}
			}
		}
	}
	return f
}

// holders are the places that have the members of data.
var holders = []string{"context.collectedData", "event.payload", "turn.data.data", "payload.data"}

func (c *checker) paths(paths [][]string, at string, f filled) {
	for _, path := range paths {
		if known := c.membersOf(path[0], f); known != nil && len(path) > 1 && !slices.Contains(known, path[1]) {
			slices.Sort(known)
			c.add("field_never_filled", at, "nothing fills %q: %s has %s", strings.Join(path, "."), path[0], strings.Join(slices.Compact(known), ", "))
			continue
		}
		last := len(path) - 1
		for ; c.known.Fields != nil && last > 0; last-- {
			if slices.Contains(holders, strings.Join(path[:last], ".")) && !slices.Contains(f.data, path[last]) {
				c.add("field_never_filled", at, "nothing fills %q: correct the name, or add it to the data that is collected", path[last])
			}
		}
	}
}

// membersOf are those that a root can have; nil = unknown.
func (c *checker) membersOf(root string, f filled) []string {
	switch {
	case root == "event":
		return []string{"type", "payload", "output"}
	case root == "context" && c.known.Context != nil:
		return slices.Clone(f.context)
	case root == "context":
		return nil
	}
	return slices.Clone(c.known.Roots[root])
}

// fields are the names of members that a selector writes itself.
func (s *selector) fields() []string {
	var names []string
	switch {
	case s.constant != nil && isObject(s.constant):
		var p problems
		members, _ := p.object(value{raw: s.constant}, "a constant")
		for _, m := range members {
			names = append(names, m.name)
		}
	case s.pick != nil:
		names = append(names, s.pick.fields...)
	}
	for _, part := range s.merge {
		names = append(names, part.fields()...)
	}
	return names
}
