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
	// Context are the members of the context that the surroundings write. nil =
	// unknown.
	Context []string
	// Roots are the members of roots beside context and event. One that is missing is
	// unknown.
	Roots map[string][]string
}

// Check looks for what is allowed but hardly meant. Its findings are warnings with
// pointers into the configuration; their codes are unreachable_state,
// event_never_raised, never_done, field_never_filled, always_cycle,
// timer_cycle and dead_end.
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
	c.ends()
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

// live goes through the transitions of a state but those for an end that it never
// comes to.
func (n *node) live() []*transition {
	return slices.DeleteFunc(n.all(), func(t *transition) bool { return !n.canEnd() && t.onDone() })
}

// onDone reports whether a transition is for the end of its own state.
func (t *transition) onDone() bool {
	return slices.ContainsFunc(t.source.descriptors, func(d descriptor) bool {
		return d.name == doneEvent(t.source) && slices.Contains(d.transitions, t)
	})
}

// canEnd reports whether a state has what it takes to be done.
func (n *node) canEnd() bool {
	switch n.kind {
	case compound:
		return slices.ContainsFunc(n.children, func(child *node) bool { return child.kind == final })
	case parallel:
		return !slices.ContainsFunc(n.regions(), func(region *node) bool { return !region.canEnd() })
	}
	return n.kind == final
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
			todo = append(todo, n.live()...)
		}
	}
}

// canLeave reports whether some transition could leave an active state: its own, an
// ancestor's, or one of another region that leaves the parallel state around both.
func (c *checker) canLeave(n *node) bool {
	r := c.m.newRun(Scope{})
	for _, source := range c.reached.list {
		related := source == n || n.within(source)
		for _, t := range source.live() {
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

// ends finds states that wait for an end of theirs that cannot come.
func (c *checker) ends() {
	for _, n := range c.m.nodes {
		if len(n.all()) > len(n.live()) {
			c.add("never_done", n.at+"/onDone", "%q never comes to its end: give it a final state, and each of its regions, or leave onDone out", n.key)
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
