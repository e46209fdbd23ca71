package chart

import (
	"cmp"
	"slices"
	"time"
)

// atOnce is the delay below which a timer gives nobody the time to come between.
const atOnce = time.Second

// cycles finds transitions that are taken for certain, without a pause, and lead
// back to where they began.
func (c *checker) cycles() {
	said := map[*transition]bool{}
	c.cyclesOf(false, said, "always_cycle", "always leads from %q back to itself without end: give one of the transitions a guard")
	c.cyclesOf(true, said, "timer_cycle", "timers lead from %q back to itself without end: make one of the delays a second or more, or give one of the transitions a guard")
}

// cyclesOf finds those of always alone, or with timers between.
func (c *checker) cyclesOf(timers bool, said map[*transition]bool, code, format string) {
	for _, n := range c.m.nodes {
		t, _ := n.certain(timers)
		if t == nil || said[t] {
			continue
		}
		var trail []*transition
		for t != nil && !slices.Contains(trail, t) {
			trail = append(trail, t)
			t = c.follows(t, timers)
		}
		if t == nil || said[t] {
			continue
		}
		for _, part := range trail[slices.Index(trail, t):] {
			said[part] = true
		}
		c.add(code, t.at, format, t.source.key)
	}
}

// certain is the transition that leaves a state at once, whatever holds: the first
// of always, else of its shortest timer, if that has no guard. some says that
// there is something to ask, even if what comes of it is open.
func (n *node) certain(timers bool) (t *transition, some bool) {
	ways := n.always
	if len(ways) == 0 && timers {
		ways = n.soonest()
	}
	if len(ways) == 0 {
		return nil, false
	}
	if ways[0].guard != nil {
		return nil, true
	}
	return ways[0], true
}

// soonest are the transitions of the shortest timer, if it gives no pause.
func (n *node) soonest() []*transition {
	if len(n.timers) == 0 {
		return nil
	}
	first := slices.MinFunc(n.timers, func(a, b delay) int { return cmp.Compare(a.wait, b.wait) })
	if first.wait >= atOnce {
		return nil
	}
	at := slices.IndexFunc(n.descriptors, func(d descriptor) bool { return d.name == first.event })
	return n.descriptors[at].transitions
}

// follows is the transition that is certain to come next; nil = the machine comes
// to rest or it depends on guards. Only entering a state sets its timers.
func (c *checker) follows(t *transition, timers bool) *transition {
	r := c.m.newRun(Scope{})
	entered := r.entries([]*transition{t}).states
	var leaves []*node
	for _, n := range entered.list {
		if n.atomic() {
			leaves = append(leaves, n)
		}
	}
	if len(t.targets) == 0 {
		leaves = append(leaves, t.source)
	}
	for _, leaf := range leaves {
		for n := leaf; n != nil; n = n.parent {
			next, some := n.certain(timers && entered.has(n))
			if !some {
				continue
			}
			// An always that changes neither states nor context is not asked again.
			if next == t && len(n.always) > 0 && !t.assigns() {
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
