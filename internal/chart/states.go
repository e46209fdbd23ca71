package chart

import "slices"

// StateInfo describes one state of a machine.
type StateInfo struct {
	ID      string
	Key     string
	Path    []string // keys from the machine down to it; empty for the machine itself
	Pointer string   // into the configuration
	Kind    string   // atomic, compound, parallel, final or history
	Step    string   // meta.step; "" = none
	Tags    []string
}

// Final reports whether the state is an end.
func (s StateInfo) Final() bool { return s.Kind == final }

// States are all states in document order, the machine itself first. The caller
// owns the result.
func (m *Machine) States() []StateInfo {
	list := make([]StateInfo, len(m.nodes))
	for i, n := range m.nodes {
		path := []string{}
		for at := n; at.parent != nil; at = at.parent {
			path = append(path, at.key)
		}
		slices.Reverse(path)
		list[i] = StateInfo{ID: n.id, Key: n.key, Path: path, Pointer: n.at, Kind: n.kind, Step: n.step, Tags: slices.Clone(n.tags)}
	}
	return list
}

// Step names where a snapshot stands: going down from the machine, in parallel
// states through the first region of the document, it is meta.step of the deepest
// active state that has one, else the key of the deepest active state. A snapshot
// that is not of this machine has no step: "".
func (m *Machine) Step(s Snapshot) string {
	active, ok := m.read(s.Value)
	if !ok {
		return ""
	}
	at, step := m.root, m.root.step
	for {
		inside := slices.IndexFunc(at.children, active.has)
		if inside < 0 {
			break
		}
		at = at.children[inside]
		if at.step != "" {
			step = at.step
		}
	}
	if step != "" {
		return step
	}
	return at.key
}
