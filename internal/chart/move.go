package chart

import "slices"

// microstep takes transitions together: leave states, deepest first, do what the
// transitions say, enter states. It reports whether anything changed.
func (r *run) microstep(chosen []*transition) (bool, error) {
	if len(chosen) == 0 {
		return false, nil
	}
	r.mutated = false
	taken := r.compatible(chosen)
	next := r.active.clone()
	// A transition that stays in its state enters nothing when another one leaves
	// that state in the same step.
	stays := map[*transition]bool{}
	for _, t := range taken {
		own := r.exits([]*transition{t})
		stays[t] = !own.has(t.source)
	}
	remembered, err := r.leave(r.exits(taken), &next)
	if err != nil {
		return false, err
	}
	standing := slices.DeleteFunc(slices.Clone(taken), func(t *transition) bool { return stays[t] && !next.has(t.source) })
	for _, t := range taken {
		if err := r.do(t.actions); err != nil {
			return false, t.failed("an action", err)
		}
	}
	if err := r.enter(standing, &next, false); err != nil {
		return false, err
	}
	if err := r.exitWhenDone(&next); err != nil {
		return false, err
	}
	if remembered || !next.sameStates(&r.active) {
		r.active = next
		r.mutated = true
	}
	return r.mutated, nil
}

// leave exits states and remembers for history what was active in them. It
// reports whether history was written.
func (r *run) leave(leaving configuration, next *configuration) (bool, error) {
	order := leaving.sorted()
	slices.Reverse(order)
	wrote := false
	for _, n := range order {
		for _, h := range n.children {
			if h.kind != history {
				continue
			}
			var active []*node
			for _, s := range next.list {
				if (h.deep && s.atomic() && s.within(n)) || (!h.deep && s.parent == n) {
					active = append(active, s)
				}
			}
			r.history[h.id] = active
			wrote = true
		}
	}
	for _, n := range order {
		if err := r.exit(n); err != nil {
			return false, err
		}
		next.remove(n)
	}
	return wrote, nil
}

// exits are the active states that transitions leave.
func (r *run) exits(transitions []*transition) configuration {
	leaving := newConfiguration(r.m)
	for _, t := range transitions {
		if len(t.targets) == 0 {
			continue
		}
		domain := r.domain(t)
		for _, n := range r.active.list {
			if n.within(domain) {
				leaving.add(n)
			}
		}
	}
	return leaving
}

// domain is the state whose inside a transition changes; nil = the machine itself
// is left and entered too.
func (r *run) domain(t *transition) *node {
	targets := r.effective(t.targets)
	inside := func(n *node) bool { return n == t.source || n.within(t.source) }
	if !t.reenter && !slices.ContainsFunc(targets, func(n *node) bool { return !inside(n) }) {
		return t.source
	}
	if common := commonAncestor(append(slices.Clone(targets), t.source)); common != nil {
		return common
	}
	if t.reenter {
		return nil
	}
	return r.m.root
}

// effective replaces history states by what they stand for.
func (r *run) effective(targets []*node) []*node {
	var list []*node
	add := func(n *node) {
		if !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	for _, target := range targets {
		if target.kind != history {
			add(target)
			continue
		}
		for _, n := range r.recall(target) {
			add(n)
		}
	}
	return list
}

// recall is where a history state leads.
func (r *run) recall(h *node) []*node {
	if remembered, ok := r.history[h.id]; ok {
		return remembered
	}
	switch {
	case h.fallback != nil:
		return h.fallback
	case h.parent.kind == parallel:
		return []*node{h.parent}
	}
	return []*node{h.parent.initial}
}

// entry is the set of states that are entered. Those entered by default do their
// initial actions too.
type entry struct {
	states    configuration
	byDefault configuration
}

// entries computes what transitions enter.
func (r *run) entries(transitions []*transition) *entry {
	e := &entry{states: newConfiguration(r.m), byDefault: newConfiguration(r.m)}
	for _, t := range transitions {
		domain := r.domain(t)
		for _, target := range t.targets {
			if target.kind != history && (t.source != target || t.source != domain || t.reenter) {
				e.states.add(target)
				e.byDefault.add(target)
			}
			r.below(e, target)
		}
		boundary := domain
		if t.source.parent == nil && t.reenter {
			boundary = nil
		}
		for _, target := range r.effective(t.targets) {
			above := target.ancestors(domain)
			if domain != nil && domain.kind == parallel {
				above = append(above, domain)
			}
			r.above(e, above, boundary)
		}
	}
	return e
}

// below adds what is entered inside n.
func (r *run) below(e *entry, n *node) {
	switch n.kind {
	case history:
		_, remembered := r.history[n.id]
		targets := r.recall(n)
		for _, target := range targets {
			e.states.add(target)
			if !remembered && n.fallback == nil && n.parent.kind == compound {
				e.byDefault.add(n.parent)
			}
			r.below(e, target)
		}
		for _, target := range targets {
			r.above(e, target.ancestors(n.parent), nil)
		}
	case compound:
		e.states.add(n.initial)
		e.byDefault.add(n.initial)
		r.below(e, n.initial)
	case parallel:
		for _, region := range n.regions() {
			if !e.states.anyWithin(region) {
				e.states.add(region)
				e.byDefault.add(region)
				r.below(e, region)
			}
		}
	}
}

// above adds ancestors that are inside the boundary, and the regions of parallel
// ones that nothing leads into.
func (r *run) above(e *entry, ancestors []*node, boundary *node) {
	for _, n := range ancestors {
		if n.within(boundary) {
			e.states.add(n)
		}
		if n.kind != parallel {
			continue
		}
		for _, region := range n.regions() {
			if !e.states.anyWithin(region) {
				e.states.add(region)
				r.below(e, region)
			}
		}
	}
}
