package chart

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo"
)

// Compile reads a machine. The machine is nil when there are problems; their
// pointers are relative to config.
func Compile(config []byte) (*Machine, []rondo.FieldError) {
	c := &compiler{machine: &Machine{byID: map[string]*node{}, context: map[string]json.RawMessage{}}}
	source, ok := c.root(config)
	if !ok {
		return nil, c.list
	}
	c.machine.root = c.state(member{name: defaultID, value: source}, nil)
	if len(c.list) == 0 {
		for i := 0; i < len(c.links); i++ { // a link may add another
			c.links[i]()
		}
	}
	if len(c.list) > 0 {
		return nil, c.list
	}
	return c.machine, nil
}

// defaultID is the id of a machine without one.
const defaultID = "(machine)"

// compiler builds a machine in two passes: first all states, then what refers to
// states.
type compiler struct {
	problems
	machine *Machine
	links   []func()
	full    bool // there are too many states: said once
}

var (
	stateMembers   = []string{"id", "type", "initial", "states", "on", "always", "after", "onDone", "entry", "exit", "meta", "tags", "description", "output", "history", "target"}
	machineMembers = append([]string{"context", "version"}, stateMembers...)
)

// hints explain members that other tools and older versions write.
var hints = map[string]string{
	"invoke":     "actors are not run here: raise a case event and wait for its answer",
	"route":      "routes are not known here: write a transition",
	"cond":       "it is called guard",
	"internal":   `transitions stay inside their state by default; write "reenter": true to leave and enter it`,
	"in":         "write a guard",
	"delay":      `delays are written as "after": {"<milliseconds>": …}`,
	"params":     "guards and actions carry all they need themselves",
	"activities": "activities are not run here",
}

// state compiles one state and its children; nil when it cannot be built at all.
func (c *compiler) state(m member, parent *node) *node {
	n := &node{key: m.name, at: m.at, parent: parent}
	if parent != nil {
		n.depth = parent.depth + 1
		c.key(n)
	}
	members, ok := c.object(m.value, "a state")
	if !ok || !c.room(n) {
		return nil
	}
	parts := map[string]value{}
	allowed := stateMembers
	if parent == nil {
		allowed = machineMembers
	}
	for _, part := range members {
		if !slices.Contains(allowed, part.name) {
			c.refuse(part, "a state", allowed)
			continue
		}
		parts[part.name] = part.value
	}
	c.name(n, parts)
	n.order = len(c.machine.nodes)
	c.machine.nodes = append(c.machine.nodes, n)
	c.children(n, parts)
	c.kind(n, parts)
	c.describe(n, parts)
	c.behaviour(n, parts)
	return n
}

// refuse reports an unknown member, with advice where there is one.
func (c *compiler) refuse(m member, what string, allowed []string) {
	if hint, ok := hints[m.name]; ok {
		c.add("unknown_member", m.at, "%s has no member %q: %s", what, m.name, hint)
		return
	}
	c.unknown(m, what, allowed)
}

func (c *compiler) room(n *node) bool {
	if n.depth > MaxDepth {
		c.add("too_deep", n.at, "states are nested deeper than %d: flatten them", MaxDepth)
		return false
	}
	if len(c.machine.nodes) < MaxStates {
		return true
	}
	if !c.full {
		c.full = true
		c.add("too_many_states", n.at, "a machine has at most %d states: split it", MaxStates)
	}
	return false
}

func (c *compiler) key(n *node) {
	if n.key == "" || strings.ContainsAny(n.key, `.#\`) {
		c.add("bad_name", n.at, `the name of a state must not be empty or hold ".", "#" or "\": targets are written with them`)
	}
}

// name gives the state its id, which must be its own.
func (c *compiler) name(n *node, parts map[string]value) {
	n.id = n.key
	if n.parent != nil {
		n.id = c.machine.nodes[0].id
		for _, ancestor := range slices.Backward(append([]*node{n}, n.ancestors(c.machine.nodes[0])...)) {
			n.id += "." + ancestor.key
		}
	}
	at := n.at
	if written, ok := parts["id"]; ok {
		at = written.at
		id, ok := c.text(written, "id")
		if !ok {
			return
		}
		if id == "" || strings.ContainsAny(id, `.#\`) {
			c.add("bad_name", at, `an id must not be empty or hold ".", "#" or "\": targets are written with them`)
			return
		}
		n.id = id
		if n.parent == nil {
			n.key = id
		}
	}
	if other, ok := c.machine.byID[n.id]; ok {
		c.add("duplicate_id", at, "the id %q belongs to the state at %q too: give one of them another id", n.id, other.at)
		return
	}
	c.machine.byID[n.id] = n
}

func (c *compiler) children(n *node, parts map[string]value) {
	states, ok := parts["states"]
	if !ok {
		return
	}
	members, ok := c.object(states, "states")
	if !ok {
		return
	}
	for _, m := range scriptOrder(members) {
		if child := c.state(m, n); child != nil {
			n.children = append(n.children, child)
		}
	}
}

// describe reads what says something about a state and does nothing.
func (c *compiler) describe(n *node, parts map[string]value) {
	for _, name := range []string{"description", "version"} {
		if v, ok := parts[name]; ok {
			c.text(v, name)
		}
	}
	if v, ok := parts["tags"]; ok {
		for _, item := range c.array(v) {
			if tag, ok := c.text(item, "a tag"); ok {
				n.tags = append(n.tags, tag)
			}
		}
	}
	if v, ok := parts["meta"]; ok {
		members, _ := c.object(v, "meta")
		for _, m := range members {
			if m.name != "step" {
				continue
			}
			step, ok := c.text(m.value, "meta.step")
			if ok && step == "" {
				c.add("bad_step", m.at, "meta.step must not be empty: leave it out to use the state's name")
			}
			n.step = step
		}
	}
	if v, ok := parts["context"]; ok {
		members, _ := c.object(v, "context")
		for _, m := range members {
			c.machine.context[m.name] = m.raw
		}
	}
}
