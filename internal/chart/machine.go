package chart

import (
	"encoding/json"
	"time"

	"github.com/rondo-engine/rondo/internal/cond"
)

// Bounds of a machine and of what one event may do.
const (
	MaxStates     = 500
	MaxDepth      = 16   // states inside each other
	MaxMicrosteps = 1000 // of one event, raised events and always included
	MaxAsked      = 500  // questions that are kept of one event
	MaxEffects    = 100  // case events of one event
)

// The kinds of states.
const (
	atomic   = "atomic"
	compound = "compound"
	parallel = "parallel"
	final    = "final"
	history  = "history"
)

// Machine is a compiled statechart.
type Machine struct {
	root    *node
	nodes   []*node // in document order: nodes[i].order == i
	byID    map[string]*node
	context map[string]json.RawMessage
}

// node is one state.
type node struct {
	id       string
	key      string
	at       string // pointer into the configuration
	kind     string
	order    int // in the document
	depth    int // of the machine: 0
	parent   *node
	children []*node // in document order, history included

	initial        *node // of compound states
	initialActions []action
	deep           bool    // of history: deep
	fallback       []*node // of history: targets while nothing is remembered; nil = parent's default

	descriptors []descriptor // on, then onDone, then after
	wildcards   []descriptor // of descriptors, longest first
	always      []*transition
	timers      []delay
	entry, exit []action
	output      *selector
	step        string // meta.step
	tags        []string
}

// descriptor is an event, or a family of events, with its transitions.
type descriptor struct {
	name        string
	transitions []*transition
}

// delay is one member of after.
type delay struct {
	id        string
	event     string
	wait      time.Duration
	remaining bool
}

// transition is one way out of a state, or one thing to do in it.
type transition struct {
	source  *node
	label   string // descriptor as written; "" for always
	index   int
	at      string
	targets []*node // nil = stay
	guard   *cond.Expr
	actions []action
	reenter bool
	// keep is the "timer" member of a transition of after.
	keep string
}

func (n *node) atomic() bool { return n.kind == atomic || n.kind == final }

// within reports whether n is a proper descendant of other; every state is within
// nil, the machine itself too.
func (n *node) within(other *node) bool {
	if other == nil {
		return true
	}
	for at := n.parent; at != nil; at = at.parent {
		if at == other {
			return true
		}
	}
	return false
}

// ancestors are the proper ancestors of n up to, and without, end; nearest first.
func (n *node) ancestors(end *node) []*node {
	if n == end {
		return nil
	}
	var list []*node
	for at := n.parent; at != nil && at != end; at = at.parent {
		list = append(list, at)
	}
	return list
}

// child finds a child by key.
func (n *node) child(key string) *node {
	for _, child := range n.children {
		if child.key == key {
			return child
		}
	}
	return nil
}

// regions are the children that can be active.
func (n *node) regions() []*node {
	var list []*node
	for _, child := range n.children {
		if child.kind != history {
			list = append(list, child)
		}
	}
	return list
}
