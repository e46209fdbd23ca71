package definition

import (
	"encoding/json"
	"strings"
)

// A drawing shows unfinished machines too, so it reads states by itself and leaves
// out what leads nowhere.

// stateJSON is what a drawing shows of a state of a statechart, the machine itself
// among them.
type stateJSON struct {
	ID      string                     `json:"id"`
	Type    string                     `json:"type"`
	Initial json.RawMessage            `json:"initial"`
	States  map[string]json.RawMessage `json:"states"`
	On      map[string]json.RawMessage `json:"on"`
	After   map[string]json.RawMessage `json:"after"`
	Always  json.RawMessage            `json:"always"`
	OnDone  json.RawMessage            `json:"onDone"`
	Meta    json.RawMessage            `json:"meta"`
}

// state is a state that was read, with what is below it.
type state struct {
	stateJSON
	key      string // what its parent calls it; "" = the machine itself
	at       string
	parent   *state
	children map[string]*state
}

// chartReader reads the states of one statechart.
type chartReader struct {
	*problems
	ids map[string]*state
}

// read takes a state apart with everything below it.
func (c *chartReader) read(raw json.RawMessage, at string, parent *state) *state {
	s := &state{at: at, parent: parent, children: map[string]*state{}}
	if json.Unmarshal(raw, &s.stateJSON) != nil {
		c.add("wrong_type", at, "this is not a state: id and type are strings, states, on and after are objects")
		return nil
	}
	if s.ID != "" {
		c.ids[s.ID] = s
	}
	for _, name := range sortedKeys(s.States) {
		if child := c.read(s.States[name], at+pointer("states", name), s); child != nil {
			child.key = name
			s.children[name] = child
		}
	}
	return s
}

// begins is the child that a state begins with, "" = none: a name, or a target with
// actions.
func (s *state) begins() string {
	var name string
	if json.Unmarshal(s.Initial, &name) != nil {
		var written struct {
			Target string `json:"target"`
		}
		if json.Unmarshal(s.Initial, &written) != nil {
			return ""
		}
		name = written.Target
	}
	return strings.TrimPrefix(name, ".")
}

// target finds the state that a transition of s leads to: "#id", ".child", or a
// sibling, each perhaps followed by the way down. nil when there is none.
func (c *chartReader) target(s *state, target string) *state {
	from, way := s.parent, target
	switch {
	case strings.HasPrefix(target, "#"):
		id, rest, _ := strings.Cut(target[1:], ".")
		from, way = c.ids[id], rest
	case strings.HasPrefix(target, "."):
		from, way = s, target[1:]
	case s.parent == nil:
		from = s
	}
	for name := range strings.SplitSeq(way, ".") {
		if from == nil || name == "" && !strings.HasPrefix(target, "#") {
			return nil
		}
		if name != "" {
			from = from.children[name]
		}
	}
	return from
}
