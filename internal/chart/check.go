package chart

import (
	"slices"
	"strings"

	"github.com/rondo-engine/rondo"
)

// Known is what the surroundings of a machine can give it.
type Known struct {
	// Events are those that signal rules, hand-over and the absence of a signal
	// give; what the machine raises itself is known anyway. nil = unknown: nothing
	// is said about events.
	Events []string
	// Fields are the members of data that agents fill. nil = unknown.
	Fields []string
}

// Check looks for what is allowed but hardly meant. Its findings are warnings with
// pointers into the configuration; their codes are unreachable_state,
// event_never_raised, field_never_filled, always_cycle and dead_end.
func (m *Machine) Check(known Known) []rondo.FieldError {
	c := &checker{m: m, known: known}
	c.reach()
	for _, n := range m.nodes {
		if !c.reached.has(n) && n.kind != history {
			if n.parent == nil || c.reached.has(n.parent) { // said once, for the outermost
				c.add("unreachable_state", n.at, "no transition leads to %q: add one or leave the state out", n.key)
			}
			continue
		}
		if n.kind == atomic && !c.canLeave(n) {
			c.add("dead_end", n.at, "nothing leads out of %q: make it final or add a transition", n.key)
		}
	}
	c.events()
	c.fields()
	c.cycles()
	return c.list
}

type checker struct {
	problems
	m       *Machine
	known   Known
	reached configuration
}

// all goes through every transition of a state.
func (n *node) all() []*transition {
	var list []*transition
	for _, d := range n.descriptors {
		list = append(list, d.transitions...)
	}
	return append(list, n.always...)
}

// reach finds the states that can become active, whatever guards say.
func (c *checker) reach() {
	r := c.m.newRun(Scope{})
	c.reached = newConfiguration(c.m)
	start := &transition{source: c.m.root, targets: []*node{c.m.root}, reenter: true}
	todo := []*transition{start}
	for len(todo) > 0 {
		t := todo[0]
		todo = todo[1:]
		for _, n := range r.entries([]*transition{t}).states.list {
			if c.reached.has(n) {
				continue
			}
			c.reached.add(n)
			todo = append(todo, n.all()...)
		}
	}
}

// canLeave reports whether some transition could leave an active state: its own, an
// ancestor's, or one of another region that leaves the parallel state around both.
func (c *checker) canLeave(n *node) bool {
	r := c.m.newRun(Scope{})
	for _, source := range c.reached.list {
		related := source == n || n.within(source)
		for _, t := range source.all() {
			if len(t.targets) == 0 || (!related && !c.together(n, source)) {
				continue
			}
			if !n.within(r.domain(t)) {
				continue
			}
			if slices.ContainsFunc(r.entries([]*transition{t}).states.list, func(s *node) bool { return s != n && !n.within(s) }) {
				return true
			}
		}
	}
	return false
}

// together reports whether two states can be active at the same time.
func (c *checker) together(a, b *node) bool {
	return !a.within(b) && !b.within(a) && a != b && commonAncestor([]*node{a, b}).kind == parallel
}

func (c *checker) events() {
	if c.known.Events == nil {
		return
	}
	known := slices.Clone(c.known.Events)
	for _, a := range c.m.actions() {
		if a.raise != nil {
			known = append(known, a.raise.event)
		}
	}
	for _, n := range c.m.nodes {
		for _, d := range n.descriptors {
			if strings.HasPrefix(d.name, internal) || d.name == "*" || len(d.transitions) == 0 {
				continue
			}
			wild := strings.HasSuffix(d.name, ".*")
			heard := slices.ContainsFunc(known, func(event string) bool {
				return event == d.name || (wild && matches(d.name, event))
			})
			if !heard {
				c.add("event_never_raised", n.at+"/on/"+escape(d.name), "nothing gives the event %q: add a signal rule or leave the transition out", d.name)
			}
		}
	}
}

// actions are all actions of a machine.
func (m *Machine) actions() []action {
	var list []action
	for _, n := range m.nodes {
		list = slices.Concat(list, n.entry, n.exit, n.initialActions)
		for _, t := range n.all() {
			list = append(list, t.actions...)
		}
	}
	return list
}

func (c *checker) fields() {
	if c.known.Fields == nil {
		return
	}
	filled := slices.Clone(c.known.Fields)
	for _, a := range c.m.actions() {
		switch {
		case a.raise != nil && a.raise.payload != nil:
			filled = append(filled, a.raise.payload.fields()...)
		case a.assign != nil:
			for _, s := range a.assign.set {
				if s.field == "collectedData" {
					filled = append(filled, s.from.fields()...)
				}
			}
		}
	}
	for _, n := range c.m.nodes {
		for _, t := range n.all() {
			if t.guard == nil || strings.HasPrefix(t.label, "onDone") {
				continue
			}
			for _, path := range t.guard.Paths() {
				if len(path) < 3 || (path[0]+"."+path[1] != "context.collectedData" && path[0]+"."+path[1] != "event.payload") {
					continue
				}
				if !slices.Contains(filled, path[2]) {
					c.add("field_never_filled", t.at+"/guard", "nothing fills %q: correct the name, or add it to the data that is collected", path[2])
				}
			}
		}
	}
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
