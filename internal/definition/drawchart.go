package definition

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// chart carries one drawing of a statechart.
type chart struct {
	chartReader
	graph graph
	nodes map[string]drawnNode
}

// The nodes of a chart that are no state. No pointer is like them.
const (
	chartStart    = "START"
	chartAnywhere = "anywhere"
)

// drawConversation draws the states of a machine and the ways between them. A
// state inside another has the names of both; a state with others inside is a
// node of its own, from which the way goes on to where it begins. What the
// machine itself listens to starts at a node that stands for any state. Targets
// that are not there are left out.
func drawConversation(body json.RawMessage, p *problems) *drawing {
	var written struct {
		Name    string          `json:"name"`
		Machine json.RawMessage `json:"machine"`
	}
	if err := json.Unmarshal(body, &written); err != nil {
		p.add("invalid_json", "", "%s", err)
		return nil
	}
	c := chart{
		chartReader: chartReader{problems: p, ids: map[string]*state{}},
		graph:       graph{start: chartStart, nodes: []string{chartStart}, out: map[string][]edge{}},
		nodes:       map[string]drawnNode{chartStart: {name: chartStart, shape: shapeStart}},
	}
	root := c.read(written.Machine, "/machine", nil)
	if root == nil {
		return nil
	}
	c.begin(chartStart, root)
	c.transitions(chartAnywhere, root)
	if len(c.graph.out[chartAnywhere]) > 0 {
		c.graph.nodes = append(c.graph.nodes, chartAnywhere)
		c.nodes[chartAnywhere] = drawnNode{name: "any state", sub: "from anywhere", shape: shapeChoice}
	}
	c.states(root, "")
	return drawGraph(written.Name, &c.graph, c.nodes)
}

// states adds everything below a state.
func (c *chart) states(s *state, prefix string) {
	for _, name := range sortedKeys(s.children) {
		child := s.children[name]
		node := drawnNode{name: prefix + name, sub: child.subtitle()}
		switch {
		case child.Type == "final":
			node.shape = shapeFinal
		case child.Type == "parallel":
			node.shape = shapeFork
		}
		c.graph.nodes = append(c.graph.nodes, child.at)
		c.nodes[child.at] = node
		c.begin(child.at, child)
		c.transitions(child.at, child)
		c.states(child, prefix+name+".")
	}
}

// begin leads from a node to where the inside of a state begins.
func (c *chart) begin(node string, s *state) {
	for _, name := range sortedKeys(s.children) {
		switch {
		case s.Type == "parallel":
			c.lead(edge{from: node, outcome: name, to: s.children[name].at, branch: true})
		case name == s.begins():
			c.lead(edge{from: node, outcome: "initial", to: s.children[name].at, branch: true})
		}
	}
}

// transitions leads from a node to where the transitions of a state lead.
func (c *chart) transitions(node string, s *state) {
	for _, name := range sortedKeys(s.On) {
		c.transition(node, s, s.On[name], name)
	}
	c.transition(node, s, s.Always, "always")
	for _, name := range sortedKeys(s.After) {
		label := "after " + name
		if ms, err := strconv.ParseFloat(name, 64); err == nil {
			label = "after " + span(ms/1000)
		}
		c.transition(node, s, s.After[name], label)
	}
	c.transition(node, s, s.OnDone, "done")
}

// transition reads what stands for one event: a target, a transition or a list
// of them. One without a target stays where it is and is not drawn.
func (c *chart) transition(node string, s *state, raw json.RawMessage, label string) {
	var target string
	var several []json.RawMessage
	var one struct {
		Target json.RawMessage `json:"target"`
		Guard  json.RawMessage `json:"guard"`
	}
	switch {
	case raw == nil:
	case json.Unmarshal(raw, &target) == nil:
		if to := c.target(s, target); to != nil && to.parent != nil {
			c.lead(edge{from: node, outcome: label, to: to.at})
		}
	case json.Unmarshal(raw, &several) == nil:
		for _, each := range several {
			c.transition(node, s, each, label)
		}
	case json.Unmarshal(raw, &one) == nil:
		var guard string
		if json.Unmarshal(one.Guard, &guard) == nil && guard != "" {
			label += " [" + guard + "]"
		}
		c.transition(node, s, one.Target, label)
	}
}

func (c *chart) lead(e edge) { c.graph.out[e.from] = append(c.graph.out[e.from], e) }

// subtitle says what a state is.
func (s *state) subtitle() string {
	var meta struct {
		Step string `json:"step"`
	}
	_ = json.Unmarshal(s.Meta, &meta) // other meta is the author's own
	what := "state"
	switch {
	case s.Type == "final", s.Type == "history":
		what = s.Type
	case s.Type == "parallel":
		what = fmt.Sprintf("%d side by side", len(s.children))
	case len(s.children) > 0:
		what = "begins with " + cmp.Or(s.begins(), "nothing")
	}
	if meta.Step != "" && meta.Step != s.key {
		what = strings.TrimPrefix(what+", ", "state, ") + "step " + meta.Step
	}
	return what
}
