package definition

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo/internal/cond"
)

// stateJSON is what the rules look at in a state of a statechart, the machine
// itself among them.
type stateJSON struct {
	ID      string                     `json:"id"`
	Type    string                     `json:"type"`
	Initial string                     `json:"initial"`
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

// chartChecker carries one judgement of a statechart.
type chartChecker struct {
	*problems
	ids map[string]*state
}

func checkConversation(body json.RawMessage, p *problems) {
	var written struct {
		Steps        []string        `json:"steps"`
		Machine      json.RawMessage `json:"machine"`
		OutputSchema json.RawMessage `json:"outputSchema"`
		Signals      []struct {
			When string `json:"when"`
		} `json:"signals"`
	}
	if err := json.Unmarshal(body, &written); err != nil {
		p.add("invalid_json", "", "%s", err)
		return
	}
	if len(written.Steps) == 0 {
		p.add("steps_missing", "/steps", "name the steps of the conversation, in order; progress is counted along them")
	}
	seen := map[string]bool{}
	for i, step := range written.Steps {
		if seen[step] {
			p.add("step_repeated", pointer("steps", fmt.Sprint(i)), "%s is in the list already; keep one", quote(step))
		}
		seen[step] = true
	}
	readSchema(written.OutputSchema, "/outputSchema", p)
	for i, signal := range written.Signals {
		checkRootedExpr(signal.When, pointer("signals", fmt.Sprint(i), "when"), p)
	}
	c := chartChecker{problems: p, ids: map[string]*state{}}
	if root := c.read(written.Machine, "/machine", nil); root != nil {
		if len(root.children) == 0 {
			p.add("steps_missing", "/machine/states", "a machine needs at least one state")
		}
		c.check(root)
	}
}

// checkRootedExpr judges an expression over a turn.
func checkRootedExpr(src, at string, p *problems) {
	expr, err := cond.Parse(src)
	if err != nil {
		p.add("expr_invalid", at, "%s", err)
		return
	}
	roots := []string{"context", "event", "turn", "payload"}
	for _, path := range expr.Paths() {
		if !slices.Contains(roots, path[0]) {
			p.add("path_unknown", at, "%s: what is known here is %s%s", quote(strings.Join(path, ".")), list(roots, "and"), suggestion(path[0], roots))
		}
	}
}

// read takes a state apart with everything below it.
func (c *chartChecker) read(raw json.RawMessage, at string, parent *state) *state {
	s := &state{at: at, parent: parent, children: map[string]*state{}}
	if json.Unmarshal(raw, &s.stateJSON) != nil {
		c.add("wrong_type", at, "this is not a state: id, type and initial are strings, states, on and after are objects")
		return nil
	}
	if s.ID != "" {
		if c.ids[s.ID] != nil {
			c.add("state_repeated", at+"/id", "another state has the id %s; ids are unique", quote(s.ID))
		}
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

// check judges a state and everything below it.
func (c *chartChecker) check(s *state) {
	types := []string{"atomic", "compound", "parallel", "final", "history"}
	switch {
	case s.Type != "" && !slices.Contains(types, s.Type):
		c.add("unknown_value", s.at+"/type", "%s is not a type of state; use %s%s", quote(s.Type), list(types, "or"), suggestion(s.Type, types))
	case s.Initial != "" && s.States[s.Initial] == nil:
		c.add("target_unknown", s.at+"/initial", "there is no state %s%s", quote(s.Initial), suggestion(s.Initial, sortedKeys(s.States)))
	case s.Initial == "" && len(s.States) > 0 && s.Type != "parallel":
		c.add("missing_member", s.at+"/initial", "say with which of its states it begins")
	}
	for _, name := range sortedKeys(s.On) {
		c.checkTransitions(s, s.On[name], s.at+pointer("on", name))
	}
	for _, name := range sortedKeys(s.After) {
		c.checkTransitions(s, s.After[name], s.at+pointer("after", name))
	}
	c.checkTransitions(s, s.Always, s.at+"/always")
	c.checkTransitions(s, s.OnDone, s.at+"/onDone")
	for _, name := range sortedKeys(s.children) {
		c.check(s.children[name])
	}
}

// checkTransitions judges what stands for one event: a target, a transition or
// a list of them.
func (c *chartChecker) checkTransitions(s *state, raw json.RawMessage, at string) {
	if raw == nil || string(raw) == "null" {
		return
	}
	var target string
	var several []json.RawMessage
	var one struct {
		Target json.RawMessage `json:"target"`
		Guard  json.RawMessage `json:"guard"`
	}
	switch {
	case json.Unmarshal(raw, &target) == nil:
		c.checkTarget(s, target, at)
	case json.Unmarshal(raw, &several) == nil:
		for i, each := range several {
			c.checkTransitions(s, each, at+pointer(fmt.Sprint(i)))
		}
	case json.Unmarshal(raw, &one) == nil:
		if one.Target != nil {
			c.checkTransitions(s, one.Target, at+"/target")
		}
		var guard string
		if json.Unmarshal(one.Guard, &guard) == nil {
			checkRootedExpr(guard, at+"/guard", c.problems)
		}
	default:
		c.add("wrong_type", at, "must be a target, a transition or a list of them")
	}
}

func (c *chartChecker) checkTarget(s *state, target, at string) {
	if c.target(s, target) == nil {
		var known []string
		if s.parent != nil {
			known = sortedKeys(s.parent.States)
		}
		c.add("target_unknown", at, "there is no state %s%s", quote(target), suggestion(target, known))
	}
}

// target finds the state that a transition of s leads to: "#id", ".child", or a
// sibling, each perhaps followed by the way down. nil when there is none.
func (c *chartChecker) target(s *state, target string) *state {
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
