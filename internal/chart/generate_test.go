package chart

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// generator writes random machines that use everything XState and Rondo share.
type generator struct {
	rand  *rand.Rand
	nodes []*sketch
	marks int // numbers the effects, so that their order shows
}

// sketch is a state before it is written.
type sketch struct {
	key, id  string
	kind     string
	parent   *sketch
	children []*sketch
	initial  string
}

// events that machines wait for, in exact and in wildcard form.
var (
	someEvents    = []string{"E0", "E1", "E2", "o", "o.x", "o.x.y"}
	someWildcards = []string{"o.*", "o.x.*", "*"}
	raisedEvents  = []string{"R", "R", "R", "R", "R", "o.x"} // few, or nothing would ever come to rest
)

// machine returns the configuration of a random machine.
func (g *generator) machine() string {
	root := &sketch{key: "m", id: "m"}
	g.nodes = append(g.nodes, root)
	g.grow(root, 0)
	return g.write(root)
}

func (g *generator) chance(percent int) bool { return g.rand.IntN(100) < percent }

func pickOne[T any](g *generator, list []T) T { return list[g.rand.IntN(len(list))] }

// grow gives a state children.
func (g *generator) grow(s *sketch, depth int) {
	s.kind = atomic
	if depth > 0 && (depth >= 4 || len(g.nodes) > 12 || g.chance(45)) {
		return
	}
	s.kind = compound
	if g.chance(35) {
		s.kind = parallel
	}
	names := []string{"a", "b", "c", "d", "10", "2"}
	g.rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, key := range names[:2+g.rand.IntN(2)] {
		child := &sketch{key: key, parent: s}
		if g.chance(20) {
			child.id = fmt.Sprintf("id%d", len(g.nodes))
		}
		g.nodes = append(g.nodes, child)
		s.children = append(s.children, child)
		if s.kind == compound && len(s.children) > 1 && g.chance(25) {
			child.kind = final
			continue
		}
		g.grow(child, depth+1)
	}
	s.initial = s.children[g.rand.IntN(len(s.children))].key
	if g.chance(25) {
		remembers := &sketch{key: "h", parent: s, kind: history}
		g.nodes = append(g.nodes, remembers)
		s.children = append(s.children, remembers)
	}
}

// object writes members in order.
type object struct {
	members []string
}

func (o *object) put(name string, value any) {
	raw, ok := value.(string)
	if !ok {
		encoded, err := json.Marshal(value)
		if err != nil {
			panic(err) // plain values have a JSON form
		}
		raw = string(encoded)
	}
	o.members = append(o.members, quote(name)+":"+raw)
}

func (o *object) String() string { return "{" + strings.Join(o.members, ",") + "}" }

func quote(text string) string { return string(appendJSON(nil, text)) }

func (g *generator) write(s *sketch) string {
	var o object
	if s.id != "" {
		o.put("id", quote(s.id))
	}
	if s.parent == nil {
		o.put("context", `{"x":0,"y":1,"log":{}}`)
		if g.chance(30) {
			o.put("output", pickOne(g, []string{`{"path":"event.output"}`, `{"pick":{"from":{"path":"context"},"fields":["x","y"]}}`}))
		}
	}
	switch s.kind {
	case history:
		return g.writeHistory(s, &o)
	case final:
		o.put("type", `"final"`)
		if g.chance(50) {
			o.put("output", pickOne(g, []string{`{"path":"context.x"}`, `{"const":7}`, `{"merge":[{"path":"context.log"},{"const":{"end":true}}]}`}))
		}
	case parallel:
		o.put("type", `"parallel"`)
	case compound:
		initial := quote(s.initial)
		if g.chance(20) {
			initial = `{"target":` + initial + `,"actions":` + g.actions() + `}`
		}
		o.put("initial", initial)
	}
	if g.chance(40) {
		o.put("entry", g.actions())
	}
	if g.chance(40) {
		o.put("exit", g.actions())
	}
	if s.kind != final {
		g.ways(s, &o)
	}
	if len(s.children) > 0 {
		var states object
		for _, child := range s.children {
			states.put(child.key, g.write(child))
		}
		o.put("states", states.String())
	}
	return o.String()
}

func (g *generator) writeHistory(s *sketch, o *object) string {
	o.put("type", `"history"`)
	if g.chance(50) {
		o.put("history", `"deep"`)
	} else if g.chance(50) {
		o.put("history", `"shallow"`)
	}
	if g.chance(40) {
		target := s.parent.children[g.rand.IntN(len(s.parent.children)-1)]
		path := target.key
		if len(target.children) > 0 && g.chance(50) && target.children[0].kind != history {
			path += "." + target.children[0].key
		}
		o.put("target", quote(path))
	}
	return o.String()
}

