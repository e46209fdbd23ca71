package chart

import (
	"encoding/json"
	"slices"
)

// configuration is a set of states, in the order they were added.
type configuration struct {
	list []*node
	in   []bool // by order in the document
}

func newConfiguration(m *Machine) configuration {
	return configuration{in: make([]bool, len(m.nodes))}
}

func (c *configuration) has(n *node) bool { return c.in[n.order] }

func (c *configuration) add(n *node) {
	if !c.in[n.order] {
		c.in[n.order] = true
		c.list = append(c.list, n)
	}
}

func (c *configuration) remove(n *node) {
	if c.in[n.order] {
		c.in[n.order] = false
		c.list = slices.DeleteFunc(c.list, func(other *node) bool { return other == n })
	}
}

func (c *configuration) clone() configuration {
	return configuration{list: slices.Clone(c.list), in: slices.Clone(c.in)}
}

// sameStates compares without regard to order.
func (c *configuration) sameStates(other *configuration) bool { return slices.Equal(c.in, other.in) }

// meets reports whether both have a state in common.
func (c configuration) meets(other configuration) bool {
	return slices.ContainsFunc(c.list, other.has)
}

// sorted is the list in document order.
func (c *configuration) sorted() []*node {
	return slices.SortedFunc(slices.Values(c.list), func(a, b *node) int { return a.order - b.order })
}

// anyWithin reports whether a state of the set is inside n.
func (c *configuration) anyWithin(n *node) bool {
	return slices.ContainsFunc(c.list, func(s *node) bool { return s.within(n) })
}

// wellFormed reports whether n is active with exactly what must be active in it.
func (c *configuration) wellFormed(n *node) bool {
	if !c.has(n) {
		return false
	}
	active := 0
	for _, child := range n.children {
		if !c.has(child) {
			continue
		}
		if active++; !c.wellFormed(child) {
			return false
		}
	}
	switch n.kind {
	case compound:
		return active == 1
	case parallel:
		return active == len(n.regions())
	}
	return active == 0
}

// value is XState's state value of the active states.
func (c *configuration) value() json.RawMessage {
	for _, n := range c.list {
		if n.parent == nil {
			return c.appendValue(nil, n)
		}
	}
	return json.RawMessage("{}")
}

func (c *configuration) appendValue(b []byte, n *node) []byte {
	first := true
	for _, child := range n.children {
		if !c.has(child) {
			continue
		}
		if n.kind == compound && child.atomic() {
			return appendJSON(b, child.key)
		}
		if first {
			b = append(b, '{')
		} else {
			b = append(b, ',')
		}
		first = false
		b = append(appendJSON(b, child.key), ':')
		b = c.appendValue(b, child)
		if n.kind == compound {
			break
		}
	}
	if first {
		b = append(b, '{')
	}
	return append(b, '}')
}

// entered are the ids of the states without children in the order they were
// entered, nil if that is document order.
func (c *configuration) entered() []string {
	var ids []string
	ordered, last := true, -1
	for _, n := range c.list {
		if !n.atomic() {
			continue
		}
		ids = append(ids, n.id)
		ordered = ordered && n.order > last
		last = n.order
	}
	if ordered {
		return nil
	}
	return ids
}

func appendJSON(b []byte, text string) []byte {
	raw, err := json.Marshal(text)
	if err != nil {
		return append(b, `""`...) // a string always has a JSON form
	}
	return append(b, raw...)
}
