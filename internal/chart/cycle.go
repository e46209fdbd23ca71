package chart

import "slices"

// cycles finds always transitions that are taken for certain and lead back to
// where they began.
func (c *checker) cycles() {
	said := map[*transition]bool{}
	for _, n := range c.m.nodes {
		t := n.certain()
		if t == nil || said[t] {
			continue
		}
		var trail []*transition
		for t != nil && !slices.Contains(trail, t) {
			trail = append(trail, t)
			t = c.follows(t)
		}
		if t == nil || said[t] {
			continue
		}
		for _, part := range trail[slices.Index(trail, t):] {
			said[part] = true
		}
		c.add("always_cycle", t.at, "always leads from %q back to itself without end: give one of the transitions a guard", t.source.key)
	}
}

// certain is the always transition of a state that is taken whatever holds: its
// first one, if that has no guard.
func (n *node) certain() *transition {
	if len(n.always) == 0 || n.always[0].guard != nil {
		return nil
	}
	return n.always[0]
}

// follows is the always transition that is certain to come next; nil = the machine
// comes to rest or it depends on guards.
func (c *checker) follows(t *transition) *transition {
	r := c.m.newRun(Scope{})
	var leaves []*node
	for _, n := range r.entries([]*transition{t}).states.list {
		if n.atomic() {
			leaves = append(leaves, n)
		}
	}
	if len(t.targets) == 0 {
		leaves = append(leaves, t.source)
	}
	for _, leaf := range leaves {
		for n := leaf; n != nil; n = n.parent {
			if len(n.always) == 0 {
				continue
			}
			next := n.certain()
			// What changes neither states nor context is not asked again.
			if next == t && !t.assigns() {
				next = nil
			}
			if next != nil {
				return next
			}
			break
		}
	}
	return nil
}

// assigns reports whether a transition changes the context.
func (t *transition) assigns() bool {
	return slices.ContainsFunc(t.actions, func(a action) bool { return a.assign != nil })
}
