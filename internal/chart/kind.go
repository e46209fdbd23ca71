package chart

import "strings"

// kind finds out what kind of state it is and whether its members go with that.
func (c *compiler) kind(n *node, parts map[string]value) {
	n.kind = c.declared(n, parts)
	_, hasInitial := parts["initial"]
	switch {
	case n.kind == compound && len(n.children) == 0:
		c.add("no_states", n.at, "a compound state needs states: add them or leave out the type")
	case n.kind == compound && !hasInitial:
		c.add("missing_initial", n.at, `say which state comes first: add "initial": %q`, n.children[0].key)
	case n.kind == compound:
		c.initial(n, parts["initial"])
	case hasInitial:
		c.add("bad_initial", n.at+"/initial", "a state of type %s has no initial state: leave it out", n.kind)
	}
	if n.kind == parallel && len(n.regions()) == 0 {
		c.add("no_states", n.at, "a parallel state needs states, one per region")
	}
	if len(n.children) > 0 && n.kind != compound && n.kind != parallel {
		c.add("bad_type", n.at+"/type", "a state of type %s has no states: leave out the states or the type", n.kind)
	}
	c.misplaced(n, parts)
	if n.kind == history {
		c.remembers(n, parts)
	}
}

// declared is the kind that was written, or follows from the members.
func (c *compiler) declared(n *node, parts map[string]value) string {
	if v, ok := parts["type"]; ok {
		kind, ok := c.text(v, "type")
		switch kind {
		case final, history:
			if n.parent == nil {
				c.add("bad_type", v.at, "the machine itself cannot be of type %s", kind)
			}
			return kind
		case atomic, compound, parallel:
			return kind
		}
		if ok {
			c.add("bad_type", v.at, "type must be atomic, compound, parallel, final or history")
		}
	}
	v, remembers := parts["history"]
	switch {
	case len(n.children) > 0:
		return compound
	case remembers && v.kind() != 'f':
		return history
	}
	return atomic
}

// misplaced reports members that mean nothing for this kind of state.
func (c *compiler) misplaced(n *node, parts map[string]value) {
	forbid := func(why string, names ...string) {
		for _, name := range names {
			if _, ok := parts[name]; ok {
				c.add("misplaced_member", n.at+"/"+name, "%s", why)
			}
		}
	}
	switch n.kind {
	case final:
		forbid("a final state is the end: it has no transitions", "on", "always", "after", "onDone")
	case history:
		forbid("a history state is never active: it has a target and nothing else", "on", "always", "after", "onDone", "entry", "exit", "meta", "tags")
	case atomic:
		forbid("only a state with states of its own can be done", "onDone")
	}
	if n.parent == nil {
		forbid("nothing follows the end of the machine: use output", "onDone")
		forbid("the machine itself has no target", "target", "history")
	} else if n.kind != final {
		forbid("only final states and the machine itself have an output", "output")
	}
	if n.kind != history {
		forbid("only history states have a target of their own: write a transition", "target", "history")
	}
}

func (c *compiler) initial(n *node, v value) {
	target := v
	if v.kind() == '{' {
		members, _ := c.object(v, "initial")
		target = value{}
		for _, m := range members {
			switch m.name {
			case "target":
				target = m.value
			case "actions":
				n.initialActions = c.actions(m.value)
			case "description":
			default:
				c.refuse(m, "initial", []string{"target", "actions", "description"})
			}
		}
		if target.raw == nil {
			c.add("missing_initial", v.at, "initial needs a target")
			return
		}
	}
	key, ok := c.text(target, "initial")
	if !ok {
		return
	}
	n.initial = n.child(key)
	switch {
	case n.initial == nil:
		c.add("unknown_target", target.at, "there is no state %q here: initial must be one of %s", key, strings.Join(keys(n.regions()), ", "))
	case n.initial.kind == history:
		c.add("bad_initial", target.at, "initial cannot be a history state: there is nothing to remember yet")
	}
}

// remembers reads what a history state remembers, and where it leads before there
// is anything to remember.
func (c *compiler) remembers(n *node, parts map[string]value) {
	if v, ok := parts["history"]; ok {
		switch strings.TrimSpace(string(v.raw)) {
		case `"deep"`:
			n.deep = true
		case `"shallow"`, "true", "false":
		default:
			c.add("bad_history", v.at, "history must be shallow or deep")
		}
	}
	v, ok := parts["target"]
	if !ok {
		return
	}
	c.links = append(c.links, func() {
		for _, item := range c.array(v) {
			text, ok := c.text(item, "target")
			if !ok {
				continue
			}
			target := c.find(n, text, item.at)
			switch {
			case target == nil:
			case target.kind == history || !target.within(n.parent):
				c.add("bad_target", item.at, "the target of a history state must be a state inside %q that is no history state", n.parent.key)
			default:
				n.fallback = append(n.fallback, target)
			}
		}
		c.together(n.fallback, v.at)
	})
}

func keys(nodes []*node) []string {
	list := make([]string, len(nodes))
	for i, n := range nodes {
		list[i] = n.key
	}
	return list
}
