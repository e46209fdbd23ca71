package chart

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/rondo-engine/rondo"
)

// resume makes a run of a snapshot, which must be one of this machine.
func (m *Machine) resume(s Snapshot, scope Scope) (*run, error) {
	r := m.newRun(scope)
	if s.Status != Active && s.Status != Done {
		return nil, corrupt("its status is unknown")
	}
	r.status, r.output = s.Status, s.Output
	r.context = maps.Clone(s.Context)
	if r.context == nil {
		r.context = map[string]json.RawMessage{}
	}
	active, ok := m.read(s.Value)
	if !ok {
		return nil, corrupt("its value is no state of this machine")
	}
	if s.Entered != nil {
		if active, ok = m.reorder(active, s.Entered); !ok {
			return nil, corrupt("the order of its states does not fit its value")
		}
	}
	r.active = active
	for id, raw := range s.History {
		nodes, ok := m.remembered(id, raw)
		if !ok {
			return nil, corrupt("its history is not of this machine")
		}
		r.history[id] = nodes
	}
	r.timers = slices.Clone(s.Timers)
	maps.Copy(r.paused, s.Paused)
	return r, nil
}

func corrupt(why string) *rondo.Error {
	return &rondo.Error{
		Code: rondo.CodeStateCorrupt, Message: "the stored state of the machine cannot be used: " + why,
		Hint: "it belongs to another definition, or was changed by hand",
	}
}

// read finds the active states of a state value.
func (m *Machine) read(raw json.RawMessage) (configuration, bool) {
	var value any
	active := newConfiguration(m)
	if json.Unmarshal(raw, &value) != nil || !active.readNode(m.root, value) {
		return active, false
	}
	active.list = active.sorted()
	return active, true
}

// readNode adds n and what a value says is active in it.
func (c *configuration) readNode(n *node, value any) bool {
	c.add(n)
	if key, ok := value.(string); ok {
		child := n.child(key)
		if n.kind != compound || child == nil || !child.atomic() {
			return false
		}
		c.add(child)
		return true
	}
	object, ok := value.(map[string]any)
	if !ok {
		return false
	}
	want := 0
	switch n.kind {
	case compound:
		want = 1
	case parallel:
		want = len(n.regions())
	}
	if len(object) != want {
		return false
	}
	for key, inner := range object {
		child := n.child(key)
		if child == nil || child.kind == history || (n.kind == compound && child.atomic()) || !c.readNode(child, inner) {
			return false
		}
	}
	return true
}

// reorder puts the states without children in the order they were entered.
func (m *Machine) reorder(active configuration, ids []string) (configuration, bool) {
	ordered := newConfiguration(m)
	for _, n := range active.list {
		if !n.atomic() {
			ordered.add(n)
		}
	}
	for _, id := range ids {
		n := m.byID[id]
		if n == nil || !n.atomic() || !active.has(n) || ordered.has(n) {
			return ordered, false
		}
		ordered.add(n)
	}
	return ordered, len(ordered.list) == len(active.list)
}

// remembered reads what a history state remembers.
func (m *Machine) remembered(id string, raw json.RawMessage) ([]*node, bool) {
	h := m.byID[id]
	var ids []string
	if h == nil || h.kind != history || json.Unmarshal(raw, &ids) != nil || len(ids) == 0 {
		return nil, false
	}
	nodes := make([]*node, len(ids))
	for i, id := range ids {
		n := m.byID[id]
		if n == nil || n.kind == history || !n.within(h.parent) || (h.deep && !n.atomic()) || (!h.deep && n.parent != h.parent) {
			return nil, false
		}
		for _, other := range nodes[:i] {
			if !compatible(n, other) {
				return nil, false
			}
		}
		nodes[i] = n
	}
	return nodes, true
}