// ways writes the transitions of a state.
func (g *generator) ways(s *sketch, o *object) {
	var on object
	for i, name := range slices.Concat(someEvents, someWildcards, []string{"R"}) {
		if chance := 25; g.chance(chance - 2*i) {
			on.put(name, g.transitions(s, 40))
		}
	}
	if len(on.members) > 0 {
		o.put("on", on.String())
	}
	if g.chance(6) {
		o.put("always", g.transitions(s, 95))
	}
	if s.parent != nil && len(s.children) > 0 && g.chance(40) {
		o.put("onDone", g.transitions(s, 50))
	}
	if g.chance(20) {
		var after object
		for _, delay := range []string{"1000", "20", "300"} {
			if g.chance(50) {
				after.put(delay, g.transitions(s, 30))
			}
		}
		o.put("after", after.String())
	}
}

func (g *generator) transitions(s *sketch, guarded int) string {
	if guarded < 90 && g.chance(15) {
		return quote(g.target(s))
	}
	list := []string{}
	for range 1 + g.rand.IntN(2) {
		var o object
		if g.chance(guarded) {
			o.put("guard", quote(g.guard()))
		}
		if g.chance(80) {
			if several := g.regions(); several != nil && g.chance(12) {
				o.put("target", several)
			} else {
				o.put("target", quote(g.target(s)))
			}
		}
		if g.chance(20) {
			o.put("reenter", "true")
		}
		if g.chance(60) {
			o.put("actions", g.actions())
		}
		list = append(list, o.String())
	}
	if len(list) == 1 && g.chance(50) {
		return list[0]
	}
	return "[" + strings.Join(list, ",") + "]"
}

// regions are two targets that can be active together, nil if there are none.
func (g *generator) regions() []string {
	s := pickOne(g, g.nodes)
	if s.kind != parallel || s.children[1].kind == history {
		return nil
	}
	targets := []string{}
	for _, region := range s.children[:2] {
		if len(region.children) > 0 && g.chance(70) {
			region = pickOne(g, region.children)
		}
		targets = append(targets, address(region))
	}
	return targets
}

// target writes a target as it is seen from s.
func (g *generator) target(s *sketch) string {
	if len(s.children) > 0 && g.chance(30) {
		if child := pickOne(g, s.children); fromOutside(s, child) == child {
			return "." + child.key
		}
	}
	if s.parent != nil && g.chance(40) {
		if sibling := pickOne(g, s.parent.children); fromOutside(s, sibling) == sibling {
			return sibling.key
		}
	}
	return address(fromOutside(s, pickOne(g, g.nodes)))
}

// fromOutside replaces the history of a state that s is in by the state itself:
// with parallel states, XState can come to states that cannot be active together.
func fromOutside(s, to *sketch) *sketch {
	for at := s; at != nil && to.kind == history; at = at.parent {
		if to.parent == at {
			return at
		}
	}
	return to
}

// address is a target that means the same everywhere.
func address(to *sketch) string {
	path := ""
	for at := to; ; at = at.parent {
		if at.id != "" {
			return "#" + at.id + path
		}
		path = "." + at.key + path
	}
}

func (g *generator) guard() string {
	n := g.rand.IntN(4)
	return pickOne(g, []string{
		fmt.Sprintf("coalesce(context.x, 0) < %d", n),
		fmt.Sprintf("coalesce(context.x, 0) >= %d", n),
		fmt.Sprintf("context.y == %d", n),
		fmt.Sprintf("context.y != %d && coalesce(event.payload.v, 0) <= %d", n, g.rand.IntN(4)),
		fmt.Sprintf("coalesce(event.payload.v, 0) > %d || !(context.x == %d)", n, g.rand.IntN(4)),
		fmt.Sprintf("event.type == %s", quote(pickOne(g, someEvents))),
	})
}

func (g *generator) actions() string {
	list := []string{}
	for range 1 + g.rand.IntN(2) {
		list = append(list, g.action())
	}
	if len(list) == 1 {
		return list[0]
	}
	return "[" + strings.Join(list, ",") + "]"
}

func (g *generator) action() string {
	g.marks++
	switch n := g.rand.IntN(100); {
	case n < 45:
		return fmt.Sprintf(`{"type":"raiseCaseEvent","eventType":"did.%d","payload":{"merge":[{"pick":{"from":{"path":"context"},"fields":["x","y"]}},{"path":"event"}]}}`, g.marks)
	case n < 60:
		return fmt.Sprintf(`{"type":"assign","set":{"x":{"const":%d}}}`, g.rand.IntN(4))
	case n < 72:
		return `{"type":"assign","set":{"x":{"path":"event.payload.v"},"last":{"path":"event.type"}}}`
	case n < 82:
		return `{"type":"assign","set":{"x":{"path":"context.y"},"y":{"path":"context.x"}}}`
	case n < 88:
		return fmt.Sprintf(`{"type":"assign","set":{"log":{"merge":[{"path":"context.log"},{"const":{"k%d":true}}]},"text":{"json":{"path":"event.payload"}}}}`, g.rand.IntN(3))
	case n < 94:
		return `{"type":"assign","set":{"y":{"const":null}}}`
	case n < 98:
		return fmt.Sprintf(`{"type":"raise","event":{"type":%s,"payload":{"v":%d}}}`, quote(pickOne(g, raisedEvents)), g.rand.IntN(4))
	}
	return fmt.Sprintf(`{"type":"raise","event":{"type":%s}}`, quote(pickOne(g, raisedEvents)))
}
