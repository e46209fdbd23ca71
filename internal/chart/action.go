package chart

import (
	"encoding/json"
	"slices"
	"strings"
)

// action is one thing a machine does; exactly one member is set.
type action struct {
	assign *assign
	raise  *raise
	effect *effect
}

// assign sets members of the context. All its selectors see the context as it was
// before.
type assign struct {
	set []assignment
}

type assignment struct {
	field string
	from  *selector
}

// raise puts an event into the machine's own queue.
type raise struct {
	event   string
	payload *selector // nil = none
}

// effect raises an event for a case.
type effect struct {
	eventType string
	caseID    *selector // nil = none
	payload   *selector // nil = {}
}

func (c *compiler) actions(v value) []action {
	var list []action
	for _, item := range c.array(v) {
		if a, ok := c.action(item); ok {
			list = append(list, a)
		}
	}
	return list
}

func (c *compiler) action(v value) (action, bool) {
	if v.kind() == '"' {
		c.add("unknown_action", v.at, "named actions are not known: write an object of type assign, raise or raiseCaseEvent")
		return action{}, false
	}
	members, ok := c.object(v, "an action")
	if !ok {
		return action{}, false
	}
	parts := map[string]value{}
	for _, m := range members {
		parts[m.name] = m.value
	}
	kind, ok := parts["type"]
	if !ok {
		c.add("unknown_action", v.at, "an action needs a type: assign, raise or raiseCaseEvent")
		return action{}, false
	}
	name, ok := c.text(kind, "type")
	if !ok {
		return action{}, false
	}
	switch name {
	case "assign":
		c.only(members, "assign", "type", "set")
		return action{assign: c.assign(v, parts)}, true
	case "raise":
		c.only(members, "raise", "type", "event")
		return action{raise: c.raise(v, parts)}, true
	case effectType:
		c.only(members, effectType, "type", "eventType", "caseId", "payload")
		return action{effect: c.effect(v, parts)}, true
	}
	c.add("unknown_action", kind.at, "there is no action %q: write assign, raise or raiseCaseEvent", name)
	return action{}, false
}

const effectType = "raiseCaseEvent"

func (c *compiler) only(members []member, what string, allowed ...string) {
	for _, m := range members {
		known := false
		for _, name := range allowed {
			known = known || name == m.name
		}
		if !known {
			c.refuse(m, what, allowed)
		}
	}
}

func (c *compiler) assign(v value, parts map[string]value) *assign {
	a := &assign{}
	set, ok := parts["set"]
	if !ok {
		c.add("bad_action", v.at, `assign needs "set": {"<member of context>": <selector>}`)
		return a
	}
	members, _ := c.object(set, "set")
	for _, m := range members {
		a.set = append(a.set, assignment{field: m.name, from: c.selector(m.value)})
	}
	return a
}

func (c *compiler) raise(v value, parts map[string]value) *raise {
	r := &raise{}
	event, ok := parts["event"]
	if !ok {
		c.add("bad_action", v.at, `raise needs "event": {"type": "<name>"}`)
		return r
	}
	members, ok := c.object(event, "event")
	if !ok {
		return r
	}
	for _, m := range members {
		switch m.name {
		case "type":
			r.event, _ = c.text(m.value, "type")
		case "payload":
			r.payload = c.selector(m.value)
		default:
			c.refuse(m, "event", []string{"type", "payload"})
		}
	}
	if r.event == "" || r.event == "*" || strings.HasPrefix(r.event, internal) {
		c.add("bad_event", event.at, `the event needs a type, which is not "*" and does not begin with %q`, internal)
	}
	return r
}

func (c *compiler) effect(v value, parts map[string]value) *effect {
	e := &effect{}
	if name, ok := parts["eventType"]; ok {
		e.eventType, _ = c.text(name, "eventType")
	}
	if e.eventType == "" {
		c.add("bad_action", v.at, "%s needs an eventType", effectType)
	}
	if id, ok := parts["caseId"]; ok {
		e.caseID = c.selector(id)
	}
	if payload, ok := parts["payload"]; ok {
		e.payload = c.selector(payload)
	}
	return e
}

// selector says where a value comes from; exactly one member is set.
type selector struct {
	path     []string
	constant json.RawMessage
	merge    []*selector
	pick     *pick
	text     *selector // json
}

// pick takes some members of an object.
type pick struct {
	from   *selector
	fields []string
}

// selector reads a selector:
//
//	{"path": "context.collectedData.amount"}       what is there, null if nothing is
//	{"const": …}                                   the value itself
//	{"merge": [selector, …]}                       one object of all, later ones win; null is skipped
//	{"pick": {"from": selector, "fields": ["a"]}}  those members that are there
//	{"json": selector}                             the value as JSON text, members by name
//
// Any other value stands for itself.
func (c *compiler) selector(v value) *selector {
	if v.kind() == '{' {
		members, ok := c.object(v, "a selector")
		if ok && len(members) == 1 {
			m := members[0]
			switch m.name {
			case "path":
				return c.path(m.value)
			case "const":
				return &selector{constant: m.raw}
			case "merge":
				return c.merge(m.value)
			case "pick":
				return c.pick(m.value)
			case "json":
				return &selector{text: c.selector(m.value)}
			}
		}
	}
	return &selector{constant: v.raw}
}

func (c *compiler) path(v value) *selector {
	text, ok := c.text(v, "path")
	path := strings.Split(text, ".")
	if !ok {
		return &selector{path: path}
	}
	if !slices.Contains(roots, path[0]) {
		c.add("unknown_root", v.at, "a path begins with %s", strings.Join(roots, ", "))
	}
	if slices.Contains(path, "") {
		c.add("bad_selector", v.at, "a path is names with dots between them, such as context.collectedData")
	}
	return &selector{path: path}
}

func (c *compiler) merge(v value) *selector {
	s := &selector{merge: []*selector{}}
	if v.kind() != '[' {
		c.add("bad_selector", v.at, "merge is a list of selectors")
		return s
	}
	for _, item := range c.array(v) {
		s.merge = append(s.merge, c.selector(item))
	}
	return s
}

func (c *compiler) pick(v value) *selector {
	p := &pick{}
	members, _ := c.object(v, "pick")
	for _, m := range members {
		switch m.name {
		case "from":
			p.from = c.selector(m.value)
		case "fields":
			if m.value.kind() != '[' {
				c.add("bad_selector", m.at, "fields is a list of names")
				continue
			}
			for _, item := range c.array(m.value) {
				if name, ok := c.text(item, "a field"); ok {
					p.fields = append(p.fields, name)
				}
			}
		default:
			c.refuse(m, "pick", []string{"from", "fields"})
		}
	}
	if p.from == nil || p.fields == nil {
		c.add("bad_selector", v.at, `pick needs "from": <selector> and "fields": ["<name>"]`)
		p.from = &selector{constant: json.RawMessage("null")}
	}
	return &selector{pick: p}
}
